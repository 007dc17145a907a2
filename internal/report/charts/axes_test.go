package reports

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/compactsim/compactsim/sim/results"
)

func TestParseNumber(t *testing.T) {
	for _, test := range []struct {
		text     string
		want     float64
		duration bool
		ok       bool
	}{
		{"167000", 167000, false, true},
		{"167k", 167000, false, true},
		{"1.5M", 1.5e6, false, true},
		{"2G", 2e9, false, true},
		{"155_000", 155000, false, true},
		{"-3", -3, false, true},
		{"80%", 0.8, false, true},
		{"80 %", 0.8, false, true},
		{"5m", 300, true, true}, // minutes; mega is M
		{"1h30m", 5400, true, true},
		{"", 0, false, false},
		{"k", 0, false, false},
		{"off", 0, false, false},
		{"NaN", 0, false, false},
		{"Inf", 0, false, false},
		{"1hk", 0, false, false},
	} {
		got, duration, ok := parseNumber(test.text)
		if ok != test.ok || ok && (got != test.want || duration != test.duration) {
			t.Errorf("%q = %v, duration %v, %v; want %v, %v, %v", test.text, got, duration, ok, test.want, test.duration, test.ok)
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
		{"numbers by size", []cell{{"a", "k", "100k"}, {"a", "k", "9000"}, {"a", "k", "1M"}},
			[]axis{{"k", []string{"9000", "100k", "1M"}, true}}},
		{"one number in two texts", []cell{{"a", "k", "167k"}, {"a", "k", "167000"}, {"a", "k", "5"}},
			[]axis{{"k", []string{"5", "167k"}, true}}},
		{"only texts of one number", []cell{{"a", "k", "167k"}, {"a", "k", "167000"}}, nil},
		{"durations by length", []cell{{"a", "ttl", "1h"}, {"a", "ttl", "5m"}}, []axis{{"ttl", []string{"5m", "1h"}, true}}},
		{"a number and a duration are texts", []cell{{"a", "k", "1h"}, {"a", "k", "5"}}, []axis{{"k", []string{"1h", "5"}, false}}},
		{"texts in the order of cells", []cell{{"a", "k", "off"}, {"a", "k", "9"}, {"a", "k", "cold"}},
			[]axis{{"k", []string{"off", "9", "cold"}, false}}},
		{"two strategies that differ are no sweep", []cell{{"a", "k", "1"}, {"b", "k", "2"}}, nil},
		{"values of all strategies", []cell{{"a", "k", "1"}, {"a", "k", "3"}, {"b", "k", "2"}},
			[]axis{{"k", []string{"1", "2", "3"}, true}}},
		{"most values first", []cell{{"a", "b", "1"}, {"a", "b", "2"}, {"a", "c", "1"}, {"a", "c", "2"}, {"a", "c", "3"}},
			[]axis{{"c", []string{"1", "2", "3"}, true}, {"b", []string{"1", "2"}, true}}},
		{"reference cells have no part", []cell{{"recorded", "k", "1"}, {"recorded", "k", "2"}}, nil},
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
		{numeric, "1000000", "1.00M"},
		{numeric, "166600", "166600"},
		{numeric, "80%", "80%"},
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
