package strategies

import (
	"testing"
	"time"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/op"
)

// What the client writes itself has four bytes a token and is of no file; what it cuts
// keeps its share of the bytes.
func TestOwnTextIsOfNoFile(t *testing.T) {
	if b := reminder("plan mode", 10); b.Bytes != 40 || b.Object >= 0 || b.Tokens != 10 {
		t.Errorf("a reminder: %+v", b)
	}
	m := memory{tokens: 100, bytes: 300}
	if b := m.block(50); b.Bytes != 150 || b.Object >= 0 || b.Tokens != 50 {
		t.Errorf("half of a memory: %+v", b)
	}
	k, h := hosted()
	k.reads(12)
	asked(t, layer(t, "cached-microcompact: {}"), k)
	if len(h.deleted) != 7 {
		t.Fatalf("%d deletions", len(h.deleted))
	}
	if b := k.Context.BlockAt(k.Context.Len() - 1); b.Bytes != 4*b.Tokens || b.Object >= 0 || b.Kind != prompt.KindAttachment {
		t.Errorf("the block of deletions: %+v", b)
	}
}

// Names and paths that a session does not list are none.
func TestUnlistedToolsAndObjects(t *testing.T) {
	turn := &Turn{Tools: []string{"", "Read"}, Objects: []string{"/a"}}
	for i, want := range []string{"", "Read", ""} {
		if got := turn.tool(&prompt.Block{Tool: uint16(i)}); got != want {
			t.Errorf("tool %d: %q, want %q", i, got, want)
		}
	}
	for i, want := range map[int32]string{-1: "", 0: "/a", 1: ""} {
		if got := turn.object(&prompt.Block{Object: i}); got != want {
			t.Errorf("object %d: %q, want %q", i, got, want)
		}
	}
}

// Skills and files come back up to their budget, and with it.
func TestBudgetsAreReached(t *testing.T) {
	var arena prompt.Arena
	skills := skillBudget{Each: 5000, Total: 25_000}
	if refs := skills.restore(nil, &arena, make5000(6)); len(refs) != 5 {
		t.Errorf("%d skills of 5,000 in 25,000, want 5", len(refs))
	}
	k := newTalk()
	from := k.Context.Len()
	for _, path := range []string{"/a", "/b", "/c"} {
		k.round("Read", path, 5000)
	}
	files := fileBudget{Count: 5, Each: 5000, Total: 10_000, OverBudget: overBudgetStop}
	k.disk.look(&k.Turn)
	refs := files.restore(&k.Turn, from, k.Context.Len(), nil, &k.disk)
	if len(refs) != 2 {
		t.Fatalf("%d files of 5,000 in 10,000, want 2", len(refs))
	}
	if b := k.Context.Block(refs[0]); b.Tool != 1 || b.Op != op.Read {
		t.Errorf("what was read comes back as %+v, want a read", b)
	}
	files.Total = 50_000
	if refs := files.restore(&k.Turn, from+1, k.Context.Len(), nil, &k.disk); len(refs) != 3 {
		t.Errorf("%d files, the oldest read first of all, want 3", len(refs))
	}
	k.round("Write", "/d", 10)
	if refs := files.restore(&k.Turn, k.Context.Len()-1, k.Context.Len(), nil, &k.disk); len(refs) == 1 && k.Context.Block(refs[0]).Tool != 0 {
		t.Errorf("what was written comes back as %+v, want no tool of its own", k.Context.Block(refs[0]))
	}
}

// make5000 returns skills of 5,000 tokens.
func make5000(n int) []memory {
	list := make([]memory, n)
	for i := range list {
		list[i] = memory{tokens: 5000, bytes: 20_000}
	}
	return list
}

// The saving of a call with its input is what both leave: 100 less 12, and 50 less 20.
func TestSavingOfACall(t *testing.T) {
	e := toolEdit{placeholder: 12, emptyUse: 20}
	r := clearable{id: 9, tokens: 100, input: 50}
	if got := e.saving(&r); got != 88 {
		t.Errorf("%d tokens, want 88", got)
	}
	if e.ClearInputs = true; e.saving(&r) != 88+30 {
		t.Errorf("%d tokens with the input, want 118", e.saving(&r))
	}
	if r.input = 15; e.saving(&r) != 88 {
		t.Errorf("%d tokens with an input below what is left of one, want 88", e.saving(&r))
	}
	e.KeepTokens, e.calls.list = 1000, []clearable{r, r}
	if old := e.older(); len(old) != 0 {
		t.Errorf("%d of two calls are older than the newest 1,000 tokens", len(old))
	}
}

// What was cleared once is off the list: of five results and a limit of two kept, three
// go; with two more, two.
func TestClearedOnce(t *testing.T) {
	k, _ := hosted()
	l := layer(t, "api-context: {clear_results: {input_tokens: 0, tool_uses: 5, clear_at_least: 0, keep: 2}, clear_uses: {enabled: false}}")
	for _, want := range []int{3, 2} {
		for len(k.results()) < 5 || want == 2 && len(k.results()) < 7 {
			k.round("Read", "", 500)
		}
		if out := asked(t, l, k); out.Verdict == Done && k.Boundary().Cleared != want || out.Verdict != Done && want == 3 {
			t.Errorf("%+v: %d cleared, want %d", out, k.Boundary().Cleared, want)
		}
	}
}

// Ahead of the first response no pause has passed, and without a number of its own a long
// pause changes nothing of what is kept.
func TestTurnsKeptBehindAPause(t *testing.T) {
	pause := &Turn{Idle: int64(2 * time.Hour), Usage: prompt.Usage{Read: 1000}}
	for text, want := range map[string]int{
		"api-context: {clear_thinking: {keep: 3}}":                                      1,
		"api-context: {clear_thinking: {keep: 3, idle_keep: 0}}":                        3,
		"api-context: {clear_thinking: {keep: 1, idle_keep: 0, idle_after_minutes: 0}}": 1,
	} {
		if got := layer(t, text).(*apiContext).keepTurns(pause); got != want {
			t.Errorf("%s: %d turns, want %d", text, got, want)
		}
	}
	first := &Turn{Idle: int64(2 * time.Hour)}
	if got := layer(t, "api-context: {clear_thinking: {keep: 3}}").(*apiContext).keepTurns(first); got != 3 {
		t.Errorf("ahead of the first response: %d turns, want 3", got)
	}
}

// Both edits of a request count together: three of five reads, and two of three edits.
func TestEditsOfARequestAddUp(t *testing.T) {
	k, _ := hosted()
	for range 5 {
		k.round("Read", "", 500)
	}
	for range 3 {
		k.round("Edit", "/a", 500)
	}
	l := layer(t, "api-context: {clear_results: {input_tokens: 0, tool_uses: 5, clear_at_least: 0, keep: 2}, "+
		"clear_uses: {input_tokens: 0, tool_uses: 3, clear_at_least: 0, keep: 1}}")
	if out := asked(t, l, k); out.Verdict != Done || k.Boundary().Cleared != 3+2 {
		t.Errorf("%+v: %d cleared, want 5", out, k.Boundary().Cleared)
	}
}
