package strategies

import (
	"slices"
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/ask"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/traces"
)

// compactionHost keeps what the compacting layers tell their host.
type compactionHost struct {
	counts  [measures.NumFigures]int64
	reasons map[string]int
	draw    float64
}

func (h *compactionHost) Count(id measures.ID, n int64) { h.counts[id] += n }
func (h *compactionHost) Refuse(layer, reason string) Outcome {
	h.reasons[layer+": "+reason]++
	return Outcome{Declined, reason}
}
func (h *compactionHost) Delete(int32)                   {}
func (h *compactionHost) Undelete(int32)                 {}
func (h *compactionHost) IsDeleted(int32) bool           { return false }
func (h *compactionHost) SetMemory(int32, prompt.Digest) {}
func (h *compactionHost) Post(Message)                   {}
func (h *compactionHost) Draw(string, uint8) float64     { return h.draw }

func compactionHosted(k *talk) *compactionHost {
	h := &compactionHost{reasons: map[string]int{}, draw: 0.5}
	k.Host = h
	return h
}

// notesOnly is a session memory that restores nothing and writes nothing around
// the memory, counted truly: one token in twenty is remembered, beside a
// template of 300. The trigger always fires: tools and system prompt alone weigh
// more.
const notesOnly = `session-memory: {trigger: {fixed: 31500}, count: true, summary: {header: 0, pointer: 0, continuation: 0},
      attachments: {files: {count: 0}, skills: {each: 0}, plan: false, plan_mode: 0, agent_status: 0}`

// reply ends the round under way with a response of text and a tool call, and
// tells the layer.
func reply(l Layer, k *talk, calls int) (prompt.Intent, Outcome) {
	k.InputAt = k.Context.Len()
	k.add(prompt.KindText, 100)
	for range calls {
		k.use("Bash", "", 100)
	}
	out := l.(AfterResponse).AfterResponse(&k.Turn)
	if list := k.TakeBackground(); len(list) > 0 {
		return list[0], out
	}
	return prompt.Intent{}, out
}

// answerCalls adds a result of so many tokens for each of the newest calls.
func answerCalls(k *talk, calls int, tokens int32) {
	for n := range calls {
		k.add(prompt.KindToolResult, tokens).Call = k.calls - int32(calls-1-n)
	}
}

// remembered returns a conversation. The memory covers its entries up to and with the n-th round
// of 1,000 tokens; later rounds follow.
func remembered(t *testing.T, text string, n, more int) (Layer, *talk, *compactionHost) {
	t.Helper()
	l, k := layer(t, text), newTalk()
	h := compactionHosted(k)
	for range n {
		k.round("Bash", "", 900)
	}
	if _, out := reply(l, k, 0); out.Reason != "an update has begun" {
		t.Fatalf("%+v", out)
	}
	l.(BackgroundResult).BackgroundResult(&k.Turn, &prompt.Result{})
	k.add(prompt.KindPrompt, 200)
	for range more {
		k.add(prompt.KindText, 100)
		k.round("Bash", "", 800)
	}
	return l, k, h
}

// An update wants a growth of 5,000 tokens always, and three tool calls or a
// response without any; none comes before 10,000 (002, session memory;
// E5).
func TestSessionMemoryUpdates(t *testing.T) {
	for name, tc := range map[string]struct {
		before, grown int64
		calls         []int // tool calls of the responses since
		reason        string
	}{
		"too short":                   {0, 9_999, []int{0}, "too short for a session memory"},
		"ten thousand":                {0, 10_000, []int{0}, "an update has begun"},
		"growth below 5,000":          {20_000, 4_999, []int{3}, "too little growth"},
		"three calls":                 {20_000, 5_000, []int{3}, "an update has begun"},
		"two calls are too few":       {20_000, 5_000, []int{2}, "too few tool calls"},
		"three calls in two":          {20_000, 5_000, []int{1, 2}, "an update has begun"},
		"no call: a natural break":    {20_000, 5_000, []int{1, 0}, "an update has begun"},
		"and the growth all the same": {20_000, 4_000, []int{1, 0}, "too little growth"},
	} {
		l, k := layer(t, notesOnly+"}"), newTalk()
		compactionHosted(k)
		if s := l.(*sessionMemory); tc.before > 0 {
			s.begun, s.counted = true, tc.before
		}
		var out Outcome
		for i, calls := range tc.calls {
			k.InputAt = k.Context.Len()
			k.add(prompt.KindText, 10)
			for range calls {
				k.use("Bash", "", 10)
			}
			k.Reading.Values[MeasureClientTokens] = tc.before
			if i == len(tc.calls)-1 {
				k.Reading.Values[MeasureClientTokens] += tc.grown
			}
			out = l.(AfterResponse).AfterResponse(&k.Turn)
			answerCalls(k, calls, 10)
		}
		if out.Reason != tc.reason {
			t.Errorf("%s: %+v, want %s", name, out, tc.reason)
		}
	}
}

// The call of an update: a fork on the conversation's prefix, of two turns, with
// markers of five minutes (003:2232; 000:193-200), the memory behind the instruction.
// A second never begins while one is under way, sub-agents have none.
func TestSessionMemoryCall(t *testing.T) {
	l, k := layer(t, notesOnly+"}"), rounds(10, 900)
	h := compactionHosted(k)
	in, _ := reply(l, k, 0)
	if in.Source != "session_memory" || in.Own || in.Turns != 2 || in.Lifetime != ask.Lifetime5m ||
		in.Instruction != 1000+300 || in.Known.Output != 400 {
		t.Errorf("%+v (%+v)", in, in.Known)
	}
	k.add(prompt.KindPrompt, 9000)
	if _, out := reply(l, k, 0); out.Reason != "an update is under way" {
		t.Errorf("%+v, want one after the other", out)
	}
	l.(BackgroundResult).BackgroundResult(&k.Turn, &prompt.Result{})
	if h.counts[measures.MemoryUpdates] != 1 {
		t.Errorf("%d updates counted", h.counts[measures.MemoryUpdates])
	}
	k.add(prompt.KindPrompt, 9050)
	// 500 + 10 × 1,000 + 100 tokens were summarised: 530 of memory.
	if in, _ = reply(l, k, 0); in.Instruction != 1000+300+530-2 {
		t.Errorf("instruction and memory of %d tokens", in.Instruction)
	}
	// It grows with what it has summarised: 9,100 and 9,150 more make 28,850, and one token
	// in twenty 432 in the largest section and 112 in each of nine.
	l.(BackgroundResult).BackgroundResult(&k.Turn, &prompt.Result{})
	k.add(prompt.KindPrompt, 9000)
	if in, _ = reply(l, k, 0); in.Instruction != 1000+300+432+9*112 {
		t.Errorf("instruction and memory of %d tokens behind two updates", in.Instruction)
	}
	k.Kind = traces.ThreadAgent
	if _, out := reply(l, k, 0); out.Reason != "sub-agents keep no session memory" {
		t.Errorf("%+v", out)
	}
}

// An update that fails leaves the memory as it was.
func TestSessionMemoryFailure(t *testing.T) {
	l, k := layer(t, notesOnly+", extract: {failure: 0.6}}"), rounds(14, 900)
	h := compactionHosted(k)
	in, _ := reply(l, k, 0)
	if in.Known.Failed != ask.FailEmpty {
		t.Fatalf("a draw of 0.5 at a rate of 0.6: %+v", in.Known)
	}
	out := l.(BackgroundResult).BackgroundResult(&k.Turn, &prompt.Result{Answer: *in.Known})
	if out.Verdict != Failed || h.counts[measures.MemoryUpdates] != 0 {
		t.Errorf("%+v, %d updates", out, h.counts[measures.MemoryUpdates])
	}
	l.(BeforeRequest).BeforeRequest(&k.Turn)
	if h.reasons["session-memory: the memory is an empty template"] != 1 {
		t.Errorf("%v", h.reasons)
	}
}

// Sections are kept to 2,000 tokens and the memory to 12,000 (E5). At one token
// in twenty, three tenths of these tokens in the largest section, that one is full at
// 2,000/0.3 × 20 = 133,333 summarised tokens.
func TestMemoryFileSizes(t *testing.T) {
	m := defaultSessionMemory().Memory
	grown := m
	grown.Condense = false
	for _, tc := range []struct{ summarised, tokens, reminders, raw, cut int64 }{
		{0, 300, 0, 300, 300},
		{100_000, 300 + 1500 + 9*388, 0, 300 + 1500 + 9*388, 300 + 1500 + 9*388},
		{200_000, 300 + 2000 + 9*777, 40, 300 + 3000 + 9*777, 300 + 2025 + 9*777},
		{1_000_000, 12000, 11 * 40, 300 + 15000 + 9*3888, 300 + 10*2025},
	} {
		if got := []int64{m.tokens(tc.summarised), m.reminders(tc.summarised), grown.tokens(tc.summarised), grown.summary(tc.summarised)}; !slices.Equal(got,
			[]int64{tc.tokens, tc.reminders, tc.raw, tc.cut}) {
			t.Errorf("%d summarised: %v, want %v", tc.summarised, got, tc)
		}
	}
}

// With the guard off an update is looked at like a conversation: as soon as
// instruction and memory weigh 5,000 tokens it starts another one inside itself,
// which sends what it has added too (002:28).
func TestUpdatesOfUpdates(t *testing.T) {
	for guard, more := range map[string]bool{"true": false, "false": true} {
		l, k := layer(t, notesOnly+", extract: {guard: "+guard+", instruction: 4000}}"), rounds(10, 900)
		compactionHosted(k)
		first, _ := reply(l, k, 0)
		l.(BackgroundResult).BackgroundResult(&k.Turn, &prompt.Result{})
		list := k.TakeBackground()
		if len(list) > 0 != more {
			t.Fatalf("guard %s: %d further calls", guard, len(list))
		}
		// The memory holds 528 tokens more than the template now: 4,828 and
		// twice 400 of output and 100 of results.
		if more && (first.Instruction != 4300 || list[0].Instruction != 2*4828+900) {
			t.Errorf("%d, then %d tokens behind the conversation", first.Instruction, list[0].Instruction)
		}
	}
}

// Without the bar an update above the trigger begins with a compaction; it is
// given up when the compaction has been made in another way.
func TestUpdateAboveTheTrigger(t *testing.T) {
	l, k := layer(t, notesOnly+", extract: {barred: false}}"), rounds(14, 900)
	compactionHosted(k)
	if in, out := reply(l, k, 0); out.Verdict != Declined || !in.Compacts {
		t.Errorf("%+v, %+v", out, in)
	}
	if s := l.(*sessionMemory); !s.running {
		t.Error("the update is not under way")
	}
	l.(AfterCompaction).AfterCompaction(&k.Turn)
	if s := l.(*sessionMemory); s.running {
		t.Error("the update is still under way")
	}
}
