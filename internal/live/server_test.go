package live

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/compactsim/compactsim/internal/live/wire"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/summarizer"
	"github.com/compactsim/compactsim/traces"
)

// compacting answers with a compaction and nothing else.
func compacting() *fakeServer {
	return &fakeServer{answer: func(int, *wire.Request) (*wire.Reply, error) {
		return &wire.Reply{
			StopReason: "compaction", Compaction: "It stands well.", Attempts: 1,
			Iterations: []wire.Iteration{{Type: "compaction", Usage: wire.Usage{Read: 900, Uncached: 100, Output: 6}}},
		}, nil
	}}
}

// sent returns what a call sends under options; edit, if any, changes the call.
func sent(t *testing.T, o Options, edit func(*script, *summarizer.Call)) *wire.Request {
	t.Helper()
	s := conversation("alpha")
	c := s.call()
	if edit != nil {
		edit(s, c)
	}
	server := compacting()
	o.Backend, o.Texts = server, library(s)
	compose(t, newLive(t, o), c)
	return server.last()
}

func byServer(_ *script, c *summarizer.Call) { c.Intent.Way = wayServer }

// sameJSON compares two values of JSON, whatever the order of members.
func sameJSON(t *testing.T, what string, got jsontext.Value, want string) {
	t.Helper()
	var g, w any
	if err := json.Unmarshal(got, &g); err != nil {
		t.Fatalf("%s: %v: %s", what, err, got)
	}
	if err := json.Unmarshal([]byte(want), &w); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(w, g); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

// The provider's compaction on demand: a field of its own, its beta, no
// instruction of ours at the end of the conversation, and no edits beside it, as
// the provider takes them apart only.
func TestComposeOnDemand(t *testing.T) {
	o := Options{Settings: Settings{Betas: []string{"mine"}}, Clear: Clearing{Tools: []ClearTools{{ToolUses: 5}}}}
	s := conversation("alpha")
	c := s.call()
	s.context.Truncate(s.context.Len()-1, prompt.CauseNone)
	c.Intent.Way, c.Intent.Instruction = wayServer, 0
	server := compacting()
	o.Backend, o.Texts = server, library(s)
	a := compose(t, newLive(t, o), c)
	r := server.last()
	if d := cmp.Diff(&wire.Compaction{}, r.Compaction); d != "" || len(r.ContextManagement) > 0 {
		t.Errorf("compaction %s, edits %s", d, r.ContextManagement)
	}
	if d := cmp.Diff([]string{"mine", "compact-2026-09-04"}, r.Betas); d != "" {
		t.Errorf("betas: %s", d)
	}
	last := r.Messages[len(r.Messages)-1]
	if text := last.Blocks[len(last.Blocks)-1].Text; text != "Good. Now the logout." {
		t.Errorf("the request ends with %q", text)
	}
	if a.Summary != 6 || a.Output != 6 || a.Measured.Usage != (prompt.Usage{Read: 900, Uncached: 100, Output: 6}) || a.Measured.Iterations != 1 {
		t.Errorf("answer %+v measured %+v", a, a.Measured)
	}
}

// Instructions of the client's own are sent where the strategy has some, and where
// the user wants something of summaries; else the provider's own hold.
func TestInstructionsOfCompaction(t *testing.T) {
	const own = "Summarise this conversation so that the work can go on"
	for _, tc := range []struct {
		what   string
		o      Options
		tokens int32
		want   []string
	}{
		{"neither", Options{}, 0, nil},
		{"the strategy", Options{}, 300, []string{own}},
		{"the user", Options{Settings: Settings{Instructions: "Briefly."}}, 0, []string{own, "Briefly."}},
	} {
		r := sent(t, tc.o, func(s *script, c *summarizer.Call) { c.Intent.Way, c.Intent.Instruction = wayServer, tc.tokens })
		got := r.Compaction.Instructions
		if (got == "") != (len(tc.want) == 0) {
			t.Errorf("%s: %q", tc.what, got)
		}
		for _, w := range tc.want {
			if !strings.Contains(got, w) {
				t.Errorf("%s: %q lacks %q", tc.what, got, w)
			}
		}
	}
}

// What a strategy declares of results stands in the requests of its other calls,
// with every parameter, and for some tools alone by excluding the others that the
// request has.
func TestComposeEdits(t *testing.T) {
	clearing := Clearing{Tools: []ClearTools{
		{InputTokens: 180_000, AtLeast: 140_000, Keep: 3, Only: []string{"Read", "Grep"}, Exclude: []string{"mcp: x"}},
		{ToolUses: 12, Keep: 0, Only: []string{"Edit"}, Inputs: true},
	}, SkipAgents: true}
	r := sent(t, Options{Clear: clearing}, nil)
	sameJSON(t, "context_management", r.ContextManagement, `{"edits":[
		{"type":"clear_tool_uses_20250919","trigger":{"type":"input_tokens","value":180000},"keep":{"type":"tool_uses","value":3},
			"clear_at_least":{"type":"input_tokens","value":140000},"exclude_tools":["mcp__x","Bash"]},
		{"type":"clear_tool_uses_20250919","trigger":{"type":"tool_uses","value":12},"keep":{"type":"tool_uses","value":0},
			"exclude_tools":["Read","Bash"],"clear_tool_inputs":true}]}`)
	if d := cmp.Diff([]string{"context-management-2025-06-27"}, r.Betas); d != "" {
		t.Errorf("betas: %s", d)
	}
	last := r.Messages[len(r.Messages)-1]
	if text := last.Blocks[len(last.Blocks)-1].Text; !strings.Contains(text, "Summarise this conversation.") {
		t.Errorf("the request ends with %q", text)
	}
	agent := func(s *script, _ *summarizer.Call) {
		s.session.Threads = []traces.Thread{{Kind: traces.ThreadAgent}}
	}
	if r := sent(t, Options{Clear: clearing}, agent); len(r.ContextManagement) > 0 || len(r.Betas) > 0 {
		t.Errorf("a sub-agent declares %s with %v", r.ContextManagement, r.Betas)
	}
	clearing.SkipAgents = false
	if r := sent(t, Options{Clear: clearing}, agent); len(r.ContextManagement) == 0 {
		t.Error("a sub-agent that is to declare edits does not")
	}
}

// Thinking is left out by the server in calls that think alone, ahead of all other
// edits: the provider refuses it in others.
func TestComposeClearThinking(t *testing.T) {
	o := Options{Clear: Clearing{Thinking: &ClearThinking{Keep: 2}, Tools: []ClearTools{{ToolUses: 5, Keep: 1}}}}
	const tools = `{"type":"clear_tool_uses_20250919","trigger":{"type":"tool_uses","value":5},"keep":{"type":"tool_uses","value":1}}`
	sameJSON(t, "without thinking", sent(t, o, nil).ContextManagement, `{"edits":[`+tools+`]}`)
	o.Thinking = "adaptive"
	sameJSON(t, "with thinking", sent(t, o, nil).ContextManagement,
		`{"edits":[{"type":"clear_thinking_20251015","keep":{"type":"thinking_turns","value":2}},`+tools+`]}`)
	o.Clear.Thinking.Keep = 0
	sameJSON(t, "all of it", sent(t, o, nil).ContextManagement, `{"edits":[{"type":"clear_thinking_20251015","keep":"all"},`+tools+`]}`)
}

// What the server has cleared, the client still has, and sends; what the client has
// cleared, it has no more. The summary stands for what the server leaves, and so does
// what the cache is taken to hold.
func TestClearedByTheServer(t *testing.T) {
	for _, whole := range []bool{false, true} {
		s := conversation("alpha")
		for _, i := range []int{6, 5} { // the result of the read and its call
			if whole {
				s.context.LeaveOut(i, 9)
			} else {
				s.context.SetForm(i, prompt.FormCleared, 9, prompt.CauseEdit)
			}
		}
		shadow, kept, server := &fakeShadow{}, &fakeFidelity{}, &fakeServer{}
		l := newLive(t, Options{
			Backend: server, Texts: library(s), Shadow: shadow, Fidelity: kept,
			Clear: Clearing{Tools: []ClearTools{{ToolUses: 1}}},
		})
		c := s.call()
		c.Markers[1].Position = 6
		compose(t, l, c)
		find := func(r *wire.Request, k wire.Kind) wire.Block {
			for _, m := range r.Messages {
				for _, b := range m.Blocks {
					if b.Kind == k {
						return b
					}
				}
			}
			t.Fatalf("no %s is sent", k)
			return wire.Block{}
		}
		r := server.last()
		result, use := find(r, wire.KindToolResult), find(r, wire.KindToolUse)
		if whole != strings.Contains(result.Text, "func Login") || whole != strings.Contains(string(use.Input), "a.go") || result.Cache != wire.Cache5m {
			t.Errorf("whole %v: sent %+v and %+v", whole, use, result)
		}
		if was := find(shadow.request, wire.KindToolResult); was.Text != clearedText || was.Cache != wire.Cache5m {
			t.Errorf("whole %v: the cache is taken to hold %+v", whole, was)
		}
		for _, p := range kept.span {
			if strings.Contains(p.Text+string(p.Input), "func Login") || strings.Contains(string(p.Input), "a.go") {
				t.Errorf("whole %v: the summary stands for %+v", whole, p)
			}
		}
	}
}
