package check

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/compactsim/compactsim/internal/document"
	"github.com/compactsim/compactsim/sim/results"
	"pgregory.net/rapid"
)

// hit is a rule on the cache of a project that holds.
func hit(cell, group string) Result {
	return Result{Metric: "cache_hit_ratio", Unit: results.UnitRatio, Cell: cell, Group: group, Rule: "min 80%", Status: OK,
		Observed: pointer(0.975), Bar: pointer(0.8), Margin: pointer(0.175), Baseline: pointer(0.975)}
}

// tableOf is the table of a report, without its first line and its verdict.
func tableOf(t *testing.T, r *Report) string {
	t.Helper()
	var b bytes.Buffer
	if err := r.Write(&b, "text"); err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(b.String(), "\n\n")
	return table[:strings.LastIndex(strings.TrimSpace(table), "\n")]
}

// A row stays one line that names its cell and sessions: projects lose their
// middle, as little of it as it takes.
func TestLongProjectsLoseTheirMiddle(t *testing.T) {
	const long = "project /Users/somebody/code/customers/repositories/"
	r := &Report{Results: []Result{
		hit("recorded", long+"web"), hit("recorded", "project /home/me/api"),
		hit("auto-compact/167k", long+"web"), hit("auto-compact/155k", long+"web-next"),
	}}
	r.Results[3].Status = Breach
	const want = `in all rows: RULE min 80%, OBSERVED 97.50 %, BAR 80.00 %, MARGIN 17.50 pp, BASELINE 97.50 %

METRIC           CELL               SESSIONS                                                      RESULT
cache_hit_ratio  recorded           project /Users/somebody/code/customers/repositories/web       ok
cache_hit_ratio  recorded           project /home/me/api                                          ok
cache_hit_ratio  auto-compact/167k  project /Users/somebody/code/customers/repositories/web       ok
cache_hit_ratio  auto-compact/155k  project /Users/somebody/code/customers/repositories/web-next  FAIL
`
	r.Results[3].Look = "x"
	if got, _, _ := strings.Cut(tableOf(t, r), "\nFAIL"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	// Metric and cell take 36 of 110 characters with their gaps, the figures 47: 27 are
	// left, 9 of them ahead of what is left out.
	r.Results[0].Observed, r.Results[0].Margin, r.Results[0].Baseline = pointer(0.985), pointer(0.185), pointer(0.98)
	r.Results[1].Bar = pointer(0.79)
	for _, line := range []string{
		"cache_hit_ratio  recorded           project /…/repositories/web   98.50 %  80.00 %  18.50 pp   98.00 %  ok\n",
		"cache_hit_ratio  recorded           project /home/me/api          97.50 %  79.00 %  17.50 pp   97.50 %  ok\n",
		"cache_hit_ratio  auto-compact/155k  project /…sitories/web-next   97.50 %  80.00 %  17.50 pp   97.50 %  FAIL\n",
	} {
		if got := tableOf(t, r); !strings.Contains(got, line) {
			t.Errorf("%q is not in\n%s", line, got)
		}
	}
}

// Rules on many metrics stand in one table too: metric and rule share a column, and
// what follows from other columns is left out only after that.
func TestManyMetricsAreOneTable(t *testing.T) {
	wide := Result{Metric: "cost_usd", Unit: results.UnitUSD, Cell: "claude-code/2026-03", Rule: "max_increase 1%", Status: OK,
		Observed: pointer(43.4), Low: pointer(43.3), High: pointer(43.5), Bar: pointer(43.8), Margin: pointer(0.4), Baseline: pointer(43.4)}
	long := Result{Metric: "added_latency_seconds", Unit: results.UnitSeconds, Cell: "recorded", Rule: "max 10", Status: Breach,
		Observed: pointer(62.5), Bar: pointer(10), Margin: pointer(-52.5)}
	r := &Report{Results: []Result{wide, long}}
	if got := tableOf(t, r); !strings.HasPrefix(got, "RULE ") || !strings.Contains(got, "\nadded_latency_seconds max 10  recorded ") ||
		!strings.Contains(got, "MARGIN") || strings.Contains(got, "no room") {
		t.Error(got)
	}
	r.Results[0].Group, r.Results[1].Group = "project /home/me/one", "project /home/me/two"
	if got := tableOf(t, r); !strings.Contains(got, "SESSIONS ") || strings.Contains(got, "MARGIN ") ||
		!strings.Contains(got, "\nno room for MARGIN, BASELINE; --format json has all\n") {
		t.Error(got)
	}
	// Markdown has no width: it has all columns.
	var b bytes.Buffer
	if err := r.Summary(&b); err != nil || !strings.Contains(b.String(), "MARGIN") || !strings.Contains(b.String(), "| METRIC") {
		t.Errorf("%v %s", err, b.String())
	}
}

// Whatever the names, a table has its width, a line for each result, and different
// names for different cells and sessions.
func TestTablesHaveTheirWidth(t *testing.T) {
	name := rapid.StringMatching(`(/home/me/|[a-c]{0,3})[ab/]{1,60}(/web|é)?`)
	units := map[string]string{}
	for _, m := range results.Metrics() {
		units[m.Name] = m.Unit
	}
	rapid.Check(t, func(t *rapid.T) {
		r := new(Report)
		for range rapid.IntRange(1, 20).Draw(t, "results") {
			metric := rapid.SampledFrom(metricNames()).Draw(t, "metric")
			v := rapid.Float64Range(0, 1e6).Draw(t, "figure")
			r.Results = append(r.Results, Result{Metric: metric, Unit: units[metric], Cell: name.Draw(t, "cell"), Group: name.Draw(t, "group"),
				Rule: rapid.SampledFrom([]string{"min 1", "max_increase 12.5%"}).Draw(t, "rule"), Status: OK,
				Observed: &v, Low: pointer(v / 2), High: pointer(v * 2), Bar: &v, Margin: &v, Baseline: &v})
		}
		s := r.sheet()
		above := fit(s, document.Width)
		if w := tableWidth(s); w > document.Width || len(s.Rows) != len(r.Results) {
			t.Fatalf("%d rows of %d, %d wide: %v", len(s.Rows), len(r.Results), w, s.Rows)
		}
		for column, of := range map[string]func(Result) string{
			"cell": func(v Result) string { return v.Cell }, "group": func(v Result) string { return v.Group },
		} {
			i := columnOf(s, column)
			if i < 0 && !strings.Contains(above, of(r.Results[0])) {
				t.Fatalf("no %s in %q and the table", column, above)
			}
			called := map[string]string{}
			for k, row := range s.Rows {
				if i < 0 {
					break
				}
				text := fmt.Sprint(row[i])
				if was, ok := called[text]; ok && was != of(r.Results[k]) {
					t.Fatalf("%q and %q are both called %q", was, of(r.Results[k]), text)
				}
				called[text] = of(r.Results[k])
			}
		}
	})
}

func TestShortened(t *testing.T) {
	for _, c := range []struct{ names, want []string }{
		{[]string{"short", "exactlytwelv"}, []string{"short", "exactlytwelv"}},
		{[]string{"/home/me/code/web"}, []string{"/hom…ode/web"}},
		// The sixth character is within the middle, unless less of the head is kept.
		{[]string{"/home1/code/web", "/home2/code/web"}, []string{"/…1/code/web", "/…2/code/web"}},
	} {
		got := shortened(c.names, 12)
		for i, name := range c.names {
			if got[name] != c.want[i] || utf8.RuneCountInString(got[name]) > 12 {
				t.Errorf("%q is called %q, want %q", name, got[name], c.want[i])
			}
		}
	}
	// One character in the middle of 41 is within no cut.
	long := strings.Repeat("x", 20)
	got := shortened([]string{long + "a" + long, long + "b" + long, long + "b" + long}, 12)
	if texts := []string{got[long+"a"+long], got[long+"b"+long]}; !slices.Equal(texts, []string{"xxxx…1…xxxxx", "xxxx…2…xxxxx"}) {
		t.Errorf("%q", texts)
	}
}
