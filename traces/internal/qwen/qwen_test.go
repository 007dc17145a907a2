package qwen

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/tools/tests/agenttest"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/signs"
)

// script writes a session, one second a line.
type script struct{ lines []string }

func (s *script) add(typ, more string) *script {
	n := len(s.lines)
	s.lines = append(s.lines, fmt.Sprintf(`{"uuid":"u%d","parentUuid":"u%d","sessionId":"q1","timestamp":"2026-06-01T10:00:%02d.000Z","type":%q,"cwd":"/repo","version":"0.24.4",%s}`, n, n-1, n, typ, more))
	return s
}

func (s *script) user(text, by string) *script {
	return s.add("user", fmt.Sprintf(`"provenance":%q,"message":{"role":"user","parts":[{"text":%q}]}`, by, text))
}

// told writes telemetry of a response.
func (s *script) told(input, cached, output int) *script {
	return s.add("system", fmt.Sprintf(`"subtype":"ui_telemetry","systemPayload":{"uiEvent":{"event.name":"qwen-code.api_response","model":"qwen3-coder-plus","input_token_count":%d,"cached_content_token_count":%d,"output_token_count":%d}}`,
		input, cached, output))
}

// answer writes telemetry of a response and its message.
func (s *script) answer(parts string, input, cached, output int) *script {
	return s.told(input, cached, output).message(parts, input, cached, output)
}

// message writes a message of the model.
func (s *script) message(parts string, input, cached, output int) *script {
	return s.add("assistant", fmt.Sprintf(`"model":"qwen3-coder-plus","message":{"role":"model","parts":[%s]},"contextWindowSize":200000,`+
		`"usageMetadata":{"promptTokenCount":%d,"cachedContentTokenCount":%d,"candidatesTokenCount":%d}`, parts, input, cached, output))
}

func (s *script) text() string { return strings.Join(s.lines, "\n") + "\n" }

// session has a call with a tool, a compaction of two calls, a call, and one beside the conversation.
func session() *script {
	s := new(script).user("context", "system").user("fix it", "real_user")
	s.answer(`{"text":"hm","thought":true},{"text":"I look"},{"functionCall":{"id":"t1","name":"read_file","args":{"path":"/a.go"}}}`, 9000, 0, 40)
	s.add("tool_result", `"message":{"role":"user","parts":[{"functionResponse":{"id":"t1","response":{"output":"package a"}}}]}`)
	s.told(9100, 9000, 20).told(3000, 0, 200)
	s.add("system", `"subtype":"chat_compression","systemPayload":{"info":{"originalTokenCount":9100,"triggerReason":"token_limit"},"compressedHistory":[{"role":"user","parts":[{"text":"SUMMARY"}]}]}`)
	return s.answer(`{"text":"done"}`, 9900, 8000, 30).told(700, 0, 5)
}

// Messages of the model are calls, once though telemetry has them too; responses ahead of a compaction are its calls, and others
// are calls beside the conversation.
func TestSession(t *testing.T) {
	c := agenttest.Read(t, Describe(), map[string]string{"q1.jsonl": session().text()})
	if len(c.Sessions) != 1 || len(c.Problems) > 0 {
		t.Fatalf("%d sessions, problems %v", len(c.Sessions), c.Problems)
	}
	s := c.Sessions[0]
	th := &s.Threads[0]
	if s.ID != "q1" || s.Project != "/repo" || s.Window != 200_000 || len(th.Rounds) != 2 || s.NumCalls() != 3 || s.Threads[1].Kind != traces.ThreadAgent {
		t.Fatalf("session %s in %s with %d threads, %d calls", s.ID, s.Project, len(s.Threads), s.NumCalls())
	}
	if u := s.Usage(); u != (prompt.Usage{Uncached: 9000 + 1900 + 700, Read: 8000, Output: 75}) {
		t.Errorf("usage %+v", u)
	}
	if len(s.Summaries) != 1 || s.Summaries[0].Calls != 2 || s.Summaries[0].Usage != (prompt.Usage{Uncached: 3100, Read: 9000, Output: 220}) {
		t.Errorf("summaries %+v", s.Summaries)
	}
	for what, v := range map[string][2][]string{
		"input": {agenttest.Kinds(s, th.Rounds[0].Input), {"attachment", "prompt"}},
		"reply": {agenttest.Kinds(s, th.Rounds[0].Reply), {"thinking", "text", "tool_use"}},
	} {
		if !slices.Equal(v[0], v[1]) {
			t.Errorf("%s: %v, want %v", what, v[0], v[1])
		}
	}
}

// What was thought counts once, whether the candidates have it or not.
func TestThoughts(t *testing.T) {
	for text, want := range map[string]int64{
		`"candidatesTokenCount":60,"thoughtsTokenCount":20,"totalTokenCount":1060`: 60,
		`"candidatesTokenCount":60,"thoughtsTokenCount":20,"totalTokenCount":1080`: 80,
		`"candidatesTokenCount":10,"thoughtsTokenCount":20`:                        30,
	} {
		s := new(script).user("go", "real_user").add("assistant", `"model":"m","message":{"role":"model","parts":[{"text":"a"}]},"usageMetadata":{"promptTokenCount":1000,`+text+`}`)
		c := agenttest.Read(t, Describe(), map[string]string{"q1.jsonl": s.text()})
		if got := c.Sessions[0].Usage().Output; got != want {
			t.Errorf("%s: %d tokens of output, want %d", text, got, want)
		}
	}
}

func FuzzRead(f *testing.F) { agenttest.Fuzz(f, Describe(), session().text()) }

// A call counts once, whether its telemetry comes before or behind its message, and the message has its counts or not; counts that the two
// have differently are told, and so is a line that is here a second time, or has a parent that is not above the line. The first line of a
// file may go on from another file.
func TestTelemetryAndMessages(t *testing.T) {
	begin := func() *script { return new(script).user("go", "real_user") }
	two := func() *script {
		return begin().answer(`{"text":"a"}`, 9000, 0, 40).answer(`{"text":"b"}`, 9100, 9000, 30)
	}
	for name, tt := range map[string]struct {
		do                    func(s *script)
		calls, uncounted, bad int
	}{
		"whole": {func(*script) {}, 2, 0, 0},
		"behind": {func(s *script) {
			*s = *begin().message(`{"text":"a"}`, 9000, 0, 40).told(9000, 0, 40).answer(`{"text":"b"}`, 9100, 9000, 30)
		}, 2, 0, 0},
		"telemetry only": {func(s *script) { s.lines[2] = strings.Replace(s.lines[2], "usageMetadata", "other", 1) }, 2, 0, 0},
		"differs":        {func(s *script) { s.lines[2] = strings.Replace(s.lines[2], "9000", "7000", 1) }, 3, 1, 0},
		"twice":          {func(s *script) { s.lines = append(s.lines, s.lines[4]) }, 2, 0, 1},
		"no telemetry": {func(s *script) {
			*s = *begin().message(`{"text":"a"}`, 9000, 0, 40).answer(`{"text":"b"}`, 9100, 9000, 30)
		}, 2, 0, 0},
		"a line is missing": {func(s *script) { s.lines = slices.Delete(s.lines, 1, 2) }, 2, 0, 1},
		"divided":           {func(s *script) { s.lines = s.lines[2:] }, 2, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := two()
			tt.do(s)
			c := agenttest.Read(t, Describe(), map[string]string{"q1.jsonl": s.text()})
			if got := c.Sessions[0]; got.NumCalls() != tt.calls || got.Quality.Uncounted != tt.uncounted || c.BadLines != tt.bad {
				t.Errorf("%d calls, %d uncounted, %d bad lines: %v", got.NumCalls(), got.Quality.Uncounted, c.BadLines, got.Problems)
			}
		})
	}
}

// said writes a prompt and its answer, with the prompt's number and an interface.
func (s *script) said(number, model, of string, input, cached int) {
	s.user("go on", "real_user")
	s.add("system", fmt.Sprintf(`"subtype":"ui_telemetry","systemPayload":{"uiEvent":{"event.name":"qwen-code.api_response","model":%q,"input_token_count":%d,`+
		`"cached_content_token_count":%d,"output_token_count":30,"prompt_id":"q1########%s","auth_type":%q}}`, model, input, cached, number, of))
	s.add("assistant", fmt.Sprintf(`"model":%q,"message":{"role":"model","parts":[{"text":"a"}]},`+
		`"usageMetadata":{"promptTokenCount":%d,"cachedContentTokenCount":%d,"candidatesTokenCount":30}`, model, input, cached))
}

// The numbers of prompts say where the client was started anew: runs of 0.24.4 for one prompt each count 0, 2, 3, and its source says that a
// terminal counts 0, 1, 2 and a program that drives it 1, 2, 3.
func TestAnotherProcess(t *testing.T) {
	for numbers, want := range map[string][]bool{"0 2 3": {false, true, true}, "0 1 2": {false, false, false}, "1 2 3": {false, false, false},
		"0 1 3 4": {false, false, true, true}, "x y": {false, false}} {
		s := new(script)
		for i, n := range strings.Fields(numbers) {
			s.said(n, "qwen3-coder-plus", "openai", 9000+100*i, 0)
		}
		c := agenttest.Read(t, Describe(), map[string]string{"q1.jsonl": s.text()})
		var got []bool
		for _, r := range c.Sessions[0].Threads[0].Rounds {
			got = append(got, r.Signs.Has(signs.Process))
		}
		if !slices.Equal(got, want) {
			t.Errorf("prompts %s: started anew %v, want %v", numbers, got, want)
		}
	}
}

// Counts of Anthropic's interface lack what was written, which is all that was not read: a server saw both requests of a run
// write 30,628 and 1,645 tokens and leave none (0.24.4). Counts of other interfaces leave it plain.
func TestWhatWasWritten(t *testing.T) {
	for of, want := range map[string]prompt.Usage{
		"anthropic": {Read: 30_628, Write5m: 30_628 + 1645, Output: 60},
		"openai":    {Read: 30_628, Uncached: 30_628 + 1645, Output: 60},
	} {
		s := new(script)
		s.said("0", "claude-sonnet-4-6", of, 30_628, 0)
		s.said("1", "claude-sonnet-4-6", of, 32_273, 30_628)
		c := agenttest.Read(t, Describe(), map[string]string{"q1.jsonl": s.text()})
		if got := c.Sessions[0].Usage(); got != want {
			t.Errorf("%s: %+v, want %+v", of, got, want)
		}
	}
}

// What the first call of another process reads is tools and system prompt: a client whose requests differ behind these (0.24.4) reads
// 7,000 of 9,000 tokens, and what else the first request had is ahead of the first prompt.
func TestHeadOfAnotherProcess(t *testing.T) {
	for read, want := range map[int]int{7000: 7000, 9000: 9000} {
		s := new(script)
		s.said("0", "claude-sonnet-4-6", "anthropic", 9000, 0)
		s.said("2", "claude-sonnet-4-6", "anthropic", 9500, read)
		c := agenttest.Read(t, Describe(), map[string]string{"q1.jsonl": s.text()})
		session, head := c.Sessions[0], 0
		for _, b := range session.Blocks {
			if b.Kind.Level() != prompt.LevelMessages {
				head += int(b.Tokens)
			}
		}
		if abs(head-want) > 5 { // of 9,000 some are the prompt's
			t.Errorf("read %d: the head has %d tokens, want %d", read, head, want)
		}
	}
}

func abs(n int) int { return max(n, -n) }

// The rest of a log that was divided may repeat the last lines of the part before: a response with which that part ends, and whose message
// the rest has, is one call.
func TestDividedWithOverlap(t *testing.T) {
	s := new(script).user("go", "real_user").answer(`{"text":"a"}`, 9000, 0, 40).answer(`{"text":"b"}`, 9100, 9000, 30)
	c := agenttest.Read(t, Describe(), map[string]string{
		"q1.jsonl.1": strings.Join(s.lines[:4], "\n") + "\n", "q1.jsonl": strings.Join(s.lines[2:], "\n") + "\n",
	})
	if got := agenttest.Total(c); got.Calls != 2 || got.Answered != 70 {
		t.Errorf("%+v, want 2 calls with 70 tokens", got)
	}
}
