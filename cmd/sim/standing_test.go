package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/sim/results"
)

// A format in which another agent records a conversation: what begins it, a prompt, and a call that had so many tokens in its input,
// read some, and used the tool; the time is in seconds.
type recordedAs struct {
	agent, title, begins string
	asks                 func(at, i int) string
	calls                func(at, i, input, read, output int) string
}

// use is the text of a result of a tool.
var use = strings.Repeat("a line of output\n", 700)

var otherRecordings = []recordedAs{
	{"deepseek-harness", "DeepSeek Harness", `{"type":"session","version":0,"id":%q,"createdAt":1780304400000,"cwd":"/repo","delegationDepth":0}` + "\n" +
		`{"type":"request/context","data":{"model":"deepseek-v4-flash","contextWindow":128000}}`,
		func(at, i int) string {
			return fmt.Sprintf(`{"type":"user/message","time":%d,"data":{"id":"u%d","role":"user","source":{"kind":"user"},"content":[{"type":"text","text":"go on with %[2]d"}]},"surfaceOp":"append"}`, 1780304400000+1000*at, i)
		},
		func(at, i, input, read, output int) string {
			return fmt.Sprintf(`{"type":"step/start","time":%[1]d,"data":{"turn":1,"step":%[2]d}}
{"type":"assistant/message","time":%[3]d,"data":{"turn":1,"step":%[2]d,"message":{"id":"m%[2]d","role":"assistant","source":{"kind":"model","model":"deepseek-v4-flash"},"content":[{"type":"tool-call","id":"t%[2]d","name":"read","arguments":"{\"path\":\"/a%[2]d.go\"}"}]},"usage":{"inputTokens":%[4]d,"cacheReadTokens":%[5]d,"outputTokens":%[7]d}},"surfaceOp":"append"}
{"type":"tool/result","time":%[3]d,"data":{"message":{"role":"user","content":[{"type":"tool-result","toolCallId":"t%[2]d","content":[{"type":"text","text":%[6]q}]}]}},"surfaceOp":"append"}`,
				1780304400000+1000*at, i, 1780304400000+1000*(at+5), input-read, read, use[:len(use)-50*(i%40)], output)
		}},
	{"gemini-cli", "Gemini CLI", `{"sessionId":%q,"projectHash":"f00d","startTime":"2026-06-01T10:00:00.000Z","lastUpdated":"2026-06-01T10:00:00.000Z","kind":"main"}`,
		func(at, i int) string {
			return fmt.Sprintf(`{"id":"u%d","timestamp":%q,"type":"user","content":[{"text":"go on with %[1]d"}]}`, i, clock(at))
		},
		func(at, i, input, read, output int) string {
			return fmt.Sprintf(`{"id":"m%[1]d","timestamp":%[2]q,"type":"gemini","content":"","model":"gemini-3-flash-preview","tokens":{"input":%[3]d,"output":%[7]d,"cached":%[4]d,"thoughts":0,"tool":0,"total":%[5]d},"toolCalls":[{"id":"t%[1]d","name":"read_file","args":{"file_path":"/a%[1]d.go"},"status":"success","timestamp":%[2]q,"result":[{"functionResponse":{"id":"t%[1]d","name":"read_file","response":{"output":%[6]q}}}]}]}`,
				i, clock(at+5), input, read, input+output, use[:len(use)-50*(i%40)], output)
		}},
}

// clock returns a time of the first of June 2026.
func clock(seconds int) string {
	seconds += 10 * 3600
	return fmt.Sprintf("2026-06-01T%02d:%02d:%02d.000Z", seconds/3600, seconds/60%60, seconds%60)
}

// write writes sessions whose contexts grow by what a tool returns, with a prompt before every eighth call; what was there is read in
// steps of 128 tokens.
func (r *recordedAs) write(t *testing.T, dir string, sessions, grows int) {
	t.Helper()
	for s := range sessions {
		lines := []string{fmt.Sprintf(r.begins, fmt.Sprint("s", s))}
		context, had := 9000+300*s, 0
		for i := range 40 + 4*s {
			if i%8 == 0 {
				lines = append(lines, r.asks(20*i, i))
			}
			lines = append(lines, r.calls(20*i+1, i, context, had/128*128, 60+i%7))
			had, context = context, context+grows+100*(i%11)
		}
		at := filepath.Join(dir, fmt.Sprint(s), "session.jsonl")
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, at, []byte(strings.Join(lines, "\n")+"\n"))
	}
}

// verdicts are what advice says of settings that it could judge on sessions which did not choose the value.
var verdicts = regexp.MustCompile(`On unseen sessions [−+]|Not advised: [^;]* on unseen sessions|No setting of this client saves reliably|Likely: [^;]* on unseen sessions`)

// Somebody with sessions of DeepSeek Harness or the Gemini CLI alone gets what somebody with Claude Code's gets: from five sessions on a
// verdict on the settings and how far the model is from the bill, with an interval, and of fewer that they are too few.
func TestAdviceHasTheSameStanding(t *testing.T) {
	t.Parallel()
	makes := map[string]func(dir string, sessions int){"claude-code": func(dir string, sessions int) {
		exec(t, "traces", "gen", "--profile", "long-refactor", "--sessions", fmt.Sprint(sessions), "-o", dir)
	}}
	for _, r := range otherRecordings {
		makes[r.agent] = func(dir string, sessions int) { r.write(t, dir, sessions, 2500) }
	}
	for agent, make := range makes {
		for _, sessions := range []int{3, 8} {
			dir := t.TempDir()
			make(dir, sessions)
			var advice struct {
				Agents []struct {
					Agent string             `json:"agent"`
					Error results.ModelError `json:"model_error"`
				} `json:"agents"`
			}
			read(t, &advice, "advise", "-q", "--no-store", "--format", "json", dir)
			if len(advice.Agents) != 1 || advice.Agents[0].Agent != agent {
				t.Fatalf("advice for %+v, want %s", advice.Agents, agent)
			}
			if e := advice.Agents[0].Error; e.Sessions != sessions || e.Low >= e.High {
				t.Errorf("%s, %d sessions: the model error has no interval: %+v", agent, sessions, e)
			}
			_, out, _ := exec(t, "advise", "-q", "--no-store", dir)
			out = strings.Join(strings.Fields(out), " ")
			few := strings.Contains(out, "Too few sessions to advise: 3 sessions")
			if judged := verdicts.MatchString(out); few == judged || few != (sessions == 3) {
				t.Errorf("%s, %d sessions: %s", agent, sessions, out)
			}
		}
	}
}
