package compare

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/internal/kit/stats"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
)

// A terminal of 110 characters shows all columns, however long labels are: the
// labels lose their middle and stay apart, then names of metrics are broken, and
// what has no room comes in a further table.
func TestTableFits(t *testing.T) {
	long := strings.Repeat("x", 60)
	figure := Figure{
		Metric: results.Metric{Name: "added_latency_seconds_first_token", Unit: measures.UnitSeconds},
		Base:   1e15, Other: 2e15, Estimate: stats.Estimate{Difference: 1e15, Relative: 1, Detectable: 1e15}, Verdict: Unknown,
	}
	other := figure
	other.Metric.Name, other.Verdict, other.Base, other.Other = "misses_per_call", Better, 3e15, 5e15
	r := &Report{Level: 0.95}
	for _, label := range []string{"", "y", long} {
		var b bytes.Buffer
		if err := r.table(&Comparison{Base: long + "1" + label, Other: long + "2" + label}, []Figure{figure, other}).Write(&b, "table"); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > document.Width {
				t.Errorf("%d characters: %s", n, line)
			}
		}
		head, _, _ := strings.Cut(b.String()[strings.Index(b.String(), "METRIC"):], "\n")
		if fields := strings.Fields(head); fields[2] == fields[3] || !strings.Contains(fields[2], "…") {
			t.Errorf("labels of %s", head)
		}
		if !strings.Contains(b.String(), "VERDICT") {
			t.Errorf("no verdicts:\n%s", b.String())
		}
	}
}
