package kimi

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/tools/tests/agenttest"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/internal/assembly"
	"github.com/compactsim/compactsim/traces/signs"
)

const head = `{"type":"metadata","protocol_version":"1.5","created_at":1780304400000}
{"type":"profile.bind","environmentDisclosure":{"cwd":"/repo"},"time":1780304400100}
`

// call is a step of protocol 1.5: a request, its counts, what it said, a tool at work, and the end.
func call(kind, usage, id, second string) string {
	text := `{"type":"llm.request","kind":"` + kind + `","model":"claude-opus-5","time":17803044` + second + `000}
{"type":"usage.record","model":"alias","usage":` + usage + `,"time":17803044` + second + `500}
`
	if kind == "compaction" {
		return text
	}
	event := func(e string) string {
		return `{"type":"context.append_loop_event","event":` + e + `,"time":17803044` + second + "600}\n"
	}
	return text + event(`{"type":"content.part","part":{"type":"think","think":"hm"}}`) + event(`{"type":"content.part","part":{"type":"text","text":"I look"}}`) +
		event(`{"type":"tool.call","toolCallId":"`+id+`","name":"Read","args":{"path":"/a.go"}}`) +
		event(`{"type":"tool.result","toolCallId":"`+id+`","result":{"output":"package a"}}`) +
		event(`{"type":"step.end","uuid":"`+id+`","usage":`+usage+`}`)
}

func said(text, origin string) string {
	return `{"type":"context.append_message","message":{"role":"user","content":[{"type":"text","text":"` + text + `"}],"origin":{"kind":"` + origin + `"}},"time":1780304400200}` + "\n"
}

// A step is a call, counted once though two lines have its counts; a compaction's call is the compaction's; messages of the
// client are no prompts.
func TestSession(t *testing.T) {
	text := head + said("reminder", "injection") + said("fix it", "user") +
		call("loop", `{"inputOther":3,"output":40,"inputCacheRead":0,"inputCacheCreation":9000}`, "t1", "01") +
		`{"type":"full_compaction.begin","source":"auto","time":1780304402000}` + "\n" +
		call("compaction", `{"inputOther":4,"output":700,"inputCacheRead":9000,"inputCacheCreation":90}`, "", "03") +
		`{"type":"context.apply_compaction","summary":"S","contextSummary":"before: S","tokensBefore":9100,"time":1780304404000}` + "\n" +
		call("loop", `{"inputOther":3,"output":50,"inputCacheRead":8000,"inputCacheCreation":1400}`, "t2", "05")
	c := agenttest.Read(t, Describe(), map[string]string{"s1/agents/main/wire.jsonl": text})
	if len(c.Sessions) != 1 || len(c.Problems) > 0 {
		t.Fatalf("%d sessions, problems %v", len(c.Sessions), c.Problems)
	}
	s := c.Sessions[0]
	th := &s.Threads[0]
	if s.ID != "s1" || s.Project != "/repo" || s.Models[0] != "claude-opus-5" || len(th.Rounds) != 2 {
		t.Fatalf("session %s in %s with %d calls of %v", s.ID, s.Project, len(th.Rounds), s.Models)
	}
	if u := s.Usage(); u != (prompt.Usage{Uncached: 6, Read: 8000, Write5m: 10400, Output: 90}) {
		t.Errorf("usage %+v", u)
	}
	if len(s.Summaries) != 1 || s.Summaries[0].Usage != (prompt.Usage{Uncached: 4, Read: 9000, Write5m: 90, Output: 700}) {
		t.Errorf("summaries %+v", s.Summaries)
	}
	if len(th.Events) != 1 || th.Events[0].Manual || th.Events[0].PreTokens != 4+9000+90 || th.Events[0].Round != 1 {
		t.Errorf("events %+v", th.Events)
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

// A step that was cut off has the counts of its own line; a line without a type is refused, others are passed over.
func TestOddLines(t *testing.T) {
	one := call("loop", `{"inputOther":3,"output":40,"inputCacheRead":0,"inputCacheCreation":9000}`, "t1", "01")
	cut, _, _ := strings.Cut(one, `{"type":"context.append_loop_event","event":{"type":"tool.call"`)
	text := head + said("fix it", "user") + cut + said("go on", "user") +
		call("loop", `{"inputOther":3,"output":50,"inputCacheRead":9000,"inputCacheCreation":400}`, "t2", "05") + `{"type":"something.new"}` + "\n{}\n"
	c := agenttest.Read(t, Describe(), map[string]string{"s1/agents/main/wire.jsonl": text})
	if s := c.Sessions[0]; s.NumCalls() != 2 || s.Usage().Output != 90 || c.BadLines != 1 {
		t.Errorf("%d calls, %+v, %d bad lines, problems %v", s.NumCalls(), s.Usage(), c.BadLines, s.Problems)
	}
}

// request is a request of the loop with tools of a hash, and its step.
func request(tools, usage, id, second string) string {
	return strings.Replace(call("loop", usage, id, second), `"kind":"loop"`, `"kind":"loop","toolsHash":"`+tools+`","systemPromptHash":"s"`, 1)
}

// The first request of another process lacks a tool, which the second one has again (Kimi Code 2.1.0 against a server of its own): the
// list of tools is another one, of 100 tokens less, and then the first one.
func TestListsOfTools(t *testing.T) {
	text := head + said("fix it", "user") +
		request("a", `{"inputOther":0,"output":40,"inputCacheRead":0,"inputCacheCreation":9000}`, "t1", "01") +
		request("b", `{"inputOther":0,"output":50,"inputCacheRead":0,"inputCacheCreation":8950}`, "t2", "05") +
		request("a", `{"inputOther":0,"output":50,"inputCacheRead":9000,"inputCacheCreation":150}`, "t3", "09")
	c := agenttest.Read(t, Describe(), map[string]string{"s1/agents/main/wire.jsonl": text})
	r := c.Sessions[0].Threads[0].Rounds
	if len(r) != 3 || len(c.Problems) > 0 {
		t.Fatalf("%d calls, problems %v", len(r), c.Problems)
	}
	for i, want := range []int32{0, 2, 1} {
		if r[i].Parted != want || r[i].Verdict == signs.VerdictTools != (want > 0) {
			t.Errorf("call %d: %v, list %d, want list %d", i+1, r[i].Verdict, r[i].Parted, want)
		}
	}
	if r[1].Tools >= 0 || r[2].Tools != -r[1].Tools {
		t.Errorf("the second list weighs %d tokens more, and then the first one %d, want a list that is lighter and the same back", r[1].Tools, r[2].Tools)
	}
	if e := c.Sessions[0].Threads[0].Events; len(e) > 0 {
		t.Errorf("the conversation changed: %+v", e)
	}
}

// A compaction in the background is dropped if the turn goes on meanwhile (Kimi Code 2.1.0 with a compaction_trigger_ratio of 0.6): its
// call is billed beside the conversation, whichever of the two ends first, and each call has its own counts.
func TestCancelledCompaction(t *testing.T) {
	one := request("a", `{"inputOther":0,"output":40,"inputCacheRead":0,"inputCacheCreation":9000}`, "t1", "01")
	two := request("a", `{"inputOther":0,"output":50,"inputCacheRead":9000,"inputCacheCreation":400}`, "t2", "05")
	begin, rest, _ := strings.Cut(two, "\n")
	summing, counts, _ := strings.Cut(call("compaction", `{"inputOther":0,"output":700,"inputCacheRead":9000,"inputCacheCreation":90}`, "", "05"), "\n")
	counts = strings.Replace(counts, `"model":"alias"`, `"model":"alias","usageScope":"session"`, 1)
	rest = strings.Replace(rest, `"model":"alias"`, `"model":"alias","usageScope":"turn"`, 1)
	record, events, _ := strings.Cut(rest, "\n")
	cancel := `{"type":"full_compaction.cancel","time":1780304405900}` + "\n"
	ahead := `{"type":"full_compaction.begin","source":"auto","time":1780304404000}` + "\n" + summing + "\n" + begin + "\n"
	for name, text := range map[string]string{
		"summary first": ahead + counts + cancel + record + "\n" + events, "step first": ahead + record + "\n" + events + counts + cancel,
		"between": ahead + record + "\n" + counts + cancel + events,
	} {
		c := agenttest.Read(t, Describe(), map[string]string{"s1/agents/main/wire.jsonl": head + said("fix it", "user") + one + text})
		s := c.Sessions[0]
		if len(s.Threads) != 2 || len(s.Threads[0].Rounds) != 2 || len(s.Threads[0].Events) > 0 || c.BadLines > 0 {
			t.Fatalf("%s: %d threads of %d calls, events %+v, problems %v", name, len(s.Threads), s.NumCalls(), s.Threads[0].Events, s.Problems)
		}
		if u := s.Threads[0].Rounds[1].Usage; u != (prompt.Usage{Read: 9000, Write5m: 400, Output: 50}) {
			t.Errorf("%s: the step has %+v", name, u)
		}
		if u := s.Threads[1].Rounds[0].Usage; u != (prompt.Usage{Read: 9000, Write5m: 90, Output: 700}) {
			t.Errorf("%s: the summary has %+v", name, u)
		}
	}
}

// The message of an interrupted step is a text, and no line to refuse.
func TestInterruptedStep(t *testing.T) {
	text := head + said("fix it", "user") + call("loop", `{"inputOther":3,"output":40,"inputCacheRead":0,"inputCacheCreation":9000}`, "t1", "01") +
		`{"type":"turn.step.interrupted","agentId":"main","reason":"aborted","message":"This operation was aborted","time":1780304405000}` + "\n"
	if c := agenttest.Read(t, Describe(), map[string]string{"s1/agents/main/wire.jsonl": text}); c.BadLines > 0 {
		t.Errorf("%d bad lines: %v", c.BadLines, c.Problems)
	}
}

func FuzzRead(f *testing.F) {
	agenttest.Fuzz(f, Describe(), head+said("fix it", "user")+call("loop", `{"inputOther":3,"output":40,"inputCacheRead":0,"inputCacheCreation":9000}`, "t1", "01"))
}

// A record of usage behind its step, as protocol 1.1 writes it, is that step's; one that is here twice counts once; a summary whose
// request was made has counts, or lacks them. Recorded are 10 tokens in and 5 out for one call.
func TestRecordsOfUsage(t *testing.T) {
	usage := `{"inputOther":3,"output":40,"inputCacheRead":0,"inputCacheCreation":9000}`
	one := call("loop", usage, "t1", "01")
	begin, rest, _ := strings.Cut(one, "\n")
	record, events, _ := strings.Cut(rest, "\n")
	behind := begin + "\n" + events + record + "\n"
	summary := `{"type":"full_compaction.begin","source":"auto","time":1780304402000}` + "\n" +
		call("compaction", `{"inputOther":4,"output":700,"inputCacheRead":9000,"inputCacheCreation":90}`, "", "03") +
		`{"type":"context.apply_compaction","summary":"S","tokensBefore":9100,"time":1780304404000}` + "\n"
	last := call("loop", `{"inputOther":3,"output":50,"inputCacheRead":8000,"inputCacheCreation":1400}`, "t2", "05")
	for name, tt := range map[string]struct {
		text                       string
		calls, uncounted, bad, sum int
	}{
		"behind":                 {one[:0] + behind + last, 2, 0, 0, 90},
		"record twice":           {begin + "\n" + record + "\n" + record + "\n" + events + last, 2, 0, 1, 90},
		"step twice":             {one + last + last[strings.LastIndex(last[:len(last)-1], "\n")+1:], 2, 0, 1, 90},
		"record moved":           {record + "\n" + begin + "\n" + events + last, 2, 0, 1, 90},
		"end moved":              {begin + "\n" + record + "\n" + last + events, 3, 0, 1, 130},
		"summary":                {one + summary + last, 2, 0, 0, 90},
		"summary, no compaction": {one + summary[:strings.Index(summary, `{"type":"context.apply`)] + last, 2, 1, 0, 90},
		"summary, no counts":     {one + strings.Replace(summary, `"usage":`, `"other":`, 1) + last, 2, 1, 0, 90},
	} {
		t.Run(name, func(t *testing.T) {
			c := agenttest.Read(t, Describe(), map[string]string{"s1/agents/main/wire.jsonl": head + said("fix it", "user") + tt.text})
			s := c.Sessions[0]
			if s.NumCalls() != tt.calls || s.Quality.Uncounted != tt.uncounted || c.BadLines != tt.bad || s.Usage().Output != int64(tt.sum) {
				t.Errorf("%d calls, %d uncounted, %d bad lines, %d of output: %v", s.NumCalls(), s.Quality.Uncounted, c.BadLines, s.Usage().Output, s.Problems)
			}
		})
	}
}

// Parts and results of a step that does not end are read as one beyond a number, with all their bytes.
func TestStepWithoutEnd(t *testing.T) {
	const n = assembly.Unanswered + 500
	for kind, line := range map[string]string{
		"parts":   `{"type":"content.part","part":{"type":"text","text":"%06d"}}`,
		"results": `{"type":"tool.result","toolCallId":"t","result":{"output":"%06d"}}`,
	} {
		var b strings.Builder
		b.WriteString(head + "\n")
		for i := range n {
			fmt.Fprintf(&b, `{"type":"context.append_loop_event","event":`+line+"}\n", i)
		}
		b.WriteString(`{"type":"context.append_loop_event","event":{"type":"step.end","uuid":"u","usage":{"inputOther":3,"output":900000,"inputCacheRead":0,"inputCacheCreation":0}}}` + "\n")
		c := agenttest.Read(t, Describe(), map[string]string{"sessions/r/s/agents/main/wire.jsonl": b.String()})
		if len(c.Sessions) != 1 {
			t.Fatalf("%s: %v", kind, c.Problems)
		}
		s, bytes := c.Sessions[0], 0
		for _, blk := range s.Blocks {
			bytes += int(blk.Bytes)
		}
		told := slices.ContainsFunc(s.Problems, func(p traces.Problem) bool { return p.Text == assembly.FoldedNote })
		if len(s.Blocks) > assembly.Unanswered+3 || !told {
			t.Errorf("%s: %d blocks of %d bytes, told %v", kind, len(s.Blocks), bytes, told)
		}
		if kind == "parts" && bytes != 6*n {
			t.Errorf("%d bytes, want %d", bytes, 6*n)
		}
	}
}

// A step that was cut off has no end to name it. In two wires of which one lacks other lines it is one call, by its record's time.
func TestStepCutOffInACopy(t *testing.T) {
	usage := `{"inputOther":3,"output":40,"inputCacheRead":0,"inputCacheCreation":9000}`
	one := call("loop", usage, "t1", "01")
	begin, rest, _ := strings.Cut(one, "\n")
	record, _, _ := strings.Cut(rest, "\n")
	cut := begin + "\n" + record + "\n"
	last := func(id, at string) string {
		return call("loop", `{"inputOther":3,"output":50,"inputCacheRead":8000,"inputCacheCreation":1400}`, id, at)
	}
	calls := 0
	for _, s := range agenttest.Read(t, Describe(), map[string]string{
		"s1/agents/main/wire.jsonl": head + said("fix it", "user") + cut + last("t2", "05"), "s2/agents/main/wire.jsonl": head + said("fix it", "user") + cut + last("t3", "07"),
	}).Sessions {
		calls += s.NumCalls()
	}
	if calls != 3 {
		t.Errorf("%d calls, want 3", calls)
	}
}
