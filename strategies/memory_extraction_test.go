package strategies

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/ask"
	"github.com/compactsim/compactsim/sim/prompt/op"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/strategies/standard"
	"github.com/compactsim/compactsim/traces"
)

// besideHost keeps what layers that work beside the conversation ask of the
// loop. Every draw is half, so that shares above it happen.
type besideHost struct {
	counts   [measures.NumFigures]int64
	reasons  map[string]int
	sections []int32   // tokens of the memory section
	posts    []Message // thread, tokens
	draws    []string  // layers whose draws were asked for
}

func (h *besideHost) Count(id measures.ID, n int64) { h.counts[id] += n }
func (h *besideHost) Refuse(layer, reason string) Outcome {
	h.reasons[reason]++
	return Outcome{Declined, reason}
}
func (h *besideHost) Delete(int32)         {}
func (h *besideHost) Undelete(int32)       {}
func (h *besideHost) IsDeleted(int32) bool { return false }
func (h *besideHost) SetMemory(tokens int32, _ prompt.Digest) {
	h.sections = append(h.sections, tokens)
}
func (h *besideHost) Post(m Message) { h.posts = append(h.posts, m) }
func (h *besideHost) Draw(layer string, _ uint8) float64 {
	h.draws = append(h.draws, layer)
	return 0.5
}

// besideTalk is the talk of a lone session of a user, on 1 February 2026.
func besideTalk() (*talk, *besideHost) {
	k, h := newTalk(), &besideHost{reasons: map[string]int{}}
	k.Host = h
	k.Parent = -1
	k.Epoch = 1_769_904_000e9
	k.User = &User{Ends: make([]int64, 1), Live: []bool{true}}
	return k, h
}

// loopEnds calls the layer at the end of a loop and returns the calls it makes.
func loopEnds(k *talk, l Layer) []prompt.Intent {
	l.(EndOfLoop).EndOfLoop(&k.Turn)
	return slices.Clone(k.TakeBackground())
}

// answers ends a background call of a layer, with a failure or "".
func answers(k *talk, l Layer, failed string) {
	l.(BackgroundResult).BackgroundResult(&k.Turn, &prompt.Result{Answer: prompt.Answer{Failed: failed}})
}

const memoryFile = "/home/u/.claude/projects/-work-api/memory/testing.md"

// One forked call at the end of a query loop (003:2336-2338), of two turns, all
// reads and then all writes (003:2388), that asks for 5 minutes.
func TestMemoryExtractionCall(t *testing.T) {
	k, h := besideTalk()
	l := layer(t, "memory-extraction: {instruction: 900, turn_input: 700, turn_output: 300}")
	calls := loopEnds(k, l)
	if len(calls) != 1 {
		t.Fatalf("%d calls, want 1", len(calls))
	}
	in := calls[0]
	if in.Source != "extract_memories" || in.Own || in.Turns != 2 || in.Lifetime != ask.Lifetime5m {
		t.Errorf("%+v", in)
	}
	if in.Instruction != 900 || in.TurnInput != 700 || in.Known.Output != 300 || in.Known.Failed != "" {
		t.Errorf("sizes %+v %+v", in, in.Known)
	}
	answers(k, l, "")
	if h.counts[measures.MemoryExtractions] != 1 || len(h.reasons) != 0 {
		t.Errorf("%v %v", h.counts, h.reasons)
	}
}

// The conversation that wrote memory files since the last look is not extracted
// from (003:2380-2382): Edit and Write on paths below the project's memory.
func TestMemoryExtractionSkipsWhatWasWritten(t *testing.T) {
	const on, off = "memory-extraction: {}", "memory-extraction: {skip_written: false}"
	for _, tc := range []struct {
		tool, path, layer string
		calls             int
	}{
		{"Write", memoryFile, on, 0},
		{"Edit", "/home/u/.claude/projects/-work-api/memory/MEMORY.md", on, 0},
		{"Edit", "~/.claude/projects/x/memory/deep/er.md", on, 0},
		{"Read", memoryFile, on, 1},
		{"Write", "/src/api/memory/notes.md", on, 1},
		{"Write", "/home/u/.claude/projects/-work-api/other.md", on, 1},
		{"Write", memoryFile, off, 1},
	} {
		k, h := besideTalk()
		k.round(tc.tool, tc.path, 50)
		k.add(prompt.KindText, 100)
		if got := len(loopEnds(k, layer(t, tc.layer))); got != tc.calls {
			t.Errorf("%s %s under %s: %d calls, want %d (%v)", tc.tool, tc.path, tc.layer, got, tc.calls, h.reasons)
		}
	}
}

// What was looked at once is not held against the next end of a loop; what a
// failed call had looked at is looked at again.
func TestMemoryExtractionLooksOnce(t *testing.T) {
	for failed, want := range map[string]int{"": 1, ask.FailAPI: 0} {
		k, h := besideTalk()
		l := layer(t, "memory-extraction: {}")
		k.round("Write", memoryFile, 50)
		if n := len(loopEnds(k, l)); n != 0 {
			t.Fatalf("%d calls behind a write", n)
		}
		k.round("Read", "/a", 50)
		if n := len(loopEnds(k, l)); n != 1 {
			t.Fatalf("%d calls in the turn behind it, want 1", n)
		}
		k.round("Write", "/b", 50)
		answers(k, l, failed)
		k.add(prompt.KindText, 10)
		if n := len(loopEnds(k, l)); n != 1 {
			t.Errorf("failed %q: %d calls in the third turn, want 1", failed, n)
		}
		if got := h.counts[measures.MemoryExtractions]; got != int64(want) {
			t.Errorf("failed %q: %d extractions ended well, want %d", failed, got, want)
		}
	}
}

// Sub-agents do not extract; a call under way is waited for, and
// `every` spaces them.
func TestMemoryExtractionExclusions(t *testing.T) {
	for text, want := range map[string]int{"memory-extraction: {}": 0, "memory-extraction: {subagents: true}": 1} {
		k, _ := besideTalk()
		k.Kind = traces.ThreadAgent
		if got := len(loopEnds(k, layer(t, text))); got != want {
			t.Errorf("%s on a sub-agent: %d calls, want %d", text, got, want)
		}
	}
	k, h := besideTalk()
	l := layer(t, "memory-extraction: {}")
	loopEnds(k, l)
	if n := len(loopEnds(k, l)); n != 0 || h.reasons["an extraction is under way"] != 1 {
		t.Errorf("%d calls beside one under way, %v", n, h.reasons)
	}
	k, _ = besideTalk()
	l = layer(t, "memory-extraction: {every: 3}")
	var made []int
	for range 6 {
		made = append(made, len(loopEnds(k, l)))
		answers(k, l, "")
	}
	if !slices.Equal(made, []int{0, 0, 1, 0, 0, 1}) {
		t.Errorf("every third turn: %v", made)
	}
}

// A refused call is counted and nothing else (003:2665).
func TestMemoryExtractionFailure(t *testing.T) {
	k, h := besideTalk()
	l := layer(t, "memory-extraction: {failure: 1}")
	if in := loopEnds(k, l); in[0].Known.Failed != ask.FailAPI {
		t.Errorf("%+v", in[0].Known)
	}
	answers(k, l, ask.FailAPI)
	if !maps.Equal(h.reasons, map[string]int{ask.FailAPI: 1}) || h.counts[measures.MemoryExtractions] != 0 || len(h.sections) != 0 {
		t.Errorf("%v %v %v", h.reasons, h.counts, h.sections)
	}
}

// MEMORY.md: lines of 150 bytes, 0.26 tokens a byte, 39 tokens each; a prompt
// holds 200 lines or 25 KB, whichever is hit first (003:2392-2397): 166 lines of
// 150 bytes, 200 of 100.
func TestMemoryIndex(t *testing.T) {
	long, short := defaultIndex, defaultIndex
	short.LineBytes = 100
	for _, tc := range []struct {
		p      indexParams
		lines  int32
		tokens int32
	}{
		{long, 0, 0}, {long, 1, 39}, {long, 166, 6474}, {long, 167, 6474}, {long, 1000, 6474},
		{short, 200, 5200}, {short, 201, 5200},
	} {
		if got := tc.p.tokens(tc.lines); got != tc.tokens {
			t.Errorf("%d lines of %d bytes: %d tokens, want %d", tc.lines, tc.p.LineBytes, got, tc.tokens)
		}
	}
}

// What was found to keep grows the index, in this session's section and in the section of the
// user's next session; draws of a half fall below saves 0.6.
func TestMemoryExtractionGrowsTheIndex(t *testing.T) {
	for text, want := range map[string][]int32{
		"memory-extraction: {saves: 0.6, growth: 2}": {78, 156},
		"memory-extraction: {saves: 0.5}":            nil,
		"memory-extraction: {saves: 1, growth: 0}":   nil,
	} {
		k, h := besideTalk()
		l := layer(t, text)
		for range 2 {
			loopEnds(k, l)
			answers(k, l, "")
		}
		if !slices.Equal(h.sections, want) {
			t.Errorf("%s: sections of %v tokens, want %v", text, h.sections, want)
		}
		next, own := besideTalk()
		next.User = k.User
		layer(t, text).(ThreadStart).ThreadStart(&next.Turn)
		if len(want) > 0 != slices.Equal(own.sections, []int32{156}) {
			t.Errorf("%s: the next session begins with %v", text, own.sections)
		}
	}
	// Sub-agents have a prompt without an index.
	agent, own := agentTalk()
	agent.User.Memory = memoryIndex{Lines: 9, Change: 9}
	layer(t, "memory-extraction: {}").(ThreadStart).ThreadStart(&agent.Turn)
	if len(own.sections) != 0 {
		t.Errorf("a sub-agent begins with %v", own.sections)
	}
	// Without a user the session remembers for itself.
	k, h := besideTalk()
	k.User = nil
	l := layer(t, "memory-extraction: {saves: 1}")
	loopEnds(k, l)
	answers(k, l, "")
	if !slices.Equal(h.sections, []int32{39}) {
		t.Errorf("without a user: %v", h.sections)
	}
}

func TestMatchPath(t *testing.T) {
	for _, tc := range []struct {
		pattern, path string
		want          bool
	}{
		{"/a/b", "/a/b", true}, {"/a/b", "/a/bc", false}, {"*", "", true}, {"*b", "aab", true}, {"*b", "aba", false},
		{"/a*", "/a/x/y", true}, {"a*a", "a", false}, {"a*a", "aa", true}, {"*/m/*", "/x/m/y", true}, {"*/m/*", "/x/mm/y", false},
	} {
		if got := matchPath(tc.pattern, tc.path); got != tc.want {
			t.Errorf("%s matches %s: %v", tc.pattern, tc.path, got)
		}
	}
}

// Wrong parameters of what works beside the conversation are told all at once.
func TestBesideProblems(t *testing.T) {
	for text, want := range map[string][]string{
		"memory-extraction: {turns: 0, every: 0, saves: 2, failure: -1, paths: [], growth: -1, index: {line_bytes: 0, tokens_per_byte: 2}}": {
			"turns 0 must be at least 1", "every 0 must be at least 1", "saves 2 must lie in 0…1",
			"failure -1 must lie", "paths must name a path", "growth -1 must not be negative",
			"index.line_bytes 0 must be at least 1", "index.tokens_per_byte 2 must lie"},
		"memory-extraction: {lifetime: 2h}": {`lifetime: unknown value "2h"`, "client or 5m or 1h"},
		"dream: {hours: -1, scan_minutes: .inf, stale_minutes: -2, race_seconds: 1e9, killed: 7, sessions: -3, phases: {orient: 0, gather: 0, consolidate: 0, prune: 0}}": {
			"hours -1 must lie", "scan_minutes .inf must lie", "stale_minutes -2", "race_seconds 1e+09", "killed 7",
			"sessions -3 must not be negative", "no responses, at least one is needed"},
		"speculation: {turns: 4, share: -0.1, suppressed: .nan}": {
			"turns 4 must lie in 1…3", "share -0.1 must lie", "suppressed .nan must lie"},
		"agents: {placeholder: 0, share: 1.1, boilerplate: -1}": {
			"placeholder 0 must be at least 1", "share 1.1 must lie", "boilerplate -1 must not be negative"},
		"agent-summary: {seconds: 0, model: ''}": {"seconds 0 must lie", "model is not given"},
		"agent-messages: {end: 0, every: 0}":     {"every 0 must be at least 1", "nothing is ever sent"},
	} {
		err := builtin(t).AddPreset([]byte("name: x\nlayers:\n  - "+text+"\n"), "p.yaml")
		for _, w := range want {
			if err == nil || !strings.Contains(err.Error(), w) {
				t.Errorf("%s: error %v does not say %q", text, err, w)
			}
		}
	}
}

// Declining costs nothing, a look at a conversation of any length neither.
func TestBesideDecliningAllocatesNothing(t *testing.T) {
	k, _ := dreamTalk()
	for range 100 {
		k.round("Write", memoryFile, 100)
	}
	k.Host = quiet{}
	k.User.Ends[0] = 0
	memory, dreams := layer(t, "memory-extraction: {}").(*memoryExtraction), layer(t, "dream: {}").(*dream)
	memory.running = true
	suggestion := layer(t, "prompt-suggestion: {share: 0}").(*shortFork)
	messages := layer(t, "agent-messages: {}").(AfterResponse)
	for name, decline := range map[string]func(){
		standard.MemoryExtraction: func() { memory.EndOfLoop(&k.Turn) },
		"its look":                func() { memory.seen = 0; memory.wrote(&k.Turn) },
		standard.Dream:            func() { dreams.EndOfLoop(&k.Turn) },
		standard.Suggestion:       func() { suggestion.EndOfLoop(&k.Turn) },
		messagesName:              func() { messages.AfterResponse(&k.Turn) },
	} {
		if n := testing.AllocsPerRun(100, decline); n != 0 {
			t.Errorf("%s: %g allocations", name, n)
		}
	}
}

// What fails never does so at a draw of 0, and what fails always does at the largest one.
// A file that the session does not name is no memory.
func TestSharesOfFailures(t *testing.T) {
	k, _ := besideTalk()
	k.Host = quiet{} // draws 0
	for failure, want := range map[string]string{"0": "", "0.01": ask.FailAPI} {
		if in := layer(t, "memory-extraction: {failure: "+failure+"}").(*memoryExtraction).call(&k.Turn); in.Known.Failed != want {
			t.Errorf("extractions that fail with %s: %q, want %q", failure, in.Known.Failed, want)
		}
		if in := layer(t, "dream: {failure: "+failure+"}").(*dream).call(&k.Turn); in.Known.Failed != want {
			t.Errorf("dreams that fail with %s: %q, want %q", failure, in.Known.Failed, want)
		}
	}
	l := layer(t, "memory-extraction: {}").(*memoryExtraction)
	for object, want := range map[int32]bool{k.path(memoryFile): true, int32(len(k.Objects)): false, -1: false} {
		if got := l.isMemory(&k.Turn, &prompt.Block{Op: op.Write, Object: object}); got != want {
			t.Errorf("object %d of %d: %v", object, len(k.Objects), got)
		}
	}
}

// A look takes what is new since the last one, the first entry of a context and a call that
// was looked at already apart.
func TestLookedAtOnce(t *testing.T) {
	k := newTalk()
	l := layer(t, "memory-extraction: {}").(*memoryExtraction)
	k.use("Write", memoryFile, 100)
	if !l.wrote(&k.Turn) || l.wrote(&k.Turn) {
		t.Error("a call is not seen once")
	}
	k.use("Write", "/src/main.go", 100)
	if r := k.add(prompt.KindToolResult, 10); l.wrote(&k.Turn) {
		t.Errorf("a write elsewhere is one of memory, by %v", r.Kind)
	}
	k.round("Write", memoryFile, 10)
	if !l.wrote(&k.Turn) || l.wrote(&k.Turn) {
		t.Error("a call with a result is not seen once")
	}
	*k.add(prompt.KindToolResult, 10) = prompt.Block{Kind: prompt.KindToolResult, Op: op.Write, Object: k.path(memoryFile)}
	if l.wrote(&k.Turn) {
		t.Error("a result alone is taken for a write")
	}
}
