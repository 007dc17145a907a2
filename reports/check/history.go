package check

import (
	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/validate"
)

// RunFigures are figures of one run of a window. A figure that nothing is known of is left out.
type RunFigures struct {
	Run       int     `json:"run"` // how many runs ago, 0 for this one
	Sessions  int     `json:"sessions"`
	Predicted float64 `json:"billed_to_predicted,omitzero"` // bill over prediction
	Price     float64 `json:"price_usd,omitzero"`           // of a million tokens of conversations, USD
	PerCall   float64 `json:"usd_per_call,omitzero"`        // billed, USD
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
		var billed, predicted, usd, calls float64
		for i := range own {
			billed, predicted = billed+own[i].Input[0], predicted+own[i].Input[1]
			usd, calls = usd+own[i].USD, calls+float64(own[i].Calls)
		}
		if predicted > 0 {
			r.Predicted = billed / predicted
		}
		if calls > 0 {
			r.PerCall = usd / calls
		}
		if price := ratioOf(factParts(own, validate.FactPrice)); len(price.Part) > 0 {
			r.Price = price.Value()
		}
		list = append(list, r)
	}
	return list
}

// historyTable lists the runs of a window.
func (r *Report) historyTable() *document.Table {
	t := &document.Table{Fitted: true, Columns: []document.Column{{Name: "run", Title: "RUNS AGO", Right: true}, {Name: "sessions", Title: "SESSIONS", Right: true},
		{Name: "predicted", Title: "BILLED TO PREDICTED", Right: true}, {Name: "price", Title: "PRICE OF 1M TOKENS", Right: true}, {Name: "call", Title: "PER CALL", Right: true}}}
	text := func(unit string, v float64) string {
		if v == 0 {
			return document.Dash
		}
		return figure(unit, v)
	}
	over, _ := results.LookupMetric(results.NameOverPredicted)
	for _, h := range r.History {
		t.Rows = append(t.Rows, []any{document.Whole(h.Run), document.Whole(h.Sessions), text(over.Unit, h.Predicted), text(results.UnitUSD, h.Price), text(results.UnitUSD, h.PerCall)})
	}
	return t
}
