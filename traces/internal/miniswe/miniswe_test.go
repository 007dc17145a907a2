package miniswe

import (
	"fmt"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/tools/tests/agenttest"
	"github.com/compactsim/compactsim/traces"
)

// run is a trajectory of 2.4.6 with so many calls as it says and messages behind the first two.
func run(calls int, messages ...string) string {
	return fmt.Sprintf(`{"info":{"model_stats":{"instance_cost":0.0071,"api_calls":%d},"config":{"environment":{"cwd":"/w"}},"mini_version":"2.4.6"},"messages":[
{"role":"system","content":"You are helpful."},
{"role":"user","content":"List files"},
%s,
{"role":"exit","content":"","extra":{"exit_status":"Submitted"}}],"trajectory_format":"mini-swe-agent-1.1"}`, calls, strings.Join(messages, ",\n"))
}

// usage are counts as LiteLLM gives them of Anthropic's models: the input holds reads and writes.
const usage = `"usage":{"completion_tokens":41,"prompt_tokens":1705,"total_tokens":1746,"prompt_tokens_details":{"cache_write_tokens":701,"cached_tokens":1000,"text_tokens":4,"cache_creation_tokens":701,"cache_creation_token_details":{"ephemeral_5m_input_tokens":701,"ephemeral_1h_input_tokens":0}},"cache_creation_input_tokens":701,"cache_read_input_tokens":1000}`

const (
	call = `{"content":"Look.","role":"assistant","tool_calls":[{"index":1,"function":{"arguments":"{\"command\":\"ls\"}","name":"bash"},"id":"toolu_1","type":"function"}],"extra":{"response":{"id":"chatcmpl-1","created":1795971375,"model":"claude-sonnet-4-6","object":"chat.completion","choices":[{"message":{"content":"Look.","role":"assistant"}}],` +
		usage + `},"cost":0.0035,"timestamp":1795971376.0082006}}`
	result = `{"content":"{\"returncode\":0,\"output\":\"a\"}","extra":{"raw_output":"a","timestamp":1795971377.5},"tool_call_id":"toolu_1","role":"tool"}`
	// refused is what the agent says of a response without a command, which stands beside it.
	refused = `{"role":"user","content":"Please give a command.","extra":{"interrupt_type":"FormatError","cost":0.0036,"response":{"id":"chatcmpl-2","created":1795971378,"model":"claude-sonnet-4-6","object":"chat.completion","choices":[{"message":{"content":"Nothing to do.","role":"assistant"}}],` +
		usage + `}}}`
	// responded is a response of OpenAI's newer interface, which is a message itself.
	responded = `{"id":"resp_1","object":"response","model":"gpt-5.5","output":[{"type":"function_call","call_id":"c1","name":"bash","arguments":"{\"command\":\"ls\"}"}],"usage":{"input_tokens":900,"input_tokens_details":{"cached_tokens":512},"output_tokens":20,"output_tokens_details":{"reasoning_tokens":5},"total_tokens":920},"extra":{"cost":0.002,"timestamp":1795971378.5}}`
	answered  = `{"type":"function_call_output","call_id":"c1","output":"a","extra":{"timestamp":1795971379.5}}`
)

func read(t *testing.T, text string) *traces.Session {
	t.Helper()
	c := agenttest.Read(t, Describe(), map[string]string{"out.traj.json": text})
	if len(c.Sessions) != 1 {
		t.Fatalf("%d sessions, problems %v", len(c.Sessions), c.Problems)
	}
	return c.Sessions[0]
}

// Every response is a call: beside the message, beside the message that refuses it, or the message itself.
func TestCalls(t *testing.T) {
	s := read(t, run(3, call, result, refused, responded, answered))
	rounds := s.Threads[0].Rounds
	if s.ID != "out" || s.Project != "/w" || s.LoggedUSD != .0071 || len(rounds) != 3 {
		t.Fatalf("%s in %s, $%g, %d calls, %v", s.ID, s.Project, s.LoggedUSD, len(rounds), s.Problems)
	}
	anthropic := prompt.Usage{Uncached: 4, Read: 1000, Write5m: 701, Output: 41}
	for i, want := range []prompt.Usage{anthropic, anthropic, {Uncached: 388, Read: 512, Output: 20}} {
		if rounds[i].Usage != want {
			t.Errorf("call %d: %+v, want %+v", i, rounds[i].Usage, want)
		}
	}
	if a, b := rounds[0].At/1e9, rounds[2].At/1e9; a != 1795971376 || b != 1795971378 { // a message's time, else its response's
		t.Errorf("at %d and %d", a, b)
	}
	if got := strings.Join(agenttest.Kinds(s, rounds[2].Input), " "); !strings.HasPrefix(got, "prompt") {
		t.Errorf("input behind a refused response: %s", got)
	}
}

// Calls of which no message has the response are told, as the agent counts its calls.
func TestMissing(t *testing.T) {
	s := read(t, run(4, call, result, strings.Replace(call, "chatcmpl-1", "chatcmpl-3", 1)))
	if len(s.Threads[0].Rounds) != 2 || !strings.Contains(fmt.Sprint(s.Problems), "2 calls whose responses are in no message") {
		t.Errorf("%d calls, %v", len(s.Threads[0].Rounds), s.Problems)
	}
}

func FuzzRead(f *testing.F) {
	agenttest.Fuzz(f, Describe(), run(3, call, result, refused, responded, answered))
}
