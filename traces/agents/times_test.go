package agents_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/compactsim/compactsim/tools/tests/agenttest"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
	"github.com/compactsim/compactsim/traces/facts"
)

// Without times nothing expires and costs fall, so that every time that cannot be
// used is told with its line, counts as a bad line, and the session says how many
// calls it leaves without one.
func TestTimesThatCannotBe(t *testing.T) {
	stamp := regexp.MustCompile(`("timestamp":|"time":|"ts":|"created":|"completed":|"start":|"end":|"startTimeUnixNano":|"endTimeUnixNano":)("[^"]*"|\d+)`)
	for _, agent := range agenttest.Agents() {
		if agent == facts.Continue { // its messages have no times
			continue
		}
		for name, bad := range map[string][2]string{
			"yesterday": {`"yesterday"`, "-1"},
			"1970":      {`"1970-01-01T00:00:00.000Z"`, "86400000"},
			"9999":      {`"9999-12-31T23:59:59.999Z"`, "253402300799999"},
		} {
			text := agenttest.Sample(agent, "s", 1)
			whole := stamp.ReplaceAllStringFunc(text, func(m string) string {
				at := strings.IndexByte(m, ':') + 1
				if m[at] == '"' {
					return m[:at] + bad[0]
				}
				return m[:at] + bad[1]
			})
			c, err := agents.ReadFS(t.Context(), traces.Options{MaxProblems: 1000}, fstest.MapFS{"a.jsonl": {Data: []byte(whole)}})
			if err != nil {
				t.Fatal(err)
			}
			s := c.Sessions[0]
			want := fmt.Sprintf("session %s: %d of its calls have no usable time; nothing expires before them", s.ID, s.NumCalls())
			said := ""
			for _, p := range s.Problems {
				said += p.String() + "\n"
			}
			if !strings.Contains(said, want) {
				t.Errorf("%s, %s: no problem %q in\n%.600s", agent, name, want, said)
			}
			if s.Quality.BadLines < s.NumCalls() || !regexp.MustCompile(`a\.jsonl:5: time .* out of range; it is left out`).MatchString(said) {
				t.Errorf("%s, %s: %d bad lines, problems\n%.600s", agent, name, s.Quality.BadLines, said)
			}
		}
	}
}

// One call without a usable time is told of in the singular.
func TestOneCallWithoutTime(t *testing.T) {
	text := agenttest.Sample(facts.ClaudeCode, "s", 1)
	at := strings.LastIndex(text, `"timestamp":"20`) + len(`"timestamp":"`)
	text = text[:at] + "19" + text[at+2:]
	c, err := agents.ReadFS(t.Context(), traces.Options{MaxProblems: 1000}, fstest.MapFS{"a.jsonl": {Data: []byte(text)}})
	if err != nil {
		t.Fatal(err)
	}
	const want = "session s: 1 of its calls has no usable time; nothing expires before it"
	if said := fmt.Sprint(c.Sessions[0].Problems); !strings.Contains(said, want+" ") && !strings.Contains(said, want+"]") {
		t.Errorf("no problem %q in %s", want, said)
	}
}

// Files that could not be read are counted beyond the problems that are kept.
func TestUnreadFilesAreCounted(t *testing.T) {
	fsys := fstest.MapFS{"whole.jsonl": {Data: []byte(agenttest.Sample(facts.ClaudeCode, "whole", 1))}}
	for i := range 250 {
		fsys[fmt.Sprintf("torn%d.jsonl.gz", i)] = &fstest.MapFile{Data: []byte("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03torn")}
	}
	c, err := agents.ReadFS(t.Context(), traces.Options{}, fsys)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if c.Unread != 250 || len(c.Problems) != 100 {
		t.Errorf("%d files unread, %d problems kept, want 250 and 100", c.Unread, len(c.Problems))
	}
}
