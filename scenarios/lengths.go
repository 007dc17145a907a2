package scenarios

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/traces"
)

// The lengths of summaries between which the cost of own is told, tokens. Summaries of 36 recorded sessions have 580 to 6,390
// (docs/validation.md).
const (
	shortSummary = 700
	longSummary  = 6000
)

// leastSpan is the share of own's cost by which costs with short and with long summaries differ at the least where that is told.
const leastSpan = 0.001

// mostSpanned is how many sessions are simulated at both lengths; others are taken to be like these.
const mostSpanned = 40

// drawnSummaries returns the rows of a cell of own that compacts where the recording has no compaction, and so no length of a summary,
// and what the calls that write their summaries cost.
func drawnSummaries(c, recorded *results.Cell) (rows []*results.Row, usd float64) {
	if c.Strategy != measures.StrategyOwn || recorded == nil || !recorded.Covers(c) {
		return nil, 0
	}
	for i, row := range c.Rows.All() {
		if of := row.CostBy(measures.SourceCompact).Total(); of > 0 && recorded.Rows.At(i).N(measures.Compactions) == 0 {
			rows, usd = append(rows, row), usd+of
		}
	}
	return rows, usd
}

// drawnNotes says of cells of own that the length of their summaries is drawn.
func drawnNotes(run *results.Run) (list []results.Note) {
	for i := range run.Cells {
		c := &run.Cells[i]
		if rows, usd := drawnSummaries(c, run.Reference(measures.StrategyRecorded)); usd >= 0.005 {
			list = append(list, results.Note{Cell: c.Cell, Metric: measures.NameCost, Text: fmt.Sprintf(
				"the recordings of %s show no summary: its length is drawn; the calls that write summaries are $%.2f of this cost", document.Count(len(rows), "session"), usd)})
		}
	}
	return list
}

// span says what own would cost with short and with long summaries, where recordings do not show how long they are and nobody has told it.
// It is "" where the difference is less than a thousandth of the cost, where own is swept, and where sessions share more than their own clock.
func span(ctx context.Context, p *Plan, d *Design, sessions []*traces.Session, run *results.Run) (string, error) {
	isOwn := func(c Cell) bool { return c.Strategy.Name == measures.StrategyOwn }
	at, own, recorded := slices.IndexFunc(d.Cells, isOwn), run.Reference(measures.StrategyOwn), run.Reference(measures.StrategyRecorded)
	if at < 0 || own == nil || slices.ContainsFunc(d.Cells[at+1:], isOwn) || p.parts != nil || p.Summarize != nil || d.Cells[at].Scenario.Summarizer.Told() ||
		d.Scenario.Users.Any() || d.Cohorts(sessions) != nil {
		return "", nil
	}
	drawn, usd := drawnSummaries(own, recorded)
	if usd < 0.005 {
		return "", nil
	}
	var sampled, before float64
	chosen := map[string]bool{}
	for i := 0; i < len(drawn); i += 1 + (len(drawn)-1)/mostSpanned {
		chosen[drawn[i].Session] = true
		sampled += drawn[i].CostBy(measures.SourceCompact).Total()
		before += drawn[i].CostUSD()
	}
	some := slices.DeleteFunc(slices.Clone(sessions), func(s *traces.Session) bool { return !chosen[s.ID] })
	var configs []sim.Config
	for _, tokens := range []float64{shortSummary, longSummary} {
		cell, scenario := d.Cells[at], *d.Cells[at].Scenario
		scenario.Summarizer.Median, scenario.Summarizer.Sigma = tokens, 0
		cell.Scenario = &scenario
		config, err := p.config(&cell)
		if err != nil {
			return "", err
		}
		config.Verify = false // invariants are checked in the cells that were asked for
		configs = append(configs, config)
	}
	var after [2]float64
	var keeping sync.Mutex
	_, err := sim.Runner{Workers: p.Workers, Keep: func(cell int, row *results.Row) {
		keeping.Lock()
		defer keeping.Unlock()
		after[cell] += row.CostUSD()
	}}.Run(ctx, some, configs)
	if broken := (*sim.Broken)(nil); errors.As(err, &broken) && broken.Stopped == nil {
		return "", nil
	} else if err != nil {
		return "", err //nolint:wrapcheck // of the simulation
	}
	for i := range after {
		after[i] = own.Total.CostUSD() + (after[i]-before)*usd/sampled
	}
	if math.Abs(after[1]-after[0]) < leastSpan*own.Total.CostUSD() {
		return "", nil
	}
	return fmt.Sprintf("the recordings of %s show no summary, so the length of summaries is drawn: own costs $%.2f with %s tokens, and $%.2f with %s (--set summarizer.median=TOKENS tells it)",
		document.Count(len(drawn), "session"), after[0], document.Whole(shortSummary), after[1], document.Whole(longSummary)), nil
}
