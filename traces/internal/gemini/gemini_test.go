package gemini

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/op"
	"github.com/compactsim/compactsim/tools/tests/agenttest"
	"github.com/compactsim/compactsim/traces"
)

const head = `{"sessionId":"g1","projectHash":"f00d","startTime":"2026-06-01T10:00:00.000Z","kind":"main"}`

// script writes the lines of a session, one second a line.
type script struct{ lines []string }

func newScript() *script { return &script{lines: []string{head}} }

func (s *script) add(line string) *script {
	s.lines = append(s.lines, strings.ReplaceAll(line, "$AT", fmt.Sprintf("2026-06-01T10:00:%02d.000Z", len(s.lines))))
	return s
}

func (s *script) user(id, text string) *script {
	return s.add(fmt.Sprintf(`{"id":%q,"timestamp":"$AT","type":"user","content":[{"text":%q}]}`, id, text))
}

// answer writes a call with thoughts of 5 tokens; more are further members.
func (s *script) answer(id, text string, input, cached, output int, more string) *script {
	return s.add(fmt.Sprintf(`{"id":%q,"timestamp":"$AT","type":"gemini","content":%q,"model":"gemini-3-flash-preview",`+
		`"tokens":{"input":%d,"output":%d,"cached":%d,"thoughts":5,"tool":0,"total":%d}%s}`, id, text, input, output, cached, input+output+5, more))
}

func (s *script) text() string { return strings.Join(s.lines, "\n") + "\n" }

const tool = `,"toolCalls":[{"id":"t1","name":"read_file","args":{"file_path":"/a.go"},"status":"success","timestamp":"2026-06-01T10:00:09.500Z",` +
	`"result":[{"functionResponse":{"id":"t1","name":"read_file","response":{"output":"package a"}}}]}]`

func read(t *testing.T, text string) *traces.Session {
	t.Helper()
	c := agenttest.Read(t, Describe(), map[string]string{"a.jsonl": text})
	if len(c.Sessions) != 1 {
		t.Fatalf("%d sessions, problems %v", len(c.Sessions), c.Problems)
	}
	return c.Sessions[0]
}

// The last record of an id counts, once.
func TestTurn(t *testing.T) {
	thought := `,"thoughts":[{"subject":"s","description":"hm","timestamp":"2026-06-01T10:00:01.500Z"}]`
	s := newScript().user("u1", "fix it").answer("m1", "look", 8000, 0, 20, thought)
	s.answer("m1", "look", 8000, 0, 20, thought+tool)
	got := read(t, s.answer("m2", "done", 8100, 7900, 10, "").text())
	th := &got.Threads[0]
	if got.ID != "g1" || got.Agent != "gemini-cli" || got.Project != "f00d" || len(th.Rounds) != 2 || got.Models[0] != "gemini-3-flash-preview" || len(got.Problems) != 0 {
		t.Fatalf("session %s of %s in %s with %d calls of %v, problems %v", got.ID, got.Agent, got.Project, len(th.Rounds), got.Models, got.Problems)
	}
	a, b := &th.Rounds[0], &th.Rounds[1]
	if want := (prompt.Usage{Uncached: 8000, Output: 25}); a.Usage != want {
		t.Errorf("usage %+v, want %+v", a.Usage, want)
	}
	if want := (prompt.Usage{Uncached: 200, Read: 7900, Output: 15}); b.Usage != want {
		t.Errorf("usage %+v, want %+v", b.Usage, want)
	}
	for what, v := range map[string][2][]string{
		"input": {agenttest.Kinds(got, a.Input), {"prompt"}}, "reply": {agenttest.Kinds(got, a.Reply), {"thinking", "text", "tool_use"}},
		"next input": {agenttest.Kinds(got, b.Input), {"tool_result", "unseen"}},
	} {
		if !slices.Equal(v[0], v[1]) {
			t.Errorf("%s: %v, want %v", what, v[0], v[1])
		}
	}
	result := got.Blocks[b.Input.From]
	if result.Op != op.Read || got.Objects[result.Object] != "/a.go" || result.Call == 0 {
		t.Errorf("result %+v does not belong to its call", result)
	}
	if a.First != int64(500*time.Millisecond) || b.Trigger != traces.TriggerToolResult { // the first thought
		t.Errorf("first after %v, trigger %v", time.Duration(a.First), b.Trigger)
	}
}

// A document gives the same session as lines.
func TestDocument(t *testing.T) {
	s := newScript().user("u1", "fix it").answer("m1", "look", 8000, 0, 20, tool).answer("m2", "done", 8100, 7900, 10, "")
	lines := read(t, s.text())
	for name, text := range map[string]string{
		"indented": strings.Replace(strings.TrimSuffix(head, "}"), ",", ",\n ", 1) + ",\n\"messages\":[\n" + strings.Join(s.lines[1:], ",\n") + "\n]}\n",
		"one line": strings.TrimSuffix(head, "}") + `,"messages":[` + strings.Join(s.lines[1:], ",") + "]}",
		"last":     `{"messages":[` + strings.Join(s.lines[1:], ",") + "]," + head[1:],
	} {
		got := read(t, text)
		for i := range got.Blocks { // which line it was differs
			got.Blocks[i].Line, lines.Blocks[i].Line = 0, 0
		}
		for _, th := range [][]traces.Round{got.Threads[0].Rounds, lines.Threads[0].Rounds} {
			for r := range th {
				th[r].Line = 0
			}
		}
		got.Quality.Lines = lines.Quality.Lines
		if !reflect.DeepEqual(got, lines) {
			t.Errorf("%s: %+v\nwant %+v", name, got, lines)
		}
	}
}

// What was said before a session went back was billed.
func TestRewind(t *testing.T) {
	s := newScript().user("u1", "one").answer("m1", "a", 8000, 0, 10, "").user("u2", "left").answer("m2", "b", 8100, 8000, 10, "")
	got := read(t, s.add(`{"$rewindTo":"u2"}`).user("u3", "taken").answer("m3", "c", 8200, 8000, 10, "").text())
	if len(got.Threads) != 2 || len(got.Threads[0].Rounds) != 2 || got.Threads[0].Rounds[1].ID != "m3" {
		t.Fatalf("%d threads, %+v", len(got.Threads), got.Threads[0].Rounds)
	}
	if b := got.Threads[1]; b.Kind != traces.ThreadBranch || b.ParentRound != 0 || b.Rounds[0].ID != "m2" {
		t.Errorf("branch %+v", b)
	}
	got = read(t, newScript().user("u1", "one").answer("m1", "a", 8000, 0, 10, "").add(`{"$rewindTo":"gone"}`).user("u2", "two").answer("m2", "b", 8100, 0, 10, "").text())
	if got.NumCalls() != 2 || len(got.Problems) != 1 || !strings.Contains(got.Problems[0].String(), "a.jsonl:4: message gone") {
		t.Errorf("%d calls, problems %v", got.NumCalls(), got.Problems)
	}
}

// A new history that lacks messages is a compaction; one that has every message is none.
func TestCompaction(t *testing.T) {
	s := newScript().user("u1", "one").answer("m1", "a", 8000, 7900, 10, "").user("u2", "two").answer("m2", "b", 60_000, 0, 10, "")
	all := strings.Join(s.lines[1:], ",")
	s.add(`{"$set":{"messages":[` + all + `]}}`)
	s.add(`{"$set":{"messages":[{"id":"n1","timestamp":"$AT","type":"user","content":[{"text":"what was done"}]},` +
		`{"id":"n2","timestamp":"$AT","type":"gemini","content":"Got it."},` + strings.Join(s.lines[3:5], ",") + `]}}`)
	got := read(t, s.user("u3", "three").answer("m3", "c", 9000, 8000, 10, "").text())
	th := got.Threads[0]
	if len(got.Threads) != 1 || len(th.Rounds) != 3 || len(th.Events) != 1 || len(got.Problems) != 0 {
		t.Fatalf("%d threads, %d calls, events %+v, problems %v", len(got.Threads), len(th.Rounds), th.Events, got.Problems)
	}
	ev := th.Events[0]
	if ev.Kind != traces.EventCompact || ev.Round != 2 || !slices.Equal(agenttest.Kinds(got, ev.Summary), []string{"summary", "summary"}) {
		t.Errorf("event %+v of %v", ev, agenttest.Kinds(got, ev.Summary))
	}
}

// A client that resumes a session says who it is again, sets its first message alone, and then its whole history with every
// result of a tool a second time, as Gemini CLI 0.61.0 does (2026-11-27). That is no compaction. The compaction behind it
// writes what it keeps under new ids without counts, which are copies and no calls.
func TestResume(t *testing.T) {
	s := newScript()
	s.add(`{"$set":{"messages":[{"id":"env","timestamp":"$AT","type":"user","content":[{"text":"today"}]}],"lastUpdated":"$AT"}}`)
	s.user("u1", "one").answer("m1", "a", 8000, 0, 10, tool)
	const env, response = `{"id":"env","timestamp":"$AT","type":"user","content":[{"text":"today"}]}`, `[{"functionResponse":{"id":"t1","name":"read_file","response":{"output":"package a"}}}]`
	answer := `{"functionCall":{"id":"t1","name":"read_file","args":{"file_path":"/a.go"}}}`
	s.add(`{"id":"r1","timestamp":"$AT","type":"user","content":`+response+`}`).answer("m2", "b", 8100, 8000, 10, "")
	s.add(head).add(`{"$set":{"messages":[` + env + `],"lastUpdated":"$AT"}}`).add(`{"$set":{"sessionId":"g1"}}`)
	s.add(`{"$set":{"messages":[` + env + `,{"id":"u1","timestamp":"$AT","type":"user","content":[{"text":"one"}]},` +
		`{"id":"m1","timestamp":"$AT","type":"gemini","content":[{"text":"a"},` + answer + `]},` +
		`{"id":"m1_response","timestamp":"$AT","type":"user","content":` + response + `},{"id":"r1","timestamp":"$AT","type":"user","content":` + response + `},` +
		`{"id":"m2","timestamp":"$AT","type":"gemini","content":[{"text":"b"}]}]}}`)
	s.user("u2", "two").answer("m3", "c", 600_000, 8100, 10, "")
	resumed := read(t, s.text())
	if len(resumed.Threads) != 1 || resumed.NumCalls() != 3 || len(resumed.Threads[0].Events) != 0 || len(resumed.Problems) != 0 {
		t.Fatalf("resumed: %d threads, %d calls, events %+v, problems %v", len(resumed.Threads), resumed.NumCalls(), resumed.Threads[0].Events, resumed.Problems)
	}
	if kinds := agenttest.Kinds(resumed, resumed.Threads[0].Rounds[2].Input); !slices.Contains(kinds, "tool_result") {
		t.Errorf("the result that is sent twice is not in the next request: %v", kinds)
	}
	s.add(`{"$set":{"messages":[` + env + `,{"id":"n1","timestamp":"$AT","type":"user","content":[{"text":"what was done"}]},` +
		`{"id":"n2","timestamp":"$AT","type":"gemini","content":[{"text":"Got it."}]},{"id":"n3","timestamp":"$AT","type":"user","content":[{"text":"two"}]},` +
		`{"id":"n4","timestamp":"$AT","type":"gemini","content":[{"text":"c"},` + answer + `]},{"id":"n5","timestamp":"$AT","type":"user","content":` + response + `}]}}`)
	got := read(t, s.user("u3", "three").answer("m4", "d", 9000, 8000, 10, "").text())
	th := got.Threads[0]
	if len(got.Threads) != 1 || len(th.Rounds) != 4 || len(th.Events) != 1 || len(got.Problems) != 0 {
		t.Fatalf("%d threads, %d calls, events %+v, problems %v", len(got.Threads), len(th.Rounds), th.Events, got.Problems)
	}
	ev := th.Events[0]
	if !slices.Equal(agenttest.Kinds(got, ev.Summary), []string{"summary", "summary"}) || ev.Round != 3 {
		t.Errorf("compaction ahead of call %d with a summary of %v, want 3 and two parts", ev.Round, agenttest.Kinds(got, ev.Summary))
	}
	if ev.Kept == 0 {
		t.Error("nothing is kept")
	}
}

// A sub-agent's file lies in a folder named after the session whose tool started it.
func TestSubAgent(t *testing.T) {
	started := strings.Replace(tool, `"status"`, `"agentId":"sub","status"`, 1)
	s := newScript().user("u1", "fix it").answer("m1", "look", 8000, 0, 20, started).answer("m2", "done", 8100, 7900, 10, "")
	sub := newScript().user("v1", "look").answer("k1", "seen", 3000, 0, 10, "")
	sub.lines[0] = `{"sessionId":"sub","projectHash":"f00d","kind":"subagent"}`
	c := agenttest.Read(t, Describe(), map[string]string{"p/chats/session-1.jsonl": s.text(), "p/chats/g1/sub.jsonl": sub.text()})
	if len(c.Sessions) != 1 || len(c.Sessions[0].Threads) != 2 {
		t.Fatalf("%d sessions, problems %v", len(c.Sessions), c.Problems)
	}
	if th := c.Sessions[0].Threads[1]; th.Kind != traces.ThreadAgent || th.ID != "sub" || th.Parent != 0 || th.ParentRound != 0 {
		t.Errorf("thread %+v", th)
	}
	c = agenttest.Read(t, Describe(), map[string]string{"p/chats/g1/sub.jsonl": sub.text()})
	if th := c.Sessions[0].Threads[0]; th.Kind != traces.ThreadOrphan {
		t.Errorf("without its session a %v", th.Kind)
	}
}

// A session that was resumed in the newer form has its calls in two files.
func TestResumed(t *testing.T) {
	s := newScript().user("u1", "one").answer("m1", "a", 8000, 0, 10, "")
	old := strings.TrimSuffix(head, "}") + `,"messages":[` + strings.Join(s.lines[1:], ",") + "]}"
	c := agenttest.Read(t, Describe(), map[string]string{"a.json": old, "a.jsonl": s.user("u2", "two").answer("m2", "b", 8100, 8000, 10, "").text()})
	if n := agenttest.Total(c); n.Calls != 2 || c.Repeated != 1 {
		t.Errorf("%d calls, %d repeated, problems %v", n.Calls, c.Repeated, c.Problems)
	}
}

func TestBadInput(t *testing.T) {
	good := newScript().user("u1", "one").answer("m1", "a", 8000, 0, 10, "")
	for line, want := range map[string]string{
		`{"id":`: "a.jsonl:4: ", `{"a":1}`: "a.jsonl:4: not a record of a session", `{"id":"x","type":"user","content":"\` + "xff" + `"}`: "a.jsonl:4: ",
		`{"id":"m1","type":"gemini","toolCalls":7}`: "a.jsonl:4: ",
	} {
		if s := read(t, good.text()+line+"\n"); s.Quality.BadLines != 1 || len(s.Problems) != 1 || !strings.Contains(s.Problems[0].String(), want) {
			t.Errorf("%s: %d bad lines, %v", line, s.Quality.BadLines, s.Problems)
		}
	}
	for _, bad := range []string{`"input":null`, `"input":"8000"`, `"input":-5`, `"cached":9000`, `"thoughts":-1`} {
		name, _, _ := strings.Cut(bad, ":")
		s := newScript().user("u1", "one").answer("m1", "a", 8000, 0, 10, "")
		at := strings.Index(s.lines[2], name)
		end := at + strings.IndexByte(s.lines[2][at:], ',')
		s.lines[2] = s.lines[2][:at] + bad + s.lines[2][end:]
		if got := read(t, s.text()); got.NumCalls() != 1 || got.Quality.Uncounted != 1 {
			t.Errorf("%s: %d calls, %d of them not counted, %v", bad, got.NumCalls(), got.Quality.Uncounted, got.Problems)
		}
	}
	// An answer without counts is told once, with the first such answer.
	s := good.add(`{"id":"m2","timestamp":"$AT","type":"gemini","content":"x","tokens":null}`).answer("m3", "b", 8100, 8000, 10, "")
	if got := read(t, s.text()); got.NumCalls() != 2 || len(got.Problems) != 1 || !strings.Contains(got.Problems[0].String(), "a.jsonl:4: 1 message of the model has no token counts") {
		t.Errorf("%d calls, problems %v", got.NumCalls(), got.Problems)
	}
	// Two messages of one id are both read.
	s = newScript().user("u1", "one").answer("m1", "a", 8000, 0, 10, "").user("u2", "two").answer("m1", "b", 8100, 8000, 10, "")
	if got := read(t, s.text()); got.NumCalls() != 2 || len(got.Problems) != 1 || !strings.Contains(got.Problems[0].String(), "a.jsonl:5: message m1 has the id of an earlier one") {
		t.Errorf("%d calls, problems %v", got.NumCalls(), got.Problems)
	}
	for _, text := range []string{"", head, `{"sessionId":"x","projectHash":"y","messages":[]}`, `{"sessionId":"x","projectHash":"y","messages":[{"id":`, "[1]"} {
		if c := agenttest.Read(t, Describe(), map[string]string{"a.jsonl": text}); len(c.Sessions) != 0 || c.NumProblems == 0 && c.Lines == 0 {
			t.Errorf("%q: %d sessions, %d problems", text, len(c.Sessions), c.NumProblems)
		}
	}
}

// What gemini_cli.py beside the recordings adds up.
func TestRecorded(t *testing.T) {
	agenttest.Totals(t, Describe(), map[string]agenttest.Sum{
		"traces-4/gemini-cli/Mai0313__VibeCodingTracker/gemini.jsonl":      {Calls: 6, Uncached: 153_635, Read: 48_951, Answered: 4293},
		"traces-4/gemini-cli/jazzyalex__agent-sessions/jsonl_v040.jsonl":   {Calls: 2, Uncached: 12_422, Read: 11_502, Answered: 228},
		"traces-4/gemini-cli/jazzyalex__agent-sessions/large.json":         {Calls: 1, Uncached: 100, Answered: 10},
		"traces-4/gemini-cli/jazzyalex__agent-sessions/small.json":         {Calls: 1, Uncached: 10, Answered: 5},
		"traces-4/gemini-cli/kenn-io__agentsview/standard_session.json":    {Calls: 2, Uncached: 3350, Read: 150, Answered: 650},
		"traces-3/gemini-cli/savekirk__session-bridge/60f07e797e.json.zst": {Calls: 10, Uncached: 42_177, Read: 206_747, Answered: 3467},
		"traces-3/gemini-cli/savekirk__session-bridge/c728cff1dd.json.zst": {Calls: 3, Uncached: 26_062, Read: 36_652, Answered: 2916},
		"traces-3/gemini-cli/savekirk__session-bridge/c9998b49d4.json.zst": {Calls: 10, Uncached: 107_093, Read: 195_260, Answered: 3734},
		"traces-3/gemini-cli/savekirk__session-bridge/cd70ab3400.json.zst": {Calls: 37, Uncached: 249_925, Read: 1_408_642, Answered: 12_301},
	})
}

func FuzzRead(f *testing.F) {
	s := newScript().user("u1", "one").answer("m1", "a", 8000, 0, 10, tool)
	agenttest.Fuzz(f, Describe(), s.text(), strings.TrimSuffix(head, "}")+`,"messages":[`+strings.Join(s.lines[1:], ",")+"]}",
		s.text()+`{"$rewindTo":"m1"}`+"\n"+`{"$set":{"messages":[{"id":"n","type":"user","content":"s"}]}}`+"\n"+s.lines[2])
}

// BenchmarkRead reads a session of 200 calls with results of 8 kB, each written twice.
func BenchmarkRead(b *testing.B) {
	s := newScript()
	s.user("u1", "go")
	output := fmt.Sprintf("%q", strings.Repeat("a line of output\n", 480))
	for i := range 200 {
		id := fmt.Sprint("m", i)
		s.answer(id, "look", 8000+2200*i, 7000+2200*i, 100, "")
		s.answer(id, "look", 8000+2200*i, 7000+2200*i, 100, strings.Replace(tool, `"package a"`, output, 1))
	}
	agenttest.Bench(b, Describe(), s.text())
}

// A message that is here again as it became has its counts; with other counts one of both is wrong.
func TestAgainWithOtherCounts(t *testing.T) {
	for output, want := range map[int]int{20: 0, 10: 1} {
		s := newScript().user("u1", "fix it").answer("m1", "look", 8000, 0, 20, "")
		again := strings.NewReplacer(`"output":20`, fmt.Sprintf(`"output":%d`, output), `"total":8025`, fmt.Sprintf(`"total":%d`, 8005+output)).Replace(s.lines[2])
		got := read(t, s.add(again).answer("m2", "done", 8100, 7900, 10, "").text())
		if got.NumCalls() != 2 || got.Quality.Uncounted != want {
			t.Errorf("output %d: %d calls, %d in doubt, want 2 and %d; %v", output, got.NumCalls(), got.Quality.Uncounted, want, got.Problems)
		}
	}
}
