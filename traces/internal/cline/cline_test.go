package cline

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/op"
	"github.com/compactsim/compactsim/tools/tests/agenttest"
	"github.com/compactsim/compactsim/traces"
)

// script writes the messages of a session, one second each.
type script struct{ messages []string }

func (s *script) add(role, content, more string) *script {
	n := len(s.messages) + 1
	s.messages = append(s.messages, fmt.Sprintf(`{"id":"m%d","role":%q,"content":[%s],"ts":%d%s}`, n, role, content, 1_780_304_400_000+1000*n, more))
	return s
}

func (s *script) user(text string) *script { return s.add("user", words(text), "") }

func (s *script) answer(content, metrics string) *script {
	return s.add("assistant", content, `,"modelInfo":{"id":"anthropic/claude-opus-4-6","provider":"cline"}`+metrics)
}

func (s *script) result(call, text string) *script {
	return s.add("user", fmt.Sprintf(`{"type":"tool_result","tool_use_id":%q,"content":%q,"is_error":false}`, call, text), "")
}

func (s *script) text() string {
	return "{\n\"version\":1,\n\"updated_at\":\"2026-06-01T10:00:00.000Z\",\n\"agent\":\"lead\",\n\"sessionId\":\"c1\",\n\"messages\":[\n" + strings.Join(s.messages, ",\n") + "\n],\n\"system_prompt\":\"be good\"}\n"
}

func words(text string) string { return fmt.Sprintf(`{"type":"text","text":%q}`, text) }

func toolCall(id string) string {
	return fmt.Sprintf(`{"type":"tool_use","id":%q,"name":"read_file","input":{"path":"/a.go"}}`, id)
}

func counts(input, read, write, output int) string {
	return fmt.Sprintf(`,"metrics":{"inputTokens":%d,"outputTokens":%d,"cacheReadTokens":%d,"cacheWriteTokens":%d,"cost":0.25}`, input, output, read, write)
}

func read(t *testing.T, text string) *traces.Session {
	t.Helper()
	c := agenttest.Read(t, Describe(), map[string]string{"c1.messages.json": text})
	if len(c.Sessions) != 1 {
		t.Fatalf("%d sessions, problems %v", len(c.Sessions), c.Problems)
	}
	return c.Sessions[0]
}

func TestTurn(t *testing.T) {
	s := new(script).add("user", words("fix it")+`,{"type":"file","path":"/b.go","content":"package b"}`, "")
	s.answer(`{"type":"thinking","thinking":"hm"},`+toolCall("t1"), counts(8000, 0, 0, 30)).result("t1", "package a")
	// The first includes what was read, the second cannot.
	got := read(t, s.answer(words("done"), counts(8200, 8000, 150, 20)).user("more").answer(words("ok"), counts(9, 8200, 60, 5)).text())
	th := &got.Threads[0]
	if got.ID != "c1" || got.Agent != "cline" || len(th.Rounds) != 3 || got.Models[0] != "claude-opus-4-6" || len(got.Problems) != 0 {
		t.Fatalf("session %s of %s, %d calls of %v, problems %v", got.ID, got.Agent, len(th.Rounds), got.Models, got.Problems)
	}
	for i, want := range []prompt.Usage{{Uncached: 8000, Output: 30}, {Uncached: 50, Read: 8000, Write5m: 150, Output: 20}, {Uncached: 9, Read: 8200, Write5m: 60, Output: 5}} {
		if th.Rounds[i].Usage != want {
			t.Errorf("usage %+v, want %+v", th.Rounds[i].Usage, want)
		}
	}
	a, b := &th.Rounds[0], &th.Rounds[1]
	for what, v := range map[string][2][]string{
		"input": {agenttest.Kinds(got, a.Input), {"prompt", "attachment"}}, "reply": {agenttest.Kinds(got, a.Reply), {"thinking", "tool_use"}},
	} {
		if !slices.Equal(v[0], v[1]) {
			t.Errorf("%s: %v, want %v", what, v[0], v[1])
		}
	}
	result := got.Blocks[b.Input.From]
	if result.Op != op.Read || got.Objects[result.Object] != "/a.go" || result.Line != 9 || b.Trigger != traces.TriggerToolResult {
		t.Errorf("result %+v", result)
	}
	if got.LoggedUSD != 0.75 || a.Stream != int64(time.Second) {
		t.Errorf("cost %v, %v", got.LoggedUSD, time.Duration(a.Stream))
	}
}

// The last message of a turn may have the counts of all its calls, which share them.
func TestTurnTotals(t *testing.T) {
	s := new(script).user("fix it").answer(toolCall("t1"), "").result("t1", "package a").answer(toolCall("t2"), "").result("t2", "package a")
	got := read(t, s.answer(words("done"), counts(24_300, 16_000, 8200, 61)).user("more").answer(words("ok"), counts(8300, 8200, 60, 5)).text())
	var sum prompt.Usage
	rounds := got.Threads[0].Rounds
	if len(rounds) != 4 || got.Quality.Spread != 3 || rounds[3].Usage != (prompt.Usage{Uncached: 40, Read: 8200, Write5m: 60, Output: 5}) || len(got.Problems) != 0 {
		t.Fatalf("%d calls, problems %v", len(rounds), got.Problems)
	}
	for _, r := range rounds[:3] {
		sum.Uncached, sum.Read, sum.Write5m, sum.Output = sum.Uncached+r.Usage.Uncached, sum.Read+r.Usage.Read, sum.Write5m+r.Usage.Write5m, sum.Output+r.Usage.Output
		if r.Usage.Input() < 8000 || r.Counted() {
			t.Errorf("call %s: %+v", r.ID, r.Usage)
		}
	}
	if want := (prompt.Usage{Uncached: 100, Read: 16_000, Write5m: 8200, Output: 61}); sum != want {
		t.Errorf("sum %+v, want %+v", sum, want)
	}
}

// A compaction leaves its summary ahead of what stayed, and messages without the counts they had.
func TestCompaction(t *testing.T) {
	s := new(script)
	s.messages = append(s.messages, `{"id":"x","role":"user","content":[{"type":"text","text":"Context summary: what was done"}],"metadata":{"kind":"c"}}`)
	s.user("kept").answer(words("before"), "").user("next")
	got := read(t, s.answer(words("ok"), counts(9000, 8000, 0, 5)).text())
	th := &got.Threads[0]
	if len(th.Rounds) != 1 || len(got.Problems) != 1 || got.Problems[0].String() != "c1.messages.json:9: 1 message of the model has no token counts; each is taken for part of the next call" {
		t.Fatalf("%d calls, problems %v", len(th.Rounds), got.Problems)
	}
	if kinds := agenttest.Kinds(got, th.Prefix); !slices.Contains(kinds, "summary") || !th.MidContext {
		t.Errorf("prefix %v", kinds)
	}
	if kinds := agenttest.Kinds(got, th.Rounds[0].Input); !slices.Equal(kinds, []string{"prompt", "text", "prompt"}) {
		t.Errorf("input %v", kinds)
	}
}

// Since 3.0.64 the session keeps all its messages, and another file says what is sent in place of the first (3.0.65, 2026-11-27).
func TestCompactionBeside(t *testing.T) {
	s := new(script).user("fix it").answer(toolCall("t1"), counts(5000, 0, 0, 9)).result("t1", "package a")
	s.answer(toolCall("t2"), counts(120_000, 5000, 0, 9)).result("t2", "package a").answer(words("ok"), counts(6000, 5000, 0, 5))
	const summary = `{"role":"user","content":[{"type":"text","text":"Context summary: what was done"}],"metadata":{"kind":"compaction_summary","generatedAt":1780304405500}}`
	beside := func(key string, count int) string {
		return fmt.Sprintf("{\n\"version\":1,\n\"updated_at\":\"2026-06-01T10:00:05.500Z\",\n\"conversation_id\":\"c1\",\n\"source_message_count\":%d,\n\"source_last_message_key\":%q,\n\"messages\":[\n",
			count, key) + summary + ",\n" + strings.Join(s.messages[3:5], ",\n") + "\n]}\n"
	}
	for _, text := range []string{beside("id:m5", 5), beside("role:user", 5)} {
		c := agenttest.Read(t, Describe(), map[string]string{"c1.messages.json": s.text(), "c1.compaction.json": text})
		if len(c.Sessions) != 1 || c.Sessions[0].NumCalls() != 3 || len(c.Sessions[0].Threads[0].Events) != 1 || len(c.Sessions[0].Problems)+len(c.Problems) != 0 {
			t.Fatalf("%d sessions, problems %v", len(c.Sessions), c.Problems)
		}
		got := c.Sessions[0]
		ev := got.Threads[0].Events[0]
		if ev.Kind != traces.EventCompact || ev.Round != 2 || ev.Uncalled || ev.Kept == 0 || !slices.Equal(agenttest.Kinds(got, ev.Summary), []string{"summary"}) {
			t.Errorf("event %+v with a summary of %v, want a compaction ahead of call 2", ev, agenttest.Kinds(got, ev.Summary))
		}
	}
	c := agenttest.Read(t, Describe(), map[string]string{"c1.messages.json": s.text(), "c1.compaction.json": beside("id:gone", 99)})
	if len(c.Sessions) != 1 || c.Sessions[0].NumCalls() != 3 || len(c.Sessions[0].Problems) != 1 ||
		!strings.Contains(c.Sessions[0].Problems[0].String(), "c1.compaction.json: message \"gone\", behind which") {
		t.Errorf("replaced message gone: %d sessions, problems %v", len(c.Sessions), c.Sessions[0].Problems)
	}
	// Alone it has the calls that it keeps.
	c = agenttest.Read(t, Describe(), map[string]string{"c1.compaction.json": beside("id:m5", 5)})
	if len(c.Sessions) != 1 || c.Sessions[0].NumCalls() != 1 {
		t.Errorf("alone: %d sessions, %d calls, problems %v", len(c.Sessions), c.Sessions[0].NumCalls(), c.Sessions[0].Problems)
	}
}

// A fork copies messages, whose calls were billed once.
func TestFork(t *testing.T) {
	s := new(script).user("one").answer(words("a"), counts(8000, 0, 0, 9))
	one := s.text()
	fork := strings.Replace(s.user("two").answer(words("b"), counts(8100, 8000, 0, 9)).text(), `"c1"`, `"c2"`, 1)
	c := agenttest.Read(t, Describe(), map[string]string{"c1.messages.json": one, "c2.messages.json": fork})
	if n := agenttest.Total(c); len(c.Sessions) != 2 || n.Calls != 2 || c.Repeated != 1 {
		t.Errorf("%d sessions, %d calls, %d repeated", len(c.Sessions), n.Calls, c.Repeated)
	}
}

func TestBadInput(t *testing.T) {
	good := new(script).user("one").answer(words("a"), counts(8000, 0, 0, 9))
	for _, bad := range []string{`"inputTokens":null`, `"inputTokens":"8000"`, `"inputTokens":-5`, `"cacheReadTokens":-1`, `"outputTokens":1e12`} {
		name, _, _ := strings.Cut(bad, ":")
		text := good.text()
		at := strings.Index(text, name)
		end := at + strings.IndexByte(text[at:], ',')
		if got := read(t, text[:at]+bad+text[end:]); got.NumCalls() != 1 || got.Quality.Uncounted != 1 {
			t.Errorf("%s: %d calls, %d of them not counted, %v", bad, got.NumCalls(), got.Quality.Uncounted, got.Problems)
		}
	}
	text := strings.Replace(good.text(), `"content":[`, `"content":[{"type":"riddle"},`, 1)
	if c := agenttest.Read(t, Describe(), map[string]string{"a.messages.json": text}); c.Unknown["message/riddle"] != 1 {
		t.Errorf("unknown %v", c.Unknown)
	}
	if got := read(t, good.text()[:strings.Index(good.text(), `"system_prompt"`)]); got.NumCalls() != 1 || len(got.Problems) != 1 {
		t.Errorf("cut off: %d calls, problems %v", got.NumCalls(), got.Problems)
	}
	if got := read(t, strings.Replace(good.text(), `"cost":0.25`, `"cost":1e300`, 1)); got.LoggedUSD != 0 || len(got.Problems) != 1 {
		t.Errorf("cost %v, problems %v", got.LoggedUSD, got.Problems)
	}
	for _, text := range []string{"", "{}", "[1]", `{"version":1,"messages":[]}`, "\x00"} {
		if c := agenttest.Read(t, Describe(), map[string]string{"a.messages.json": text}); len(c.Sessions) != 0 || c.NumProblems == 0 {
			t.Errorf("%q: %d sessions, %d problems", text, len(c.Sessions), c.NumProblems)
		}
	}
}

// What cline.py beside the recordings adds up; in the first file two calls share it. The cost is the file's own.
func TestRecorded(t *testing.T) {
	agenttest.Totals(t, Describe(), map[string]agenttest.Sum{
		"traces-4/cline/cline__cline/messages/success.messages.json":  {Calls: 2, Uncached: 17, Read: 3, Written: 1, Answered: 8},
		"traces-4/cline/cline__cline/session/session.messages.json":   {Calls: 16, Uncached: 95_819, Read: 534_435, Answered: 4395},
		"traces-4/cline/cline__cline/session/agentic.compaction.json": {Calls: 1, Uncached: 14, Read: 12_224, Answered: 10},
	})
	c := agenttest.Recordings(t, Describe(), "traces-4/cline/cline__cline/session/session.messages.json")
	if usd := c.Sessions[0].LoggedUSD; math.Abs(usd-2.0360) > 1e-4 {
		t.Errorf("cost %v", usd)
	}
}

func FuzzRead(f *testing.F) {
	s := new(script).user("one").answer(toolCall("t1"), "").result("t1", "x").answer(words("a"), counts(8000, 0, 0, 9))
	s.messages = append(s.messages, `{"role":"user","content":"s","metadata":{}}`)
	agenttest.Fuzz(f, Describe(), s.user("two").answer(words("b"), counts(9, 8000, 0, 9)).text())
}
