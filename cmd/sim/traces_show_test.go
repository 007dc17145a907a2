package main

import (
	"strings"
	"testing"

	"github.com/compactsim/compactsim/traces"
)

// The server's verdict stands beside a call where it names a difference; a
// session without one has no such column on a terminal, and an empty one in CSV.
func TestShowVerdicts(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		verdicts   []traces.Verdict
		table, csv string // in the last line
	}{
		{[]traces.Verdict{traces.VerdictSame, traces.VerdictNone}, "", ","},
		{[]traces.Verdict{traces.VerdictNone, traces.VerdictTools}, "tools_changed", ",tools_changed"},
		{[]traces.Verdict{traces.VerdictGone, traces.VerdictSame}, "", ","},
	} {
		s := &traces.Session{
			ID: "s", Agent: traces.AgentClaudeCode, Files: []string{"s.jsonl"}, Models: []string{"claude-opus-4-8"},
			Threads: []traces.Thread{{ID: "main"}},
		}
		shown := false
		for _, v := range tc.verdicts {
			s.Threads[0].Rounds = append(s.Threads[0].Rounds, traces.Round{ID: "r", Verdict: v})
			shown = shown || v > traces.VerdictSame
		}
		for format, want := range map[string]string{"table": tc.table, "csv": tc.csv} {
			var b strings.Builder
			if err := callSheet(s, s.ID).Write(&b, format); err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(strings.TrimRight(b.String(), "\n"), "\n")
			if last := lines[len(lines)-1]; !strings.HasSuffix(last, want) {
				t.Errorf("%v as %s: %q, want an end of %q", tc.verdicts, format, last, want)
			}
			if has := strings.Contains(lines[0], "SERVER SAYS"); format == "table" && has != shown {
				t.Errorf("%v: the column is there: %v, want %v", tc.verdicts, has, shown)
			}
			if format == "csv" && !strings.HasSuffix(lines[0], ",server_verdict") {
				t.Errorf("the columns of CSV are %q", lines[0])
			}
		}
	}
}
