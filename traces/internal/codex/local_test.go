package codex_test

import (
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces/facts"
)

// A client whose provider does not compact logs the call that writes a summary like one of the
// conversation, and the summary behind a sentence of its own. Versions without records of usage do not
// say which call it was: it is the one that wrote the text.
func TestLocalCompaction(t *testing.T) {
	for name, tc := range map[string]struct {
		message, meta, variant string
		calls, summaries       int
	}{
		"local":           {"Another model wrote: SUMMARY", "", facts.VariantLocal, 2, 1},
		"another's text":  {"Another model wrote: else", "", facts.VariantLocal, 3, 0},
		"remote":          {"", `,"model_provider":"openai"`, "", 3, 0},
		"remote, by name": {"", `,"model_provider":"mine"`, "", 3, 0},
	} {
		r := new(rollout).line("session_meta", `{"id":"s1","cwd":"/repo","cli_version":"0.142.0"`+tc.meta+`}`).line("turn_context", `{"model":"gpt-5.5"}`)
		r.user("go").tool("fc_1", "c1", "ls").count(8000, 0, 30, 0).result("c1", "x")
		r.assistant("msg_s", "SUMMARY").count(8100, 0, 700, 0)
		r.line("compacted", `{"message":"`+tc.message+`","replacement_history":[]}`)
		r.user("on").assistant("msg_2", "done").count(6000, 0, 10, 0)
		s := readOne(t, r)
		if s.Variant != tc.variant || s.NumCalls() != tc.calls || len(s.Summaries) != tc.summaries {
			t.Errorf("%s: variant %q, %d calls, %d summaries; want %q, %d, %d", name, s.Variant, s.NumCalls(), len(s.Summaries), tc.variant, tc.calls, tc.summaries)
		}
		if tc.summaries > 0 && s.Summaries[0].Usage != (prompt.Usage{Uncached: 8100, Output: 700}) {
			t.Errorf("%s: %+v", name, s.Summaries[0])
		}
		if e := s.Threads[0].Events; len(e) != 1 || int(e[0].Round) != tc.calls-1 {
			t.Errorf("%s: events %+v", name, e)
		}
	}
}

// Without a compaction the provider's name in the settings says who would make one.
func TestVariantByProvider(t *testing.T) {
	for provider, want := range map[string]string{"": "", `,"model_provider":"openai"`: "", `,"model_provider":"lab"`: facts.VariantLocal} {
		r := new(rollout).line("session_meta", `{"id":"s1","cli_version":"0.171.0"`+provider+`}`).line("turn_context", `{"model":"gpt-5.5"}`)
		r.user("go").assistant("m", "done").count(8000, 0, 30, 0)
		if s := readOne(t, r); s.Variant != want {
			t.Errorf("%s: variant %q, want %q", provider, s.Variant, want)
		}
	}
}
