package compare

import (
	"strings"
	"testing"

	"github.com/compactsim/compactsim/sim/results"
)

// Of metrics asked for by name nothing is said about others, and one that a side
// does not measure has a row with a footnote, not the word that nothing differs.
func TestNothingDiffers(t *testing.T) {
	for _, tc := range []struct {
		what       string
		metrics    []string
		unmeasured [2][]string
		other      *results.Run
		table, md  string
	}{
		{"all", nil, [2][]string{}, before(), "no difference in any metric: x: a → b", "no difference in any metric: x: a → b · 8 sessions"},
		{"one side without misses", nil, [2][]string{{"misses"}, nil}, before(),
			"no difference in any metric: x: a → b", "no difference in any metric: x: a → b"},
		{"chosen, others differ", []string{"misses", "calls"}, [2][]string{}, after(),
			"same", "**No difference in calls, misses between a and b**"},
		{"chosen, not measured on a side", []string{"misses"}, [2][]string{{"misses"}, nil}, before(),
			"¹ nothing to compare: no sample in a", "**Nothing to compare between a and b**"},
		{"chosen, measured nowhere", []string{"misses"}, [2][]string{{"misses"}, {"misses"}}, before(),
			"¹ nothing to compare: no sample in a and b", "| ?"},
		{"chosen, no sample", []string{"call_hit_ratio"}, [2][]string{}, before(), "¹ nothing to compare: no sample in a and b", "Nothing to compare"},
	} {
		x := before()
		x.Cells[0].Unmeasured, tc.other.Cells[0].Unmeasured = tc.unmeasured[0], tc.unmeasured[1]
		r := compared(t, Options{Metrics: tc.metrics}, Input{"a", x}, Input{"b", tc.other})
		for format, want := range map[string]string{"table": tc.table, "markdown": tc.md} {
			var b strings.Builder
			if err := Write(&b, format, r); err != nil {
				t.Fatal(err)
			}
			text := strings.ReplaceAll(strings.ReplaceAll(b.String(), `\_`, "_"), `\~`, "~")
			if !strings.Contains(text, want) {
				t.Errorf("%s, %s: no %q in\n%s", tc.what, format, want, text)
			}
			if len(tc.metrics) > 0 && strings.Contains(text, "any metric") {
				t.Errorf("%s, %s: speaks of all metrics:\n%s", tc.what, format, text)
			}
		}
	}
}
