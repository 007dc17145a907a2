package check

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/sim/results"
)

// Whatever the names, the lines of a report have their width, and Markdown has all
// columns.
func TestTablesHaveTheirWidth(t *testing.T) {
	name := rapid.StringMatching(`(/home/me/|[a-c]{0,3})[ab/]{1,60}(/web|é)?`)
	rapid.Check(t, func(t *rapid.T) {
		r := new(Report)
		for range rapid.IntRange(1, 20).Draw(t, "results") {
			m := rapid.SampledFrom(results.Metrics()).Draw(t, "metric")
			v := rapid.Float64Range(0, 1e6).Draw(t, "figure")
			r.Results = append(r.Results, Result{Metric: m.Name, Unit: m.Unit, Cell: name.Draw(t, "cell"), Group: name.Draw(t, "group"),
				Rule: rapid.SampledFrom([]string{"min 1", "max_increase 12.5%"}).Draw(t, "rule"), Status: OK,
				Observed: &v, Low: new(v / 2), High: new(v * 2), Bar: &v, Margin: &v, Baseline: &v})
		}
		var text, markdown bytes.Buffer
		if err := r.Write(&text, "text"); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(text.String()) {
			if utf8.RuneCountInString(strings.TrimSpace(line)) > document.Width {
				t.Fatalf("too wide: %q in\n%s", line, text.String())
			}
		}
		if err := r.Write(&markdown, "markdown"); err != nil || !strings.Contains(markdown.String(), "MARGIN") || !strings.Contains(markdown.String(), "| METRIC") {
			t.Fatalf("%v %s", err, markdown.String())
		}
	})
}
