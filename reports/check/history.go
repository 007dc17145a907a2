package check

import (
	"maps"
	"slices"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/sim/validate"
)

// RunFigures are figures of one run of a window. A figure that nothing is known of is left out.
type RunFigures struct {
	Run       int     `json:"run"` // how many runs ago, 0 for this one
	Sessions  int     `json:"sessions"`
	Predicted float64 `json:"billed_to_predicted,omitzero"` // bill over prediction
	Price     float64 `json:"price_usd,omitzero"`           // of a million tokens of conversations, USD
	Agents    float64 `json:"price_agents_usd,omitzero"`    // of a million tokens of sub-agents, USD
	// Work is what a call is predicted to cost at the prices and models of this run, USD: longer sessions and other tasks move it.
	Work    float64 `json:"work_usd_per_call,omitzero"`
	PerCall float64 `json:"usd_per_call,omitzero"` // billed, USD
}

// history returns the figures of the runs of a baseline, the earliest first, and of this one.
func history(b *Baseline, now []Past) (list []RunFigures) {
	byRun, last := map[int][]Past{}, 0
	for _, p := range b.Past {
		byRun[p.Run+1] = append(byRun[p.Run+1], p)
		last = max(last, p.Run+1)
	}
	for byRun[0] = now; last >= 0; last-- {
		own := byRun[last]
		if len(own) == 0 {
			continue
		}
		r := RunFigures{Run: last, Sessions: len(own)}
		var billed, predicted, usd, work, calls float64
		for i := range own {
			billed, predicted = billed+own[i].Input[0], predicted+own[i].Input[1]
			usd, work, calls = usd+own[i].USD, work+own[i].predicted(), calls+float64(own[i].Calls)
		}
		if predicted > 0 {
			r.Predicted = billed / predicted
		}
		if calls > 0 {
			share, known := priceParts(now, own)
			if !known {
				share = 0
			}
			r.PerCall, r.Work = usd/calls, work/calls*(1-share)
		}
		r.Price, r.Agents = levelOf(own, validate.FactPrice), levelOf(own, validate.FactPriceAgent)
		list = append(list, r)
	}
	return list
}

// levelOf returns the ratio of a fact over sessions, 0 where none has it.
func levelOf(list []Past, name string) float64 {
	f := ratioOf(factParts(list, name))
	if len(f.Part) == 0 {
		return 0
	}
	return f.Value()
}

// historyTable lists the runs of a window.
func (r *Report) historyTable() *document.Table {
	t := &document.Table{Fitted: true, Columns: []document.Column{{Name: "run", Title: "RUNS AGO", Right: true}, {Name: "sessions", Title: "SESSIONS", Right: true},
		{Name: "predicted", Title: "BILLED TO PREDICTED", Right: true}, {Name: "price", Title: "PRICE OF 1M TOKENS", Right: true},
		{Name: "agents", Title: "OF SUB-AGENTS", Right: true}, {Name: "work", Title: "WORK PER CALL", Right: true}, {Name: "call", Title: "BILLED PER CALL", Right: true}}}
	text := func(unit string, v float64) string {
		if v == 0 {
			return document.Dash
		}
		return figure(unit, v)
	}
	over, _ := results.LookupMetric(measures.NameOverPredicted)
	for _, h := range r.History {
		t.Rows = append(t.Rows, []any{document.Whole(h.Run), document.Whole(h.Sessions), text(over.Unit, h.Predicted), text(measures.UnitUSD, h.Price),
			text(measures.UnitUSD, h.Agents), text(measures.UnitUSD, h.Work), text(measures.UnitUSD, h.PerCall)})
	}
	return t
}

// The factors of bill over prediction and of prices since the first run from which on a note tells the rise, though no run was
// beyond its bar.
const crept, creptPrice = 1.05, 1.1

// fewCalls is the share of the calls of the smallest run of a window below which a note tells how few there are.
const fewCalls = 0.2

// firstRun returns the figures of the first run of all, without the figures that were accepted since.
func (b *Baseline) firstRun(meant *Acceptance) *RunFigures {
	first := history(b, nil)[0]
	if b.First != nil {
		first = *b.First
	}
	if meant.accepted(measures.NameOverPredicted) {
		first.Predicted = 0
	}
	if meant.accepted(pricesMetric) {
		first.Price, first.Agents = 0, 0
	}
	return &first
}

// tellSlow notes what no comparison with the window shows: figures that rose run by run since the first run of all, and far
// fewer calls than any run of the window has.
func (r *Report) tellSlow(f *File, b *Baseline) {
	now, first, full := r.History[len(r.History)-1], b.firstRun(&f.Accept), len(r.History) > f.Window
	tell := func(what, accept, unit string, was, own, most float64) {
		if full && !r.Broken() && was > 0 && own > most*was { // fewer runs differ by their sessions
			r.note("%s rose from %s in the first run to %s, each run by no more than its bar; %s", what, figure(unit, was), figure(unit, own), f.Accept.accepting(accept))
		}
	}
	over, _ := results.LookupMetric(measures.NameOverPredicted)
	tell("bill over prediction", over.Name, over.Unit, first.Predicted, now.Predicted, crept)
	tell("the price of a million tokens of conversations", pricesMetric, measures.UnitUSD, first.Price, now.Price, creptPrice)
	tell("the price of a million tokens of sub-agents", pricesMetric, measures.UnitUSD, first.Agents, now.Agents, creptPrice)
	calls := map[int]int{}
	for i := range b.Past {
		calls[b.Past[i].Run] += b.Past[i].Calls
	}
	if least := slices.Min(slices.Collect(maps.Values(calls))); float64(r.Calls) < fewCalls*float64(least) {
		r.note("%s here, and no run of %s has fewer than %s", document.Count(r.Calls, "call"), f.Baseline, document.Whole(least))
	}
}
