package opencode

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/op"
	"github.com/compactsim/compactsim/tools/tests/agenttest"
	"github.com/compactsim/compactsim/traces"
)

// script writes an export, one second a message.
type script struct {
	id, parent string
	messages   []string
	ms         int64
}

func newScript(id, parent string) *script {
	return &script{id: id, parent: parent, ms: time.Date(2026, 6, 1, 10, 0, 0, 0, time.UTC).UnixMilli()}
}

func (s *script) add(info, parts string) *script {
	s.messages = append(s.messages, fmt.Sprintf(`{"info":{%s},"parts":[%s]}`, info, parts))
	return s
}

func (s *script) user(parts string) *script {
	s.ms += 1000
	return s.add(fmt.Sprintf(`"id":"msg_u%d","role":"user","time":{"created":%d}`, len(s.messages), s.ms), parts)
}

// answer writes a call of two seconds.
func (s *script) answer(more, parts string, input, read, output, reasoning int) *script {
	s.ms += 2000
	return s.add(fmt.Sprintf(`"id":"msg_%s%d","role":"assistant","modelID":"gpt-5.4","time":{"created":%d,"completed":%d},`+
		`"tokens":{"total":%d,"input":%d,"output":%d,"reasoning":%d,"cache":{"read":%d,"write":0}}%s`,
		s.id, len(s.messages), s.ms-2000, s.ms, input+read+output+reasoning, input, output, reasoning, read, more), parts)
}

func (s *script) text() string {
	return fmt.Sprintf("{\n\"info\": {\"id\":%q,\"parentID\":%q,\"directory\":\"/repo\",\"version\":\"1.4.3\",\"time\":{\"created\":%d}},\n\"messages\": [\n%s\n]}\n",
		s.id, s.parent, s.ms, strings.Join(s.messages, ",\n"))
}

func words(text string) string { return fmt.Sprintf(`{"type":"text","text":%q}`, text) }

// tool writes a call of a tool that ran for the last half second.
func (s *script) tool(name, input, output, session string) string {
	return fmt.Sprintf(`{"type":"tool","tool":%q,"callID":"c","state":{"status":"completed","input":%s,"output":%q,"metadata":{"sessionId":%q},"time":{"start":%d,"end":%d}}}`,
		name, input, output, session, s.ms+1500, s.ms+2000)
}

func TestTurn(t *testing.T) {
	s := newScript("ses_1", "")
	s.user(words("fix it"))
	s.answer("", fmt.Sprintf(`{"type":"reasoning","text":"hm","time":{"start":%d}},`, s.ms+500)+s.tool("read", `{"filePath":"/a.go"}`, "package a", ""), 8000, 0, 100, 60)
	s.answer("", words("done"), 200, 8064, 20, 0)
	c := agenttest.Read(t, Describe(), map[string]string{"a.jsonl": s.text()})
	if len(c.Sessions) != 1 {
		t.Fatalf("problems %v", c.Problems)
	}
	got := c.Sessions[0]
	th := &got.Threads[0]
	if got.ID != "ses_1" || got.Project != "/repo" || got.Version() != "1.4.3" || len(th.Rounds) != 2 || len(got.Problems) != 0 {
		t.Fatalf("session %s in %s of %s, %d calls, problems %v", got.ID, got.Project, got.Version(), len(th.Rounds), got.Problems)
	}
	a, b := &th.Rounds[0], &th.Rounds[1]
	// The total holds the reasoning beside the output.
	if want := (prompt.Usage{Uncached: 8000, Output: 160}); a.Usage != want {
		t.Errorf("usage %+v, want %+v", a.Usage, want)
	}
	if thought := got.Blocks[a.Reply.From]; thought.Kind != prompt.KindThinking || thought.Tokens != 60 {
		t.Errorf("thought %v of %d tokens, want 60", thought.Kind, thought.Tokens)
	}
	if kinds := agenttest.Kinds(got, b.Input); !slices.Equal(kinds, []string{"tool_result", "unseen"}) {
		t.Errorf("input %v", kinds)
	}
	if r := got.Blocks[b.Input.From]; r.Op != op.Read || got.Objects[r.Object] != "/a.go" || r.Line != 5 {
		t.Errorf("result %+v", r)
	}
	// Half a second to the first thought, a second and a half to the tool.
	if a.First != int64(500*time.Millisecond) || a.Stream != int64(1500*time.Millisecond) {
		t.Errorf("intervals %v %v", time.Duration(a.First), time.Duration(a.Stream))
	}
}

// A sub-agent's export is a thread of the session whose task started it.
func TestSubAgent(t *testing.T) {
	s := newScript("ses_1", "")
	s.user(words("review"))
	s.answer("", s.tool("task", `{"prompt":"look","subagent_type":"general"}`, "fine", "ses_2"), 8000, 0, 30, 0)
	s.answer("", words("done"), 100, 8000, 20, 0)
	child := newScript("ses_2", "ses_1")
	child.user(words("look")).answer("", words("fine"), 6000, 0, 9, 0)
	c := agenttest.Read(t, Describe(), map[string]string{"b.jsonl": s.text(), "a.jsonl": child.text()})
	if len(c.Sessions) != 1 || len(c.Sessions[0].Threads) != 2 {
		t.Fatalf("%d sessions, problems %v", len(c.Sessions), c.Problems)
	}
	if th := c.Sessions[0].Threads[1]; th.ID != "ses_2" || th.Kind != traces.ThreadAgent || th.ParentRound != 0 {
		t.Errorf("thread %+v", th)
	}
	c = agenttest.Read(t, Describe(), map[string]string{"a.jsonl": child.text()})
	if th := c.Sessions[0].Threads[0]; th.Kind != traces.ThreadOrphan {
		t.Errorf("without its parent a %v", th.Kind)
	}
}

// When several exports name a sub-agent its parent's task is what started it.
func TestStarterIsTheParents(t *testing.T) {
	s := newScript("ses_1", "")
	s.user(words("review"))
	task := func(id string) string { return s.tool("task", `{"prompt":"review it"}`, "fine", id) }
	s.answer("", task("ses_2")+","+task("ses_3"), 8000, 0, 30, 0)
	s.answer("", task("ses_3"), 100, 8000, 20, 0)
	child := newScript("ses_2", "ses_1").user(words("look"))
	child.answer("", task("ses_3"), 6000, 0, 9, 0)
	last := newScript("ses_3", "ses_2").user(words("look")).answer("", words("fine"), 6000, 0, 9, 0)
	files := map[string]string{"a.jsonl": s.text(), "b.jsonl": child.text(), "c.jsonl": last.text()}
	for range 50 {
		got := agenttest.Read(t, Describe(), files).Sessions[0]
		for _, th := range got.Threads {
			if th.ID == "ses_3" && got.Threads[th.Parent].ID != "ses_2" {
				t.Fatalf("started by %s, want ses_2", got.Threads[th.Parent].ID)
			}
		}
	}
}

// Times and costs that cannot be are problems and left out; parts of unknown
// types are counted.
func TestAbsurdFigures(t *testing.T) {
	s := newScript("ses_1", "")
	s.user(words("one") + `,{"type":"hologram"},{"type":"file","mime":"text/plain"},{"type":"file","mime":"audio/wav"}`)
	s.answer(`,"cost":1e308`, words("a")+`,{"type":"step-start"},{"type":"riddle"}`, 8000, 0, 10, 0)
	s.ms = 9223372036854775
	s.user(words("two")).answer(`,"cost":1e308`, words("b"), 8010, 0, 10, 0)
	s.ms = time.Date(2026, 6, 1, 10, 0, 9, 0, time.UTC).UnixMilli()
	c := agenttest.Read(t, Describe(), map[string]string{"a.jsonl": s.text()})
	got := c.Sessions[0]
	if got.LoggedUSD != 0 || len(got.Problems) != 6 {
		t.Errorf("cost %v, problems %v", got.LoggedUSD, got.Problems)
	}
	for _, r := range got.Threads[0].Rounds {
		if r.Wait > int64(time.Minute) || r.Stream > int64(time.Minute) {
			t.Errorf("line %d waits %v and streams %v", r.Line, time.Duration(r.Wait), time.Duration(r.Stream))
		}
	}
	if n := c.Unknown; len(n) != 3 || n["message/hologram"] != 1 || n["message/riddle"] != 1 || n["message/file"] != 1 {
		t.Errorf("unknown %v", n)
	}
}

// A compaction is a message that answers with a summary, and its usage is logged.
func TestCompaction(t *testing.T) {
	s := newScript("ses_1", "")
	s.user(words("one")).answer("", words("a"), 100_000, 0, 10, 0)
	s.user(`{"type":"compaction","auto":true}`).answer(`,"summary":true`, words("what was done"), 100_500, 0, 800, 0)
	s.user(`{"type":"text","text":"Continue","synthetic":true}`).answer("", words("b"), 105_000, 0, 10, 0)
	got := agenttest.Read(t, Describe(), map[string]string{"a.jsonl": s.text()}).Sessions[0]
	th := &got.Threads[0]
	if len(th.Rounds) != 2 || len(th.Events) != 1 {
		t.Fatalf("%d calls, events %+v", len(th.Rounds), th.Events)
	}
	ev := th.Events[0]
	if ev.Kind != traces.EventCompact || ev.Manual || ev.Summary.Len() != 1 {
		t.Errorf("event %+v", ev)
	}
	if c := got.Summaries; len(c) != 1 || c[0].Usage.Input() != 100_500 || c[0].Usage.Output != 800 || c[0].Model != "gpt-5.4" {
		t.Errorf("summary calls %+v", c)
	}
}

// The call that made a summary has a system prompt of its own and no tools: where the log has its counts, what it read is known, also
// where it wrote to the cache (17,340 tokens of 1.18.33 in a run against a server that knew them).
func TestSummaryCallIsCounted(t *testing.T) {
	for _, read := range []int{0, 340} {
		s := newScript("ses_1", "")
		s.user(words("one")).answer("", words("a"), 100_000, 0, 10, 0)
		s.user(`{"type":"compaction","auto":true}`).answer(`,"summary":true`, words("what was done"), 17_340, read, 683, 0)
		s.user(`{"type":"text","text":"Continue","synthetic":true}`).answer("", words("b"), 23_000, 0, 10, 0)
		got := agenttest.Read(t, Describe(), map[string]string{"a.jsonl": s.text()}).Sessions[0]
		if ev := got.Threads[0].Events[0]; int(ev.Asked) != 17_340+read || ev.Told != 683 || ev.Cached != (read > 0) {
			t.Errorf("%d read: the call asked %d and told %d, cached %v", read, ev.Asked, ev.Told, ev.Cached)
		}
	}
}

// Of two exports of one session the longer counts.
func TestGrowingExport(t *testing.T) {
	s := newScript("ses_1", "")
	short := s.user(words("one")).answer("", words("a"), 8000, 0, 10, 0).text()
	long := s.user(words("two")).answer("", words("b"), 100, 8000, 10, 0).text()
	c := agenttest.Read(t, Describe(), map[string]string{"a.jsonl": short, "b.jsonl": long})
	if len(c.Sessions) != 1 || c.Sessions[0].NumCalls() != 2 || c.NumProblems != 1 {
		t.Errorf("%d sessions, %d problems", len(c.Sessions), c.NumProblems)
	}
}

// What stands ahead of a defect is kept.
func TestCutOff(t *testing.T) {
	s := newScript("ses_1", "")
	text := s.user(words("one")).answer("", words("a"), 8000, 0, 10, 0).text()
	c := agenttest.Read(t, Describe(), map[string]string{"a.jsonl": text[:len(text)-3]})
	if len(c.Sessions) != 1 || c.Sessions[0].NumCalls() != 1 || c.NumProblems != 1 {
		t.Errorf("%d sessions, problems %v", len(c.Sessions), c.Problems)
	}
	for _, text := range []string{"", "{}", `{"info":{"id":"ses_1"}}`, "[1]", "\x00"} {
		if c := agenttest.Read(t, Describe(), map[string]string{"a.jsonl": text}); len(c.Sessions) != 0 || c.NumProblems == 0 {
			t.Errorf("%q: %d sessions, %d problems", text, len(c.Sessions), c.NumProblems)
		}
	}
}

func TestRecorded(t *testing.T) {
	c := agenttest.Recordings(t, Describe(), "traces/opencode", "traces-3/opencode")
	var unseen, input int64
	for _, s := range c.Sessions {
		unseen, input = unseen+s.Quality.UnseenTokens, input+s.Quality.InputTokens
	}
	if share := float64(unseen) / float64(input); share > 0.1 {
		t.Errorf("%.1f %% of tokens are unseen", 100*share)
	}
}

func FuzzRead(f *testing.F) {
	s := newScript("ses_1", "ses_0")
	s.user(words("one")).answer("", s.tool("task", `{"prompt":"look"}`, "fine", "ses_1"), 8000, 0, 10, 0)
	s.user(`{"type":"compaction"}`).answer(`,"summary":true`, words("sum"), 8100, 0, 8, 3).answer("", words("b"), 5000, 0, 10, 0)
	agenttest.Fuzz(f, Describe(), s.text())
}

// A call with a count that cannot be read is a call without counts; one with counts of
// zero was aborted and is none.
func TestUncounted(t *testing.T) {
	for bad, uncounted := range map[string]int{`"input":null`: 1, `"input":"12"`: 1, `"input":-5`: 1, `"input":0`: 0} {
		s := newScript("ses_1", "").user(words("one"))
		s.answer("", words("a"), 8000, 0, 100, 0).user(words("two")).answer("", words("b"), 77, 0, 0, 0)
		c := agenttest.Read(t, Describe(), map[string]string{"a.jsonl": strings.Replace(s.text(), `"input":77`, bad, 1)})
		got := c.Sessions[0]
		if got.NumCalls() != 1+uncounted || got.Quality.Uncounted != uncounted || c.BadLines != 0 {
			t.Errorf("%s: %d calls, %d of them not counted, problems %v", bad, got.NumCalls(), got.Quality.Uncounted, got.Problems)
		}
	}
}

// A result whose line says since when it is no longer sent was cleared before the first call
// after that time. From 20,000 and an answer of 100 tokens the context falls to 6,920: more than
// 13,000 were taken out.
func TestClearedResults(t *testing.T) {
	s := newScript("ses_1", "")
	s.user(words("fix it"))
	since := s.ms + 5000
	read := s.tool("read", `{"filePath":"/a.go"}`, strings.Repeat("package a ", 6000), "")
	s.answer("", strings.Replace(read, `"end":`, fmt.Sprintf(`"compacted":%d,"end":`, since), 1), 2000, 0, 50, 0)
	s.answer("", words("done"), 18_000, 2000, 100, 0)
	s.ms = since
	s.user(words("go on"))
	s.answer("", words("done"), 5000, 1920, 20, 0)
	got := agenttest.Read(t, Describe(), map[string]string{"a.jsonl": s.text()}).Sessions[0]
	th := &got.Threads[0]
	if len(th.Events) != 1 || th.Events[0].Kind != traces.EventMicrocompact || th.Events[0].Round != 2 {
		t.Fatalf("events %+v, want one clearing before the third call", th.Events)
	}
	e := &th.Events[0]
	if len(e.Cleared) != 1 || got.Blocks[e.Cleared[0]].Kind != prompt.KindToolResult || e.Saved < 13_000 || e.At != since*1e6 {
		t.Errorf("%+v, want the first result, and what is missing from the total", e)
	}
}

// A total that falls amid a turn is no rewind: what the last call had beyond is not sent again,
// and all before it stays. The second call has 9,000 tokens, the third 8,400 and reads 8,000.
func TestTotalFallsAmidATurn(t *testing.T) {
	s := newScript("ses_1", "")
	s.user(words("fix it"))
	s.answer("", s.tool("read", `{"filePath":"/a.go"}`, strings.Repeat("x", 3000), ""), 8000, 0, 30, 0)
	s.answer("", s.tool("read", `{"filePath":"/b.go"}`, "y", ""), 1000, 8000, 20, 0)
	s.answer("", words("done"), 400, 8000, 20, 0)
	th := &agenttest.Read(t, Describe(), map[string]string{"a.jsonl": s.text()}).Sessions[0].Threads[0]
	if len(th.Events) != 1 || th.Events[0].Kind != traces.EventForget || th.Events[0].Round != 2 || len(th.Events[0].Cleared) != 1 {
		t.Errorf("events %+v, want that the provider left something of the last call out", th.Events)
	}
}

// A message of the model without counts, or with one that is no number, is a call without counts, whichever message it is; so is a
// summary. A message of no role is a bad line.
func TestCountsLost(t *testing.T) {
	for _, tt := range []struct {
		old, new       string
		uncounted, bad int
	}{
		{`"tokens":{`, `"tokens_":{`, 1, 0}, {`"output":100`, `"output":"100"`, 1, 0}, {`"role":"assistant"`, `"role_":"assistant"`, 0, 1},
	} {
		for _, extra := range []string{"", `,"summary":true`} {
			s := newScript("ses_1", "").user(words("one")).answer("", words("z"), 7000, 0, 12, 0).user(words("go on"))
			s.answer(extra, words("a"), 8000, 0, 100, 7).user(words("two")).answer("", words("b"), 9000, 0, 10, 0)
			text, last := s.text(), `"output":100` // of the second message
			at := strings.LastIndex(text[:strings.Index(text, last)+len(last)], tt.old)
			text = text[:at] + tt.new + text[at+len(tt.old):]
			c := agenttest.Read(t, Describe(), map[string]string{"a.jsonl": text})
			if q := c.Sessions[0].Quality; q.Uncounted != tt.uncounted || c.BadLines != tt.bad {
				t.Errorf("%s%s: %d calls not counted, want %d; %d bad lines, want %d; problems %v", tt.new, extra, q.Uncounted, tt.uncounted, c.BadLines, tt.bad, c.Sessions[0].Problems)
			}
		}
	}
}

// A message that is here twice counts once where ids were taken out of an export, too: its times tell it from others.
func TestTwiceWithoutID(t *testing.T) {
	ids := regexp.MustCompile(`"id":"msg_[^"]*"`)
	text := ids.ReplaceAllString(agenttest.Sample(Agent, "s", 1), `"id":"REDACTED"`)
	list := strings.SplitAfter(text, "\n")
	want := agenttest.Total(agenttest.Read(t, Describe(), map[string]string{"a.json": text}))
	at := slices.IndexFunc(list, func(l string) bool { return strings.Contains(l, `"role":"assistant"`) })
	c := agenttest.Read(t, Describe(), map[string]string{"a.json": strings.Join(slices.Insert(list, at, list[at]), "")})
	if got := agenttest.Total(c); got != want || c.BadLines != 1 {
		t.Errorf("%+v, want %+v; %d bad lines", got, want, c.BadLines)
	}
}

// A step that the model ended took tokens, so zeros are lost counts; one that was aborted, or that another program wrote without steps, is
// no call.
func TestZerosOfAStep(t *testing.T) {
	for more, want := range map[string]int{`,"finish":"stop"`: 1, `,"finish":"tool-calls"`: 1, `,"finish":"unknown"`: 0, "": 0} {
		for step, counted := range map[string]int{`,{"type":"step-finish"}`: want, "": 0} {
			s := newScript("ses_1", "").user(words("one")).answer("", words("z"), 7000, 0, 12, 0).user(words("go on"))
			s.answer(more, words("a")+step, 0, 0, 0, 0).user(words("two")).answer("", words("b"), 9000, 0, 10, 0)
			if q := agenttest.Read(t, Describe(), map[string]string{"a.jsonl": s.text()}).Sessions[0].Quality; q.Uncounted != counted {
				t.Errorf("%s %s: %d calls not counted, want %d", more, step, q.Uncounted, counted)
			}
		}
	}
}
