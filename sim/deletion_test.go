package sim

import (
	"slices"
	"testing"

	"github.com/compactsim/compactsim/sim/internal/course"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/traces"
)

// contextOf returns a context of entries with those tokens, of one kind.
func contextOf(kind prompt.Kind, tokens ...int32) *prompt.Context {
	c := new(prompt.Context)
	blocks := make([]prompt.Block, len(tokens))
	for i, n := range tokens {
		blocks[i] = prompt.Block{Kind: kind, Tokens: n, Digest: prompt.Digest{Lo: uint64(i)}}
	}
	c.Reset(blocks, new(prompt.Arena))
	for i := range blocks {
		c.Append(prompt.Ref(i))
	}
	return c
}

// inForce returns positions and tokens of a list.
func inForce(list []exchange.Deletion) (at [][2]int32) {
	for _, d := range list {
		at = append(at, [2]int32{d.Position, d.Tokens})
	}
	return at
}

// Deletions stand in order of position, whatever order they were asked for in, each once,
// from the first entry on; the list follows its entries when others leave, and loses those
// that are gone or show less than they did.
func TestDeletionsFollowTheContext(t *testing.T) {
	c := contextOf(prompt.KindToolResult, 100, 200, 300, 400, 500)
	th := &thread{Course: course.Course{Context: *c}}
	h := &host{thread: th}
	for _, id := range []int32{4, 2, 0, 3, 3, 9} {
		h.Delete(id)
	}
	check := func(what string, tokens int64, want ...[2]int32) {
		t.Helper()
		got := inForce(th.Deleted.Resolve(&th.Context))
		if !slices.Equal(got, want) || th.Deleted.Tokens() != tokens {
			t.Errorf("%s: %v of %d tokens, want %v of %d", what, got, th.Deleted.Tokens(), want, tokens)
		}
	}
	check("four of five", 1300, [2]int32{0, 100}, [2]int32{2, 300}, [2]int32{3, 400}, [2]int32{4, 500})
	h.Undelete(0)
	h.Undelete(0)
	check("the first taken back", 1200, [2]int32{2, 300}, [2]int32{3, 400}, [2]int32{4, 500})
	if h.IsDeleted(0) || !h.IsDeleted(2) {
		t.Error("entry 0 is deleted, or 2 is not")
	}
	for range 2 {
		th.Context.Replace(0, 1, nil, prompt.CauseEdit)
	}
	check("two ahead of them gone", 1200, [2]int32{0, 300}, [2]int32{1, 400}, [2]int32{2, 500})
	th.Context.SetForm(0, prompt.FormCleared, 5, prompt.CauseEdit)
	check("one cleared", 900, [2]int32{1, 400}, [2]int32{2, 500})
	th.Context.SetForm(1, prompt.FormRange, 40, prompt.CauseEdit)
	check("one shortened", 540, [2]int32{1, 40}, [2]int32{2, 500})
	th.Context.Truncate(2, prompt.CauseEdit)
	check("the last gone", 40, [2]int32{1, 40})
}

// A deletion follows its entry where another of the same size takes its place: the list is
// of entries, not of positions.
func TestDeletionsOfEqualEntries(t *testing.T) {
	c := contextOf(prompt.KindToolResult, 100, 100, 100, 100)
	th := &thread{Course: course.Course{Context: *c}}
	h := &host{thread: th}
	h.Delete(1)
	th.Deleted.Resolve(&th.Context)
	th.Context.Replace(0, 1, nil, prompt.CauseEdit)
	if got := inForce(th.Deleted.Resolve(&th.Context)); !slices.Equal(got, [][2]int32{{0, 100}}) || !h.IsDeleted(1) {
		t.Errorf("%v, want the entry in its new place", got)
	}
}

// Of what is lost beyond the blocks of an event, what no line shows goes first, wherever it
// stands.
func TestForgottenUnseenGoesFirst(t *testing.T) {
	c := new(prompt.Context)
	blocks := []prompt.Block{{Kind: prompt.KindUnseen, Tokens: 300}, {Kind: prompt.KindText, Tokens: 100}}
	c.Reset(blocks, new(prompt.Arena))
	c.Append(0)
	c.Append(1)
	forgetBlocks(c, &traces.Event{Saved: 320})
	if a, b := c.At(0).Tokens, c.At(1).Tokens; a != 1 || b != 79 {
		t.Errorf("%d unseen and %d of a text are left, want 1 and 79", a, b)
	}
}

// What no line shows ahead of the first forgotten block stays while something behind it can give the rest.
func TestForgottenStaysBehindItsBlocks(t *testing.T) {
	c := new(prompt.Context)
	c.Reset([]prompt.Block{{Kind: prompt.KindUnseen, Tokens: 300}, {Kind: prompt.KindThinking, Tokens: 40}, {Kind: prompt.KindText, Tokens: 100}}, new(prompt.Arena))
	for i := range 3 {
		c.Append(prompt.Ref(i))
	}
	forgetBlocks(c, &traces.Event{Cleared: []int32{1}, Saved: 100})
	if a, b, d := c.At(0).Tokens, c.At(1).Tokens, c.At(2).Tokens; a != 300 || b != 0 || d != 40 {
		t.Errorf("%d, %d and %d tokens are left, want 300, 0 and 40", a, b, d)
	}
}

// What a provider forgets comes off the blocks that the event names. When all blocks are
// there and more was lost, the rest comes off what follows the first of them, and what no line shows there first, then off all messages, the
// newest first and the oldest last; each keeps one token, and one that has no more
// stays as it is.
func TestForgottenBeyondTheBlocks(t *testing.T) {
	for _, tc := range []struct {
		what string
		kind prompt.Kind
		ev   traces.Event
		want []int32
	}{
		{"the blocks alone", prompt.KindThinking, traces.Event{Cleared: []int32{0, 2}, Saved: 400}, []int32{0, 200, 0, 1}},
		{"fifty more", prompt.KindThinking, traces.Event{Cleared: []int32{2}, Saved: 350}, []int32{100, 150, 0, 1}},
		{"all there is", prompt.KindText, traces.Event{Saved: 9000}, []int32{1, 1, 1, 1}},
		{"behind the first block", prompt.KindThinking, traces.Event{Cleared: []int32{1}, Saved: 450}, []int32{100, 0, 50, 1}},
		{"what no line shows", prompt.KindUnseen, traces.Event{Saved: 299}, []int32{100, 200, 1, 1}},
		{"a block that is not there", prompt.KindText, traces.Event{Cleared: []int32{2, 7}, Saved: 350}, []int32{100, 200, 0, 1}},
		{"the head", prompt.KindSystem, traces.Event{Saved: 50}, []int32{100, 200, 300, 1}},
	} {
		c := contextOf(tc.kind, 100, 200, 300, 1)
		forgetBlocks(c, &tc.ev)
		var got []int32
		for i := range c.Len() {
			got = append(got, c.At(i).Tokens)
		}
		if !slices.Equal(got, tc.want) || c.At(3).Form != prompt.FormVerbatim {
			t.Errorf("%s: %v, the last %v; want %v, verbatim", tc.what, got, c.At(3).Form, tc.want)
		}
	}
}
