package otel

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/tools/tests/agenttest"
	"github.com/compactsim/compactsim/traces"
)

// spanOf is a span to be written in any form.
type spanOf struct {
	trace, id, up, name string
	from, to            int // seconds
	attributes          []string
}

// start is 2026-08-03T15:00:00Z.
const start = 1_785_769_200

func call(id, up string, from int, input, read, write, output int, more ...string) spanOf {
	return spanOf{"t1", id, up, "chat claude-opus-4-6", from, from + 5, append([]string{
		"gen_ai.operation.name", "chat", "gen_ai.response.model", "claude-opus-4-6", "gen_ai.conversation.id", "c1",
		"gen_ai.usage.input_tokens", strconv.Itoa(input), "gen_ai.usage.cache_read.input_tokens", strconv.Itoa(read),
		"gen_ai.usage.cache_write.input_tokens", strconv.Itoa(write), "gen_ai.usage.output_tokens", strconv.Itoa(output),
	}, more...)}
}

func agent(id, up string, from, to int) spanOf {
	return spanOf{"t1", id, up, "invoke_agent", from, to, []string{"gen_ai.operation.name", "invoke_agent", "gen_ai.usage.input_tokens", "99"}}
}

func toolSpan(id, up, name string, from, to int, more ...string) spanOf {
	return spanOf{"t1", id, up, "execute_tool " + name, from, to, append([]string{
		"gen_ai.operation.name", "execute_tool", "gen_ai.tool.name", name, "gen_ai.tool.call.id", "call-" + id}, more...)}
}

// attributes writes attributes; pair is the form of a name, a value and whether that is a number.
func (s *spanOf) list(between, pair string) string {
	var out []string
	for i := 0; i < len(s.attributes); i += 2 {
		v := s.attributes[i+1]
		kind := "int"
		if _, err := strconv.Atoi(v); err != nil {
			v, kind = strconv.Quote(v), "string"
		}
		out = append(out, strings.NewReplacer("$NAME", s.attributes[i], "$VALUE", v, "$KIND", kind).Replace(pair))
	}
	return strings.Join(out, between)
}

func (s *spanOf) otlp() string {
	return fmt.Sprintf(`{"traceId":%q,"spanId":%q,"parentSpanId":%q,"name":%q,"startTimeUnixNano":"%d000000000","endTimeUnixNano":"%d000000000","attributes":[%s]}`,
		s.trace, s.id, s.up, s.name, start+s.from, start+s.to, s.list(",", `{"key":"$NAME","value":{"$KINDValue":$VALUE}}`))
}

func (s *spanOf) lined() string {
	return fmt.Sprintf(`{"type":"span","traceId":%q,"spanId":%q,"parentSpanId":%q,"name":%q,"startTime":[%d,0],"endTime":[%d,0],"attributes":{%s},"resource":{"attributes":{"service.name":"agent","service.version":"1.0"}}}`,
		s.trace, s.id, s.up, s.name, start+s.from, start+s.to, s.list(",", `"$NAME":$VALUE`))
}

func (s *spanOf) snake() string {
	return fmt.Sprintf(`{"trace_id":%q,"span_id":%q,"parent_span_id":%q,"name":%q,"start_time":%d000000000,"end_time":%d000000000,"attributes":{%s}}`,
		s.trace, s.id, s.up, s.name, start+s.from, start+s.to, s.list(",", `"$NAME":$VALUE`))
}

func (s *spanOf) console() string {
	stamp := func(at int) string { return time.Unix(int64(start+at), 0).UTC().Format("2006-01-02T15:04:05.000000Z") }
	return fmt.Sprintf("{\n\"name\":%q,\n\"context\":{\"trace_id\":%q,\n\"span_id\":%q},\n\"parent_id\":%q,\n\"start_time\":%q,\n\"end_time\":%q,\n\"attributes\":{%s}}",
		s.name, s.trace, s.id, s.up, stamp(s.from), stamp(s.to), s.list(",", `"$NAME":$VALUE`))
}

func (s *spanOf) jaeger() string {
	up := "[]"
	if s.up != "" {
		up = fmt.Sprintf(`[{"refType":"CHILD_OF","traceID":%q,"spanID":%q}]`, s.trace, s.up)
	}
	return fmt.Sprintf(`{"traceID":%q,"spanID":%q,"operationName":%q,"references":%s,"startTime":%d000000,"duration":%d000000,"tags":[%s]}`,
		s.trace, s.id, s.name, up, start+s.from, s.to-s.from, s.list(",", `{"key":"$NAME","type":"$KIND","value":$VALUE}`))
}

func each(list []spanOf, between string, form func(*spanOf) string) string {
	var out []string
	for i := range list {
		out = append(out, form(&list[i]))
	}
	return strings.Join(out, between)
}

// forms are the forms in which spans arrive.
var forms = map[string]func(list []spanOf) string{
	"OTLP": func(l []spanOf) string {
		return `{"resourceSpans":[{"scopeSpans":[{"spans":[` + each(l, ",", (*spanOf).otlp) + `]}]}]}`
	},
	"OTLP lines": func(l []spanOf) string {
		return `{"resourceSpans":[{"scopeSpans":[{"spans":[` + each(l, "]}]}]}\n"+`{"resourceSpans":[{"scopeSpans":[{"spans":[`, (*spanOf).otlp) + "]}]}]}\n"
	},
	"Tempo": func(l []spanOf) string {
		return "{\n\"batches\":[{\n\"instrumentationLibrarySpans\":[{\n\"spans\":[\n" + each(l, ",\n", (*spanOf).otlp) + "\n]}]}]}"
	},
	"Tempo 2": func(l []spanOf) string {
		return `{"trace":{"resourceSpans":[{"scopeSpans":[{"spans":[` + each(l, ",", (*spanOf).otlp) + `]}]}]}}`
	},
	"Jaeger": func(l []spanOf) string {
		return `{"data":[{"traceID":"t1","spans":[` + each(l, ",", (*spanOf).jaeger) + `]}]}`
	},
	"Copilot": func(l []spanOf) string {
		return "{\"type\":\"metric\",\"name\":\"m\"}\n" + each(l, "\n", (*spanOf).lined)
	},
	"list":    func(l []spanOf) string { return "[\n" + each(l, ",\n", (*spanOf).snake) + "]" },
	"headed":  func(l []spanOf) string { return `{"session_id":"x","spans":[` + each(l, ",", (*spanOf).snake) + "]}" },
	"console": func(l []spanOf) string { return each(l, "\n", (*spanOf).console) },
}

func sessionOf(t testing.TB, list ...spanOf) *traces.Session {
	t.Helper()
	c := agenttest.Read(t, Describe(), map[string]string{"a.json": forms["OTLP"](list)})
	if len(c.Sessions) != 1 {
		t.Fatalf("%d sessions, problems %v", len(c.Sessions), c.Problems)
	}
	return c.Sessions[0]
}

// All forms give one session, with the usage of its calls and without the agent's.
func TestForms(t *testing.T) {
	list := []spanOf{
		agent("a", "", 0, 60), call("b", "a", 1, 20_000, 0, 19_997, 90, "gen_ai.response.time_to_first_chunk", "2"), toolSpan("x", "a", "view", 7, 9),
		call("c", "a", 10, 21_000, 19_997, 1000, 40),
	}
	want := sessionOf(t, list...)
	rounds := want.Threads[0].Rounds
	if len(want.Threads) != 1 || len(rounds) != 2 || want.ID != "c1" || want.Models[0] != "claude-opus-4-6" {
		t.Fatalf("session %s, %d threads", want.ID, len(want.Threads))
	}
	for i, u := range []prompt.Usage{{Uncached: 3, Write5m: 19_997, Output: 90}, {Uncached: 3, Read: 19_997, Write5m: 1000, Output: 40}} {
		if rounds[i].Usage != u {
			t.Errorf("call %d: %+v, want %+v", i, rounds[i].Usage, u)
		}
	}
	b, c := &rounds[0], &rounds[1]
	if b.Trigger != traces.TriggerPrompt || c.Trigger != traces.TriggerToolResult || b.At != (start+1)*1e9 || b.First != 2e9 || b.Stream != 5e9 || c.Wait != 4e9 {
		t.Errorf("%+v\n%+v", b, c)
	}
	if use := want.Blocks[b.Reply.To-1]; use.Kind != prompt.KindToolUse || want.Tools[use.Tool] != "view" {
		t.Errorf("the reply is %v", agenttest.Kinds(want, b.Reply))
	}
	for name, form := range forms {
		c := agenttest.Read(t, Describe(), map[string]string{"a.json": form(list)})
		if len(c.Sessions) != 1 || !Describe().Document([]byte(form(list))[:20+len(form(list))/2]) && name != "Copilot" {
			t.Errorf("%s: %d sessions, or it is not recognized; problems %v", name, len(c.Sessions), c.Problems)
			continue
		}
		got := c.Sessions[0]
		got.Quality, got.Problems, got.Versions, got.Project = want.Quality, want.Problems, want.Versions, want.Project
		for i := range got.Blocks {
			got.Blocks[i].Line = want.Blocks[i].Line
		}
		for i := range got.Threads[0].Rounds {
			if r := &got.Threads[0].Rounds[i]; name == "list" && r.Line != []int32{3, 5}[i] || name == "Copilot" && r.Line != []int32{3, 5}[i] {
				t.Errorf("%s: call %d is on line %d", name, i, r.Line)
			}
			got.Threads[0].Rounds[i].Line = rounds[i].Line
		}
		if name == "Jaeger" { // it has no chunk that is a fraction, as all other forms have
			got.Threads[0].Rounds[0].First = b.First
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v\nwant %+v", name, got, want)
		}
	}
}

// Names of other conventions, each with 100 tokens of input, 60 read and 30 written among them, and 7 of output.
func TestNames(t *testing.T) {
	for what, names := range map[string]string{
		"today":       "gen_ai.usage.input_tokens gen_ai.usage.cache_read.input_tokens gen_ai.usage.cache_write.input_tokens gen_ai.usage.output_tokens",
		"before":      "gen_ai.usage.input_tokens gen_ai.usage.cache_read.input_tokens gen_ai.usage.cache_creation.input_tokens gen_ai.usage.output_tokens",
		"Traceloop":   "gen_ai.usage.prompt_tokens gen_ai.usage.cache_read_input_tokens gen_ai.usage.cache_creation_input_tokens gen_ai.usage.completion_tokens",
		"OpenInfer.":  "llm.token_count.prompt llm.token_count.prompt_details.cache_read llm.token_count.prompt_details.cache_write llm.token_count.completion",
		"Vercel":      "ai.usage.inputTokens ai.usage.inputTokenDetails.cacheReadTokens ai.usage.inputTokenDetails.cacheWriteTokens ai.usage.outputTokens",
		"Claude Code": "input_tokens cache_read_tokens cache_creation_tokens output_tokens",
	} {
		n := strings.Fields(names)
		first := "100"
		if what == "Claude Code" { // leaves reads and writes out of the input
			first = "10"
		}
		got := sessionOf(t, spanOf{"t1", "a", "", "x", 0, 5, []string{n[0], first, n[1], "60", n[2], "30", n[3], "7"}})
		if want := (prompt.Usage{Uncached: 10, Read: 60, Write5m: 30, Output: 7}); got.Usage() != want {
			t.Errorf("%s: %+v, want %+v", what, got.Usage(), want)
		}
	}
}

// A call that several libraries report is the innermost span, also where the spans above it are lost.
func TestNested(t *testing.T) {
	inner := call("c", "b", 2, 500, 0, 0, 9)
	outer, middle := call("a", "", 1, 500, 0, 0, 9), call("b", "a", 2, 500, 0, 0, 9)
	outer.to, middle.to = 20, 15
	if s := sessionOf(t, outer, middle, inner); s.NumCalls() != 1 || s.Threads[0].Rounds[0].ID != "c" || len(s.Problems) != 1 {
		t.Errorf("%d calls, problems %v", s.NumCalls(), s.Problems)
	}
	for _, up := range []string{"", "lost"} {
		middle.up, inner.up = up, up
		if s := sessionOf(t, outer, middle, inner); s.NumCalls() != 1 || s.Usage().Uncached != 500 || !strings.Contains(fmt.Sprint(s.Problems), "another span reports the call of this span; it is counted once") {
			t.Errorf("without parents %d calls, problems %v", s.NumCalls(), s.Problems)
		}
	}
	// Of two libraries one knows what was read, and stays; the span within has lost the one above it, and its trace.
	around, within := call("a", "", 1, 500, 0, 0, 9, "otel.scope.name", "agent"), call("b", "lost", 2, 500, 400, 0, 9, "otel.scope.name", "client")
	around.to, around.trace = 20, "t2"
	for i, list := range [][]spanOf{{around, within}, {within, around}} {
		for k := range list {
			list[k].attributes = append(list[k].attributes, "gen_ai.conversation.id", "c1")
		}
		if s := sessionOf(t, list...); s.NumCalls() != 1 || s.Usage().Read != 400 || !strings.Contains(fmt.Sprint(s.Problems), "counted once") {
			t.Errorf("%d: %d calls, %+v, problems %v", i, s.NumCalls(), s.Usage(), s.Problems)
		}
	}
	// A response belongs to one call.
	same, later := call("a", "", 0, 500, 0, 0, 9, "gen_ai.response.id", "r1"), call("b", "", 2, 500, 0, 0, 9, "gen_ai.response.id", "r1")
	if s := sessionOf(t, same, later); s.NumCalls() != 1 || s.Quality.Uncounted != 0 {
		t.Errorf("at one time: %d calls, problems %v", s.NumCalls(), s.Problems)
	}
	later.from, later.to = 20, 25
	if s := sessionOf(t, same, later); s.NumCalls() != 2 || s.Quality.Uncounted != 1 {
		t.Errorf("at two times: %d calls, problems %v", s.NumCalls(), s.Problems)
	}
	bare := spanOf{"t1", "d", "c", "chat", 3, 4, []string{"gen_ai.operation.name", "chat"}}
	if s := sessionOf(t, outer, call("c", "a", 2, 500, 0, 0, 9), bare); s.NumCalls() != 1 || s.Quality.Uncounted != 0 {
		t.Errorf("%d calls, %d not counted", s.NumCalls(), s.Quality.Uncounted)
	}
	// The counts of a call replace the counts of the span around it; a second call in that span, without counts, is reported.
	bare.up = "a"
	if s := sessionOf(t, outer, call("c", "a", 2, 500, 0, 0, 9), bare); s.NumCalls() != 2 || s.Quality.Uncounted != 1 {
		t.Errorf("%d calls, %d not counted", s.NumCalls(), s.Quality.Uncounted)
	}
}

// A span that arrives twice counts once, in one file and in two of different forms.
func TestTwice(t *testing.T) {
	list := []spanOf{call("a", "", 0, 500, 0, 0, 9), call("b", "", 10, 600, 0, 0, 9)}
	if s := sessionOf(t, append(list, list...)...); s.NumCalls() != 2 || !strings.Contains(fmt.Sprint(s.Problems), "2 spans arrive a second time") {
		t.Errorf("%d calls, problems %v", s.NumCalls(), s.Problems)
	}
	c := agenttest.Read(t, Describe(), map[string]string{"a.json": forms["OTLP"](list), "b.json": forms["Jaeger"](list)})
	if n := agenttest.Total(c); len(c.Sessions) != 1 || n.Calls != 2 {
		t.Errorf("%d sessions with %d calls", len(c.Sessions), n.Calls)
	}
	bare := `{"spanName":"x","attributes":{"gen_ai.usage.input_tokens":500,"gen_ai.usage.output_tokens":9}}`
	c = agenttest.Read(t, Describe(), map[string]string{"a.json": bare, "b.json": bare})
	if n := agenttest.Total(c); n.Calls != 1 {
		t.Errorf("without ids %d calls", n.Calls)
	}
	// A trace may lie in several files, which are read in batches.
	c = agenttest.Read(t, Describe(), map[string]string{"a.json": forms["OTLP"](list[:1]), "b.json": forms["OTLP"](list[1:])})
	if n := agenttest.Total(c); len(c.Sessions) != 1 || n.Calls != 2 {
		t.Errorf("%d sessions with %d calls", len(c.Sessions), n.Calls)
	}
}

// What a tool starts is a sub-agent's; calls at one time are of different conversations.
func TestSubAgent(t *testing.T) {
	s := sessionOf(t, agent("a", "", 0, 60), call("b", "a", 1, 20_000, 0, 0, 90), toolSpan("x", "a", "task", 6, 40),
		agent("s", "x", 7, 39), call("d", "s", 8, 3000, 0, 0, 9), call("e", "s", 14, 3100, 0, 0, 9), call("c", "a", 41, 21_000, 0, 0, 40))
	if len(s.Threads) != 2 || len(s.Threads[0].Rounds) != 2 || len(s.Threads[1].Rounds) != 2 {
		t.Fatalf("%d threads", len(s.Threads))
	}
	if th := s.Threads[1]; th.Kind != traces.ThreadAgent || th.ID != "call-x" || th.Parent != 0 || th.ParentRound != 0 {
		t.Errorf("thread %+v", th)
	}
	s = sessionOf(t, call("a", "", 0, 500, 0, 0, 9), call("b", "", 2, 400, 0, 0, 9), call("c", "", 6, 600, 0, 0, 9))
	if len(s.Threads) != 2 || len(s.Threads[0].Rounds) != 2 {
		t.Errorf("%d threads", len(s.Threads))
	}
}

func saying(role, text string) string {
	return fmt.Sprintf(`{"role":%q,"parts":[{"type":"text","content":%q}]}`, role, text)
}

func messages(list ...string) []string {
	return []string{"gen_ai.input.messages", "[" + strings.Join(list, ",") + "]"}
}

// With messages, what was said is known: what repeats, what is new, what was left and what was replaced.
func TestMessages(t *testing.T) {
	u1, a1, u2, a2, u3 := saying("user", "one"), saying("assistant", "yes"), saying("user", "two"), saying("assistant", "no"), saying("user", "three")
	sum := saying("user", "what was done")
	s := sessionOf(t, call("a", "", 0, 500, 0, 0, 9, messages(u1)...), call("b", "", 10, 600, 0, 0, 9, messages(u1, a1, u2)...),
		call("l", "", 20, 650, 0, 0, 9, messages(u1, a1, saying("user", "left"))...),
		call("c", "", 30, 700, 0, 0, 9, messages(u1, a1, u2, a2, u3)...), call("d", "", 40, 520, 0, 0, 9, messages(sum, saying("user", "four"))...))
	if len(s.Threads) != 2 || s.Threads[1].Kind != traces.ThreadBranch || len(s.Threads[0].Rounds) != 4 || len(s.Threads[0].Events) != 1 {
		t.Fatalf("%d threads, %d calls, events %+v", len(s.Threads), len(s.Threads[0].Rounds), s.Threads[0].Events)
	}
	rounds := s.Threads[0].Rounds
	if got := agenttest.Kinds(s, rounds[1].Input); !slices.Equal(got, []string{"prompt", "unseen"}) {
		t.Errorf("input %v", got)
	}
	if got := agenttest.Kinds(s, rounds[0].Reply); !slices.Equal(got, []string{"text"}) { // shown by the next request alone
		t.Errorf("reply %v", got)
	}
	if ev := s.Threads[0].Events[0]; ev.Kind != traces.EventCompact || ev.Round != 3 || !slices.Equal(agenttest.Kinds(s, ev.Summary), []string{"summary"}) {
		t.Errorf("event %+v", ev)
	}
}

func TestBadInput(t *testing.T) {
	whole := []spanOf{call("a", "", 0, 500, 100, 0, 9), call("b", "", 10, 600, 500, 0, 9)}
	for old, bad := range map[string]string{
		`"intValue":500`: `"intValue":"[REDACTED]"`, `"intValue":100`: `"intValue":-1`, `"intValue":9`: `"intValue":null`,
		`gen_ai.usage.output_tokens`: `gen_ai.usage.other`, `{"intValue":100}`: `{"intValue":700}`,
	} {
		text := strings.Replace(forms["OTLP"](whole), old, bad, 1)
		c := agenttest.Read(t, Describe(), map[string]string{"a.json": text})
		if len(c.Sessions) != 1 || c.Sessions[0].Quality.Uncounted != 1 || c.Sessions[0].NumCalls() != 2 {
			t.Errorf("%s: %d sessions, problems %v", bad, len(c.Sessions), c.Problems)
		}
	}
	for text, want := range map[string]string{
		forms["OTLP lines"](whole) + "[1,2]\n":                                                                "a.json:3: it holds no spans",
		forms["OTLP lines"](whole) + "\x00\n":                                                                 "a.json:3: found",
		forms["OTLP"]([]spanOf{agent("a", "", 0, 9)}):                                                         "1 span, none a call of a model with token counts",
		strings.ReplaceAll(forms["OTLP"](whole), "intValue", "other"):                                         "conversation c1 has no call with token counts, of 2;",
		`{"resourceSpans":[]}`:                                                                                "or an empty one",
		`{"resourceSpans":[{"scopeSpans":[{"spans":[` + whole[0].otlp() + `,{"traceId":"t1","spa`:             "text ends",
		forms["OTLP"]([]spanOf{call("a", "", 0, 5, 0, 0, 9, "gen_ai.input.messages", `[{"role":"user","pa`)}): "messages that cannot be read to their end",
		strings.Replace(forms["OTLP"](whole), `"startTimeUnixNano":"17`, `"startTimeUnixNano":"71`, 1):        "out of range",
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
	// A call that failed was not billed.
	failed := call("f", "", 20, 0, 0, 0, 0)
	failed.attributes = []string{"gen_ai.operation.name", "chat", "gen_ai.conversation.id", "c1", "error.type", "timeout"}
	if s := sessionOf(t, append(whole, failed)...); s.NumCalls() != 2 || s.Quality.Uncounted != 0 {
		t.Errorf("%d calls", s.NumCalls())
	}
}

// What otel.py beside the recordings adds up; that leaves out the last two, whose list has a head.
func TestRecorded(t *testing.T) {
	agenttest.Totals(t, Describe(), map[string]agenttest.Sum{
		"traces-4/otel/agentevals-dev__agentevals/helm.json.gz":                           {Calls: 2, Uncached: 1984, Read: 1792, Answered: 130},
		"traces-4/otel/agentevals-dev__agentevals/helm_2.json":                            {Calls: 1, Uncached: 1822, Answered: 43},
		"traces-4/otel/agentevals-dev__agentevals/helm_3.json.gz":                         {Calls: 2, Uncached: 2255, Read: 1792, Answered: 803},
		"traces-4/otel/agentevals-dev__agentevals/k8s.json":                               {Calls: 1, Uncached: 411, Read: 1792, Answered: 139},
		"traces-4/otel/agentevals-dev__agentevals/tempo_export_with_batches.json":         {Calls: 2, Uncached: 4648, Answered: 129},
		"traces-4/otel/langwatch__langwatch/codex-B.session_task_turn.json":               {Calls: 1, Uncached: 8817, Read: 4480, Answered: 23},
		"traces-4/otel/langwatch__langwatch/gemini-B.llm_call.json":                       {Calls: 1, Uncached: 767, Answered: 30},
		"traces-4/otel/langwatch__langwatch/opencode-B.doStream.json":                     {Calls: 1, Uncached: 3, Written: 12_629, Answered: 13},
		"traces-4/otel/strands-agents__evals/adk_live_spans.json":                         {Calls: 2, Uncached: 379, Answered: 84},
		"traces-4/otel/strands-agents__evals/openai_agents_genai_live_spans.json":         {Calls: 8, Uncached: 1870, Answered: 253},
		"traces-4/otel/strands-agents__evals/openai_agents_openinference_adot_spans.json": {Calls: 3, Uncached: 692, Answered: 107},
		"traces-4/otel/strands-agents__evals/otel_genai_convention_spans.json":            {Calls: 2, Uncached: 200, Answered: 60},
		"traces-4/otel/strands-agents__evals/pydantic_ai_live_spans.json":                 {Calls: 2, Uncached: 1251, Answered: 78},
	})
}

func FuzzRead(f *testing.F) {
	list := []spanOf{agent("a", "", 0, 60), call("b", "a", 1, 20_000, 0, 19_997, 90, messages(saying("user", "x"))...), toolSpan("x", "a", "view", 7, 9)}
	var seeds []string
	for _, form := range forms {
		seeds = append(seeds, form(list))
	}
	slices.Sort(seeds)
	agenttest.Fuzz(f, Describe(), seeds...)
}

// BenchmarkRead reads lines of 200 calls with tools between them. Each call repeats the messages before it.
func BenchmarkRead(b *testing.B) {
	text := "a line of output\n"
	var list []spanOf
	var sent []string
	for i := range 200 {
		id := fmt.Sprint("s", i)
		sent = append(sent, saying("user", fmt.Sprint(i, strings.Repeat(text, 60))))
		list = append(list, call(id, "", 10*i, 8000+300*i, 7000+300*i, 300, 50, messages(sent...)...), toolSpan(id+"t", id, "bash", 10*i+6, 10*i+7, "gen_ai.tool.call.result", strings.Repeat(text, 60)))
		sent = append(sent, saying("assistant", fmt.Sprint("did ", i)))
	}
	for _, form := range []string{"OTLP lines", "Copilot"} {
		b.Run(form, func(b *testing.B) { agenttest.Bench(b, Describe(), forms[form](list)) })
	}
}

// library is a span of the i-th call as a library writes it, in OTLP, 20 s after the call before. Span r is above all.
func library(i int, scope, id, up string, from, to int, attributes ...string) string {
	s := spanOf{trace: "t1", id: id + strconv.Itoa(i), up: up, name: "x", from: from + 20*i, to: to + 20*i, attributes: attributes}
	if up != "" && up != "r" {
		s.up += strconv.Itoa(i)
	}
	return fmt.Sprintf(`{"scope":{"name":%q},"spans":[%s]}`, scope, s.otlp())
}

// Two calls of 20,010 tokens, of which 20,000 are written, and of 21,020, of which 20,000 are read and 1,000 written, with 100 and
// 200 tokens of output, as each library reports them. The versions are the ones in docs/agents.md.
func TestLibraries(t *testing.T) {
	counts := func(in, out, read, write string, rows ...[]string) (list [2][]string) {
		for i, n := range [2][4]string{{"20010", "100", "0", "20000"}, {"21020", "200", "20000", "1000"}} {
			list[i] = []string{in, n[0], out, n[1], read, n[2], write, n[3]}
			for _, row := range rows {
				list[i] = append(list[i], row[i])
			}
		}
		return list
	}
	sdk := counts("gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens", "gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_write.input_tokens")
	open := counts("llm.token_count.prompt", "llm.token_count.completion", "llm.token_count.prompt_details.cache_read", "llm.token_count.prompt_details.cache_write")
	old := counts("gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens", "gen_ai.usage.cache_read_input_tokens", "gen_ai.usage.cache_creation_input_tokens")
	strands := counts("gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens", "gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_creation.input_tokens")
	vercel := counts("ai.usage.inputTokens", "ai.usage.outputTokens", "ai.usage.inputTokenDetails.cacheReadTokens", "ai.usage.inputTokenDetails.cacheWriteTokens")
	chat := func(list []string, more ...string) []string {
		return append(append([]string{"gen_ai.operation.name", "chat", "gen_ai.response.model", "claude-opus-4-6"}, list...), more...)
	}
	id := func(i int) string { return []string{"m-a", "m-b"}[i] }
	hour := func(i int) []string {
		return []string{"anthropic.usage.cache_creation.ephemeral_1h_input_tokens", []string{"20000", "1000"}[i]}
	}
	object := func(i int) string { // as LiteLLM prints it
		return []string{
			`{'completion_tokens': 100, 'prompt_tokens': 20010, 'total_tokens': 20110, 'prompt_tokens_details': {'cached_tokens': 0, 'cache_creation_tokens': 20000, ` +
				`'cache_creation_token_details': {'ephemeral_1h_input_tokens': 0}}, 'cache_creation_input_tokens': 20000, 'cache_read_input_tokens': 0, 'iterations': None, 'speed': None}`,
			`{'completion_tokens': 200, 'prompt_tokens': 21020, 'total_tokens': 21220, 'prompt_tokens_details': {'cached_tokens': 20000, 'cache_creation_tokens': 1000, ` +
				`'cache_creation_token_details': {'ephemeral_1h_input_tokens': 0}}, 'cache_creation_input_tokens': 1000, 'cache_read_input_tokens': 20000, 'iterations': None, 'speed': None}`,
		}[i]
	}
	raw := func(i int) string {
		return []string{
			`{"cache_creation":{"ephemeral_1h_input_tokens":20000},"cache_creation_input_tokens":20000,"cache_read_input_tokens":0,"input_tokens":10,"output_tokens":100}`,
			`{"cache_creation":{"ephemeral_1h_input_tokens":1000},"cache_creation_input_tokens":1000,"cache_read_input_tokens":20000,"input_tokens":20,"output_tokens":200}`,
		}[i]
	}
	for name, test := range map[string]struct {
		spans func(i int) []string
		hour  bool
		told  string
	}{
		"Anthropic's SDK, an hour": {func(i int) []string {
			return []string{library(i, "com.anthropic.sdk.python", "a", "r", 0, 5, chat(append(sdk[i], hour(i)...), "gen_ai.response.id", id(i))...)}
		}, true, ""},
		"OpenInference": {func(i int) []string {
			return []string{library(i, "openinference.instrumentation.anthropic", "a", "r", 0, 5, append([]string{"openinference.span.kind", "LLM", "llm.model_name", "claude-opus-4-6"}, open[i]...)...)}
		}, false, ""},
		"OpenInference beside Anthropic's SDK": {func(i int) []string {
			return []string{
				library(i, "com.anthropic.sdk.python", "a", "r", 1, 4, chat(append(sdk[i], hour(i)...), "gen_ai.response.id", id(i))...),
				library(i, "openinference.instrumentation.anthropic", "b", "r", 0, 5, append([]string{"openinference.span.kind", "LLM", "llm.model_name", "claude-opus-4-6"}, open[i]...)...),
			}
		}, true, "another span reports"},
		"Traceloop": {func(i int) []string {
			return []string{library(i, "opentelemetry.instrumentation.anthropic", "a", "r", 0, 5, chat(old[i], "gen_ai.response.id", id(i))...)}
		}, false, ""},
		"pydantic-ai around Anthropic's SDK": {func(i int) []string {
			return []string{
				library(i, "pydantic-ai", "a", "r", 0, 5, chat(sdk[i])...),
				library(i, "com.anthropic.sdk.python", "b", "a", 1, 4, chat(append(sdk[i], hour(i)...), "gen_ai.response.id", id(i))...),
			}
		}, true, ""},
		"Strands, by old and new names": {func(i int) []string {
			return []string{library(i, "strands.telemetry.tracer", "a", "r", 0, 5, chat(append(strands[i], "gen_ai.usage.prompt_tokens", sdk[i][1],
				"gen_ai.usage.cache_read_input_tokens", sdk[i][5], "gen_ai.usage.cache_write_input_tokens", sdk[i][7]))...)}
		}, false, ""},
		"logfire, a stream": {func(i int) []string {
			return []string{
				library(i, "logfire.anthropic", "a", "r", 0, 1, "gen_ai.operation.name", "chat", "gen_ai.response.model", "claude-opus-4-6"),
				library(i, "logfire.anthropic", "b", "r", 5, 5, chat(sdk[i], "gen_ai.response.id", id(i), "gen_ai.usage.raw", raw(i))...),
			}
		}, true, ""},
		"LiteLLM": {func(i int) []string {
			return []string{library(i, "litellm", "a", "r", 0, 5, chat(sdk[i][:4], "gen_ai.response.id", id(i), "metadata.usage_object", object(i), "gen_ai.cost.total_cost", "1")...)}
		}, false, "come from the usage object"},
		"AI SDK": {func(i int) []string {
			return []string{
				library(i, "ai", "a", "r", 0, 5, append([]string{"ai.model.id", "claude-opus-4-6", "ai.operationId", "ai.streamText"}, vercel[i]...)...),
				library(i, "ai", "b", "a", 1, 4, append([]string{"ai.model.id", "claude-opus-4-6", "ai.response.id", id(i)}, vercel[i]...)...),
			}
		}, false, ""},
	} {
		root := spanOf{trace: "t1", id: "r", name: "run", to: 60}
		groups := []string{`{"scope":{"name":"app"},"spans":[` + root.otlp() + `]}`}
		for i := range 2 {
			groups = append(groups, test.spans(i)...)
		}
		c := agenttest.Read(t, Describe(), map[string]string{"a.json": `{"resourceSpans":[{"scopeSpans":[` + strings.Join(groups, ",") + `]}]}`})
		if len(c.Sessions) != 1 {
			t.Errorf("%s: %d sessions, problems %v", name, len(c.Sessions), c.Problems)
			continue
		}
		s := c.Sessions[0]
		want := prompt.Usage{Uncached: 30, Read: 20_000, Write5m: 21_000, Output: 300}
		if test.hour {
			want.Write5m, want.Write1h = 0, 21_000
		}
		told := fmt.Sprint(c.Problems, s.Problems)
		if s.NumCalls() != 2 || s.Usage() != want || s.Quality.Uncounted != 0 || !strings.Contains(told, test.told) {
			t.Errorf("%s: %d calls, %+v, want %+v; %s", name, s.NumCalls(), s.Usage(), want, told)
		}
	}
}

// A compaction by the server, whose tokens Anthropic's SDK states beside the counts, and the thoughts that only Google's total has.
func TestCountsBeside(t *testing.T) {
	s := sessionOf(t, call("a", "", 0, 20_010, 0, 20_000, 100), call("b", "", 10, 21_010, 0, 21_000, 100,
		"anthropic.usage.compaction.input_tokens", "150000", "anthropic.usage.compaction.output_tokens", "3000"))
	if len(s.Summaries) != 1 || s.Summaries[0].Usage != (prompt.Usage{Uncached: 150_000, Output: 3000}) || len(s.Threads[0].Events) != 1 {
		t.Errorf("%+v, events %+v", s.Summaries, s.Threads[0].Events)
	}
	for model, output := range map[string]int64{"gemini-3.8-flash": 70, "claude-opus-4-6": 20} {
		s := sessionOf(t, spanOf{"t1", "a", "", "chat", 0, 5, []string{"gen_ai.response.model", model, "gen_ai.usage.input_tokens", "1000",
			"gen_ai.usage.output_tokens", "20", "gen_ai.usage.total_tokens", "1070"}})
		if got := s.Usage().Output; got != output {
			t.Errorf("%s: %d tokens of output, want %d", model, got, output)
		}
	}
}

// pydantic-ai's span has the messages, and the span of Anthropic's SDK below it has the counts: the call has both.
func TestContentOfTheSpanAround(t *testing.T) {
	outer := call("a", "", 0, 20_010, 0, 20_000, 100, "gen_ai.input.messages", `[{"role":"user","parts":[{"type":"text","content":"Please do it"}]}]`)
	inner := call("b", "a", 1, 20_010, 0, 20_000, 100, "anthropic.usage.cache_creation.ephemeral_1h_input_tokens", "20000")
	inner.to = 4
	s := sessionOf(t, outer, inner)
	if u := s.Usage(); s.NumCalls() != 1 || u.Write1h != 20_000 || strings.Contains(fmt.Sprint(s.Problems), "shows no messages") {
		t.Errorf("%d calls, %+v, problems %v", s.NumCalls(), u, s.Problems)
	}
}
