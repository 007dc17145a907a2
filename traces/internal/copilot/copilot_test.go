package copilot

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/op"
	"github.com/compactsim/compactsim/tools/tests/agenttest"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/signs"
)

// script writes events, one second each.
type script struct{ lines []string }

func newScript() *script {
	return new(script).add("session.start", `"sessionId":"c1","producer":"copilot-agent","copilotVersion":"1.0.74","context":{"cwd":"/repo"}`)
}

func (s *script) add(typ, data string) *script { return s.by("", typ, data) }

// by writes an event of a sub-agent.
func (s *script) by(agent, typ, data string) *script {
	n := len(s.lines)
	s.lines = append(s.lines, fmt.Sprintf(`{"type":%q,"data":{%s},"id":"e%d","agentId":%q,"timestamp":"2026-06-01T10:%02d:%02d.000Z"}`, typ, data, n, agent, n/60, n%60))
	return s
}

func (s *script) user(text string) *script {
	return s.add("user.message", fmt.Sprintf(`"content":%q,"transformedContent":""`, text))
}

func answer(id, model, text string, output int, more string) string {
	return fmt.Sprintf(`"messageId":"m-%[1]s","apiCallId":%[1]q,"model":%q,"content":%q,"outputTokens":%d%s`, id, model, text, output, more)
}

func (s *script) answer(id, text string, output int, more string) *script {
	return s.add("assistant.message", answer(id, "claude-opus-5", text, output, more))
}

func totalsOf(model string, input, read, write, output int) string {
	return fmt.Sprintf(`%q:{"requests":{"count":2},"usage":{"inputTokens":%d,"cacheReadTokens":%d,"cacheWriteTokens":%d,"outputTokens":%d}}`, model, input, read, write, output)
}

func (s *script) shutdown(metrics ...string) *script {
	return s.add("session.shutdown", `"systemTokens":6000,"toolDefinitionsTokens":2000,"totalNanoAiu":1500000000,"modelMetrics":{`+strings.Join(metrics, ",")+`}`)
}

func (s *script) text() string { return strings.Join(s.lines, "\n") + "\n" }

func read(t *testing.T, text string) *traces.Session {
	t.Helper()
	c := agenttest.Read(t, Describe(), map[string]string{"a.jsonl": text})
	if len(c.Sessions) != 1 {
		t.Fatalf("%d sessions, problems %v", len(c.Sessions), c.Problems)
	}
	return c.Sessions[0]
}

const tool = `,"toolRequests":[{"toolCallId":"t1","name":"view","arguments":{"path":"/a.go"},"type":"function"}]`

func turns() *script {
	s := newScript().user("fix it").answer("a", "look", 30, "").answer("a", "", 50, tool)
	s.add("tool.execution_complete", `"toolCallId":"t1","success":true,"result":{"content":"package a"}`)
	return s.answer("b", "done", 20, "")
}

// The messages of one call are one, and the calls of a segment share its totals.
func TestTurn(t *testing.T) {
	got := read(t, turns().shutdown(totalsOf("claude-opus-5", 16_300, 7900, 8300, 70)).text())
	th := &got.Threads[0]
	if got.ID != "c1" || got.Agent != "copilot-cli" || got.Project != "/repo" || got.Version() != "1.0.74" || len(th.Rounds) != 2 || len(got.Problems) != 0 {
		t.Fatalf("session %s of %s in %s, version %s, %d calls, problems %v", got.ID, got.Agent, got.Project, got.Version(), len(th.Rounds), got.Problems)
	}
	var sum prompt.Usage
	for _, r := range th.Rounds {
		if sum.Uncached += r.Usage.Uncached; r.Flags&signs.Spread == 0 || r.Counted() {
			t.Errorf("call %s is not marked", r.ID)
		}
		sum.Read, sum.Write5m, sum.Output = sum.Read+r.Usage.Read, sum.Write5m+r.Usage.Write5m, sum.Output+r.Usage.Output
	}
	if want := (prompt.Usage{Uncached: 100, Read: 7900, Write5m: 8300, Output: 70}); sum != want || got.Quality.Spread != 2 || got.Quality.Uncounted != 0 {
		t.Errorf("sum %+v, want %+v; quality %+v", sum, want, got.Quality)
	}
	// Each has half, as the conversation is small beside 8,000 tokens of head; the second reads what the first sent.
	a, b := th.Rounds[0], th.Rounds[1]
	if d := b.Usage.Input() - a.Usage.Input(); d < 0 || d > 400 || a.Usage.Read != 0 || a.Usage.Output != 50 || b.Usage.Read != 7900 {
		t.Errorf("usages %+v, %+v", a.Usage, b.Usage)
	}
	if kinds := agenttest.Kinds(got, a.Reply); !slices.Equal(kinds, []string{"text", "tool_use"}) {
		t.Errorf("reply %v", kinds)
	}
	result := got.Blocks[b.Input.From]
	if result.Op != op.Read || got.Objects[result.Object] != "/a.go" || b.Trigger != traces.TriggerToolResult {
		t.Errorf("result %+v", result)
	}
	if got.LoggedUSD != 0.015 { // 1.5 units of a cent
		t.Errorf("cost %v", got.LoggedUSD)
	}
}

// Shares of any totals that can be add up to them, and no call reads more than it sends.
func TestShares(t *testing.T) {
	for _, total := range [][4]int64{{16_300, 7900, 8300, 70}, {16_300, 16_300, 0, 70}, {5, 5, 0, 70}, {90_000, 89_000, 0, 70}, {90_000, 0, 90_000, 70}, {3, 0, 0, 70}} {
		got := read(t, turns().user("more").answer("c", "x", 0, "").shutdown(totalsOf("claude-opus-5", int(total[0]), int(total[1]), int(total[2]), int(total[3]))).text())
		var sum [4]int64
		for _, r := range got.Threads[0].Rounds {
			u := r.Usage
			if u.Uncached < 0 || u.Read < 0 || u.Write5m < 0 {
				t.Errorf("%v: usage %+v", total, u)
			}
			sum[0], sum[1], sum[2], sum[3] = sum[0]+u.Input(), sum[1]+u.Read, sum[2]+u.Write5m, sum[3]+u.Output
		}
		if sum != total {
			t.Errorf("sum %v, want %v", sum, total)
		}
	}
}

// Calls behind the last shutdown have their output alone.
func TestNoShutdown(t *testing.T) {
	got := read(t, turns().shutdown(totalsOf("claude-opus-5", 16_300, 7900, 8300, 70)).user("more").answer("c", "x", 9, "").text())
	last := got.Threads[0].Rounds[2]
	if got.Quality.Uncounted != 1 || last.Usage != (prompt.Usage{Output: 9}) || len(got.Problems) != 1 ||
		got.Problems[0].String() != "a.jsonl:9: no shutdown counts the input of 1 call from here on; it is estimated, and only their output is in the bill" {
		t.Errorf("usage %+v, problems %v", last.Usage, got.Problems)
	}
	if n := got.Tokens(got.Threads[0].Prefix); n < 8000 { // what the client counts of tools and system prompt
		t.Errorf("prefix of %d tokens", n)
	}
}

// Counts of a shutdown that cannot be, contradict the log, or are of no call in it.
func TestBadTotals(t *testing.T) {
	opus := "claude-opus-5"
	for metrics, want := range map[string]string{
		totalsOf(opus, -1, 0, 0, 70):                                         "a.jsonl:7: claude-opus-5: the shutdown has totals that",
		totalsOf(opus, 100, 200, 0, 70):                                      "a.jsonl:7: claude-opus-5: the shutdown has totals that",
		totalsOf(opus, 1<<60, 0, 0, 70):                                      "a.jsonl:7: claude-opus-5: the shutdown has totals that",
		strings.Replace(totalsOf(opus, 9000, 0, 0, 70), "cacheRead", "x", 1): "a.jsonl:7: claude-opus-5: the shutdown has totals that",
		totalsOf(opus, 16_300, 0, 0, 71):                                     "call a has token counts that contradict each other",
		totalsOf("gpt-5-mini", 700, 0, 0, 5):                                 "a.jsonl:7: gpt-5-mini: the shutdown has tokens of a model of which the log has no call",
	} {
		got := read(t, turns().shutdown(metrics).text())
		said := fmt.Sprint(got.Problems)
		if !strings.Contains(said, want) || got.Quality.Uncounted == 0 {
			t.Errorf("%s: %d calls are not counted, problems %v", metrics, got.Quality.Uncounted, got.Problems)
		}
	}
	got := read(t, turns().shutdown(totalsOf(opus, 16_300, 7900, 8300, 70), totalsOf("gpt-5-mini", 700, 0, 0, 5)).text())
	if got.Quality.LostTokens != 705 || got.Quality.Uncounted != 1 {
		t.Errorf("%d tokens are lost, %d calls are not counted", got.Quality.LostTokens, got.Quality.Uncounted)
	}
}

// A summary is made beside the conversation, whose messages since then stay, by a call with counts of its own.
func TestCompaction(t *testing.T) {
	s := turns().add("session.compaction_start", `"systemTokens":6000,"toolDefinitionsTokens":2000`)
	s.user("meanwhile").answer("c", "yes", 10, "")
	s.add("session.compaction_complete", `"success":true,"preCompactionTokens":9000,"summaryContent":"what was done","compactionTokensUsed":{"inputTokens":9000,"outputTokens":300,`+
		`"cacheReadTokens":1000,"cacheWriteTokens":0,"model":"claude-opus-5","copilotUsage":{"tokenDetails":[{"tokenCount":2,"tokenType":"input"},{"tokenCount":7998,"tokenType":"cache_write"}]}}`)
	got := read(t, s.user("next").answer("d", "ok", 10, "").shutdown(totalsOf("claude-opus-5", 34_000, 20_000, 13_000, 90)).text())
	th := &got.Threads[0]
	if len(th.Rounds) != 4 || len(th.Events) != 1 || len(got.Problems) != 0 {
		t.Fatalf("%d calls, events %+v, problems %v", len(th.Rounds), th.Events, got.Problems)
	}
	ev := th.Events[0]
	if ev.Round != 3 || ev.PreTokens != 9000 || !slices.Equal(agenttest.Kinds(got, ev.Summary), []string{"summary"}) {
		t.Errorf("event %+v", ev)
	}
	want := traces.SummaryCall{Model: "claude-opus-5", Usage: prompt.Usage{Uncached: 2, Read: 1000, Write5m: 7998, Output: 300}}
	if len(got.Summaries) != 1 || got.Summaries[0] != want {
		t.Errorf("summaries %+v, want %+v", got.Summaries, want)
	}
	got = read(t, strings.Replace(s.text(), `"success":true,"pre`, `"success":false,"pre`, 1))
	if len(got.Threads[0].Events) != 0 {
		t.Errorf("a compaction that failed gives %+v", got.Threads[0].Events)
	}
	got = read(t, strings.Replace(s.text(), `"compactionTokensUsed":{"inputTokens":9000,`, `"compactionTokensUsed":{`, 1))
	if got.Quality.Uncounted != 1 || !strings.Contains(fmt.Sprint(got.Problems), "the call that made a summary has no usable token counts") {
		t.Errorf("%d not counted, problems %v", got.Quality.Uncounted, got.Problems)
	}
}

// Lines of a sub-agent name the tool call that started it, and its calls share the totals of their model.
func TestSubAgent(t *testing.T) {
	s := newScript().user("review").answer("a", "", 40, strings.ReplaceAll(tool, "view", "task"))
	s.by("t1", "subagent.started", `"toolCallId":"t1","agentName":"car","model":"gpt-5.4"`).by("t1", "user.message", `"content":"look"`)
	s.by("t1", "assistant.message", answer("x", "gpt-5.4", "seen", 15, ""))
	s.add("tool.execution_complete", `"toolCallId":"t1","success":true,"result":{"content":"fine"}`).answer("b", "done", 5, "")
	got := read(t, s.shutdown(totalsOf("gpt-5.4", 5000, 0, 0, 15), totalsOf("claude-opus-5", 17_000, 8000, 9000, 45)).text())
	if len(got.Threads) != 2 || len(got.Problems) != 0 {
		t.Fatalf("%d threads, problems %v", len(got.Threads), got.Problems)
	}
	th := got.Threads[1]
	if th.Kind != traces.ThreadAgent || th.ParentRound != 0 || len(th.Rounds) != 1 || th.Rounds[0].Usage != (prompt.Usage{Uncached: 5000, Output: 15}) {
		t.Errorf("thread %+v", th)
	}
}

func TestBadLines(t *testing.T) {
	for line, want := range map[string]string{
		`{"type":`: "a.jsonl:8: ", `{"a":1}`: "a.jsonl:8: not an event of a session", `{"type":"assistant.message","data":5}`: "a.jsonl:8: ", `{"type":"assistant.message"}`: "a.jsonl:8: ",
	} {
		got := read(t, turns().shutdown(totalsOf("claude-opus-5", 16_300, 7900, 8300, 70)).text()+line+"\n")
		if got.Quality.BadLines != 1 || len(got.Problems) != 1 || !strings.Contains(got.Problems[0].String(), want) {
			t.Errorf("%s: %d bad lines, %v", line, got.Quality.BadLines, got.Problems)
		}
	}
	s := turns().add("riddle.new", `"x":1`)
	if c := agenttest.Read(t, Describe(), map[string]string{"a.jsonl": s.text()}); c.Unknown["riddle.new"] != 1 || len(c.Unknown) != 1 {
		t.Errorf("unknown %v", c.Unknown)
	}
}

// What copilot_cli.py beside the recordings adds up: the totals of shutdowns, and the outputs of calls that none follows.
// The summaries of the last two are added: their own counts, which it does not add.
func TestRecorded(t *testing.T) {
	agenttest.Totals(t, Describe(), map[string]agenttest.Sum{
		"traces-4/copilot-cli/Mai0313__VibeCodingTracker/copilot.jsonl":         {Calls: 6, Uncached: 35_071, Read: 151_738, Answered: 2848},
		"traces-3/copilot-cli/JeffreyCA__azure-dev/b6f37c8fb7.events.jsonl.zst": {Calls: 29, Answered: 18_112},
		"traces-3/copilot-cli/polecatspeaks__StarCar/53f7dfca1c.events.jsonl.zst": {
			Calls: 222 + 1, Uncached: 2, Read: 15_130, Written: 157_093, Answered: 143_194 + 5117,
		},
		"traces-3/copilot-cli/polecatspeaks__StarCar/62a857fcc6.events.jsonl.zst": {
			Calls: 184 + 1, Uncached: 6954 + 2, Read: 6_079_080 + 14_777, Written: 512_254 + 139_926, Answered: 167_840 + 4769,
		},
	})
}

func FuzzRead(f *testing.F) {
	agenttest.Fuzz(f, Describe(), turns().add("session.compaction_start", "").shutdown(totalsOf("claude-opus-5", 16_300, 7900, 8300, 70)).
		add("session.compaction_complete", `"summaryContent":"s","compactionTokensUsed":{"inputTokens":9}`).by("t1", "assistant.message", answer("x", "", "y", 3, "")).text())
}

// BenchmarkRead reads a session of 200 calls with results of 8 kB.
func BenchmarkRead(b *testing.B) {
	s := newScript().user("go")
	output := fmt.Sprintf("%q", strings.Repeat("a line of output\n", 480))
	for i := range 200 {
		s.answer(fmt.Sprint("m", i), "look", 100, strings.ReplaceAll(tool, "t1", fmt.Sprint("t", i)))
		s.add("tool.execution_complete", fmt.Sprintf(`"toolCallId":"t%d","success":true,"result":{"content":%s}`, i, output))
	}
	agenttest.Bench(b, Describe(), s.text())
}
