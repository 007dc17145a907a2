package check

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/internal/kit/stats"
	"github.com/compactsim/compactsim/sim/results"
)

// Facts say what becomes of a client that changed.
type Facts struct {
	Max      *Amount `yaml:"max" doc:"the most that what changed may cost, as a share of what the sessions are predicted to cost"`
	Lifetime string  `yaml:"lifetime" doc:"the lifetime that conversations ask for, whatever the baseline has" enum:"any,5m,1h"`
}

// pinned reports whether the lifetime is fixed.
func (f *Facts) pinned() bool { return f.Lifetime == "5m" || f.Lifetime == "1h" }

// asked reports whether the check has facts.
func (f *Facts) asked() bool { return f.Max != nil || f.pinned() }

// pinnedFact is the fact that lifetime pins: the share of writes for an hour.
const pinnedFact = "writes for an hour, conversations"

// Price returns by how much the sessions are predicted to cost more than they would with a
// fact at another value, and what they are predicted to cost, USD; false if that is unknown.
type Price func(fact string, was float64) (more, of float64, ok bool, err error)

// judgeFacts tells which facts differ from the baseline's by more than their own spread, with
// what each costs. What those that can be priced cost together is judged.
func (f *File) judgeFacts(r *Report, in *Input, baselines map[string]Loaded) {
	if !f.Facts.asked() || in.Price == nil {
		return
	}
	was := map[string][][2]float64{}
	if b := baselines[baselinePath(f.Baseline)].Baseline; b != nil {
		was = b.facts()
	}
	res := Result{Metric: "facts", Unit: results.UnitRatio, Rule: f.Facts.text(), Status: OK}
	var told []string
	var more, of float64
	pinned := false
	for _, name := range slices.Sorted(maps.Keys(in.Facts)) {
		before, changed := f.changed(name, was[name], in.Facts[name], len(in.Facts))
		if !changed {
			continue
		}
		now := ratioOf(in.Facts[name])
		text := fmt.Sprintf("%s: %s → %s", name, factFigure(before), factFigure(now.Value()))
		usd, all, ok, err := in.Price(name, before)
		switch {
		case err != nil:
			r.fail(0, "pricing a fact: %v", err)
		case ok:
			more, of = more+usd, all
			text += fmt.Sprintf(" (with what was: %s, %s)", costFigure(usd), difference(results.UnitRatio, -usd/all))
		}
		told = append(told, text)
		pinned = pinned || name == pinnedFact && f.Facts.pinned()
	}
	if of > 0 {
		more /= of
	}
	res.Observed, res.Bar = new(more), new(f.Facts.most())
	res.Margin = new(*res.Bar - more)
	if more > *res.Bar || pinned {
		res.Status, res.Message = Breach, "the client changed: "+strings.Join(told, "; ")
		res.Look = fmt.Sprintf("what changed costs %s of what these sessions are predicted to cost; if it is meant, "+
			"delete the baseline and sim check --update", figure(results.UnitRatio, max(0, more)))
	}
	r.Results = append(r.Results, res)
	for _, text := range told {
		r.Notes = append(r.Notes, "the client changed: "+text)
	}
}

// most is the bar, a share: 2 % unless the check has another.
func (f *Facts) most() float64 {
	if f.Max == nil {
		return 0.02
	}
	return f.Max.Value
}

func (f *Facts) text() string {
	text := "max " + Amount{f.most(), true}.String()
	if f.pinned() {
		text += ", lifetime " + f.Lifetime
	}
	return text
}

// changed returns the value of a fact before, and whether today's differs from it by more
// than both spread. A pinned fact has no spread.
func (f *File) changed(name string, was, now [][2]float64, facts int) (before float64, changed bool) {
	b, n := ratioOf(was), ratioOf(now)
	if name == pinnedFact && f.Facts.pinned() {
		if f.Facts.Lifetime == "1h" {
			before = 1
		}
		return before, math.Abs(n.Value()-before) > 0.5
	}
	before = b.Value()
	if len(was) == 0 || math.Abs(n.Value()-before) <= tolerance(before) {
		return before, false
	}
	lowB, highB := span(was)
	if lowN, highN := span(now); lowN > highB || highN < lowB {
		return before, true
	}
	e, err := stats.Estimator{Level: 1 - f.Level/float64(facts), Seed: 1, Resamples: apartResamples}.Apart(context.Background(), b, n, 1)
	return before, err == nil && e.Verdict > stats.Chance
}

// span returns the least and the largest ratio of any session.
func span(parts [][2]float64) (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, p := range parts {
		low, high = min(low, p[0]/p[1]), max(high, p[0]/p[1])
	}
	return low, high
}

// facts returns those of all runs of a baseline.
func (b *Baseline) facts() map[string][][2]float64 {
	all := map[string][][2]float64{}
	for _, run := range b.runs() {
		for name, parts := range run.Facts {
			all[name] = append(all[name], parts...)
		}
	}
	return all
}

// factFigure formats the value of a fact: a share, or a size in tokens.
func factFigure(v float64) string {
	if v <= 1 {
		return figure(results.UnitRatio, v)
	}
	return figure(results.UnitTokens, v)
}

// costFigure formats what a fact costs.
func costFigure(usd float64) string {
	if usd < 0 {
		return figure(results.UnitUSD, -usd) + " more"
	}
	return figure(results.UnitUSD, usd) + " less"
}
