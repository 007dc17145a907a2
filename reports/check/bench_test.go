package check

import (
	"fmt"
	"io"
	"strings"
	"testing"
)

// BenchmarkCheck is all that a check adds to its run: 100 sessions in ten
// projects, five cells under 20 seeds, forty rules, some broken, a baseline
// read and compared, and every form of the report.
func BenchmarkCheck(b *testing.B) {
	var rules strings.Builder
	for _, metric := range metricNames()[:20] {
		fmt.Fprintf(&rules, "  - {metric: %s, max_increase: 1%%}\n  - {metric: %[1]s, max_increase: 2%%, group: project}\n", metric)
	}
	f := parsed(b, rules.String())
	was, now := largeRun(1), largeRun(1.1)
	baseline, err := f.NewBaseline(was)
	if err != nil {
		b.Fatal(err)
	}
	var text strings.Builder
	if err := baseline.Write(&text); err != nil {
		b.Fatal(err)
	}
	var failed int
	for b.Loop() {
		read, err := ReadBaseline("base.json", strings.NewReader(text.String()))
		if err != nil {
			b.Fatal(err)
		}
		r := f.Judge(now, Loaded{Baseline: read})
		failed = len(r.failures())
		for _, write := range []func(io.Writer) error{func(w io.Writer) error { return r.Write(w, "text") }, func(w io.Writer) error { return r.Write(w, "json") }, r.JUnit, func(w io.Writer) error { return r.Write(w, "markdown") }} {
			if err := write(io.Discard); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(failed), "failures")
}

// largeRun is five cells of 100 sessions under 20 seeds, costs by a factor.
func largeRun(factor float64) *Input {
	in := input()
	in.Sessions = map[string]Session{}
	var cells []Cell
	for c := range 5 {
		var draws [][]tally
		for seed := range defaultSeeds {
			var rows []tally
			for s := range 100 {
				id := fmt.Sprintf("%03d", s)
				in.Sessions[id] = Session{Project: fmt.Sprint(s % 10)}
				rows = append(rows, tally{session: id, usd: factor * float64(1+c+seed+s), read: int64(90 + seed), written: 10})
			}
			draws = append(draws, rows)
		}
		cells = append(cells, cell(fmt.Sprint("cell ", c), draws...))
	}
	in.Cells = cells
	return in
}
