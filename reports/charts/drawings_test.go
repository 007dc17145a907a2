package charts

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
)

func names(list []Drawing) []string {
	var ns []string
	for _, d := range list {
		ns = append(ns, d.Name)
	}
	return ns
}

// TestDrawings: what is drawn follows from what was swept.
func TestDrawings(t *testing.T) {
	three := mapSweep()
	for i := range three.Cells[2:] {
		three.Cells[2+i].Params["ttl"] = "5m"
		c := three.Cells[2+i]
		addCell(three, c.Cell+"/1h", c.Strategy, map[string]string{"threshold": c.Params["threshold"], "keep": c.Params["keep"], "ttl": "1h"}, c.Total)
	}
	unsampled := lineSweep()
	for i := range unsampled.Cells {
		clear(unsampled.Cells[i].Total.Figures[measures.Tokens+measures.ID(measures.ClassRead):][:2]) // and writes of 5 minutes
	}
	for _, test := range []struct {
		name  string
		run   *results.Run
		calls []results.CellCalls
		want  []string
	}{
		{"no input tokens", unsampled, nil, []string{"cost", "sweep-threshold"}},
		{"no sweep", bill(), nil, []string{"cost"}},
		{"one parameter", lineSweep(), nil, []string{"cost", "sweep-threshold"}},
		{"two", mapSweep(), twoCells(3), []string{"cost", "sweep-cost_usd-threshold-keep-auto-compact", "context", "hit"}},
		{"three", three, nil, []string{"cost",
			"sweep-cost_usd-threshold-keep-auto-compact"}},
	} {
		list := Drawings(test.run, test.calls)
		if diff := cmp.Diff(test.want, names(list)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
		for _, d := range list {
			if err := d.Draw(io.Discard, "svg"); err != nil {
				t.Errorf("%s, %s: %v", test.name, d.Name, err)
			}
		}
	}
}

// TestFamilies: strategies with different parameters have charts of their own,
// and one that fixes the parameter stands as a point in the chart of those that
// sweep it.
func TestFamilies(t *testing.T) {
	run := sweepRun()
	for _, v := range []string{"1", "2"} {
		addCell(run, "a"+v, "a", map[string]string{"gap": v}, total("a", 1000, 0.9, 1))
		addCell(run, "b"+v, "b", map[string]string{"Keep Last": v}, total("b", 1000, 0.9, 1))
	}
	addCell(run, "c", "c", map[string]string{"gap": "1.5"}, total("c", 1000, 0.9, 1))
	list := sweepDrawings(run, "cost_usd")
	if diff := cmp.Diff([]string{"sweep-gap", "sweep-keep-last"}, names(list)); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	for _, d := range list {
		if err := d.Draw(io.Discard, "svg"); err != nil {
			t.Errorf("%s: %v", d.Name, err)
		}
	}
	if f := sweeps(run)[0]; len(f.axes[0].values) != 3 {
		t.Errorf("values %v, want those of a and c", f.axes[0].values)
	}
}

// TestManyLines: ten strategies over one parameter make eight lines, and a note counts the rest.
func TestManyLines(t *testing.T) {
	run := sweepRun()
	for i := range 10 {
		for _, v := range []string{"1", "2"} {
			name := fmt.Sprintf("s%d", i)
			addCell(run, name+"/"+v, name, map[string]string{"gap": v}, total(name, 1000, 0.9, 1))
		}
	}
	addCell(run, "none", "none", nil, total("none", 1000, 0.9, 0))
	list := sweepDrawings(run, "cost_usd")
	if diff := cmp.Diff([]string{"sweep-gap"}, names(list)); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	var b bytes.Buffer
	if err := list[0].Draw(&b, "svg"); err != nil {
		t.Fatal(err)
	}
	wantTexts(t, b.Bytes(), "s7", "none")
	absentTexts(t, b.Bytes(), "s8")
	wantText(t, b.Bytes(), "2 lines not drawn: more cannot be told apart")
}

// TestForemost: of six cells the recorded one and the three cheapest.
func TestForemost(t *testing.T) {
	run := sweepRun()
	calls := []results.CellCalls{{Cell: "p5"}, {Cell: "recorded"}}
	for i, cost := range []float64{900, 2000, 800, 700, 950} {
		name := "p" + strconv.Itoa(i+1)
		addCell(run, name, "s", nil, total("s", cost, 0.9, 1))
		if i < 4 {
			calls = append(calls, results.CellCalls{Cell: name})
		}
	}
	var got []string
	for _, c := range foremost(run, calls) {
		got = append(got, c.Cell)
	}
	if diff := cmp.Diff([]string{"recorded", "p1", "p3", "p4"}, got); diff != "" {
		t.Errorf("cells (-want +got):\n%s", diff)
	}
}

// TestBarsOfManyCells: a page of bars is the reference cells and the cheapest and the dearest of
// all further cells, and a note says so.
func TestBarsOfManyCells(t *testing.T) {
	c, err := costChart(bigSweep())
	if err != nil {
		t.Fatal(err)
	}
	if n := len(c.Panels[0].Y.Ticks); n != maxBars {
		t.Errorf("%d bars, want %d", n, maxBars)
	}
	if !strings.Contains(strings.Join(c.Notes, "\n"), "cheapest and the ") {
		t.Errorf("notes %q", c.Notes)
	}
}

// bigSweep is 200 cells: 20 thresholds by 10 lifetimes.
func bigSweep() *results.Run {
	run := sweepRun()
	for i := range 20 {
		for j := range 10 {
			addCell(run, fmt.Sprintf("auto-compact/%d/%d", i, j), "auto-compact",
				map[string]string{"threshold": strconv.Itoa(20000 + 5000*i), "keep": strconv.Itoa(5 * j)},
				total("auto-compact", 900+float64((i-7)*(i-7)+j*j), 0.8+float64(i+j)/500, 100-i))
		}
	}
	return run
}

// BenchmarkDrawings draws everything for a sweep of 200 cells with the calls of
// two cells over a session of 3,000, as SVG and as PNG.
func BenchmarkDrawings(b *testing.B) {
	run, calls := bigSweep(), twoCells(3000)
	for _, format := range ChartFormats() {
		b.Run(format, func(b *testing.B) {
			for b.Loop() {
				for _, d := range Drawings(run, calls) {
					if err := d.Draw(io.Discard, format); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

// A chart of calls says which simulated cells it leaves out; the bill has none.
func TestUndrawnCellsAreNamed(t *testing.T) {
	run := &results.Run{Cells: []results.Cell{
		{Cell: "billed", Strategy: measures.StrategyBilled}, {Cell: "recorded"}, {Cell: "a"}, {Cell: "b"}, {Cell: "c"}, {Cell: "d"}, {Cell: "e"},
	}}
	all := []results.CellCalls{{Cell: "recorded"}, {Cell: "a"}, {Cell: "b"}, {Cell: "c"}, {Cell: "d"}, {Cell: "e"}}
	for drawn, want := range map[int]string{
		6: "", 5: "not drawn: e", 3: "not drawn: c, d, e", 1: "not drawn: a, b, c, and 2 others",
	} {
		if got := undrawn(run, all[:drawn]); got != want {
			t.Errorf("%d drawn: %q, want %q", drawn, got, want)
		}
	}
}
