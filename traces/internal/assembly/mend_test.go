package assembly

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
)

// rounds makes the rounds that a text spells: "p > u1 | r1 > t" is a prompt, a
// call of a tool, its result, and a text.
func rounds(text string, f *File) (list []Round) {
	kinds := map[byte]prompt.Kind{
		'p': prompt.KindPrompt, 't': prompt.KindText, 'u': prompt.KindToolUse, 'r': prompt.KindToolResult,
		'l': prompt.KindAttachment,
	}
	for n, call := range strings.Split(text, "|") {
		before, reply, _ := strings.Cut(call, ">")
		blocks := func(words string) (list []Block) {
			for _, w := range strings.Fields(words) {
				b := Block{Block: prompt.Block{Kind: kinds[w[0]], Bytes: 100, Line: int32(n + 1)}, Source: f}
				if w == "l" {
					b.Flags = prompt.FlagListing
				}
				if id := w[1:]; id != "" {
					b.ID = CallID(id)
				}
				list = append(list, b)
			}
			return list
		}
		c := &Call{ID: fmt.Sprint("c", n), Place: Place{f, int32(n + 1)}}
		list = append(list, Round{Call: c, Before: blocks(before), Reply: blocks(reply)})
	}
	return list
}

// spell is the reverse of rounds, with "-" for results that answer no call.
func spell(list []Round, ids ...string) string {
	var calls []string
	for i := range list {
		words := func(blocks []Block) (s string) {
			for j := range blocks {
				switch b := &blocks[j]; b.Kind {
				case prompt.KindPrompt:
					s += "p "
				case prompt.KindText:
					s += "t "
				default:
					name := "-"
					for _, id := range ids {
						if b.ID == CallID(id) {
							name = id
						}
					}
					s += map[prompt.Kind]string{prompt.KindToolUse: "u", prompt.KindToolResult: "r"}[b.Kind] + name + " "
				}
			}
			return s
		}
		calls = append(calls, words(list[i].Before)+"> "+strings.TrimSpace(words(list[i].Reply)))
	}
	return strings.Join(calls, " | ")
}

// What the lines of a thread say, and what a request can hold: results behind
// their calls, ahead of the next request, on the call's side of a compaction.
func TestMend(t *testing.T) {
	for _, tt := range []struct {
		name, lines, want string
		compact, absorbed int32 // a compaction ahead of this round, and what it absorbs
		wantAbsorbed      int32
		problem           string
	}{
		{name: "in order", lines: "p > u1 | r1 p > t", want: "p > u1 | r1 p > t"},
		{name: "late", lines: "p > u1 | p > t | r1 > t", want: "p > u1 | p r1 > t | > t"},
		{name: "without its call", lines: "p > t | r1 > t", want: "p > t | r- > t", problem: "f:2: tool result without its call"},
		{name: "of a call that is answered", lines: "p > u1 | r1 r1 > t", want: "p > u1 | r1 r- > t", problem: "f:2: tool result without its call"},
		{
			name: "ahead of its call", lines: "p r1 > t | p > u1 | p > t", want: "p > t | p > u1 | p r1 > t",
			problem: "f:1: tool result before its call; it is put after it",
		},
		{name: "ahead of a call that ends", lines: "p > t | r1 > u1", want: "p > t | r- > u1", problem: "f:2: tool result without its call"},
		{name: "call without result", lines: "p > u1 | p > t", want: "p > u1 | p > t"},
		{name: "two calls of an id", lines: "p > u1 | r1 > u1 | r1 > t", want: "p > u1 | r1 > u1 | r1 > t"},
		{name: "in one input", lines: "p u1 r1 > t", want: "p u1 r1 > t"},
		{name: "of parallel calls", lines: "p u1 u2 r2 r1 > t", want: "p u1 u- r- r1 > t"},
		{name: "behind a compaction", lines: "p > u1 | p r1 p > t", want: "p > u1 | p r1 p > t", compact: 1, absorbed: 1, wantAbsorbed: 2},
		{name: "absorbed", lines: "p > u1 | r1 p > t", want: "p > u1 | r1 p > t", compact: 1, absorbed: 1, wantAbsorbed: 1},
	} {
		th := Main()
		f := NewFile("f", traces.Options{})
		th.Calls = rounds(tt.lines, f)
		if tt.compact > 0 {
			th.Happened = []Event{{Event: traces.Event{Kind: traces.EventCompact, Round: tt.compact, Absorbed: tt.absorbed}, Source: f}}
		}
		s := &Session{Format: &Format{Rates: traces.DefaultRates()}, ID: "s", Threads: []*Thread{th}, Files: []*File{f}, Problems: Problems{Limit: 9}}
		s.mend()
		if got := spell(th.Calls, "1"); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
		if tt.compact > 0 && th.Happened[0].Absorbed != tt.wantAbsorbed {
			t.Errorf("%s: %d blocks absorbed, want %d", tt.name, th.Happened[0].Absorbed, tt.wantAbsorbed)
		}
		said := ""
		for _, p := range s.Problems.List {
			said += p.String()
		}
		if said != tt.problem {
			t.Errorf("%s: problems %q, want %q", tt.name, said, tt.problem)
		}
		if err := s.assemble(false).Check(); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// A listing of the client that begins a conversation is no message: summary calls of their own go
// without it, and what they send would begin with the assistant's.
func TestListingIsNoMessage(t *testing.T) {
	for lines, want := range map[string]bool{"p > t": false, "p > u1 | r1 > t": false, "l p > t": false, "l > t": true, "l > u1 | r1 > t": true} {
		th, f := Main(), NewFile("f", traces.Options{})
		th.Calls = rounds(lines, f)
		s := &Session{Format: &Format{Rates: traces.DefaultRates()}, ID: "s", Threads: []*Thread{th}, Files: []*File{f}, Problems: Problems{Limit: 9}}
		out := s.assemble(false)
		if err := out.Check(); err != nil {
			t.Errorf("%s: %v", lines, err)
		}
		said := 0
		for _, b := range out.Blocks {
			if b.Kind.Assistant() {
				break
			}
			if b.Kind.Level() == prompt.LevelMessages && b.Kind != prompt.KindReminder && b.Flags&prompt.FlagListing == 0 {
				said++
			}
		}
		told := strings.Contains(fmt.Sprint(s.Problems.List), "answers a message that is not in the recording")
		if said == 0 || told != want {
			t.Errorf("%s: %d messages ahead of the assistant's; problems %v", lines, said, s.Problems.List)
		}
	}
}

// A branch answers the calls that its parent left open where they parted, and no
// other.
func TestMendBranch(t *testing.T) {
	f := NewFile("f", traces.Options{})
	main, branch := Main(), &Thread{Thread: traces.Thread{ID: "b", Kind: traces.ThreadBranch, ParentRound: 0}}
	main.Calls, branch.Calls, branch.Up = rounds("p > u1 | r1 > u2 | r2 > t", f), rounds("r1 > t | r2 > t", f), main
	for _, t := range []*Thread{main, branch} {
		for i := range t.Calls {
			t.Calls[i].ID = t.ID + t.Calls[i].ID
		}
	}
	s := &Session{Format: &Format{Rates: traces.DefaultRates()}, ID: "s", Threads: []*Thread{main, branch}, Files: []*File{f}, Problems: Problems{Limit: 9}}
	s.complete()
	if got, want := spell(branch.Calls, "1", "2"), "r1 > t | r- > t"; got != want {
		t.Errorf("branch %s, want %s", got, want)
	}
	of := [...]*Block{&main.Calls[1].Before[0], &branch.Calls[0].Before[0]}
	out := s.emit(false)
	if err := out.Check(); err != nil {
		t.Error(err)
	}
	if a, b := out.Blocks[of[0].at-1].Call, out.Blocks[of[1].at-1].Call; a != b || a == 0 {
		t.Errorf("the results of one call have numbers %d and %d", a, b)
	}
}

// A session with as many compactions as calls takes no more than some four times as long with four times as many calls: to look through
// all compactions at each call would take sixteen times. Its threads give up the blocks that are laid out.
func TestManyCompactions(t *testing.T) {
	took := func(calls int) (least time.Duration) {
		for range 5 {
			f, th := NewFile("f", traces.Options{}), Main()
			for i := range calls {
				id := strconv.Itoa(i)
				c := &Call{ID: id, Model: "m", Place: Place{Source: f, Line: 1}, Usage: Usage{OK: true, Usage: prompt.Usage{Uncached: int64(10 + i%7)}}}
				th.Calls = append(th.Calls, Round{Call: c, Before: []Block{{Block: Maker{}.Text(prompt.KindPrompt, id).Block}}})
				th.Happened = append(th.Happened, Event{Event: traces.Event{Kind: traces.EventCompact, Round: int32(i)}, Source: f})
			}
			s := &Session{Format: &Format{Rates: traces.DefaultRates()}, ID: "s", Threads: []*Thread{th}, Files: []*File{f}, Problems: Problems{Limit: 9}}
			from := time.Now()
			if out := s.assemble(false); out.NumCalls() != calls || th.Calls[calls-1].Before != nil {
				t.Fatalf("%d calls, want %d; the last one has %d blocks", out.NumCalls(), calls, len(th.Calls[calls-1].Before))
			}
			if d := time.Since(from); least == 0 || d < least {
				least = d
			}
		}
		return least
	}
	if few, many := took(4000), took(16_000); many > 10*few+100*time.Millisecond { // a busy machine may stop either
		t.Errorf("16,000 calls take %v, 4,000 %v", many, few)
	}
}
