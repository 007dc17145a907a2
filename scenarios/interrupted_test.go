package scenarios

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
	"github.com/compactsim/compactsim/traces/synthetic"
)

// sampleCorpus is the five sessions that come with the program.
func sampleCorpus(t *testing.T) *traces.Corpus {
	t.Helper()
	corpus, err := agents.ReadFS(t.Context(), traces.Options{}, synthetic.Samples())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { corpus.Close() })
	return corpus
}

// threeCells runs recorded, none and truncate-oldest, one session at a time.
func threeCells(t *testing.T) *Plan {
	t.Helper()
	registry, err := strategies.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	prices, err := costmodel.Default()
	if err != nil {
		t.Fatal(err)
	}
	return &Plan{
		Registry: registry, Prices: prices, Workers: 1, Seed: 1,
		Strategies: []string{results.StrategyRecorded, "none", "truncate-oldest"},
	}
}

// A run that is stopped gives what is complete and says how much that is. Five
// sessions in three cells are 15; cells come one after the other, so that after
// 7 the recorded cell is whole and the second has two sessions.
func TestInterruptedRun(t *testing.T) {
	for _, tc := range []struct {
		after    int // sessions finished when the run is stopped
		sessions map[string]int
		says     string // part of the footnotes
	}{
		{2, map[string]int{"billed": 2, "recorded": 2}, "covers 2 of 5 sessions, and so does what was billed"},
		{7, map[string]int{"billed": 5, "recorded": 5, "none": 2}, "covers 2 sessions, recorded covers 5: not the same, not compared"},
	} {
		corpus := sampleCorpus(t)
		whole, err := threeCells(t).Run(t.Context(), corpus)
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		p := threeCells(t)
		p.Done = func(finished, total int) {
			if total != 15 {
				t.Errorf("%d sessions to simulate, want 15", total)
			}
			if finished == tc.after {
				stop()
			}
		}
		run, err := p.Run(ctx, corpus)
		stop()
		if !errors.Is(err, context.Canceled) || run == nil {
			t.Fatalf("after %d: %v, %v", tc.after, run, err)
		}
		got := map[string]int{}
		for i := range run.Cells {
			c := &run.Cells[i]
			got[c.Cell] = c.Sessions
			checkRows(t, c, whole)
		}
		if fmt.Sprint(got) != fmt.Sprint(tc.sessions) {
			t.Errorf("after %d: sessions %v, want %v", tc.after, got, tc.sessions)
		}
		want := fmt.Sprintf("interrupted: %d of 15 sessions simulated (5 sessions in 3 cells); the figures are of these", tc.after)
		if !slices.Contains(run.Workload.Remarks, want) {
			t.Errorf("remarks %q lack %q", run.Workload.Remarks, want)
		}
		if notes := fmt.Sprint(run.Footnotes()); !strings.Contains(notes, tc.says) {
			t.Errorf("after %d: notes %s lack %q", tc.after, notes, tc.says)
		}
		if e, c := run.ModelError, run.Reference(results.StrategyBilled); e.BilledUSD != c.Total.CostUSD() || e.BilledUSD == 0 {
			t.Errorf("after %d: model error %+v, billed %v", tc.after, e, c.Total.CostUSD())
		}
	}
}

// checkRows holds the rows of a cell against those of a run that was not
// stopped: what is there is final.
func checkRows(t *testing.T, c *results.Cell, whole *results.Run) {
	t.Helper()
	for i := range whole.Cells {
		if whole.Cells[i].Cell != c.Cell {
			continue
		}
		for _, row := range c.Rows {
			if !slices.ContainsFunc(whole.Cells[i].Rows, func(r results.Row) bool { return reflect.DeepEqual(r, row) }) {
				t.Errorf("%s, session %s: not the row of the whole run", c.Cell, row.Session)
			}
		}
		return
	}
	t.Errorf("no cell %s in the whole run", c.Cell)
}

// A run stopped before anything was simulated has no report.
func TestInterruptedAtOnce(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	run, err := threeCells(t).Run(ctx, sampleCorpus(t))
	if run != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("%v, %v; want no run and context.Canceled", run, err)
	}
}

// With several workers the number of complete sessions is not known before, and
// what is said of it is what there is.
func TestInterruptedWorkers(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	p := threeCells(t)
	p.Workers = 4
	var once sync.Once
	p.Done = func(finished, _ int) {
		if finished >= 3 {
			once.Do(stop)
		}
	}
	run, err := p.Run(ctx, sampleCorpus(t))
	if err == nil {
		t.Skip("all was done before the workers saw the end")
	}
	rows := 0
	for i := range run.Cells {
		if c := &run.Cells[i]; c.Strategy != results.StrategyBilled {
			rows += len(c.Rows)
		}
	}
	if want := fmt.Sprintf("interrupted: %d of 15 sessions", rows); !strings.Contains(fmt.Sprint(run.Workload.Remarks), want) {
		t.Errorf("remarks %q lack %q", run.Workload.Remarks, want)
	}
}
