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
	over, _ := results.LookupMetric(results.NameOverPredicted)
	for _, h := range r.History {
		t.Rows = append(t.Rows, []any{document.Whole(h.Run), document.Whole(h.Sessions), text(over.Unit, h.Predicted), text(results.UnitUSD, h.Price),
			text(results.UnitUSD, h.Agents), text(results.UnitUSD, h.Work), text(results.UnitUSD, h.PerCall)})
	}
	return t
}
