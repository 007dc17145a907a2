package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/tools/tests/agenttest"
	"github.com/compactsim/compactsim/traces/facts"
)

// bare writes n sessions of Claude Code with a number of calls each, whose lines have the usage or none, and no tools:
// there is nothing in them that could be fetched again.
func bare(t *testing.T, n, calls int, usage bool) string {
	t.Helper()
	dir := t.TempDir()
	for s := range n {
		var lines strings.Builder
		for c := range calls {
			fmt.Fprintf(&lines, `{"type":"user","sessionId":"s%[1]d","cwd":"/p","version":"2.1.0","uuid":"u%[1]d-%[2]d","parentUuid":%[3]s,`+
				`"timestamp":"2026-03-0%[1]dT10:%02[2]d:00.000Z","message":{"role":"user","content":"hello"}}`+"\n", s+1, c, parent(s+1, c))
			used := ""
			if usage {
				used = fmt.Sprintf(`,"usage":{"input_tokens":9,"cache_creation_input_tokens":100,"cache_read_input_tokens":%d,"output_tokens":90}`, 9000+100*c)
			}
			fmt.Fprintf(&lines, `{"type":"assistant","sessionId":"s%[1]d","cwd":"/p","version":"2.1.0","uuid":"a%[1]d-%[2]d","parentUuid":"u%[1]d-%[2]d",`+
				`"timestamp":"2026-03-0%[1]dT10:%02[2]d:05.000Z","message":{"id":"m%[1]d-%[2]d","role":"assistant","model":"claude-opus-4-6","content":[{"type":"text","text":"done"}]%[3]s}}`+"\n",
				s+1, c, used)
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("s%d.jsonl", s+1)), []byte(lines.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// parent returns the id of the line before the prompt of a call, as JSON.
func parent(session, call int) string {
	if call == 0 {
		return "null"
	}
	return fmt.Sprintf(`"a%d-%d"`, session, call-1)
}

// What sessions lack is said in one line, in dollars and in tokens, and no figure of theirs is a zero that looks like
// one of a result.
func TestAdviceOnWhatSessionsLack(t *testing.T) {
	t.Parallel()
	opencode := filepath.Join(t.TempDir(), "export.json")
	if err := os.WriteFile(opencode, []byte(agenttest.Sample(facts.OpenCode, "ses_1", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct{ path, want string }{
		"without usage":    {bare(t, 6, 3, false), "Its logs have no token counts: nothing is known of what the sessions cost."},
		"with one call":    {bare(t, 6, 1, true), "Each session has one call: a setting that decides what later calls send and read has none to decide on."},
		"without texts":    {bare(t, 6, 4, true), "6 of 6 sessions without texts: what their agent would fetch again is not known, and not in SIMULATED."},
		"without settings": {opencode, "Its client offers no setting that a simulation follows."},
	} {
		for _, as := range []string{"dollars", "tokens"} {
			code, out, stderr := exec(t, "advise", "-q", "--no-store", "--as", as, tc.path)
			if code != 0 || !strings.Contains(strings.Join(strings.Fields(out), " "), tc.want) {
				t.Errorf("%s in %s: exit code %d, %s\n%s\nwant %s", name, as, code, stderr, out, tc.want)
			}
			if zero := regexp.MustCompile(`\$0\.00 +(paid|\$)|\b0 +0\b|\b0\.0 %|NaN|Inf`).FindString(out); zero != "" {
				t.Errorf("%s in %s: %q in\n%s", name, as, zero, out)
			}
		}
	}
}

// A unit that is none is refused.
func TestAdviceUnit(t *testing.T) {
	t.Parallel()
	if code, _, stderr := exec(t, "advise", "-q", "--as", "euros", t.TempDir()); code != 2 || !strings.Contains(stderr, `unknown unit "euros"; known: dollars, tokens`) {
		t.Errorf("exit code %d, %s", code, stderr)
	}
}
