package dsh

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/op"
	"github.com/compactsim/compactsim/tools/tests/agenttest"
	"github.com/compactsim/compactsim/traces"
)

const start = 1_780_304_400_000 // 2026-06-01T09:00Z, ms

// script writes events, one second each.
type script struct {
	lines []string
	step  int
}

func newScript(id, more string) *script {
	return &script{lines: []string{fmt.Sprintf(`{"type":"session","version":0,"id":%q,"createdAt":%d,"cwd":"/repo","delegationDepth":0%s}`, id, start, more)}}
}

func (s *script) add(typ, data string) *script { return s.place(typ, data, `"append"`) }

func (s *script) place(typ, data, where string) *script {
	n := len(s.lines)
	s.lines = append(s.lines, fmt.Sprintf(`{"type":%q,"seq":%d,"time":%d,"data":{%s},"surfaceOp":%s}`, typ, n-1, start+1000*n, data, where))
	return s
}

func said(text, source string) string {
	return fmt.Sprintf(`"role":"user","source":{"kind":%q},"content":[{"type":"text","text":%q}]`, source, text)
}

func (s *script) user(text string) *script { return s.add("user/message", said(text, "user")) }

func counts(input, read, output, reasoning int) string {
	return fmt.Sprintf(`{"inputTokens":%d,"cacheReadTokens":%d,"outputTokens":%d,"reasoningTokens":%d}`, input, read, output, reasoning)
}

// begin starts a step, of which a chunk has the counts.
func (s *script) begin(usage string) *script {
	s.step++
	id := fmt.Sprintf(`"turn":1,"step":%d`, s.step)
	return s.add("step/start", id).add("assistant/chunk", id+`,"chunk":{"type":"block-start"}`).add("assistant/chunk", id+`,"chunk":{"type":"usage","usage":`+usage+`}`)
}

func (s *script) answer(id, content, usage string) *script {
	return s.begin(usage).add("assistant/message", fmt.Sprintf(`"turn":1,"step":%d,"message":{"id":%q,"role":"assistant","source":{"kind":"model","model":"deepseek-v4-flash"},"content":[%s]},"usage":%s`, s.step, id, content, usage))
}

func (s *script) result(call, text string) *script {
	return s.add("tool/result", fmt.Sprintf(`"message":{"role":"user","content":[{"type":"tool-result","toolCallId":%q,"isError":false,"content":[{"type":"text","text":%q}]}]}`, call, text))
}

func (s *script) text() string { return strings.Join(s.lines, "\n") + "\n" }

func words(text string) string { return fmt.Sprintf(`{"type":"text","text":%q}`, text) }

func call(id, name, arguments string) string {
	return fmt.Sprintf(`{"type":"tool-call","id":%q,"name":%q,"arguments":%q}`, id, name, arguments)
}

func read(t *testing.T, text string) *traces.Session {
	t.Helper()
	c := agenttest.Read(t, Describe(), map[string]string{"session.jsonl": text})
	if len(c.Sessions) != 1 {
		t.Fatalf("%d sessions, problems %v", len(c.Sessions), c.Problems)
	}
	return c.Sessions[0]
}

func turns() *script {
	s := newScript("d1", "").add("request/context", `"model":"deepseek-v4-flash","contextWindow":128000`).user("fix it")
	s.answer("m1", `{"type":"reasoning","text":"hm"},`+call("t1", "read", `{"path":"/a.go"}`), counts(8000, 0, 30, 10)).result("t1", "package a")
	return s.answer("m2", words("done"), counts(200, 7936, 20, 0))
}

func TestTurn(t *testing.T) {
	got := read(t, turns().text())
	th := &got.Threads[0]
	if got.ID != "d1" || got.Agent != "deepseek-harness" || got.Project != "/repo" || got.Window != 128_000 || len(th.Rounds) != 2 || got.Models[0] != "deepseek-v4-flash" || len(got.Problems) != 0 {
		t.Fatalf("session %s of %s in %s, %d calls of %v, problems %v", got.ID, got.Agent, got.Project, len(th.Rounds), got.Models, got.Problems)
	}
	a, b := &th.Rounds[0], &th.Rounds[1]
	if want := (prompt.Usage{Uncached: 8000, Output: 30}); a.Usage != want {
		t.Errorf("usage %+v, want %+v", a.Usage, want)
	}
	if want := (prompt.Usage{Uncached: 200, Read: 7936, Output: 20}); b.Usage != want {
		t.Errorf("usage %+v, want %+v", b.Usage, want)
	}
	if kinds := agenttest.Kinds(got, a.Reply); !slices.Equal(kinds, []string{"thinking", "tool_use"}) || got.Blocks[a.Reply.From].Tokens != 10 {
		t.Errorf("reply %v", kinds)
	}
	result := got.Blocks[b.Input.From]
	if result.Op != op.Read || got.Objects[result.Object] != "/a.go" || b.Trigger != traces.TriggerToolResult {
		t.Errorf("result %+v", result)
	}
	// The step, its first chunk a second later, its end two more.
	if a.First != int64(time.Second) || a.Stream != int64(3*time.Second) {
		t.Errorf("intervals %v %v", time.Duration(a.First), time.Duration(a.Stream))
	}
}

// A step that was cut off before its message was billed as its chunk says; one that was not, once.
func TestCutOff(t *testing.T) {
	cut := turns().begin(counts(50, 8000, 7, 0))
	got := read(t, cut.text())
	if got.NumCalls() != 3 || got.Threads[0].Rounds[2].Usage != (prompt.Usage{Uncached: 50, Read: 8000, Output: 7}) || len(got.Problems) != 0 {
		t.Errorf("%d calls, problems %v", got.NumCalls(), got.Problems)
	}
	got = read(t, cut.user("again").answer("m4", words("ok"), counts(90, 8000, 9, 0)).text())
	if got.NumCalls() != 4 {
		t.Errorf("%d calls, want 4", got.NumCalls())
	}
	// Counts of the chunk and the message that contradict each other are told.
	got = read(t, strings.Replace(turns().text(), `"usage":{"inputTokens":8000`, `"usage":{"inputTokens":8001`, 1))
	if got.NumCalls() != 2 || got.Quality.Uncounted != 1 || !strings.Contains(fmt.Sprint(got.Problems), "contradict each other") {
		t.Errorf("%d calls, problems %v", got.NumCalls(), got.Problems)
	}
}

// A summary takes the place of a range of messages; what precedes and follows it stays.
func TestCompaction(t *testing.T) {
	s := turns()
	s.add("compaction/start", "").add("compaction/summary", `"model":"deepseek-v4-flash","shadowedTokenCount":8100,"usage":`+counts(150, 7936, 60, 0))
	s.place("user/message", said("what was done", "plugin"), `{"op":"replace","start":1,"end":6}`).add("compaction/end", "")
	got := read(t, s.user("next").answer("m3", words("ok"), counts(400, 7800, 9, 0)).text())
	th := &got.Threads[0]
	if len(th.Rounds) != 3 || len(th.Events) != 1 || len(got.Problems) != 0 {
		t.Fatalf("%d calls, events %+v, problems %v", len(th.Rounds), th.Events, got.Problems)
	}
	if ev := th.Events[0]; ev.Round != 2 || ev.PreTokens != 8100 || !slices.Equal(agenttest.Kinds(got, ev.Summary), []string{"summary"}) {
		t.Errorf("event %+v", ev)
	}
	want := traces.SummaryCall{Model: "deepseek-v4-flash", Usage: prompt.Usage{Uncached: 150, Read: 7936, Output: 60}}
	if len(got.Summaries) != 1 || got.Summaries[0] != want {
		t.Errorf("summaries %+v", got.Summaries)
	}
}

// Of a fork's calls those that it copied are its parent's, where that is at hand.
func TestSubAgents(t *testing.T) {
	parent := newScript("d1", "").user("do it").answer("m1", words("well"), counts(8000, 0, 10, 0))
	copied := slices.Clone(parent.lines[1:])
	parent.user("review").answer("m2", call("t1", "subagent", `{"prompt":"look"}`), counts(90, 8000, 30, 0)).result("t1", "fine")
	parent.answer("m3", call("t2", "subagent_fork", `{"prompt":"ask"}`), counts(95, 8064, 30, 0)).result("t2", "fine").answer("m4", words("done"), counts(80, 8128, 9, 0))
	fresh := newScript("d2", `,"parentSession":"d1"`).user("look").answer("k1", words("seen"), counts(3000, 0, 9, 0))
	fork := newScript("d3", fmt.Sprintf(`,"parentSession":"d1","seedLength":%d`, len(copied)))
	fork.lines = append(fork.lines, copied...)
	fork.user("ask").answer("k2", words("so"), counts(60, 7936, 9, 0))
	files := map[string]string{"a/session.jsonl": parent.text(), "b/session.jsonl": fresh.text(), "c/session.jsonl": fork.text()}
	c := agenttest.Read(t, Describe(), files)
	if len(c.Sessions) != 1 || len(c.Sessions[0].Threads) != 3 || len(c.Sessions[0].Problems) != 0 {
		t.Fatalf("%d sessions, problems %v, %v", len(c.Sessions), c.Problems, c.Sessions[0].Problems)
	}
	got := c.Sessions[0]
	if n := agenttest.Total(c); n.Calls != 6 {
		t.Errorf("%d calls, want 6", n.Calls)
	}
	for i, round := range []int32{1, 2} {
		if th := got.Threads[i+1]; th.Kind != traces.ThreadAgent || th.ParentRound != round || len(th.Rounds) != 1 {
			t.Errorf("thread %s: %v of round %d, %d calls", th.ID, th.Kind, th.ParentRound, len(th.Rounds))
		}
	}
	delete(files, "a/session.jsonl")
	c = agenttest.Read(t, Describe(), files)
	if n := agenttest.Total(c); n.Calls != 3 || c.Sessions[0].Threads[0].Kind != traces.ThreadOrphan { // the copied one as well
		t.Errorf("without the parent %d calls, a %v", n.Calls, c.Sessions[0].Threads[0].Kind)
	}
}

// Sessions are stored as frames of zstd one after another, the last of which may be incomplete.
func TestFrames(t *testing.T) {
	lines := strings.SplitAfter(turns().text(), "\n")
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	var packed []byte
	for i := 0; i < len(lines); i += 3 {
		packed = w.EncodeAll([]byte(strings.Join(lines[i:min(i+3, len(lines))], "")), packed)
	}
	whole := len(packed)
	packed = w.EncodeAll([]byte(strings.Repeat(`{"type":"turn/end","data":{"turn":1}}`+"\n", 400)), packed)
	for _, n := range []int{whole, len(packed) - 3} {
		c := agenttest.Read(t, Describe(), map[string]string{"session.jsonl.zstd": string(packed[:n])})
		if got := agenttest.Total(c); got != (agenttest.Sum{Calls: 2, Uncached: 8200, Read: 7936, Answered: 50}) || c.Unread != min(1, n-whole) {
			t.Errorf("%+v, %d files unread, problems %v", got, c.Unread, c.Problems)
		}
	}
}

func TestBadInput(t *testing.T) {
	for line, want := range map[string]string{
		`{"type":`: ": ", `{"a":1}`: ": not an event of a session", `{"type":"assistant/message","data":5}`: ": ", `{"type":"assistant/message"}`: ": ", `{"type":"user/message","data":{},"surfaceOp":{"start":"x"}}`: ": ",
	} {
		s := turns()
		at := fmt.Sprintf("session.jsonl:%d", len(s.lines)+1)
		line = strings.Replace(line, `"assistant/message"`, fmt.Sprintf(`"assistant/message","seq":%d`, len(s.lines)-1), 1)
		line = strings.Replace(line, `"user/message"`, fmt.Sprintf(`"user/message","seq":%d`, len(s.lines)-1), 1)
		if got := read(t, s.text()+line+"\n"); got.Quality.BadLines != 1 || len(got.Problems) != 1 || !strings.HasPrefix(got.Problems[0].String(), at+want) {
			t.Errorf("%s: %d bad lines, %v", line, got.Quality.BadLines, got.Problems)
		}
	}
	for _, bad := range []string{`"inputTokens":null`, `"inputTokens":"8000"`, `"inputTokens":-5`, `"reasoningTokens":31`} {
		name, _, _ := strings.Cut(bad, ":")
		text := strings.NewReplacer(`"inputTokens":8000`, `"inputTokens":#`, `"reasoningTokens":10`, `"reasoningTokens":#`).Replace(turns().text())
		text = strings.NewReplacer(name+":#", bad, `"inputTokens":#`, `"inputTokens":8000`, `"reasoningTokens":#`, `"reasoningTokens":10`).Replace(text)
		if got := read(t, text); got.NumCalls() != 2 || got.Quality.Uncounted != 1 {
			t.Errorf("%s: %d calls, %d of them not counted, %v", bad, got.NumCalls(), got.Quality.Uncounted, got.Problems)
		}
	}
	c := agenttest.Read(t, Describe(), map[string]string{"a.jsonl": turns().add("riddle/new", "").user("x").text()})
	if c.Unknown["riddle/new"] != 1 || len(c.Unknown) != 1 {
		t.Errorf("unknown %v", c.Unknown)
	}
}

// What deepseek_harness.py beside the recordings adds up.
func TestRecorded(t *testing.T) {
	const of = "traces-4/deepseek-harness/deepseek-ai__deepseek-harness/"
	agenttest.Totals(t, Describe(), map[string]agenttest.Sum{
		"traces-4/deepseek-harness/Mai0313__VibeCodingTracker/dsh/session.jsonl":      {Calls: 3, Uncached: 16, Read: 600, Written: 50, Answered: 182},
		"traces-4/deepseek-harness/Mai0313__VibeCodingTracker/dsh/session.jsonl.zstd": {Calls: 3, Uncached: 16, Read: 600, Written: 50, Answered: 182},
		of + "apps/web/approval-composer/session.jsonl":                               {Calls: 4, Uncached: 1193, Read: 26_240, Answered: 1891},
		of + "apps/web/goal-multi-turn-actions/session.jsonl":                         {Calls: 12, Uncached: 10_012, Read: 103_040, Answered: 2384},
		of + "apps/web/live-interactions/session.jsonl":                               {Calls: 1, Uncached: 110, Read: 7680, Answered: 79},
		of + "apps/web/permission-policy-context/session.jsonl":                       {Calls: 7, Uncached: 1338, Read: 106_752, Answered: 838},
		of + "apps/web/plan-review/session.jsonl":                                     {Calls: 2, Uncached: 4970, Read: 5248, Answered: 346},
		of + "examples/acp-agent/subagent-mixed/session.1.jsonl":                      {Calls: 1, Uncached: 48, Read: 2816, Answered: 23},
		of + "examples/acp-agent/subagent-mixed/session.2.jsonl":                      {Calls: 2, Uncached: 2978, Read: 2816, Answered: 54},
		of + "examples/acp-agent/subagent-mixed/session.jsonl":                        {Calls: 4, Uncached: 3191, Read: 9088, Answered: 326},
		of + "examples/headless-agent/compaction-recovery/session.jsonl":              {Calls: 3, Uncached: 64, Answered: 14},
		// The three together, less the call that the second sub-agent copied.
		of + "examples/acp-agent/subagent-mixed": {Calls: 6, Uncached: 3334, Read: 14_720, Answered: 384},
	})
}

func FuzzRead(f *testing.F) {
	agenttest.Fuzz(f, Describe(), turns().begin(counts(9, 9, 9, 0)).add("compaction/summary", `"usage":`+counts(1, 2, 3, 0)).
		place("user/message", said("s", "plugin"), `{"op":"replace","start":0,"end":4}`).text(),
		newScript("d2", `,"parentSession":"d2","seedLength":3`).user("look").answer("k1", words("seen"), counts(3000, 0, 9, 0)).text())
}

// BenchmarkRead reads a session of 200 calls with results of 8 kB.
func BenchmarkRead(b *testing.B) {
	s := newScript("d1", "").user("go")
	output := strings.Repeat("a line of output\n", 480)
	for i := range 200 {
		id := fmt.Sprint("t", i)
		s.answer("m"+id, call(id, "read", `{"path":"/a.go"}`), counts(2000, 8000+2000*i, 90, 0)).result(id, output)
	}
	agenttest.Bench(b, Describe(), s.text())
}

// Events are numbered without gaps: where one is missing the next line is a bad one and read, and one that is here a second time
// is not.
func TestNumberedEvents(t *testing.T) {
	for name, change := range map[string]func(lines []string) []string{
		"missing":       func(l []string) []string { return slices.Delete(slices.Clone(l), 3, 4) },
		"a second time": func(l []string) []string { return append(slices.Clone(l), l[len(l)-1]) },
	} {
		s := turns()
		s.lines = change(s.lines)
		got := read(t, s.text())
		if n := len(got.Threads[0].Rounds); n != 2 || got.Quality.BadLines != 1 || !strings.Contains(fmt.Sprint(got.Problems), name) {
			t.Errorf("%s: %d calls, problems %v", name, n, got.Problems)
		}
	}
}

// Where events have no numbers, a step that is answered twice is told.
func TestStepAnsweredTwice(t *testing.T) {
	number := regexp.MustCompile(`"seq":\d+,`)
	for _, twice := range []bool{false, true} {
		s := turns()
		if twice {
			s.lines = append(s.lines, s.lines[len(s.lines)-1])
		}
		if got := read(t, number.ReplaceAllString(s.text(), "")); got.Quality.Uncounted > 0 != twice {
			t.Errorf("twice %t: %d calls told, problems %v", twice, got.Quality.Uncounted, got.Problems)
		}
	}
}

// Two answers under one id are two calls, and told.
func TestAnswersOfOneID(t *testing.T) {
	s := turns()
	got := read(t, strings.ReplaceAll(s.text(), `"m2"`, `"m1"`))
	if n := len(got.Threads[0].Rounds); n != 2 || got.Quality.Uncounted != 1 {
		t.Errorf("%d calls, %d told, want 2 and 1", n, got.Quality.Uncounted)
	}
}

// The first versions have the members of a reply beside its counts, and name the model in the header of the request.
func TestFirstVersions(t *testing.T) {
	s := newScript("d1", "").add("request/header", `"header":{"config":{"model":"deepseek-v4-flash"},"system":"s"}`).user("fix it")
	s.begin(counts(8000, 0, 30, 10)).add("assistant/message", `"turn":1,"step":1,"content":[{"type":"reasoning","text":"hm"},`+words("done")+`],"provenance":{"model":"deepseek-v4-pro"},"usage":`+counts(8000, 0, 30, 10))
	s.user("more").begin(counts(100, 7936, 5, 0))
	got := read(t, s.text())
	th := &got.Threads[0]
	if len(got.Problems) != 0 || len(th.Rounds) != 2 || got.Models[th.Rounds[0].Model] != "deepseek-v4-pro" || got.Models[th.Rounds[1].Model] != "deepseek-v4-flash" {
		t.Fatalf("%d calls of %v, problems %v", len(th.Rounds), got.Models, got.Problems)
	}
	if kinds := agenttest.Kinds(got, th.Rounds[0].Reply); !slices.Equal(kinds, []string{"thinking", "text"}) {
		t.Errorf("reply %v", kinds)
	}
}

// A turn ends with 300 tokens, 200 of which are reasoning, and a plugin begins the next: of the 150 tokens that the context grew by, 100 are
// the words of the reply. The reasoning that led to a call of a tool stays.
func TestReasoningOfFinishedTurn(t *testing.T) {
	s := newScript("d1", "").add("request/context", `"model":"deepseek-v4-flash"`).user("fix it")
	s.answer("m1", `{"type":"reasoning","text":"hm"},`+call("t1", "read", `{"path":"/a.go"}`), counts(8000, 0, 400, 350)).result("t1", "package a")
	s.answer("m2", `{"type":"reasoning","text":"so"},`+words("done"), counts(600, 7936, 300, 200))
	s.add("user/message", said(strings.Repeat("go on ", 30), "goal")).answer("m3", words("ok"), counts(750, 7936, 9, 0))
	got := read(t, s.text())
	th := &got.Threads[0]
	if len(th.Rounds) != 3 || len(th.Events) != 1 || len(got.Problems) != 0 {
		t.Fatalf("%d calls, events %+v, problems %v", len(th.Rounds), th.Events, got.Problems)
	}
	ev, b := th.Events[0], th.Rounds[1].Reply
	if ev.Kind != traces.EventForget || ev.Round != 2 || ev.Saved != 200 || !slices.Equal(ev.Cleared, []int32{b.From}) {
		t.Errorf("event %+v, want 200 tokens of block %d", ev, b.From)
	}
}

// The tools change, and the context has 471 tokens less than its 8,000, 100 of a reply and three of the result: what the client says of its header
// shows that the head lost them. A resumed session's header says no such thing.
func TestChangedHeader(t *testing.T) {
	for reason, want := range map[string]bool{"change": true, "resume": false} {
		s := newScript("d1", "").add("request/header", `"header":{"config":{"model":"deepseek-v4-flash"}},"reason":"initial"`).user("plan it")
		s.answer("m1", call("t1", "exit_plan_mode", `{"plan":"x"}`), counts(8000, 0, 100, 0)).result("t1", "approved")
		s.add("request/header", `"header":{"config":{"model":"deepseek-v4-flash"}},"reason":"`+reason+`"`).answer("m2", words("ok"), counts(100, 7532, 5, 0))
		got := read(t, s.text())
		th := &got.Threads[0]
		if len(th.Events) != 1 || len(got.Problems) != 0 {
			t.Fatalf("%s: events %+v, problems %v", reason, th.Events, got.Problems)
		}
		if ev := th.Events[0]; ev.Kind != traces.EventShrink || ev.Round != 1 || ev.Head != want || want && ev.Saved != 471 {
			t.Errorf("%s: event %+v, want a head that shrank by 471 tokens: %v", reason, ev, want)
		}
	}
}

// A summary whose message did not come is billed all the same, as a call of its own; so is one before another summary. Counts of a step
// count once where a line does not say which step it is of.
func TestSummaryAlone(t *testing.T) {
	summary := `"model":"deepseek-v4-flash","shadowedTokenCount":8100,"usage":` + counts(150, 7936, 60, 0)
	one := func() *script {
		return newScript("s", "").user("go").answer("m1", words("a"), counts(100, 8000, 40, 0))
	}
	for name, tt := range map[string]struct {
		text  string
		calls int
		usage prompt.Usage
	}{
		"stopped":      {one().add("compaction/summary", summary).text(), 2, prompt.Usage{Uncached: 250, Read: 15_936, Output: 100}},
		"twice":        {one().add("compaction/summary", summary).add("compaction/summary", summary).text(), 3, prompt.Usage{Uncached: 400, Read: 23_872, Output: 160}},
		"without step": {strings.Replace(one().text(), `"step":1,"message"`, `"message"`, 1), 1, prompt.Usage{Uncached: 100, Read: 8000, Output: 40}},
	} {
		t.Run(name, func(t *testing.T) {
			if s := read(t, tt.text); s.NumCalls() != tt.calls || s.Usage() != tt.usage || s.Quality.Uncounted != 0 {
				t.Errorf("%d calls, %+v, %d uncounted", s.NumCalls(), s.Usage(), s.Quality.Uncounted)
			}
		})
	}
}

// Events of another session, with numbers where others have none, and counts of a step that a later one precedes are told.
func TestEventsOfAnother(t *testing.T) {
	number := regexp.MustCompile(`"seq":\d+,`)
	bare := number.ReplaceAllString(turns().text(), "")
	whole := turns().lines
	moved := strings.Split(strings.TrimSuffix(bare, "\n"), "\n")
	var answers []int
	for i, l := range moved {
		if strings.Contains(l, `"assistant/message"`) {
			answers = append(answers, i)
		}
	}
	a, b := answers[0], answers[1]
	moved[a], moved[b] = moved[b], moved[a]
	for name, text := range map[string]string{
		"number": bare + whole[len(whole)-1] + "\n", "no number": turns().text() + strings.SplitAfter(bare, "\n")[len(whole)-1], "moved": strings.Join(moved, "\n") + "\n",
	} {
		if got := read(t, text); got.Quality.BadLines == 0 {
			t.Errorf("%s: not told, problems %v", name, got.Problems)
		}
	}
	if got := read(t, bare); got.Quality.BadLines > 0 {
		t.Errorf("without numbers: %v", got.Problems)
	}
}
