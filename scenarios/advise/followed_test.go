package advise

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
)

// compactedAt returns the log of a session of Claude Code that compacts behind 90,000 tokens: half of the 180,000 that a window of
// 200,000 has beside the answer, while its default is 167,000. A call adds 4,000 tokens to 20,000.
func compactedAt(id string) string {
	var b strings.Builder
	parent, lines, at := "null", 0, time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	line := func(rest string) {
		lines, at = lines+1, at.Add(5*time.Second)
		uuid := fmt.Sprintf(`"%s-%d"`, id, lines)
		fmt.Fprintf(&b, `{"parentUuid":%s,"isSidechain":false,"sessionId":"%s","version":"2.1.332","uuid":%s,"timestamp":"%s",%s}`+"\n",
			parent, id, uuid, at.Format(time.RFC3339), rest)
		parent = uuid
	}
	line(`"type":"user","message":{"role":"user","content":"Begin."}`)
	read, size := 0, 20_000
	for i := range 24 {
		if size >= 90_000 {
			parent = "null"
			line(fmt.Sprintf(`"type":"system","subtype":"compact_boundary","compactMetadata":{"trigger":"auto","preTokens":%d}`, size))
			line(`"type":"user","isCompactSummary":true,"message":{"role":"user","content":"Go on from this summary."}`)
			read, size = 18_000, 20_000
		}
		line(fmt.Sprintf(`"type":"assistant","message":{"id":"m%s%d","role":"assistant","model":"claude-sonnet-4-6","content":[{"type":"tool_use","id":"t%d","name":"Bash","input":{"command":"make %d"}}],`+
			`"stop_reason":"tool_use","usage":{"input_tokens":3,"cache_creation_input_tokens":%d,"cache_read_input_tokens":%d,"output_tokens":100}}`, id, i, i, i, size-read, read))
		line(fmt.Sprintf(`"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t%d","content":"%s"}]}`, i, strings.Repeat("line ", 2500)))
		read, size = size, size+4000
	}
	return b.String()
}

// What a client that follows a setting costs without a change is the same beside candidates that replace the setting as by itself, so
// that savings are measured from what SIMULATED says; and the advice says which setting it is.
func TestAdviceForWhoFollowsASetting(t *testing.T) {
	files := fstest.MapFS{}
	for i := range 5 {
		id := fmt.Sprint("s", i)
		files[id+".jsonl"] = &fstest.MapFile{Data: []byte(compactedAt(id))}
	}
	c, err := agents.ReadFS(t.Context(), traces.Options{}, files)
	if err != nil {
		t.Fatal(err)
	}
	alone, p := costsOf(t, adviserOf(t, 1), c.Sessions[:1], unchanged), adviserOf(t, 1)
	const percent = "client.env.CLAUDE_AUTOCOMPACT_PCT_OVERRIDE="
	beside := costsOf(t, p, c.Sessions[:1], percent+"40", percent+"75")
	if one, other := alone[0][0], beside[0][0]; math.Abs(one-other) > 1e-9 {
		t.Errorf("without a change $%.4f by itself, $%.4f beside candidates", one, other)
	}
	a, err := p.run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	one := &a.Agents[0]
	if want := "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE=50, 90,000 tokens"; one.Followed != 5 || one.Follow != want {
		t.Errorf("%d sessions follow %q, want 5 and %q", one.Followed, one.Follow, want)
	}
	if text := strings.Join(one.lacks(), "\n"); !strings.Contains(text, one.Follow) {
		t.Errorf("the advice says %q", text)
	}
}
