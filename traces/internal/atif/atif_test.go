package atif

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/tools/tests/agenttest"
	"github.com/compactsim/compactsim/traces"
)

// trajectoryOf writes a document of steps.
func trajectoryOf(id, more string, steps ...string) string {
	return fmt.Sprintf(`{"schema_version":"ATIF-v1.7","session_id":%q,"agent":{"name":"a","version":"1","model_name":"openai/gpt-5.5"},`+"\n"+`"steps":[%s]%s}`,
		id, strings.Join(steps, ",\n"), more)
}

const (
	asked = `{"step_id":1,"timestamp":"2026-06-01T10:00:00Z","source":"user","message":"do it"}`
	first = `{"step_id":2,"timestamp":"2026-06-01T10:00:05Z","source":"agent","message":"yes","reasoning_content":"hm",` +
		`"tool_calls":[{"tool_call_id":"u1","function_name":"view","arguments":{"path":"/a"}}],"observation":{"results":[{"source_call_id":"u1","content":"found"}]},` +
		`"metrics":{"prompt_tokens":1000,"completion_tokens":50,"cached_tokens":0}}`
	second = `{"step_id":3,"timestamp":"2026-06-01T10:00:15Z","source":"agent","message":[{"type":"text","text":"done"}],` +
		`"metrics":{"prompt_tokens":1100,"completion_tokens":7,"cached_tokens":1000,"extra":{"cache_creation_input_tokens":90}}}`
)

func TestSteps(t *testing.T) {
	c := agenttest.Read(t, Describe(), map[string]string{"trajectory.json": trajectoryOf("s", "", asked, first, second)})
	if len(c.Sessions) != 1 || len(c.Sessions[0].Threads) != 1 || c.Sessions[0].NumCalls() != 2 || len(c.Problems) > 0 {
		t.Fatalf("%d sessions, problems %v", len(c.Sessions), c.Problems)
	}
	s := c.Sessions[0]
	a, b := &s.Threads[0].Rounds[0], &s.Threads[0].Rounds[1]
	if u := (prompt.Usage{Uncached: 10, Read: 1000, Write5m: 90, Output: 7}); b.Usage != u || b.Trigger != traces.TriggerToolResult || s.Models[b.Model] != "gpt-5.5" {
		t.Errorf("%+v of %s", b, s.Models[b.Model])
	}
	if got := agenttest.Kinds(s, a.Reply); !slices.Equal(got, []string{"thinking", "text", "tool_use"}) {
		t.Errorf("the reply is %v", got)
	}
	if got := agenttest.Kinds(s, b.Input); !slices.Equal(got, []string{"tool_result", "unseen"}) {
		t.Errorf("the input is %v", got)
	}
}

// A step that sums calls is that many; copied steps and those without a model are none.
func TestSums(t *testing.T) {
	several := strings.Replace(first, `"source"`, `"llm_call_count":3,"source"`, 1)
	none := strings.Replace(second, `"metrics"`, `"llm_call_count":0,"other"`, 1)
	copied := strings.Replace(first, `"source"`, `"is_copied_context":true,"source"`, 1)
	c := agenttest.Read(t, Describe(), map[string]string{"a.json": trajectoryOf("s", "", asked, copied, none, several)})
	if got, want := agenttest.Total(c), (agenttest.Sum{Calls: 3, Uncached: 1000, Answered: 50}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if s := c.Sessions[0]; s.Quality.Spread != 3 || len(s.Problems) != 0 {
		t.Errorf("%+v, problems %v", s.Quality, s.Problems)
	}
}

// A step of a session that a longer file has, too, counts once: a file may be a copy of a part, without times and under another name. Where
// the session is another one, it is no copy. The whole has 2,100 tokens of input and 57 of output in two calls.
func TestCopiedPart(t *testing.T) {
	timeless := regexp.MustCompile(`"timestamp":"[^"]*",`)
	for id, calls := range map[string]int{"s": 2, "other": 3} {
		c := agenttest.Read(t, Describe(), map[string]string{
			"a.json": timeless.ReplaceAllString(trajectoryOf(id, "", second), ""), "b.json": timeless.ReplaceAllString(trajectoryOf("s", "", asked, first, second), ""),
		})
		if got := agenttest.Total(c); got.Calls != calls || len(c.Problems) != 3-calls { // a file without calls of its own is told
			t.Errorf("%s: %+v, problems %v", id, got, c.Problems)
		}
	}
}

// Sub-agents are threads of the session, in its document or beside it.
func TestSubAgents(t *testing.T) {
	ref := func(id string) string {
		return strings.Replace(first, `"content":"found"`, `"content":"found","subagent_trajectory_ref":[{"session_id":"`+id+`","trajectory_id":"`+id+`"}]`, 1)
	}
	inside := `,"subagent_trajectories":[` + strings.Replace(trajectoryOf("s", "", asked, second), `"session_id"`, `"trajectory_id":"x","session_id"`, 1) + `]`
	for name, files := range map[string]map[string]string{
		"inside": {"a.json": trajectoryOf("s", inside, asked, ref("x"), second)},
		"beside": {"a.json": trajectoryOf("s", "", asked, ref("x"), second), "b.json": trajectoryOf("x", "", asked, second)},
		"parent": {"a.json": trajectoryOf("s", "", asked, first, second), "b.json": strings.Replace(trajectoryOf("x", "", asked, second), `"model_name"`, `"extra":{"parent_session_id":"s"},"model_name"`, 1)},
	} {
		c := agenttest.Read(t, Describe(), files)
		if len(c.Sessions) != 1 || len(c.Sessions[0].Threads) != 2 || c.Sessions[0].NumCalls() != 3 {
			t.Errorf("%s: %d sessions, problems %v", name, len(c.Sessions), c.Problems)
			continue
		}
		th := c.Sessions[0].Threads[1]
		if th.Kind != traces.ThreadAgent || th.ID != "x" || name != "parent" && th.ParentRound != 0 {
			t.Errorf("%s: thread %+v", name, th)
		}
	}
}

func final(in, cached, out int) string {
	return fmt.Sprintf(`,"final_metrics":{"total_prompt_tokens":%d,"total_cached_tokens":%d,"total_completion_tokens":%d}`, in, cached, out)
}

// The final metrics are held against the steps, and never billed.
func TestFinal(t *testing.T) {
	for name, tc := range map[string]struct {
		final           string
		lost, uncounted int
		told            string
	}{
		"equal":      {final(2100, 1000, 57), 0, 0, "[]"},
		"more":       {final(3100, 1000, 157), 1100, 0, "count 1,100 tokens more"},
		"less":       {final(2000, 1000, 57), 0, 1, "count 100 fewer tokens"},
		"one less":   {final(2107, 1000, 50), 7, 1, "count 7 fewer tokens"}, // as much together: counts of one step stand in another
		"both":       {final(12100, 1000, 56), 10_000, 1, "count 10,000 tokens more"},
		"other read": {final(2100, 0, 57), 0, 1, "but 0 reads and 57 of output"},
	} {
		c := agenttest.Read(t, Describe(), map[string]string{"a.json": trajectoryOf("s", tc.final, asked, first, second)})
		s := c.Sessions[0]
		if got := agenttest.Total(c); got.Uncached != 1010 || int(s.Quality.LostTokens) != tc.lost || s.Quality.Uncounted != tc.uncounted || !strings.Contains(fmt.Sprint(s.Problems), tc.told) {
			t.Errorf("%s: %+v, %+v, problems %v", name, got, s.Quality, s.Problems)
		}
	}
	// The steps of a continuation count for its predecessor, too.
	next := strings.Replace(second, `"timestamp":"2026-06-01T10:00:15Z"`, `"timestamp":"2026-06-01T11:00:15Z"`, 1)
	c := agenttest.Read(t, Describe(), map[string]string{
		"j/a.json": trajectoryOf("s", `,"continued_trajectory_ref":"b.json"`+final(1000, 0, 50), asked, first),
		"j/b.json": trajectoryOf("s-1", final(2100, 1000, 57), asked, next),
	})
	for _, s := range c.Sessions {
		if len(s.Problems) != 0 || s.Quality.LostTokens != 0 {
			t.Errorf("session %s: problems %v", s.ID, s.Problems)
		}
	}
}

// Harbor keeps in metrics.extra what the standard has no name for: lifetimes of writes, terms of service and the passes
// of a call. Of 100,000 tokens written 60,000 are for an hour; the server's summary of 150,000 is in no other count.
func TestExtra(t *testing.T) {
	step := `{"step_id":2,"timestamp":"2026-06-01T10:00:05Z","source":"agent","model_name":"claude-opus-5","message":"x","metrics":{"prompt_tokens":100010,` +
		`"completion_tokens":100,"cached_tokens":0,"extra":{"cache_creation_input_tokens":100000,"cache_creation":{"ephemeral_5m_input_tokens":40000,` +
		`"ephemeral_1h_input_tokens":60000},"speed":"fast","service_tier":"standard","inference_geo":"not_available","iterations":[` +
		`{"type":"compaction","input_tokens":150000,"output_tokens":3000,"cache_read_input_tokens":0,"cache_creation_input_tokens":0},` +
		`{"type":"message","input_tokens":10,"output_tokens":100,"cache_read_input_tokens":0,"cache_creation_input_tokens":100000}]}}}`
	c := agenttest.Read(t, Describe(), map[string]string{"a.json": trajectoryOf("s", "", asked, step)})
	if len(c.Sessions) != 1 {
		t.Fatal(c.Problems)
	}
	s := c.Sessions[0]
	if want := (prompt.Usage{Uncached: 10, Write5m: 40_000, Write1h: 60_000, Output: 100}); s.Usage() != want || s.Models[0] != "claude-opus-5[fast]" {
		t.Errorf("%+v of %s, want %+v of claude-opus-5[fast]", s.Usage(), s.Models, want)
	}
	if len(s.Summaries) != 1 || s.Summaries[0].Usage != (prompt.Usage{Uncached: 150_000, Output: 3000}) || len(s.Threads[0].Events) != 1 {
		t.Errorf("%+v, %d events", s.Summaries, len(s.Threads[0].Events))
	}
}

func TestBadInput(t *testing.T) {
	whole := trajectoryOf("s", "", asked, first, second)
	for text, want := range map[string]string{
		strings.Replace(whole, `"metrics":{"prompt_tokens":1000`, `"x":{"prompt_tokens":1000`, 1): "1 message of the model has no token counts",
		strings.Replace(whole, `"cached_tokens":1000`, `"cached_tokens":5000`, 1):                 "no usable token counts",
		whole[:len(whole)-20]: "text ends", `{"schema_version":"ATIF-v1.5","steps":[]}`: "it has no steps",
		strings.Replace(whole, "2026-06-01T10:00:15Z", "yesterday", 1): "cannot be read",
		strings.Replace(whole, "ATIF-v1.7", "ATIF-v2.0", 1):            "newer than ATIF-v1.8",
	} {
		c := agenttest.Read(t, Describe(), map[string]string{"a.json": text})
		told := fmt.Sprint(c.Problems)
		for _, s := range c.Sessions {
			told += fmt.Sprint(s.Problems)
		}
		if !strings.Contains(told, want) {
			t.Errorf("%.60s…: %s, want %q", text, told, want)
		}
	}
}

// What atif.py beside the recordings adds up.
func TestRecorded(t *testing.T) {
	const golden = "traces-4/atif/sachiny0106__Xelron/terminus_2/hello-world-"
	agenttest.Totals(t, Describe(), map[string]agenttest.Sum{
		"traces-4/atif/Arize-ai__openinference/sample_trajectory.json":             {Calls: 2, Uncached: 300, Read: 50, Answered: 75},
		"traces-4/atif/Arize-ai__phoenix/multi_tool_trajectory.json":               {Calls: 3, Uncached: 3588, Read: 5562, Answered: 635},
		"traces-4/atif/Arize-ai__phoenix/multimodal_trajectory.json":               {Calls: 2, Uncached: 2600, Answered: 125},
		"traces-4/atif/Arize-ai__phoenix/simple_trajectory.json":                   {Calls: 2, Uncached: 1120, Answered: 124},
		"traces-4/atif/sachiny0106__Xelron/openhands/hello-world.trajectory.json":  {Calls: 2, Uncached: 220, Answered: 80},
		golden + "context-summarization-linear-history.trajectory.cont-1.json":     {Calls: 4, Uncached: 4250, Answered: 530},
		golden + "context-summarization-linear-history.trajectory.json":            {Calls: 3, Uncached: 2252, Answered: 160},
		golden + "context-summarization.trajectory.json":                           {Calls: 7, Uncached: 6502, Answered: 690},
		golden + "context-summarization.trajectory.summarization-1-answers.json":   {Calls: 1, Uncached: 700, Answered: 120},
		golden + "context-summarization.trajectory.summarization-1-questions.json": {Calls: 1, Uncached: 100, Answered: 20},
		golden + "context-summarization.trajectory.summarization-1-summary.json":   {Calls: 1, Uncached: 500, Answered: 200},
		golden + "timeout.trajectory.json":                                         {Calls: 3, Uncached: 882, Answered: 115},
	})
}

func FuzzRead(f *testing.F) {
	inside := `,"subagent_trajectories":[` + trajectoryOf("s", "", asked, second) + `]`
	agenttest.Fuzz(f, Describe(), trajectoryOf("s", inside+final(2100, 1000, 57), asked, first, second), agenttest.Sample(Agent, "s", 1))
}

func BenchmarkRead(b *testing.B) {
	var steps []string
	for i := range 2000 {
		s := strings.Replace(first, `"found"`, fmt.Sprintf("%q", strings.Repeat("a line of output\n", 60)), 1)
		steps = append(steps, strings.Replace(s, `"prompt_tokens":1000`, fmt.Sprintf(`"prompt_tokens":%d`, 1000+300*i), 1))
	}
	agenttest.Bench(b, Describe(), trajectoryOf("s", "", steps...))
}
