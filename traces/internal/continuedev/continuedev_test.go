package continuedev

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/tools/tests/agenttest"
	"github.com/compactsim/compactsim/traces"
)

// session is a session of 1.5.47 behind a compaction, as it writes one, without indentation: a call of a tool and the answer, and
// the sum of all calls, which a server billed with 7 more.
const session = `{"sessionId":"s1","title":"Untitled Session","workspaceDirectory":"/p","history":[
{"message":{"role":"assistant","content":"So far: counted."},"contextItems":[],"conversationSummary":"So far: counted."},
{"message":{"role":"user","content":"go on"},"contextItems":[{"content":"package b","name":"b.go","description":"b.go"}],"editorState":"go on"},
{"message":{"role":"assistant","content":"Look.","toolCalls":[{"id":"toolu_1","type":"function","function":{"name":"Bash","arguments":"{\"command\":\"seq 9\"}"}}],"usage":{"completion_tokens":41,"prompt_tokens":135,"total_tokens":176,"prompt_tokens_details":{"cache_write_tokens":0,"cache_read_tokens":2200,"cached_tokens":2200},"model":"claude-sonnet-4-6","cost_cents":0}},"contextItems":[],"toolCallStates":[{"toolCallId":"toolu_1","status":"done","output":[{"content":"1\n2","name":"Tool Result"}]}]},
{"message":{"role":"assistant","content":"Done.","usage":{"completion_tokens":42,"prompt_tokens":1699,"total_tokens":1741,"prompt_tokens_details":{"cache_write_tokens":0,"cache_read_tokens":2200,"cached_tokens":2200},"model":"claude-sonnet-4-6","cost_cents":1}},"contextItems":[]}],
"usage":{"totalCost":0.06,"promptTokens":13831,"completionTokens":360,"promptTokensDetails":{"cachedTokens":17600,"cacheWriteTokens":2200}}}`

const index = `[{"sessionId":"s1","title":"Untitled Session","dateCreated":"1795993452355","workspaceDirectory":"/p","messageCount":4}]`

func read(t *testing.T, files map[string]string) *traces.Session {
	t.Helper()
	c := agenttest.Read(t, Describe(), files)
	if len(c.Sessions) != 1 {
		t.Fatalf("%d sessions, problems %v", len(c.Sessions), c.Problems)
	}
	return c.Sessions[0]
}

// The bill of a session is the sum that it states: what no message has any more is a call that no line shows.
func TestSum(t *testing.T) {
	s := read(t, map[string]string{"s1.json": session, "sessions.json": index})
	rounds := s.Threads[0].Rounds
	if len(rounds) != 2 || len(s.Unshown) != 1 || s.Start != 1795993452355e6 || s.Project != "/p" || s.LoggedUSD != .06 {
		t.Fatalf("%d calls, %d unshown, start %d in %s, $%g", len(rounds), len(s.Unshown), s.Start, s.Project, s.LoggedUSD)
	}
	if want := (prompt.Usage{Uncached: 135, Read: 2200, Output: 41}); rounds[0].Usage != want {
		t.Errorf("%+v, want %+v", rounds[0].Usage, want)
	}
	// 13,831 − 135 − 1,699 of input, 17,600 − 2 × 2,200 of reads, 360 − 83 of output
	if want := (prompt.Usage{Uncached: 11_997, Read: 13_200, Write5m: 2200, Output: 277}); s.Unshown[0].Usage != want {
		t.Errorf("unshown %+v, want %+v", s.Unshown[0].Usage, want)
	}
	if !s.Summed || !s.Given(&s.Unshown[0]) {
		t.Error("calls that a compaction took out of the recording come about whatever a strategy does")
	}
	for i, want := range []string{"prompt attachment", "tool_result unseen"} {
		if got := strings.Join(agenttest.Kinds(s, rounds[i].Input), " "); got != want {
			t.Errorf("input of call %d: %s, want %s", i+1, got, want)
		}
	}
}

// A sum whose model no message names is billed to no model, and told: the session has cost 6 cents and has 360 tokens of output.
func TestSumWithoutModel(t *testing.T) {
	text := regexp.MustCompile(`,"usage":\{"completion_tokens.*?"cost_cents":\d\}`).ReplaceAllString(session, "")
	inputs, err := traces.FindFS(fstest.MapFS{"s1.json": {Data: []byte(text)}})
	if err != nil {
		t.Fatal(err)
	}
	c, err := Describe().Read(t.Context(), traces.Options{}, inputs, "s1.json")
	if !errors.Is(err, traces.ErrNoSessions) || !strings.Contains(fmt.Sprint(c.Problems), "the sum of all calls ($0.06, 360 tokens of output) is in no bill") {
		t.Errorf("%v, problems %v", err, c.Problems)
	}
}

// A price may depend on the size of a call, so the rest is divided into calls that a client which compacts at 121,000 can send.
func TestRestIsDivided(t *testing.T) {
	s := read(t, map[string]string{"s1.json": strings.Replace(session, `"promptTokens":13831`, `"promptTokens":500000`, 1)})
	sum := prompt.Usage{}
	for i := range s.Unshown {
		sum.Uncached += s.Unshown[i].Usage.Uncached
	}
	if len(s.Unshown) != 5 || sum.Uncached != 498_166 { // ⌊(498,166 + 15,400) / 121,000⌋ + 1
		t.Errorf("%d calls, %d tokens", len(s.Unshown), sum.Uncached)
	}
}

// Counts of providers other than Anthropic hold the reads, and thoughts of Google's models are in the total alone.
func TestCounts(t *testing.T) {
	text := strings.ReplaceAll(session, `"cache_write_tokens":0,"cache_read_tokens":2200,"cached_tokens":2200`, `"cached_tokens":128`)
	text = strings.Replace(text, `"total_tokens":176`, `"total_tokens":186`, 1)
	s := read(t, map[string]string{"s1.json": text})
	if want := (prompt.Usage{Uncached: 7, Read: 128, Output: 51}); s.Threads[0].Rounds[0].Usage != want {
		t.Errorf("%+v, want %+v", s.Threads[0].Rounds[0].Usage, want)
	}
}

// A fork repeats the calls of the session that it left, and its sum begins anew: calls count once, and the sum is told.
func TestFork(t *testing.T) {
	fork := strings.NewReplacer(`"sessionId":"s1"`, `"sessionId":"s2"`, `"promptTokens":13831`, `"promptTokens":10`).Replace(session)
	fork = strings.Replace(fork, `"contextItems":[]}],`, `"contextItems":[]},
{"message":{"role":"user","content":"more"},"contextItems":[]},
{"message":{"role":"assistant","content":"Yes.","usage":{"completion_tokens":3,"prompt_tokens":10,"total_tokens":13,"prompt_tokens_details":{"cache_write_tokens":0,"cache_read_tokens":2200,"cached_tokens":2200},"model":"claude-sonnet-4-6"}},"contextItems":[]}],`, 1)
	c := agenttest.Read(t, Describe(), map[string]string{"s1.json": session, "s2.json": fork})
	n := 0
	for _, s := range c.Sessions {
		n += len(s.Threads[0].Rounds)
		if s.ID == "s2" && (len(s.Unshown) != 0 || !strings.Contains(fmt.Sprint(s.Problems), "as in a fork")) {
			t.Errorf("%d unshown, %v", len(s.Unshown), s.Problems)
		}
	}
	if n != 3 { // two of the first session and one of its fork
		t.Errorf("%d calls", n)
	}
}

func TestSetting(t *testing.T) {
	// 200,000 less 64,000 for the answer and 15,000 beside it; 30,000 less 10,500 and as much again, of which 15,000 is the bound (1.5.47).
	if compactsAt(200_000) != 121_000 || compactsAt(30_000) != 9000 {
		t.Errorf("compacts at %d and %d", compactsAt(200_000), compactsAt(30_000))
	}
}

func FuzzRead(f *testing.F) { agenttest.Fuzz(f, Describe(), session, index) }
