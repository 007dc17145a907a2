package reqlog

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/tools/tests/agenttest"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/signs"
)

// exchanged is a call of Anthropic's interface, with times in seconds since start.
type exchanged struct {
	id         string
	from, to   int
	messages   string
	text       string
	in, rd, wr int
	system     string
}

const start = 1_780_000_000

func (e *exchanged) request() string {
	system := e.system
	if system == "" {
		system = "Be brief."
	}
	return fmt.Sprintf(`{"model":"claude-opus-4-6","max_tokens":9,"system":[{"type":"text","text":%q,"cache_control":{"type":"ephemeral"}}],`+
		`"tools":[{"name":"view","description":%q}],"messages":[%s]}`, system, strings.Repeat("x", 40_000), e.messages)
}

func (e *exchanged) usage() string {
	return fmt.Sprintf(`{"input_tokens":%d,"cache_read_input_tokens":%d,"cache_creation_input_tokens":%d,"output_tokens":7,`+
		`"cache_creation":{"ephemeral_5m_input_tokens":0,"ephemeral_1h_input_tokens":%d}}`, e.in, e.rd, e.wr, e.wr)
}

func (e *exchanged) response() string {
	return fmt.Sprintf(`{"id":%q,"type":"message","role":"assistant","model":"claude-opus-4-6","content":[{"type":"text","text":%q},`+
		`{"type":"tool_use","id":"u-%s","name":"view","input":{"path":"/a"}}],"usage":%s}`, e.id, e.text, e.id, e.usage())
}

// stream is the response as a stream of events, whose first one has a count of the output that is not final.
func (e *exchanged) stream() string {
	early := strings.Replace(e.usage(), `"output_tokens":7`, `"output_tokens":1`, 1)
	var b strings.Builder
	for _, event := range []string{
		fmt.Sprintf(`{"type":"message_start","message":{"id":%q,"type":"message","role":"assistant","model":"claude-opus-4-6","content":[],"usage":%s}}`, e.id, early),
		`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
		fmt.Sprintf(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":%q}}`, e.text[:1]),
		fmt.Sprintf(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":%q}}`, e.text[1:]),
		fmt.Sprintf(`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"u-%s","name":"view","input":{}}}`, e.id),
		`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"path\":"}}`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"\"/a\"}"}}`,
		`{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":7}}`,
	} {
		fmt.Fprintf(&b, "event: x\ndata: %s\n\n", event)
	}
	return b.String()
}

func quoted(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

const address = `"method":"POST","url":"https://api.anthropic.com/v1/messages","headers":{"authorization":"Bearer secret"}`

// forms are the forms of a log, each a file or several.
var forms = map[string]func(list []exchanged) map[string]string{
	"claude-trace": func(list []exchanged) map[string]string {
		return lines(list, func(e *exchanged) string {
			return fmt.Sprintf(`{"request":{"timestamp":%d.0,%s,"body":%s},"response":{"timestamp":%d,"status_code":200,"headers":{},"body":%s}}`, start+e.from, address, e.request(), start+e.to, e.response())
		})
	},
	"claude-trace, streamed": func(list []exchanged) map[string]string {
		return lines(list, func(e *exchanged) string {
			return fmt.Sprintf(`{"request":{"timestamp":%d,%s,"body":%s},"response":{"timestamp":%d,"status_code":200,"body_raw":%s}}`, start+e.from, address, e.request(), start+e.to, quoted(e.stream()))
		})
	},
	"bodies": func(list []exchanged) map[string]string {
		return lines(list, func(e *exchanged) string {
			return fmt.Sprintf(`{"start":%d000,"end":%d000,"request":%s,"response":%s}`, start+e.from, start+e.to, e.request(), e.response())
		})
	},
	"Helicone": func(list []exchanged) map[string]string {
		return lines(list, func(e *exchanged) string {
			return fmt.Sprintf(`{"request_created_at":%q,"response_created_at":%q,"request_body":%s,"response_body":%s,"response_status":200}`, stamp(e.from), stamp(e.to), e.request(), e.response())
		})
	},
	"HAR": func(list []exchanged) map[string]string {
		var entries []string
		for i := range list {
			e := &list[i]
			entries = append(entries, fmt.Sprintf(`{"startedDateTime":%q,"time":%d,"request":{%s,"postData":{"mimeType":"application/json","text":%s}},`+
				`"response":{"status":200,"content":{"size":9,"mimeType":"text/event-stream","text":%s}}}`, stamp(e.from), 1000*(e.to-e.from), address, quoted(e.request()), quoted(e.stream())))
		}
		return map[string]string{"a.har": `{"log":{"version":"1.2","creator":{"name":"x","version":"1"},"entries":[` + strings.Join(entries, ",\n") + `]}}`}
	},
	"agentcap": func(list []exchanged) map[string]string {
		files := map[string]string{}
		for i := range list {
			e := &list[i]
			files[e.id+".request.json"] = fmt.Sprintf(`{"request_id":"r-%s","captured_at":%d.0,"task_id":"a","body":%s}`, e.id, start+e.from, e.request())
			files[e.id+".response.json"] = fmt.Sprintf(`{"request_id":"r-%s","captured_at_resp":%d.0,"stream":true,"status_code":200,"raw":%s}`, e.id, start+e.to, quoted(e.stream()))
		}
		return files
	},
}

func stamp(at int) string { return time.Unix(start+int64(at), 0).UTC().Format(time.RFC3339) }

func lines(list []exchanged, line func(*exchanged) string) map[string]string {
	var b strings.Builder
	for i := range list {
		b.WriteString(line(&list[i]) + "\n")
	}
	return map[string]string{"a.jsonl": b.String()}
}

func said(role, text string, marked bool) string {
	marker := ""
	if marked {
		marker = `,"cache_control":{"type":"ephemeral"}`
	}
	return fmt.Sprintf(`{"role":%q,"content":[{"type":"text","text":%q%s}]}`, role, text, marker)
}

// conversation is two calls; the marker moves, and a message that no longer carries it is a string.
func conversation() []exchanged {
	asked := `{"role":"user","content":"do it"}`
	answered := `{"role":"assistant","content":[{"type":"text","text":"yes"},{"type":"tool_use","id":"u-m1","name":"view","input":{"path":"/a"}}]}`
	result := `{"role":"user","content":[{"type":"tool_result","tool_use_id":"u-m1","content":"found","cache_control":{"type":"ephemeral"}}]}`
	return []exchanged{
		{id: "m1", from: 0, to: 5, messages: said("user", "do it", true), text: "yes", in: 3, wr: 12_000},
		{id: "m2", from: 9, to: 12, messages: asked + "," + answered + "," + result, text: "done", in: 3, rd: 12_000, wr: 90},
	}
}

// All forms give one session.
func TestForms(t *testing.T) {
	c := agenttest.Read(t, Describe(), forms["claude-trace"](conversation()))
	if len(c.Sessions) != 1 {
		t.Fatalf("%d sessions, problems %v", len(c.Sessions), c.Problems)
	}
	want := c.Sessions[0]
	rounds := want.Threads[0].Rounds
	if len(want.Threads) != 1 || len(rounds) != 2 || want.Placements[0].Messages() != 1 || len(want.Problems) != 0 {
		t.Fatalf("%d threads, %d calls, %d markers, %v", len(want.Threads), len(rounds), want.Placements[0].Messages(), want.Problems)
	}
	if u := (prompt.Usage{Uncached: 3, Read: 12_000, Write1h: 90, Output: 7}); rounds[1].Usage != u || rounds[1].Verdict != signs.VerdictSame {
		t.Errorf("%+v", rounds[1])
	}
	if got := agenttest.Kinds(want, rounds[1].Input); !slices.Equal(got, []string{"tool_result", "unseen"}) || rounds[1].Trigger != traces.TriggerToolResult {
		t.Errorf("the input is %v", got)
	}
	head := want.Blocks[want.Threads[0].Prefix.From:want.Threads[0].Prefix.To]
	if len(head) != 2 || head[0].Kind != prompt.KindTools || head[0].Tokens < 11_000 || head[1].Tokens > 100 {
		t.Errorf("the head is %+v", head)
	}
	for name, form := range forms {
		files := form(conversation())
		for _, text := range files {
			if !Describe().Document([]byte(text[:300])) {
				t.Errorf("%s is not recognized: %s", name, text[:300])
			}
		}
		c := agenttest.Read(t, Describe(), files)
		if len(c.Sessions) != 1 {
			t.Errorf("%s: %d sessions, problems %v", name, len(c.Sessions), c.Problems)
			continue
		}
		got := *c.Sessions[0]
		got.Quality, got.Files, got.Problems = want.Quality, want.Files, want.Problems
		for i := range got.Blocks {
			got.Blocks[i].Line, got.Blocks[i].File = want.Blocks[i].Line, want.Blocks[i].File
		}
		for i := range got.Threads[0].Rounds {
			r := &got.Threads[0].Rounds[i]
			r.Line, r.File = rounds[i].Line, rounds[i].File
		}
		if !reflect.DeepEqual(&got, want) {
			t.Errorf("%s: %+v\nwant %+v", name, &got, want)
		}
	}
}

// OpenAI's responses say of writes whether they are kept for 30 minutes or for 12 hours: neither is an assumption.
func TestOpenAILifetimes(t *testing.T) {
	for details, want := range map[string]struct{ halfDay, assumed bool }{
		`,"cache_write_tokens_details":{"ttl_30m_tokens":0,"ttl_12h_tokens":60}`: {true, false},
		`,"cache_write_tokens_details":{"ttl_30m_tokens":60,"ttl_12h_tokens":0}`: {false, false},
		`,"cache_write_tokens_details":{"ttl_30m_tokens":0,"ttl_12h_tokens":0}`:  {false, true},
		"": {false, true},
	} {
		c := agenttest.Read(t, Describe(), map[string]string{"a.jsonl": fmt.Sprintf(`{"start":%d,"request":{"model":"gpt-5.6-sol","input":"do it"},"response":{"id":"c1",`+
			`"model":"gpt-5.6-sol","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"hi"}]}],"usage":{"input_tokens":100,`+
			`"input_tokens_details":{"cached_tokens":0,"cache_write_tokens":60%s},"output_tokens":7}}}`, start, details)})
		r := &c.Sessions[0].Threads[0].Rounds[0]
		if got := r.Flags&signs.HalfDay != 0; got != want.halfDay || r.Flags&signs.TierAssumed != 0 != want.assumed || r.Usage.Writes() != 60 {
			t.Errorf("%s: %+v, 12 hours %t, want %+v", details, r, got, want)
		}
	}
}

// Counts of OpenAI's two interfaces, whole and streamed, each with 100 tokens of input, 60 of which are read, and 7 of output.
func TestOpenAI(t *testing.T) {
	chat := `"usage":{"prompt_tokens":100,"completion_tokens":7,"total_tokens":107,"prompt_tokens_details":{"cached_tokens":60}}`
	items := `"usage":{"input_tokens":100,"output_tokens":7,"total_tokens":107,"input_tokens_details":{"cached_tokens":60},"output_tokens_details":{"reasoning_tokens":2}}`
	call := `{"index":0,"id":"u1","type":"function","function":{"name":"view","arguments":%q}}`
	for name, body := range map[string]string{
		"chat": `{"id":"c1","model":"openai/gpt-5.5","choices":[{"message":{"role":"assistant","content":"hi","tool_calls":[` + fmt.Sprintf(call, `{"path":"/a"}`) + `]}}],` + chat + `}`,
		"chat, streamed": quoted(`data: {"id":"c1","model":"gpt-5.5","choices":[{"delta":{"role":"assistant","content":"h"}}]}` + "\n\n" + `data: {"choices":[{"delta":{"content":"i"}}]}` + "\n" +
			`data: {"choices":[{"delta":{"tool_calls":[` + fmt.Sprintf(call, `{"path":`) + `]}}]}` + "\n" + `data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"/a\"}"}}]}}]}` + "\n" +
			`data: {"choices":[],` + chat + "}\n\ndata: [DONE]\n"),
		"responses": `{"id":"c1","model":"gpt-5.5","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"hi"}]},` +
			`{"type":"function_call","call_id":"u1","name":"view","arguments":"{\"path\":\"/a\"}"}],` + items + `}`,
		"responses, streamed": quoted(`data: {"type":"response.output_text.delta","delta":"hi"}` + "\n" + `data: {"type":"response.completed","response":{"id":"c1","model":"gpt-5.5","output":[` +
			`{"type":"message","role":"assistant","content":[{"type":"output_text","text":"hi"}]},{"type":"function_call","call_id":"u1","name":"view","arguments":"{\"path\":\"/a\"}"}],` + items + `}}` + "\n"),
	} {
		asked := `{"model":"gpt-5.5","messages":[{"role":"system","content":"s"},{"role":"user","content":"do it"}]}`
		if strings.HasPrefix(name, "responses") {
			asked = `{"model":"gpt-5.5","instructions":"s","input":"do it"}`
		}
		c := agenttest.Read(t, Describe(), map[string]string{"a.jsonl": fmt.Sprintf(`{"start":%d,"request":%s,"response":%s}`, start, asked, body)})
		if len(c.Sessions) != 1 {
			t.Errorf("%s: problems %v", name, c.Problems)
			continue
		}
		s := c.Sessions[0]
		r := &s.Threads[0].Rounds[0]
		if want := (prompt.Usage{Uncached: 40, Read: 60, Output: 7}); r.Usage != want || r.ID != "c1" || s.Models[r.Model] != "gpt-5.5" {
			t.Errorf("%s: %+v of %s", name, r, s.Models[r.Model])
		}
		if got := agenttest.Kinds(s, r.Reply); !slices.Equal(got, []string{"text", "tool_use"}) || len(s.Placements) != 0 {
			t.Errorf("%s: the reply is %v, %d markers", name, got, len(s.Placements))
		}
		if head := s.Blocks[s.Threads[0].Prefix.From]; head.Kind != prompt.KindSystem {
			t.Errorf("%s: the head is %v", name, head.Kind)
		}
	}
}

// Two calls with a tool between them by the interfaces of Google and Bedrock, by OpenAI's that names the response before, and in LiteLLM's rows.
// The first sends 1,000 tokens, the second 1,100, 900 of them read; each answers with 20, thoughts among them.
func TestOtherInterfaces(t *testing.T) {
	said := func(id string, answer string) string { // by Google: thoughts and the input of its own tools stand beside the counts
		return fmt.Sprintf(`{"candidates":[{"content":{"role":"model","parts":[{"text":"why","thought":true},%s]}}],"modelVersion":"gemini-2.5-pro","responseId":%q`, answer, id)
	}
	const call, back = `{"functionCall":{"name":"view","args":{"path":"/a"}}}`, `{"functionResponse":{"name":"view","response":{"output":"found"}}}`
	google := func(list ...string) string {
		return `{"systemInstruction":{"parts":[{"text":"s"}]},"contents":[` + strings.Join(list, ",") + `]}`
	}
	asked := `{"role":"user","parts":[{"text":"do it"}]}`
	counts := [2]string{`,"usageMetadata":{"promptTokenCount":1000,"candidatesTokenCount":15,"thoughtsTokenCount":5,"totalTokenCount":1020}}`,
		`,"usageMetadata":{"promptTokenCount":1090,"toolUsePromptTokenCount":10,"cachedContentTokenCount":900,"candidatesTokenCount":15,"thoughtsTokenCount":5,"totalTokenCount":1120}}`}
	url := `"method":"POST","url":"https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-pro:generateContent"`
	converse := func(list ...string) string {
		return `{"system":[{"text":"s"}],"messages":[` + strings.Join(list, ",") + `]}`
	}
	bedrock := func(at int, in, out string) string {
		return fmt.Sprintf(`{"schemaType":"ModelInvocationLog","timestamp":%q,"requestId":"q%d","operation":"Converse","modelId":"anthropic.claude-sonnet-4-5-20250929-v1:0",`+
			`"input":{"inputBodyJson":%s},"output":{"outputBodyJson":%s}}`, stamp(at), at, in, out)
	}
	use := `{"role":"assistant","content":[{"reasoningContent":{"reasoningText":{"text":"why"}}},{"toolUse":{"toolUseId":"u1","name":"view","input":{"path":"/a"}}}]}`
	goOn := func(at int, id, body, input string, read int, output string) string {
		return fmt.Sprintf(`{"timestamp":%q,"request":{"model":"gpt-5.1","instructions":"s",%s},"response":{"id":%q,"object":"response","created_at":%d,"model":"gpt-5.1","output":[%s],`+
			`"usage":{"input_tokens":%s,"input_tokens_details":{"cached_tokens":%d},"output_tokens":20}}}`, stamp(at), body, id, start+at, output, input, read)
	}
	row := func(at int, messages, message, input string, read int) string {
		return fmt.Sprintf(`{"id":"c%d","call_type":"acompletion","startTime":%d.5,"endTime":%d.5,"model":"gpt-5.1","messages":[{"role":"system","content":"s"},%s],`+
			`"response":{"id":"c%d","model":"gpt-5.1","choices":[{"message":%s}],"usage":{"prompt_tokens":%s,"completion_tokens":20,"prompt_tokens_details":{"cached_tokens":%d}}}}`,
			at, start+at, start+at+2, messages, at, message, input, read)
	}
	chose := `{"role":"assistant","reasoning_content":"why","tool_calls":[{"id":"u1","function":{"name":"view","arguments":"{\"path\":\"/a\"}"}}]}`
	for name, text := range map[string]string{
		"Google": fmt.Sprintf(`{"request":{"timestamp":%d,%s,"body":%s},"response":{"timestamp":%d,"status_code":200,"body":%s}}`, start, url, google(asked), start+2, said("r1", call)+counts[0]) + "\n" +
			fmt.Sprintf(`{"request":{"timestamp":%d,%s,"body":%s},"response":{"timestamp":%d,"status_code":200,"body":%s}}`, start+5, url,
				google(asked, `{"role":"model","parts":[{"text":"why","thought":true},`+call+`]}`, `{"role":"user","parts":[`+back+`]}`), start+7, said("r2", `{"text":"done"}`)+counts[1]),
		"Bedrock": bedrock(0, converse(`{"role":"user","content":[{"text":"do it"}]}`), `{"output":{"message":`+use+`},"usage":{"inputTokens":1000,"outputTokens":20,"cacheReadInputTokens":0,"cacheWriteInputTokens":0}}`) + "\n" +
			bedrock(5, converse(`{"role":"user","content":[{"text":"do it"}]}`, use, `{"role":"user","content":[{"toolResult":{"toolUseId":"u1","content":[{"text":"found"}]}}]}`),
				`{"output":{"message":{"role":"assistant","content":[{"reasoningContent":{"reasoningText":{"text":"why"}}},{"text":"done"}]}},"usage":{"inputTokens":200,"outputTokens":20,"cacheReadInputTokens":900,"cacheWriteInputTokens":0}}`),
		"the response before": goOn(0, "resp1", `"input":"do it"`, "1000", 0, `{"type":"reasoning","summary":[{"type":"summary_text","text":"why"}]},{"type":"function_call","call_id":"u1","name":"view","arguments":"{\"path\":\"/a\"}"}`) + "\n" +
			goOn(5, "resp2", `"previous_response_id":"resp1","input":[{"type":"function_call_output","call_id":"u1","output":"found"}]`, "1100", 900,
				`{"type":"reasoning","summary":[{"type":"summary_text","text":"why"}]},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"done"}]}`),
		"LiteLLM": row(0, `{"role":"user","content":"do it"}`, chose, "1000", 0) + "\n" +
			row(5, `{"role":"user","content":"do it"},`+chose+`,{"role":"tool","tool_call_id":"u1","content":"found"}`, `{"role":"assistant","reasoning_content":"why","content":"done"}`, "1100", 900),
	} {
		if !Describe().Document([]byte(text[:250])) {
			t.Errorf("%s is not recognized: %s", name, text[:250])
		}
		c := agenttest.Read(t, Describe(), map[string]string{"a.jsonl": text + "\n"})
		if len(c.Sessions) != 1 || len(c.Sessions[0].Threads) != 1 || len(c.Sessions[0].Threads[0].Rounds) != 2 {
			t.Errorf("%s: %d sessions, problems %v", name, len(c.Sessions), c.Problems)
			continue
		}
		s := c.Sessions[0]
		r := s.Threads[0].Rounds
		if a, b := (prompt.Usage{Uncached: 1000, Output: 20}), (prompt.Usage{Uncached: 200, Read: 900, Output: 20}); r[0].Usage != a || r[1].Usage != b {
			t.Errorf("%s: usage %+v, then %+v", name, r[0].Usage, r[1].Usage)
		}
		if r[0].At < start*1e9 || r[1].At < (start+5)*1e9 || r[1].Verdict != signs.VerdictSame || len(s.Threads[0].Events) != 0 {
			t.Errorf("%s: times %d and %d, verdict %v, events %v", name, r[0].At, r[1].At, r[1].Verdict, s.Threads[0].Events)
		}
		kinds := [2][]string{agenttest.Kinds(s, r[0].Reply), agenttest.Kinds(s, r[1].Reply)}
		if !slices.Equal(kinds[0], []string{"thinking", "tool_use"}) || !slices.Equal(kinds[1], []string{"thinking", "text"}) {
			t.Errorf("%s: replies are %v", name, kinds)
		}
		if got := agenttest.Kinds(s, r[1].Input); len(got) == 0 || got[0] != "tool_result" {
			t.Errorf("%s: the second input is %v", name, got)
		}
		if !strings.HasPrefix(s.Models[r[0].Model], "g") && !strings.Contains(s.Models[r[0].Model], "claude-sonnet-4-5") {
			t.Errorf("%s: of %s", name, s.Models[r[0].Model])
		}
	}
}

// What a request changed of the one before, what is a conversation beside it, and what a compaction.
func TestConversations(t *testing.T) {
	list := conversation()
	more := list[1].messages
	list = append(list,
		exchanged{id: "m3", from: 20, to: 22, messages: more + "," + said("assistant", "done", false) + "," + said("user", "more", true), text: "ok", in: 3, wr: 12_200, system: "Be verbose."},
		exchanged{id: "t1", from: 21, to: 22, messages: said("user", "a title", false), text: "title", in: 300, system: "Say a title."},
		exchanged{id: "m4", from: 30, to: 32, messages: said("user", "what was done", true), text: "ok", in: 3, rd: 12_000, wr: 50, system: "Be verbose."})
	c := agenttest.Read(t, Describe(), forms["claude-trace"](list))
	s := c.Sessions[0]
	if len(s.Threads) != 2 || s.Threads[1].Kind != traces.ThreadAgent || len(s.Threads[0].Rounds) != 4 || len(s.Threads[0].Events) == 0 {
		t.Fatalf("%d threads, %d calls, events %+v", len(s.Threads), len(s.Threads[0].Rounds), s.Threads[0].Events)
	}
	if at := s.Threads[0].Rounds[2].Parted; at < 2 {
		t.Errorf("the system prompt parts at byte %d, want behind the first", at)
	}
	if v := s.Threads[0].Rounds[2].Verdict; v != signs.VerdictSystem {
		t.Errorf("the system prompt changed: %v", v)
	}
	compacted := func(e traces.Event) bool { return e.Kind == traces.EventCompact && e.Round == 3 }
	if !slices.ContainsFunc(s.Threads[0].Events, compacted) {
		t.Errorf("events %+v", s.Threads[0].Events)
	}
}

// Calls without an id count once where their lines stand there again, in one file or in two, and each time where any time differs:
// the same request may be sent again.
func TestRepeatedWithoutID(t *testing.T) {
	log := strings.NewReplacer(`"id":"m1",`, "", `"id":"m2",`, "").Replace(forms["bodies"](conversation())["a.jsonl"])
	later := strings.ReplaceAll(log, `000,"request"`, `001,"request"`) // a millisecond
	for what, files := range map[string]map[string]string{
		"one file": {"a.jsonl": log + log}, "two files": {"a.jsonl": log, "b.jsonl": log},
	} {
		c := agenttest.Read(t, Describe(), files)
		if len(c.Sessions) != 1 || c.Sessions[0].NumCalls() != 2 || !strings.Contains(fmt.Sprint(c.Problems, c.Sessions[0].Problems), "calls that are told a second time, without an id and with the same times, request and response: 2;") {
			t.Errorf("%s: %d sessions, problems %v", what, len(c.Sessions), c.Problems)
		}
	}
	calls := 0
	for _, s := range agenttest.Read(t, Describe(), map[string]string{"a.jsonl": log + later}).Sessions {
		calls += s.NumCalls()
	}
	if calls != 4 {
		t.Errorf("%d calls of four that end at other times", calls)
	}
}

func TestBadInput(t *testing.T) {
	whole := forms["claude-trace"](conversation())["a.jsonl"]
	first, second, _ := strings.Cut(whole, "\n")
	for what, text := range map[string]string{
		"negative":    strings.Replace(whole, `"cache_read_input_tokens":12000`, `"cache_read_input_tokens":-1`, 1),
		"removed":     strings.Replace(whole, `"cache_read_input_tokens":12000,`, ``, 1),
		"no number":   strings.Replace(whole, `"cache_read_input_tokens":12000`, `"cache_read_input_tokens":"x"`, 1),
		"no response": first + "\n" + second[:strings.Index(second, `,"response"`)] + `,"response":null}`,
	} {
		c := agenttest.Read(t, Describe(), map[string]string{"a.jsonl": text})
		if len(c.Sessions) != 1 || c.Sessions[0].Quality.Uncounted != 1 || c.Sessions[0].NumCalls() != 2 {
			t.Errorf("%s: %d sessions, problems %v", what, len(c.Sessions), c.Problems)
		}
	}
	for text, want := range map[string]string{
		whole + "{\"request\":{\"bo": "last line is cut off", whole + "[1,2]\n": "a.jsonl:3: it holds no requests",
		whole + whole: "calls that are told a second time: 2;", strings.ReplaceAll(whole, `"usage"`, `"use"`): "conversation a has no call with token counts, of 2;",
		strings.ReplaceAll(whole, "/v1/messages", "/v1/messages/count_tokens"): "2 exchanges, none a call",
	} {
		c := agenttest.Read(t, Describe(), map[string]string{"a.jsonl": text})
		told := fmt.Sprint(c.Problems)
		for _, s := range c.Sessions {
			told += fmt.Sprint(s.Problems)
		}
		if !strings.Contains(told, want) || strings.Contains(told, "secret") {
			t.Errorf("%s, want %q", told, want)
		}
	}
	// A call that failed was not billed; the output of one that was cut off is not known.
	failed := strings.Replace(second, `"status_code":200`, `"status_code":529`, 1)
	failed = failed[:strings.LastIndex(failed, `"body"`)] + `"body":{"type":"error","error":{"type":"overloaded_error"}}}}`
	if c := agenttest.Read(t, Describe(), map[string]string{"a.jsonl": first + "\n" + failed}); len(c.Sessions) != 1 || c.Sessions[0].NumCalls() != 1 {
		t.Errorf("a call that failed: problems %v", c.Problems)
	}
	cut := strings.ReplaceAll(forms["claude-trace, streamed"](conversation())["a.jsonl"], "message_delta", "none")
	c := agenttest.Read(t, Describe(), map[string]string{"a.jsonl": strings.ReplaceAll(cut, `"usage\":{\"output_tokens\":7}`, `"x\":0`)})
	if s := c.Sessions[0]; s.Quality.DerivedOutputs+s.Quality.UnknownOutputs != 2 || s.Usage().Read != 12_000 {
		t.Errorf("cut off: %+v", s.Quality)
	}
}

// What request_log.py beside the recordings adds up.
func TestRecorded(t *testing.T) {
	const dir = "traces-4/request-log/cline__cline/"
	agenttest.Totals(t, Describe(), map[string]agenttest.Sum{
		dir + "file-edit-auto-approve.json":     {Calls: 2, Uncached: 6, Read: 17_656, Written: 3444, Answered: 218},
		dir + "headless-json-timeout.json.gz":   {Calls: 1, Uncached: 81, Read: 3712, Answered: 760},
		dir + "per-turn-metrics.json":           {Calls: 2, Uncached: 1320, Read: 1100, Written: 80, Answered: 65},
		dir + "read-file-outside-cwd.json":      {Calls: 2, Uncached: 6, Read: 17_412, Written: 4459, Answered: 612},
		dir + "read-file.json":                  {Calls: 2, Uncached: 6, Read: 16_470, Written: 3517, Answered: 630},
		dir + "safe-command-no-permission.json": {Calls: 2, Uncached: 6, Read: 17_509, Written: 3325, Answered: 219},
		dir + "subagents.json":                  {Calls: 8, Uncached: 24, Read: 28_133, Written: 25_116, Answered: 649},
		dir + "web-fetch.json":                  {Calls: 2, Uncached: 6, Read: 17_516, Written: 3818, Answered: 289},
	})
}

func FuzzRead(f *testing.F) {
	var seeds []string
	for _, form := range forms {
		for _, text := range form(conversation()) {
			seeds = append(seeds, strings.ReplaceAll(text, strings.Repeat("x", 40_000), "x"))
		}
	}
	slices.Sort(seeds)
	agenttest.Fuzz(f, Describe(), seeds...)
}

// BenchmarkRead reads 200 requests, each of which repeats the messages before it.
func BenchmarkRead(b *testing.B) {
	var list []exchanged
	var sent []string
	for i := range 200 {
		sent = append(sent, said("user", fmt.Sprint(i, strings.Repeat("a line of output\n", 60)), false))
		list = append(list, exchanged{id: fmt.Sprint("m", i), from: 10 * i, to: 10*i + 5, messages: strings.Join(sent, ","), text: "done", in: 3, rd: 12_000 + 300*i, wr: 300})
		sent = append(sent, said("assistant", "done", false))
	}
	for _, form := range []string{"claude-trace", "claude-trace, streamed"} {
		b.Run(form, func(b *testing.B) { agenttest.Bench(b, Describe(), forms[form](list)["a.jsonl"]) })
	}
}

// A log without token counts is kept if that is asked for, with sizes by what was said.
func TestEstimate(t *testing.T) {
	text := strings.ReplaceAll(forms["claude-trace"](conversation())["a.jsonl"], `"usage"`, `"use"`)
	inputs, err := traces.FindFS(fstest.MapFS{"a.jsonl": {Data: []byte(text)}})
	if err != nil {
		t.Fatal(err)
	}
	c, err := Describe().Read(context.Background(), traces.Options{Estimate: true}, inputs, "a")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	s := c.Sessions[0]
	if u := s.Usage(); s.NumCalls() != 2 || s.Quality.Uncounted != 2 || u.Input() != 0 || s.Quality.InputTokens < 10_000 {
		t.Errorf("%+v", s.Quality)
	}
}

// Of responses alone, one that calls a tool shows that the next call answers it.
func TestAnswersOfTools(t *testing.T) {
	line := func(created int, id, message string) string {
		return fmt.Sprintf(`{"scope":"https://h","method":"POST","path":"/v1/chat/completions","status":200,"response":{"id":%q,"model":"gpt-5.5","created":%d,"choices":[{"message":{"role":"assistant",%s}}],"usage":{"prompt_tokens":2000,"completion_tokens":9}}}`, id, created, message)
	}
	uses := `"tool_calls":[{"id":"t1","function":{"name":"read","arguments":"{}"}}]`
	text := "[" + strings.Join([]string{line(1774387735, "a", uses), line(1774387745, "b", `"content":"done"`), line(1774387755, "c", `"content":"yes"`)}, ",") + "]"
	c := agenttest.Read(t, Describe(), map[string]string{"a.json": text})
	if len(c.Sessions) != 1 || c.Sessions[0].NumCalls() != 3 {
		t.Fatalf("%d sessions, problems %v", len(c.Sessions), c.Problems)
	}
	for i, want := range []traces.Trigger{traces.TriggerPrompt, traces.TriggerToolResult, traces.TriggerOther} {
		if got := c.Sessions[0].Threads[0].Rounds[i].Trigger; got != want {
			t.Errorf("call %d answers %v, want %v", i, got, want)
		}
	}
}

// The server compacts inside the second call: a compaction, with a summary call of 150,000 and 3,000 tokens that no other
// count has. Fast mode is part of the model's name, and a priority tier of OpenAI's is.
func TestCompactionByTheServer(t *testing.T) {
	first := exchanged{id: "m1", to: 5, messages: `{"role":"user","content":"go"}`, text: "one", in: 3, wr: 15_000}
	second := exchanged{id: "m2", from: 10, to: 15, messages: first.messages + `,{"role":"assistant","content":[{"type":"text","text":"one"},` +
		`{"type":"tool_use","id":"u-m1","name":"view","input":{"path":"/a"}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"u-m1","content":"f"}]}`,
		text: "two", in: 10, wr: 20_000}
	answer := strings.Replace(second.response(), `"usage":{`, `"usage":{"speed":"fast","iterations":[{"type":"compaction","input_tokens":150000,"output_tokens":3000,`+
		`"cache_read_input_tokens":0,"cache_creation_input_tokens":0},{"type":"message","input_tokens":10,"output_tokens":7,"cache_read_input_tokens":0,`+
		`"cache_creation_input_tokens":20000}],`, 1)
	answer = strings.Replace(answer, `"content":[`, `"content":[{"type":"compaction","content":"what was done"},`, 1)
	line := func(e *exchanged, answer string) string {
		return fmt.Sprintf(`{"start":%d,"end":%d,"request":%s,"response":%s}`+"\n", start+e.from, start+e.to, e.request(), answer)
	}
	c := agenttest.Read(t, Describe(), map[string]string{"a.jsonl": line(&first, first.response()) + line(&second, answer)})
	if len(c.Sessions) != 1 || len(c.Sessions[0].Threads) != 1 {
		t.Fatalf("%d sessions, problems %v", len(c.Sessions), c.Problems)
	}
	s := c.Sessions[0]
	events := s.Threads[0].Events
	if len(s.Summaries) != 1 || s.Summaries[0].Usage != (prompt.Usage{Uncached: 150_000, Output: 3000}) || len(events) != 1 || events[0].Round != 1 {
		t.Fatalf("%+v, events %+v", s.Summaries, events)
	}
	if u := s.Threads[0].Rounds[1].Usage; u.Input() != 20_010 || s.Models[s.Threads[0].Rounds[1].Model] != "claude-opus-4-6[fast]" || events[0].Summary.Len() != 1 {
		t.Errorf("%+v of %s, a summary of %d blocks", u, s.Models, events[0].Summary.Len())
	}
}

// A call that does not say what was read is in doubt where another call of the conversation says it: null, left out, or no object around
// it. Where no call does, a gateway does not count it. A count that is here twice is none.
func TestBlankReads(t *testing.T) {
	call := func(at int, read string) string {
		return fmt.Sprintf(`{"start":%d,"request":{"model":"gpt-5.5","prompt_cache_key":"s","messages":[{"role":"user","content":"hi %d"}]},"response":{"id":"c%d","model":"gpt-5.5",`+
			`"choices":[{"message":{"role":"assistant","content":"yes"}}],"usage":{"prompt_tokens":%d,"completion_tokens":%d,"prompt_tokens_details":%s}}}`+"\n",
			start+at, at, at, 100+at, 7+at, read)
	}
	for _, tt := range []struct {
		reads [2]string
		want  int
	}{
		{[2]string{`{"cached_tokens":60}`, `{"cached_tokens":70}`}, 0}, {[2]string{`{"cached_tokens":60}`, `{"cached_tokens":null}`}, 1},
		{[2]string{`{"cached_tokens":60}`, `{}`}, 1}, {[2]string{`{"cached_tokens":60}`, `null`}, 1}, {[2]string{`{"cached_tokens":60}`, `"60"`}, 1},
		{[2]string{`{"cached_tokens":60}`, `{"cached_tokens":70},"prompt_tokens":109`}, 1},
		{[2]string{`{"cached_tokens":null}`, `{"cached_tokens":null}`}, 0}, {[2]string{`{}`, `null`}, 0},
	} {
		c := agenttest.Read(t, Describe(), map[string]string{"a.jsonl": call(0, tt.reads[0]) + call(9, tt.reads[1])})
		if n := c.Sessions[0].Quality.Uncounted; n != tt.want {
			t.Errorf("reads %v: %d calls in doubt, want %d", tt.reads, n, tt.want)
		}
	}
	if c := agenttest.Read(t, Describe(), map[string]string{"a.jsonl": call(0, `{"cache_write_tokens":60}`)}); len(c.Sessions) != 0 { // no interface has writes alone
		t.Errorf("writes without reads: %+v", agenttest.Total(c))
	}
}

// A response that is told twice at one time with other counts of input is in doubt the second time.
func TestToldTwiceWithOtherCounts(t *testing.T) {
	line := func(at, read int) string {
		return fmt.Sprintf(`{"start":%d,"end":%d,"request":{"model":"claude-opus-4-6","messages":[{"role":"user","content":"hi"}]},"response":{"id":"r","model":"claude-opus-4-6","content":[{"type":"text","text":"yes"}],`+
			`"usage":{"input_tokens":10,"cache_read_input_tokens":%d,"cache_creation_input_tokens":90,"output_tokens":9}}}`+"\n", start+at, start+at+5, read)
	}
	for want, text := range map[int]string{1: line(0, 400) + line(1, 200), 0: line(0, 400) + line(1, 400)} {
		c := agenttest.Read(t, Describe(), map[string]string{"a.jsonl": text})
		if n := c.Sessions[0].Quality.Uncounted; n != want {
			t.Errorf("%d calls in doubt, want %d; %v", n, want, c.Sessions[0].Problems)
		}
	}
}
