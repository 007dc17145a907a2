package charts

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/compactsim/compactsim/sim/results"
)

func TestNumberOf(t *testing.T) {
	for text, want := range map[string]float64{"167000": 167000, "0.8": 0.8, "-3": -3, "5m": 300, "1h30m": 5400,
		"": math.NaN(), "167k": math.NaN(), "off": math.NaN(), "NaN": math.NaN(), "Inf": math.NaN()} {
		if got := numberOf(text); got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
			t.Errorf("%q = %v, want %v", text, got, want)
		}
	}
}

func TestAxes(t *testing.T) {
	type cell struct{ strategy, key, value string }
	for _, test := range []struct {
		name  string
		cells []cell
		want  []axis
	}{
		{"none", nil, nil},
		{"one value", []cell{{"a", "k", "1"}, {"a", "k", "1"}}, nil},
		{"numbers by size", []cell{{"a", "k", "100000"}, {"a", "k", "9000"}, {"a", "k", "1000000"}},
			[]axis{{"k", []string{"9000", "100000", "1000000"}, true}}},
		{"durations by length", []cell{{"a", "ttl", "1h"}, {"a", "ttl", "5m"}}, []axis{{"ttl", []string{"5m", "1h"}, true}}},
		{"texts in the order of cells", []cell{{"a", "k", "off"}, {"a", "k", "9"}, {"a", "k", "cold"}},
			[]axis{{"k", []string{"off", "9", "cold"}, false}}},
		{"two strategies that differ are no sweep", []cell{{"a", "k", "1"}, {"b", "k", "2"}}, nil},
		{"values of all strategies", []cell{{"a", "k", "1"}, {"a", "k", "3"}, {"b", "k", "2"}},
			[]axis{{"k", []string{"1", "2", "3"}, true}}},
		{"most values first", []cell{{"a", "b", "1"}, {"a", "b", "2"}, {"a", "c", "1"}, {"a", "c", "2"}, {"a", "c", "3"}},
			[]axis{{"c", []string{"1", "2", "3"}, true}, {"b", []string{"1", "2"}, true}}},
	} {
		run := &results.Run{}
		for _, c := range test.cells {
			run.Cells = append(run.Cells, results.Cell{Strategy: c.strategy, Params: map[string]string{c.key: c.value}})
		}
		if diff := cmp.Diff(test.want, axesOf(cellsOf(run)), cmp.AllowUnexported(axis{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

// TestAxisLabel: numbers are shortened when that loses nothing.
func TestAxisLabel(t *testing.T) {
	numeric, text := axis{numeric: true}, axis{}
	for _, test := range []struct {
		axis        axis
		value, want string
	}{
		{numeric, "167000", "167k"},
		{numeric, "1000000", "1000k"},
		{numeric, "166600", "166600"},
		{numeric, "0.8", "0.8"},
		{text, "167000", "167000"},
		{text, "a value too long for an axis", "a value t… an axis"},
	} {
		if got := test.axis.label(test.value); got != test.want {
			t.Errorf("label of %q is %q, want %q", test.value, got, test.want)
		}
	}
}

func cellsOf(run *results.Run) []*results.Cell {
	var cells []*results.Cell
	for i := range run.Cells {
		cells = append(cells, &run.Cells[i])
	}
	return cells
}
