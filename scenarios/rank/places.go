package rank

import (
	"github.com/compactsim/compactsim/internal/kit/stats"
	"github.com/compactsim/compactsim/scenarios/choose"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/studies"
	"github.com/compactsim/compactsim/traces"
)

// againstOwn estimates what each cell costs more than the agent's own strategy in other sessions like these, drawn by sessions or
// by the units that are least sure.
func (r *ranker) againstOwn(list []*ranked, own *ranked, noise func(now, was []float64) float64) []stats.Estimate {
	sessions := map[string]*traces.Session{}
	for _, s := range r.sessions {
		sessions[s.ID] = s
	}
	units := func(rows []*results.Row) []stats.Units {
		some := make([]*traces.Session, len(rows))
		for i, row := range rows {
			if some[i] = sessions[row.Session]; some[i] == nil {
				return nil
			}
		}
		return choose.UnitsOf(some)
	}
	all := units(own.rows)
	pairs := make([]stats.Pair, len(list))
	for i, x := range list {
		rows := own.on(x)
		pairs[i] = stats.Pair{Base: costFigure(rows), Other: costFigure(x.on(own)), Units: all}
		if len(rows) < len(own.rows) {
			pairs[i].Units = units(rows)
		}
	}
	out := stats.Estimator{Student: true, Among: r.among - 1}.Judged(pairs)
	for i := range out {
		if noise != nil {
			out[i] = out[i].Blurred(noise(pairs[i].Other.Part, pairs[i].Base.Part))
		}
	}
	return out
}

// costFigure and waitFigure are what rows cost and how long they wait, by session.
func costFigure(rows []*results.Row) (f stats.Figure) {
	for _, row := range rows {
		f.Part = append(f.Part, row.CostUSD())
	}
	return f
}

func waitFigure(rows []*results.Row) (f stats.Figure) {
	for _, row := range rows {
		f.Part = append(f.Part, row.Figures[results.AddedLatency])
	}
	return f
}

// placesBy returns the place of each cell by a figure of its rows, session by session: all pairs are judged together,
// each on the sessions of both, among the pairs of so many cells. noise is the error of the figures on top of the sampling error; nil for none.
func placesBy(
	list []*ranked, figure func([]*results.Row) stats.Figure, better stats.Verdict, noise func(now, was []float64) float64, among int,
) []studies.Place {
	places := make([]studies.Place, len(list))
	sides := make([]stats.Figure, len(list))
	for i, x := range list {
		sides[i] = figure(x.rows)
	}
	var pairs []stats.Pair
	for i, x := range list {
		places[i] = studies.Place{First: 1, Last: len(list)}
		for j, y := range list[:i] {
			p := stats.Pair{Base: sides[i], Other: sides[j]}
			if rows := x.on(y); len(rows) < len(x.rows) || len(x.rows) < len(y.rows) {
				p.Base, p.Other = figure(rows), figure(y.on(x))
			}
			pairs = append(pairs, p)
		}
	}
	if len(pairs) == 0 {
		return places
	}
	estimates := stats.Estimator{Student: true, Verdicts: true, Among: among * (among - 1) / 2}.Judged(pairs)
	at := 0
	for i := range list {
		for j := range list[:i] {
			e, p := estimates[at], &pairs[at]
			at++
			if noise != nil {
				e = e.Blurred(noise(p.Other.Part, p.Base.Part))
			}
			worse, ahead := i, j
			switch {
			case e.Verdict <= stats.Chance:
				continue
			case e.Verdict != better:
				worse, ahead = j, i
			}
			places[worse].First++
			places[ahead].Last--
		}
	}
	return places
}
