package scenarios

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/calls"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/traces"
)

// provenance returns what the figures depend on. Switches are the settings that
// are not swept and differ from the default, by path.
func (p *Plan) provenance(d *Design, seen *survey) (results.Provenance, error) {
	digest, prices := digest(seen.digests), ""
	if d.Scenario.Prices.File != "" {
		prices = p.Prices.Digest()
	}
	origin := results.Provenance{
		Version:        p.Version,
		Seed:           d.Scenario.Seed,
		SessionsDigest: fmt.Sprintf("%016x%016x", digest.Hi, digest.Lo),
		Prices:         d.priceTable(p.Prices),
		PricesDigest:   prices,
		Switches:       d.switches(),
		Axes:           d.labels(),
	}
	fitted, err := p.profile(d.Scenario.Profile)
	if fitted != nil && err == nil {
		origin.Profile = fitted.Name
		origin.ProfileDigest, err = fitted.Digest()
	}
	return origin, err
}

// priceTable names the prices of a design: the name of the file without its
// folder, or the date of the built-in table.
func (d *Design) priceTable(prices *costmodel.Table) string {
	if file := d.Scenario.Prices.File; file != "" {
		return filepath.Base(file)
	}
	return prices.AsOf().Format(time.DateOnly)
}

// pricesFrom names the dates of the prices of a design and the file they come from.
func (d *Design) pricesFrom(prices *costmodel.Table) string {
	text := "call date"
	if dates := d.priceDates(); len(dates) > 1 {
		text = fmt.Sprintf("%d dates", len(dates))
	} else if at, err := d.Scenario.Prices.At.On(); err == nil && !at.IsZero() {
		text = at.Format(time.DateOnly)
	}
	if d.Scenario.Prices.File != "" {
		text += " from " + d.priceTable(prices) + prices.List()
	}
	return text
}

// workload describes the sessions for the head of a report.
func (d *Design) workload(prices *costmodel.Table, sessions []*traces.Session) results.Workload {
	w := results.Workload{Sessions: len(sessions), PricesAt: d.pricesFrom(prices)}
	var q traces.Quality
	var first, last int64
	calls := map[string]int{}
	for _, s := range sessions {
		w.Calls += s.NumCalls()
		q.InputTokens += s.Quality.InputTokens
		q.UnseenTokens += s.Quality.UnseenTokens
		q.DerivedOutputs += s.Quality.DerivedOutputs
		q.AssumedTiers += s.Quality.AssumedTiers
		if s.Start > 0 && (first == 0 || s.Start < first) {
			first = s.Start
		}
		last = max(last, s.End)
		for i, n := range s.ModelCalls() {
			if n > 0 {
				calls[s.Models[i]] += int(n)
			}
		}
	}
	w.Models = byUse(calls)
	if at, err := d.Scenario.Prices.At.On(); err == nil && at.IsZero() {
		w.PricesAt += prices.Stale(time.Unix(0, last))
	}
	if first > 0 {
		w.First = time.Unix(0, first).UTC().Format(time.DateOnly)
		w.Last = time.Unix(0, last).UTC().Format(time.DateOnly)
	}
	if u := &d.Scenario.Users; u.Any() {
		w.Remarks = append(w.Remarks, fmt.Sprintf("%s on one clock · sessions of %s from %s, drawn from profiles · seed %d",
			u, document.Count(u.Days, "day"), u.Start.Format(time.DateOnly), u.Seed))
		return w
	}
	w.Quality = qualityShares(&q, w.Calls)
	return w
}

func qualityShares(q *traces.Quality, calls int) []results.Share {
	shares := []results.Share{
		{Of: "tokens", What: "unseen", Value: ratio(q.UnseenTokens, q.InputTokens)},
		{Of: "outputs", What: "derived", Value: ratio(int64(q.DerivedOutputs), int64(calls))},
	}
	if q.AssumedTiers > 0 {
		shares = append(shares, results.Share{Of: "calls", What: "of assumed lifetime", Value: ratio(int64(q.AssumedTiers), int64(calls))})
	}
	return shares
}

func ratio(part, base int64) float64 {
	if base == 0 {
		return 0
	}
	return float64(part) / float64(base)
}

// byUse returns the models, most used first.
func byUse(calls map[string]int) []string {
	var models []string
	for m := range calls {
		models = append(models, m)
	}
	slices.SortFunc(models, func(a, b string) int {
		return cmp.Or(calls[b]-calls[a], cmp.Compare(a, b))
	})
	return models
}

// switches returns, by path, the settings around the strategies that are not
// swept and differ from the default, and the parameters of layers set from
// outside the scenario.
func (d *Design) switches() map[string]string {
	out := map[string]string{}
	for _, c := range d.changed() {
		section, _, nested := strings.Cut(c.Path, ".")
		if !c.swept && (nested || section == "events") && section != "sessions" && section != "users" {
			out[c.Path] = c.text
		}
	}
	// Add the parameters of layers that were set from outside the scenario, under the strategy's name if strategies have
	// different values.
	for _, e := range d.entries {
		for _, g := range e.given {
			path := strings.TrimPrefix(g[0], "--set ")
			if was, ok := out[path]; ok && was != g[1] {
				path = e.name + "." + path
			}
			out[path] = g[1]
		}
	}
	return out
}

// earlyPrices returns remarks on what is billed at prices of another date: sessions from before the first
// prices of their model or, where prices of a date are asked for, a date before these, and sessions without a date. Where the first prices
// of a model have no date, a date before the session that called it may lie before them too.
func (d *Design) earlyPrices(prices *costmodel.Table, sessions []*traces.Session) []results.Note {
	var notes []results.Note
	if text := calls.UnpricedSearches(prices, sessions); text != "" {
		notes = append(notes, results.Note{Text: text})
	}
	for _, date := range d.priceDates() {
		at, err := date.On()
		if err != nil {
			continue // refused when cells are made
		}
		before, undated, open := map[string]int{}, 0, map[string]bool{}
		for _, s := range sessions {
			when := at
			if at.IsZero() {
				when = s.StartTime()
			}
			if when.IsZero() {
				undated++
				continue
			}
			for _, model := range s.Models {
				price, err := prices.Lookup(model, when)
				switch {
				case err != nil:
				case price.Early(when):
					before[model]++
				case price.From.IsZero() && !at.IsZero() && at.Before(s.StartTime()):
					open[model] = true
				}
			}
		}
		for _, model := range slices.Sorted(maps.Keys(before)) {
			text := document.Count(before[model], "session") + " from before the first prices of " + model + ", billed at these"
			if !at.IsZero() {
				text = fmt.Sprintf("no prices of %s are known for %s: its first are taken", model, at.Format(time.DateOnly))
			}
			notes = append(notes, results.Note{Text: text})
		}
		if len(open) > 0 {
			notes = append(notes, results.Note{Text: fmt.Sprintf("the price table does not say since when the earliest prices of %s hold: they are taken for %s",
				document.And(slices.Sorted(maps.Keys(open))), at.Format(time.DateOnly))})
		}
		if undated > 0 {
			notes = append(notes, results.Note{Text: fmt.Sprintf("%s without a date billed at the prices of %s",
				document.Count(undated, "session"), prices.AsOf().Format(time.DateOnly))})
		}
	}
	return notes
}

// markInterrupted marks a run that was stopped before its end: it adds a remark that says how
// much was simulated. If the recorded cell lacks sessions, it drops them from the billed
// cells too, so that the two stay comparable; results.Run.Footnotes says what other cells
// lack. cells is the number of cells there should be, bound whether the bound was asked
// for, err what stopped the run. It must run before Sum.
func markInterrupted(run *results.Run, cells int, bound bool, err error) {
	sessions := run.Workload.Sessions
	done := 0
	for i := range run.Cells {
		if c := &run.Cells[i]; c.Strategy != measures.StrategyBilled {
			done += c.Rows.Len()
		}
	}
	how := "interrupted"
	if !errors.Is(err, context.Canceled) {
		how = "stopped by an error"
	}
	remark := fmt.Sprintf("%s: %s of %s done (%s × %s), so rows may cover different sessions", how, document.Whole(done),
		document.Count(cells*sessions, "simulation"), document.Count(sessions, "session"), document.Count(cells, "cell"))
	run.Workload.Unfinished = cells*sessions - done
	if bound && done == cells*sessions {
		remark = how + " before the bound was found"
	}
	run.Workload.Remarks = append(run.Workload.Remarks, remark)
	recorded := run.Reference(measures.StrategyRecorded)
	if recorded == nil || recorded.Rows.Len() == sessions {
		return
	}
	have := map[string]bool{}
	for i := range recorded.Rows.Len() {
		have[recorded.Rows.Session(i)] = true
	}
	for i := range run.Cells {
		if c := &run.Cells[i]; c.Strategy == measures.StrategyBilled {
			c.Rows.Drop(func(session string) bool { return !have[session] })
		}
	}
	run.Notes = append(run.Notes, results.Note{Cell: recorded.Cell, Metric: measures.NameCost,
		Text: fmt.Sprintf("covers %d of %d sessions, and so does what was billed", recorded.Rows.Len(), sessions)})
}

// asRecorded reports whether the first cells of a design keep the client, the
// server and the sessions as they were, so that their recorded cell measures
// the model error.
func (d *Design) asRecorded() bool {
	s, plain := &d.Scenario, Default()
	return reflect.DeepEqual(s.Client, plain.Client) && reflect.DeepEqual(s.Server, plain.Server) &&
		len(s.Events) == 0 && reflect.DeepEqual(s.Levels, plain.Levels) && s.Sessions.Cohort == plain.Sessions.Cohort
}

// modelError sets the model error of a run, with the spread over sessions that the profile gives.
// If the settings differ from the recordings' settings, it simulates a recorded cell under the
// recordings' settings.
func (p *Plan) modelError(ctx context.Context, d *Design, sessions []*traces.Session, run *results.Run) error {
	fitted, err := p.profile(d.Scenario.Profile)
	if err != nil {
		return err
	}
	spread := fitted.Spread()
	billed, recorded := run.Reference(measures.StrategyBilled), run.Reference(measures.StrategyRecorded)
	if billed != nil && recorded != nil {
		run.ModelError = results.ErrorOf(billed, recorded, spread)
	}
	config, err := p.plainly(d)
	if config == nil || err != nil || ctx.Err() != nil {
		return err
	}
	cell, keeping := plainCell(), sync.Mutex{}
	if p.parts != nil {
		cell = *p.parts.plain
	} else {
		_, err = sim.Runner{Workers: p.Workers, Keep: func(_ int, row *results.Row) {
			keeping.Lock()
			defer keeping.Unlock()
			cell.Rows.Keep(row)
		}}.Run(ctx, sessions, []sim.Config{*config})
		if broken := (*sim.Broken)(nil); err != nil && (!errors.As(err, &broken) || broken.Stopped != nil) {
			return err
		}
	}
	plainly := results.Run{Cells: []results.Cell{cell}}
	plainly.Sum()
	if some, ok := billed.Over(&plainly.Cells[0]); ok {
		billed = some
	}
	run.ModelError = results.ErrorOf(billed, &plainly.Cells[0], spread)
	run.Notes = append(run.Notes, results.Note{
		Text: "the model error is measured without this scenario's client, server and events",
	})
	return nil
}

// plainly returns the recorded cell under the settings of the recordings, nil where the design has these settings.
func (p *Plan) plainly(d *Design) (*sim.Config, error) {
	i := slices.IndexFunc(d.Cells, func(c Cell) bool { return c.Strategy.Name == measures.StrategyRecorded })
	if i < 0 || d.asRecorded() {
		return nil, nil
	}
	plain := Default()
	plain.Profile, plain.Prices, plain.Seed = d.Scenario.Profile, d.Scenario.Prices, d.Scenario.Seed
	config, err := p.config(&Cell{Strategy: d.Cells[i].Strategy, Scenario: &plain})
	config.Verify = false // invariants are checked in the cells that were asked for
	return &config, err
}

// plainCell returns the cell of plainly, without rows.
func plainCell() results.Cell {
	return results.Cell{Cell: "recorded as it was", Strategy: measures.StrategyRecorded}
}
