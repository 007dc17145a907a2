package check

import (
	"cmp"
	"fmt"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
)

// tally is a row in few words.
type tally struct {
	session string
	usd     float64 // output alone
	read    int64
	written int64 // 5m
	misses  map[exchange.MissClass]int
	calls   int // 10 for 0
}

func (t tally) row(strategy string) results.Row {
	r := results.Row{Strategy: strategy, Session: t.session, Figures: results.Figures{measures.Sessions: 1,
		measures.Calls: float64(cmp.Or(t.calls, 10)), measures.LaterCalls: 9}}
	calls := r.Figures[measures.Calls]
	r.Bill(measures.SourceMain, &prompt.Usage{Read: t.read, Write5m: t.written}, &results.Cost{measures.ClassOutput: t.usd})
	r.Figures[measures.Calls] = calls
	for class, n := range t.misses {
		r.Figures[measures.MissesByClass+measures.ID(class)] += float64(n)
		r.Figures[measures.Misses] += float64(n)
	}
	return r
}

// cell is a cell whose draws have the given rows.
func cell(name string, draws ...[]tally) Cell {
	c := Cell{Name: name, Strategy: name}
	for _, d := range draws {
		run := results.Run{Cells: []results.Cell{{Cell: name, Strategy: name}}}
		for _, t := range d {
			row := t.row(name)
			run.Cells[0].Rows.Keep(&row)
		}
		run.Sum()
		c.Draws = append(c.Draws, &run.Cells[0])
	}
	return c
}

// input is a run of cells over the sessions a and b, of two projects.
func input(cells ...Cell) *Input {
	return &Input{Version: "v1", SessionsDigest: "5e55", ScenarioDigest: "5ce0", Rates: map[string]results.Cost{"opus": {measures.ClassRead: 1}}, Prices: "2026-03-01", Calls: 20, Cells: cells, Sessions: map[string]Session{
		"a": {Project: "api", Model: "opus", Agent: "claude-code"}, "b": {Project: "web", Model: "opus", Agent: "codex"},
	}}
}

// drawnUSD is one draw of two sessions for each amount, USD of session a; b costs 1.
func drawnUSD(name string, usd ...float64) Cell {
	var draws [][]tally
	for _, v := range usd {
		draws = append(draws, []tally{{session: "a", usd: v, read: 90, written: 10}, {session: "b", usd: 1, read: 90, written: 10}})
	}
	return cell(name, draws...)
}

// parsed is a check with rules and the baseline base.json.
func parsed(t testing.TB, rules string) *File {
	t.Helper()
	return levels(t, "baseline: base.json\nrules:\n"+rules)
}

// levels is a check without a baseline of all rules.
func levels(t testing.TB, text string) *File {
	t.Helper()
	f, err := Parse([]byte("scenario: default\n"+text), "check.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// against makes a baseline of one run and judges another by it.
func against(t testing.TB, f *File, was, now *Input) *Report {
	t.Helper()
	b, err := f.NewBaseline(was)
	if err != nil {
		t.Fatal(err)
	}
	return f.Judge(now, Loaded{Baseline: b})
}

// says tests that a report has one failure, which holds all texts.
func says(t *testing.T, r *Report, texts ...string) {
	t.Helper()
	if len(texts) == 0 {
		if !r.OK || r.Err() != nil {
			t.Errorf("%v: %+v", r.Err(), r.failures())
		}
		return
	}
	if all := r.failures(); r.OK || r.Err() == nil || len(all) == 0 {
		t.Errorf("the check holds; want %q", texts)
		return
	}
	said := fmt.Sprintf("%+v", r.failures())
	for _, text := range texts {
		if !strings.Contains(said, text) {
			t.Errorf("%q is not in %s", text, said)
		}
	}
}
