package compare

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/compactsim/compactsim/internal/document"
)

// A terminal of 110 characters shows all columns: the labels of the sides give way
// first, then the names of metrics, then the table is parted. Names are whole when
// lines are read on.
func TestFit(t *testing.T) {
	long := strings.Repeat("x", 60)
	const name = "added_latency_seconds_first_token ≈"
	for _, tc := range []struct {
		what, label, value string
		want               []string // fields of the lines that hold no figures of cost_usd
	}{
		// 35 of names, 45 of titles and values, 18 between: 98.
		{"as it is", "", "1", []string{"METRIC a b DIFFERENCE % 95 % INTERVAL p EFFECT W/T/L VERDICT", name + " 1 1 1 1 1 1 1 1 1"}},
		// 35 and 5 5 10 5 13 5 6 5 7 and 18 are 114: the names get 31.
		{"names", "", "12345", []string{
			"METRIC a b DIFFERENCE % 95 % INTERVAL p EFFECT W/T/L VERDICT",
			"added_latency_seconds_first_" + strings.Repeat(" 12345", 9), "token ≈",
		}},
		// With labels of 9 that is 114 again: they keep 8 each, the names 33.
		{"labels", strings.Repeat("x", 8), "1", []string{
			"METRIC axxx…xxx bxxx…xxx DIFFERENCE % 95 % INTERVAL p EFFECT W/T/L VERDICT",
			"added_latency_seconds_first_" + strings.Repeat(" 1", 9), "token ≈",
		}},
		{"parted", long, "123456789012", []string{
			"METRIC axxxxx…xxxxx bxxxxx…xxxxx DIFFERENCE % 95 % INTERVAL VERDICT",
			"added_latency_seconds_" + strings.Repeat(" 123456789012", 6), "first_token ≈",
			"METRIC p EFFECT W/T/L", "added_latency_seconds_" + strings.Repeat(" 123456789012", 3), "first_token ≈",
		}},
	} {
		r := &Report{Level: 0.95}
		s := r.sheet(&Comparison{Base: "a" + tc.label, Other: "b" + tc.label}, nil, nil)
		for _, metric := range []string{"cost_usd", name} {
			row := []any{metric}
			for range numColumns - 1 {
				row = append(row, tc.value)
			}
			s.Rows = append(s.Rows, row)
		}
		fit(s, document.Width)
		var b bytes.Buffer
		if err := s.Write(&b, "table"); err != nil {
			t.Fatal(err)
		}
		var got []string
		for line := range strings.Lines(b.String()) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > document.Width {
				t.Errorf("%s: %d characters: %s", tc.what, n, line)
			}
			if fields := strings.Join(strings.Fields(line), " "); fields != "" && !strings.HasPrefix(fields, "cost_usd") {
				got = append(got, fields)
			}
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.what, diff)
		}
	}
}

// Two labels that look the same without their middle are told by their place.
func TestFitEqualLabels(t *testing.T) {
	same := strings.Repeat("x", 60)
	r := &Report{Level: 0.95}
	s := r.sheet(&Comparison{Base: same + "1" + same, Other: same + "2" + same}, nil, nil)
	fit(s, document.Width)
	if a, b := s.Columns[columnBase].Title, s.Columns[columnOther].Title; a != "(first)" || b != "(second)" {
		t.Errorf("%s and %s", a, b)
	}
}

// Lines behind the first have a blank ahead of them. What has no underscore stays.
func TestNameLines(t *testing.T) {
	for _, tc := range []struct {
		name string
		size int
		want []string
	}{
		{"cost_usd", 12, []string{"cost_usd"}},
		{"peak_context_tokens", 13, []string{"peak_context_", "tokens"}},
		{"cost_usd_agent_summary", 9, []string{"cost_usd_", "agent_", "summary"}},
		{"recompactions", 5, []string{"recompactions"}},
	} {
		if got := nameLines(tc.name, tc.size); !slices.Equal(got, tc.want) {
			t.Errorf("%s in %d: %q, want %q", tc.name, tc.size, got, tc.want)
		}
	}
}
