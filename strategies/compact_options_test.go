package strategies

import (
	"slices"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/ask"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/traces"
)

// byHand makes the turn one ahead of which a person compacts.
func byHand(k *talk) {
	k.Events = []traces.Event{{Kind: traces.EventCompact, Manual: true}}
}

// kept is a compaction by hand with a prompt of 444 tokens behind it, and what
// is left of the conversation: ten rounds of 1,000 tokens behind a prompt of 500.
func kept(t *testing.T, changes string) (prompt.Intent, *talk, Boundary) {
	t.Helper()
	l := layer(t, `full-compact: {trigger: {fixed: 190000}, manual: true, hooks: {session_start: 80, post_compact: 70}, summary: {header: 0, pointer: 0},
      attachments: {files: {count: 0}, skills: {each: 0}, plan_mode: 0, agent_status: 0}, `+changes+"}")
	k := rounds(10, 900)
	k.add(prompt.KindPrompt, 444)
	k.InputAt--
	byHand(k)
	in := begin(t, l, k)
	answer(l, k, "", 0)
	return in, k, k.Boundary()
}

// up_to has [summary][kept][attachments][hooks], from [kept][summary]
// [attachments][hooks]; the round's own input stays behind them. A
// pivot of a half falls on the 11th of 21 messages: the fifth result, whose call
// keeps it company.
func TestPartialMessageSets(t *testing.T) {
	round := []int32{100, 900}
	four, six := slices.Repeat(round, 4), slices.Repeat(round, 6)
	hooks := []int32{80, 70, 444}
	for changes, tc := range map[string]struct {
		set        []int32
		summarised int32 // tokens
		messages   int
		sent       int32
	}{
		"partial: {direction: none}":            {slices.Concat([]int32{3000}, hooks), 10500, 21, 24},
		"partial: {direction: up_to}":           {slices.Concat([]int32{3000}, six, hooks), 4500, 9, 12},
		"partial: {direction: from}":            {slices.Concat([]int32{500}, four, []int32{3000}, hooks), 6000, 12, 24},
		"partial: {direction: up_to, pivot: 1}": {slices.Concat([]int32{3000}, hooks), 10500, 21, 24},
		"partial: {direction: from, pivot: 0}":  {slices.Concat([]int32{3000}, hooks), 10500, 21, 24},
		"call: [server], keep: {rounds: 6}":     {slices.Concat([]int32{3000}, six, hooks), 4500, 9, 12},
	} {
		in, k, b := kept(t, changes)
		if got := k.sizes(3); !slices.Equal(got, tc.set) || k.Context.At(k.InputAt).Tokens != 444 {
			t.Errorf("%s: %v with the input at %d, want %v", changes, got, k.InputAt, tc.set)
		}
		if in.Summarised != tc.summarised || b.Summarised != tc.messages || in.To != tc.sent || in.From != 3 {
			t.Errorf("%s: sends %d to %d for %d tokens, %d messages; want %+v", changes, in.From, in.To, in.Summarised, b.Summarised, tc)
		}
	}
}

// The boundary of a partial compaction names the first and the last message that
// stay (002: head, anchor and tail), and they are the same ones as before.
func TestPreservedSegment(t *testing.T) {
	for changes, want := range map[string][2]int32{
		"partial: {direction: up_to}": {12, 23}, // entries 0 to 2 are tools, system and reminders
		"partial: {direction: from}":  {3, 11},
		"partial: {direction: none}":  {0, 0},
	} {
		_, k, b := kept(t, changes)
		if got := [2]int32{b.PreservedFrom, b.PreservedTo}; got != want {
			t.Errorf("%s: %v preserved, want %v", changes, got, want)
		}
		if want[1] > 0 && (k.Context.Index(want[0]) < 0 || k.Context.Index(want[1]) < 0) {
			t.Errorf("%s: what is preserved is not there", changes)
		}
	}
}

// A pivot ahead of the first message leaves up_to nothing to summarise, one
// behind the last leaves from nothing.
func TestPartialOfNothing(t *testing.T) {
	for _, changes := range []string{"{direction: up_to, pivot: 0}", "{direction: from, pivot: 1}"} {
		l, k := layer(t, "full-compact: {trigger: {fixed: 190000}, manual: true, partial: "+changes+"}"), rounds(10, 900)
		k.InputAt = k.Context.Len()
		byHand(k)
		if out := l.(BeforeRequest).BeforeRequest(&k.Turn); out != (Outcome{Failed, "not enough messages to compact"}) {
			t.Errorf("%s: %+v", changes, out)
		}
	}
}

// Automatic compactions are whole ones, unless an experiment says otherwise; a compaction of a
// refused request is whole too.
func TestPartialIsByHand(t *testing.T) {
	for changes, want := range map[string]int32{"": 25, ", auto: true": 14} {
		l, k := layer(t, plain+", reactive: true, partial: {direction: up_to"+changes+"}}"), rounds(10, 900)
		k.add(prompt.KindPrompt, 444)
		if in := begin(t, l, k); in.To != want {
			t.Errorf("%q: sends up to %d, want %d", changes, in.To, want)
		}
		l.(PromptTooLong).PromptTooLong(&k.Turn)
		if in, _ := k.Intent(); int(in.To) != k.Context.Len() {
			t.Errorf("%q: refused, it sends up to %d", changes, in.To)
		}
	}
}

// Files that kept messages show do not come back (002: deduplication).
func TestPartialRestore(t *testing.T) {
	for direction, want := range map[string]int{"none": 2, "up_to": 1, "from": 1} {
		l := layer(t, "full-compact: {trigger: {fixed: 190000}, manual: true, partial: {direction: "+direction+"}}")
		k := newTalk()
		for _, path := range []string{"/a", "/b", "/a", "/b"} {
			k.round("Read", path, 900)
		}
		if direction == "from" {
			k.round("Read", "/c", 900)
			k.round("Read", "/b", 900)
			want = 1 // /c: both others are shown by what stays
		}
		if direction == "up_to" {
			k.round("Bash", "", 900)
			want = 0
		}
		byHand(k)
		begin(t, l, k)
		answer(l, k, "", 0)
		if b := k.Boundary(); b.Restored != want {
			t.Errorf("%s: %d files, want %d", direction, b.Restored, want)
		}
	}
}

// The server is asked with the conversation as it is: nothing behind it unless
// there are instructions, no output limit, no marker moved (B3). Where it fails
// the next way follows.
func TestServerCall(t *testing.T) {
	l, k := layer(t, plain+", call: [server, streaming]}"), rounds(10, 900)
	want := prompt.Intent{Source: "compact", Way: "server", From: 3, To: 24, Summarised: 10_500}
	if in := begin(t, l, k); in != want {
		t.Errorf("%+v, want %+v", in, want)
	}
	if in, _ := answer(l, k, ask.FailEmpty, 0); in.Way != "streaming" {
		t.Errorf("%+v", in)
	}
}

// An output limit on the fork changes the key of its messages (002:101).
func TestForkWithALimit(t *testing.T) {
	for limit, rekey := range map[string]bool{"0": false, "20000": true} {
		l, k := layer(t, plain+", fork: {max_output: "+limit+"}}"), rounds(10, 900)
		if in := begin(t, l, k); in.Rekey != rekey || in.MaxOutput > 0 != rekey {
			t.Errorf("limit %s: %+v", limit, in)
		}
	}
}

// In a gap of the main conversation the timer rings at nine tenths of the hour
// that its entries live (E3: 54 minutes), not at all elsewhere, and it does
// nothing while a request is under way or when the cache is cold.
func TestIdleTimer(t *testing.T) {
	const hour, minutes = int64(3600e9), int64(60e9)
	ready := func(k *talk) {
		k.Now, k.Idle, k.Life, k.TTL = 10*minutes, minutes, hour, exchange.TTL1h
		k.Usage.Read, k.Gap = 1, true
		k.Reading.Values[MeasureClientTokens] = 200_000
		k.add(prompt.KindText, 10)
		k.Reading.Values[MeasureClientTokens] = 200_000
	}
	for name, tc := range map[string]struct {
		idle string
		do   func(*talk)
		want int64
	}{
		"54 minutes after the response": {"enabled: true", func(*talk) {}, 9*minutes + 54*minutes},
		"off":                           {"enabled: false", func(*talk) {}, 0},
		"too small":                     {"enabled: true", func(k *talk) { k.Reading.Values[MeasureClientTokens]-- }, 0},
		"five minutes":                  {"enabled: true", func(k *talk) { k.TTL = exchange.TTL5m }, 0},
		"a sub-agent":                   {"enabled: true", func(k *talk) { k.Kind = traces.ThreadAgent }, 0},
		"no response so far":            {"enabled: true", func(k *talk) { k.Usage = prompt.Usage{} }, 0},
		"it has rung":                   {"enabled: true", func(k *talk) { k.Now, k.Idle = 60*minutes, 54*minutes }, 0},
	} {
		l, k := layer(t, plain+", idle: {"+tc.idle+"}}"), newTalk()
		ready(k)
		tc.do(k)
		if got := l.(Timer).Wake(&k.Turn); got != tc.want {
			t.Errorf("%s: rings at %d, want %d", name, got/minutes, tc.want/minutes)
		}
	}
	for reason, do := range map[string]func(*talk){
		"":                       func(*talk) {},
		"a request is under way": func(k *talk) { k.add(prompt.KindPrompt, 10) },
		"a tool is at work":      func(k *talk) { k.add(prompt.KindToolUse, 10) },
		"the cache is cold":      func(k *talk) { k.Idle = hour + 1 },
		"stopped by the breaker": nil,
	} {
		l, k := layer(t, plain+", idle: {enabled: true}}"), newTalk()
		h := compactionHosted(k)
		ready(k)
		if do == nil {
			l.(*compact).failures = 3
		} else {
			do(k)
		}
		out := l.(Timer).Timer(&k.Turn)
		if out.Reason != reason || (out.Verdict == Pending) != (reason == "") {
			t.Errorf("%q: %+v", reason, out)
		}
		if reason == "" {
			answer(l, k, "", 0)
			if b := k.Boundary(); b.Manual || h.counts[measures.IdleCompactions] != 1 {
				t.Errorf("%+v, %d counted", b, h.counts[measures.IdleCompactions])
			}
		}
	}
}

// Three refills in a row within three requests each end the turn; a slower one begins a new count
// (2.1.89).
func TestRefills(t *testing.T) {
	for name, tc := range map[string]struct {
		since []int64 // requests behind each compaction when the trigger fires
		stops bool
	}{
		"three at once":     {[]int64{1, 3, 2}, true},
		"two":               {[]int64{1, 3}, false},
		"a slower between":  {[]int64{1, 3, 4, 1, 1}, false},
		"three behind that": {[]int64{4, 3, 3, 3}, true},
	} {
		l, k := layer(t, plain+", rapid_refill: {times: 3}}"), rounds(10, 900)
		var out Outcome
		for _, n := range tc.since {
			l.(AfterCompaction).AfterCompaction(&k.Turn)
			k.Reading.Values[MeasureRounds] = n
			out = l.(BeforeRequest).BeforeRequest(&k.Turn)
			k.Intent()
		}
		if stopped := out.Verdict == Declined; stopped != tc.stops {
			t.Errorf("%s: %+v", name, out)
		}
		if again := l.(BeforeRequest).BeforeRequest(&k.Turn); (again.Verdict == Declined) != tc.stops {
			t.Errorf("%s: asked again, %+v", name, again)
		}
	}
}

// Where the context filled up again at once, Claude Code 2.1.332 summarises it whole: of ten rounds behind a prompt, 24 entries with
// the head, the call sends all and not all but the newest round.
func TestRefillIsWhole(t *testing.T) {
	for since, want := range map[int64]int32{2: 24, 3: 22} {
		l, k := layer(t, plain+", keep: {rounds: 1}, rapid_refill: {times: 3, within: 2, whole: true}}"), rounds(10, 900)
		l.(AfterCompaction).AfterCompaction(&k.Turn)
		k.Reading.Values[MeasureRounds] = since
		l.(BeforeRequest).BeforeRequest(&k.Turn)
		if in, _ := k.Intent(); in.To != want {
			t.Errorf("%d requests behind a compaction the call sends up to %d, want %d", since, in.To, want)
		}
	}
}

// Skills that one compacting layer puts back, the next one puts back too: what
// is carried beside the messages belongs to the thread.
func TestCarriedIsShared(t *testing.T) {
	for shared, want := range map[bool]int{true: 1, false: 0} {
		k := newTalk()
		if shared {
			k.Carried = new(Carried)
		}
		notes := layer(t, strings.Replace(notesOnly, "skills: {each: 0}", "skills: {each: 5000, total: 25000}", 1)+", guard: false, keep: {min_tokens: 0, min_texts: 0}}")
		full := layer(t, "full-compact: {trigger: {fixed: 1}, summary: {header: 0, pointer: 0, continuation: 0}, attachments: {files: {count: 0}, plan_mode: 0}}")
		k.round("Skill", "", 700)
		reply(notes, k, 0)
		notes.(BackgroundResult).BackgroundResult(&k.Turn, &prompt.Result{})
		k.add(prompt.KindPrompt, 13_000)
		if out := notes.(BeforeRequest).BeforeRequest(&k.Turn); out.Verdict != Done {
			t.Fatalf("%+v", out)
		}
		begin(t, full, k)
		answer(full, k, "", 0)
		if got := len(k.sizes(3)) - 1; got != want {
			t.Errorf("shared %v: %v, want the summary and %d skills", shared, k.sizes(3), want)
		}
	}
}

// No hook that declines allocates.
func TestCompactionDecliningAllocatesNothing(t *testing.T) {
	k := rounds(100, 900)
	compactionHosted(k)
	full := layer(t, "full-compact: {trigger: {fixed: 190000}, idle: {enabled: true}}")
	notes := layer(t, "session-memory: {trigger: {fixed: 190000}, extract: {init: 900000}}")
	for name, f := range map[string]func(){
		"full-compact ahead of a request":   func() { full.(BeforeRequest).BeforeRequest(&k.Turn) },
		"its timer":                         func() { full.(Timer).Wake(&k.Turn) },
		"session-memory ahead of a request": func() { notes.(BeforeRequest).BeforeRequest(&k.Turn) },
		"behind a response":                 func() { notes.(AfterResponse).AfterResponse(&k.Turn) },
	} {
		if n := testing.AllocsPerRun(100, f); n != 0 {
			t.Errorf("%s: %g allocations", name, n)
		}
	}
}

// What is wrong with the parameters, all at once.
func TestCompactionParameters(t *testing.T) {
	for text, want := range map[string][]string{
		"full-compact: {trigger: {fixed: 1}, partial: {pivot: 1.5}, idle: {share: 1}, keep: {rounds: 2}, signal_seconds: -1}": {
			"partial.pivot 1.5 must lie in 0…1", "idle.share 1 must lie between 0 and 1", "signal_seconds -1 must not be negative"},
		"full-compact: {trigger: {fixed: 1}, call: [server], keep: {rounds: 2}, partial: {direction: from}}":                   {"partial.direction says what is kept"},
		"full-compact: {trigger: {fixed: 1}, call: [server], beside: {enabled: true}, partial: {auto: true, direction: from}}": {"beside.enabled puts the block first"},
		"full-compact: {trigger: {fixed: 1}, beside: {enabled: true, every: 6000}}":                                            {"beside.every counts tokens behind the last summary"},
		"full-compact: {trigger: {fixed: 1}, partial: {direction: upto}}":                                                      {`direction: unknown value "upto"`},
		"session-memory: {trigger: {fixed: 1}, keep: {min_tokens: 50000}, extract: {turns: 0, failure: 2, seconds: -1, instruction: 0}, memory: {section: 13000, share: 2, largest: 0, sections: 0}}": {
			"keep.min_tokens 50000 is more than max_tokens 40000", "extract.turns 0 must be at least 1", "extract.failure 2 must lie in 0…1", "extract.seconds -1",
			"extract.instruction 0", "memory.section 13000 is more than total 12000", "memory.share 2", "memory.largest 0", "memory.sections 0"},
		"session-memory: {}": {"trigger: no value"},
	} {
		err := builtin(t).AddPreset([]byte("name: test\nlayers:\n  - "+text+"\n"), "test.yaml")
		if err == nil {
			t.Errorf("%s: no error", text)
			continue
		}
		for _, w := range want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s: %v\nwant %q", text, err, w)
			}
		}
	}
}

// Beside the conversation there is one compaction at a time; its block takes the
// place of what it stands for, whatever was said meanwhile, and is thrown away
// when that is gone (B3: "swap when the block arrives; never two at once").
func TestBesideTheConversation(t *testing.T) {
	start := func() (*compact, *talk) {
		l, k := layer(t, plain+", call: [server], beside: {enabled: true}}"), rounds(10, 900)
		if out := l.(BeforeRequest).BeforeRequest(&k.Turn); out.Reason != "a compaction has begun beside the conversation" || len(k.TakeBackground()) != 1 {
			t.Fatalf("%+v", out)
		}
		k.round("Bash", "", 700)
		if out := l.(BeforeRequest).BeforeRequest(&k.Turn); out.Reason != "a compaction is under way beside the conversation" {
			t.Fatalf("%+v", out)
		}
		return l.(*compact), k
	}
	block := &prompt.Result{Answer: prompt.Answer{Summary: 3000, Bytes: 12000}}
	l, k := start()
	l.BackgroundResult(&k.Turn, block)
	if got := k.Context.Len(); got != 26 {
		t.Errorf("%d entries: the block did not wait for the next request", got)
	}
	if out := l.BeforeRequest(&k.Turn); out.Verdict != Done || !slices.Equal(k.sizes(3), []int32{3000, 100, 700}) {
		t.Errorf("%+v, %v", out, k.sizes(3))
	}
	if b := k.Boundary(); b.Summarised != 21 || b.PreservedFrom != 24 || b.PreservedTo != 25 {
		t.Errorf("%+v", b)
	}
	l, k = start()
	h := compactionHosted(k)
	l.BackgroundResult(&k.Turn, block)
	k.Context.Truncate(9, prompt.CauseRewind)
	if out := l.BeforeRequest(&k.Turn); out.Verdict == Done || h.reasons["full-compact: what the block stands for is not there"] != 1 {
		t.Errorf("%+v, %v", out, h.reasons)
	}
	l, k = start()
	l.BackgroundResult(&k.Turn, &prompt.Result{Answer: prompt.Answer{Failed: ask.FailAPI}})
	if l.failures != 1 || len(l.beside.ready) > 0 {
		t.Errorf("%d failures of one", l.failures)
	}
}

// A call that comes an eighth of the window of 200,000 ahead of the trigger, at 170,000, begins at 145,000, and its summary waits for
// the trigger (Oh-My-Pi 18.2.3).
func TestCallAheadOfTheTrigger(t *testing.T) {
	l, k := layer(t, "full-compact: {trigger: {fraction: 0.85}, call: [fork], beside: {enabled: true, ahead: 0.125}}").(*compact), rounds(10, 900)
	k.Reading.Window = 200_000
	at := func(tokens int64) Outcome {
		k.Reading.Values[MeasureClientTokens] = tokens
		return l.BeforeRequest(&k.Turn)
	}
	if out := at(144_999); out.Reason != "below the trigger" {
		t.Errorf("below: %+v", out)
	}
	if out := at(145_000); out.Reason != "a compaction has begun beside the conversation" || len(k.TakeBackground()) != 1 {
		t.Errorf("an eighth ahead: %+v", out)
	}
	l.BackgroundResult(&k.Turn, &prompt.Result{Answer: prompt.Answer{Summary: 3000, Bytes: 12000}})
	if out := at(169_999); out.Reason != "the summary waits for the trigger" {
		t.Errorf("below the trigger: %+v", out)
	}
	if out := at(170_000); out.Verdict != Done {
		t.Errorf("at the trigger: %+v", out)
	}
}

// Behind position 8 stand two rounds of 1,000 in four messages. They weigh 2,400 where each message counts for 100 more, as the trigger counts:
// of 2,300 that are to stay nothing lacks, of 2,500 the piece ahead of them stays for the request under way.
func TestLingeringCountsAsTheTriggerDoes(t *testing.T) {
	for keep, want := range map[int64]int{2300: 8, 2500: 3} {
		l := layer(t, "full-compact: {trigger: {measure: since, fixed: 30000, per_message: 100}, call: [streaming], keep: {tokens: 1}, beside: {enabled: true, every: 6000}}").(*compact)
		k := rounds(4, 900)
		l.params.Keep.Tokens, l.call.low, l.call.high = keep, 3, 8
		if lingerPieces(l, k.Context, []int{8}); l.call.high != want {
			t.Errorf("%d tokens are to stay: the summary stands for the entries up to %d, want %d", keep, l.call.high, want)
		}
	}
}
