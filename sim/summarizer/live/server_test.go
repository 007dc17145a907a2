package live

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/summarizer/wire"
)

// The provider's own compaction: no instruction of ours, its threshold below the
// call, a stop behind the block, and what the user declares ahead of it.
func TestComposeServer(t *testing.T) {
	s := conversation("alpha")
	c := s.call()
	c.Intent.Way = wayServer
	server := &fakeServer{answer: func(int, *wire.Request) (*wire.Reply, error) {
		return &wire.Reply{
			StopReason: "compaction", Compaction: "It stands well.", Attempts: 1,
			Iterations: []wire.Iteration{{Type: "compaction", Usage: wire.Usage{Read: 900, Uncached: 100, Output: 6}}},
		}, nil
	}}
	clear := `{"type":"clear_tool_uses_20250919"}`
	l := newLive(t, Options{
		Backend: server, Texts: library(s), Betas: []string{"context-management-2025-06-27"},
		Server: Server{Instructions: `Keep "names".`, Edits: []jsontext.Value{jsontext.Value(clear)}},
	})
	a := compose(t, l, c)
	r := server.last()
	var got, want any
	object := `{"edits":[` + clear + `,{"type":"compact_20260112","trigger":{"type":"input_tokens","value":50000},
		"pause_after_compaction":true,"instructions":"Keep \"names\"."}]}`
	if err := json.Unmarshal(r.ContextManagement, &got); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(object), &want); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("context_management (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]string{"context-management-2025-06-27", "compact-2026-01-12"}, r.Betas); d != "" {
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

func TestServerValidate(t *testing.T) {
	for want, s := range map[string]Server{
		"":                   {},
		"at least 50000":     {Trigger: 1000},
		"edit 2 is no JSON ": {Edits: []jsontext.Value{jsontext.Value(`{}`), jsontext.Value(`[]`)}},
	} {
		err := s.validate()
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", s, err, want)
		}
	}
}
