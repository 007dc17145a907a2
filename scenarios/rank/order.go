package rank

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/internal/kit/stats"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/sim/results/studies"
)

// comparedIn returns the sessions of a run on which strategies are compared, among those wanted: the agent's own
// strategy brings them to their end, and all their calls have a price. The choice depends on no other strategy.
func comparedIn(run *results.Run, wanted func(session string) bool) (compared map[string]bool, over []*results.Row, unpriced int) {
	compared = map[string]bool{}
	own := run.Reference(measures.StrategyOwn)
	if own == nil {
		return compared, nil, 0
	}
	for i, row := range own.Rows.All() {
		switch {
		case !wanted(row.Session):
		case row.CutShort():
			over = append(over, own.Rows.At(i))
		case row.N(measures.UnpricedCalls) > 0:
			unpriced++
		default:
			compared[row.Session] = true
		}
	}
	return compared, over, unpriced
}

// ranked is a cell with its rows on the sessions that are ranked.
type ranked struct {
	*results.Cell
	own   bool           // the cell that others are held against
	rows  []*results.Row // of sessions that it brings to their end
	cut   []*results.Row // of sessions that it ends early
	total results.Row
	has   map[string]bool // the sessions of rows; nil until it is asked for
}

// view orders the cells of a run on the sessions wanted. It also returns the strategies that could
// do nothing in any of these sessions.
func (r *ranker) view(name string, run *results.Run, wanted func(session string) bool) (studies.View, []studies.NotRun) {
	compared, over, unpriced := comparedIn(run, wanted)
	v := studies.View{Name: name, Sessions: len(compared), Over: len(over), Unpriced: unpriced}
	for _, row := range over {
		v.OverCalls += row.OwnCalls() + row.N(measures.UnsimulatedCalls)
	}
	own := run.Reference(measures.StrategyOwn)
	var list []*ranked
	var idle []studies.NotRun
	for i := range run.Cells {
		c := &run.Cells[i]
		if c.Strategy == measures.StrategyBilled || c.Strategy == measures.StrategyRecorded {
			continue
		}
		x := &ranked{Cell: c, own: c == own}
		reason, idleIn := "", 0
		for i := range c.Rows.Len() {
			if !compared[c.Rows.Session(i)] {
				continue
			}
			row := c.Rows.At(i)
			if row.CutShort() {
				x.cut = append(x.cut, row)
				continue
			}
			x.rows = append(x.rows, row)
			if x.own {
				v.Calls += row.OwnCalls()
			}
			if why := row.Unfit(); why != "" {
				reason, idleIn = why, idleIn+1
			}
		}
		switch {
		case len(x.rows) > 0 && idleIn == len(x.rows) && !x.own:
			idle = append(idle, studies.NotRun{Strategy: c.Cell, Reason: reason + ", in any session"})
		case len(x.rows) == 0 && len(x.cut) > 0:
			v.Ended = append(v.Ended, studies.Ended{Strategy: c.Cell, Sessions: len(x.cut), Calls: countUnanswered(x.cut)})
		default:
			list = append(list, x)
		}
	}
	acting := r.alone
	if acting == nil {
		acting = actingIn(list)
	}
	r.acting = acting
	for session := range acting {
		if compared[session] {
			v.Acting++
		}
	}
	for _, x := range list {
		idles := func(row *results.Row) bool { return !acting[row.Session] }
		x.rows, x.cut = slices.DeleteFunc(x.rows, idles), slices.DeleteFunc(x.cut, idles)
		x.total = totalOf(x.rows)
	}
	ideal := func(x *ranked) bool { return idealised(r.plan.Registry, x.Strategy) }
	real := func(x *ranked) bool { return !ideal(x) }
	if own := slices.IndexFunc(list, func(x *ranked) bool { return x.own }); own >= 0 {
		for _, row := range list[own].rows {
			v.LeastUSD += r.bounds[row.Session].least
			v.FoundUSD += r.bounds[row.Session].found
		}
	}
	v.Standings = r.standings(list, real, run.ModelError, v.Ordered())
	v.Idealised = r.standings(list, ideal, run.ModelError, v.Ordered())
	return v, idle
}

// totalOf adds rows up.
func totalOf(rows []*results.Row) (total results.Row) {
	for _, row := range rows {
		total.Add(row)
	}
	return total
}

// on returns the rows of x on the sessions of y, which both have in the order of sessions: where
// the program fails on a session under one cell, the cells are compared without that session.
func (x *ranked) on(y *ranked) []*results.Row {
	if slices.EqualFunc(x.rows, y.rows, func(a, b *results.Row) bool { return a.Session == b.Session }) {
		return x.rows
	}
	if y.has == nil {
		y.has = make(map[string]bool, len(y.rows))
		for _, row := range y.rows {
			y.has[row.Session] = true
		}
	}
	some := make([]*results.Row, 0, len(x.rows))
	for _, row := range x.rows {
		if y.has[row.Session] {
			some = append(some, row)
		}
	}
	return some
}

// countUnanswered counts the calls that rows leave without an answer.
func countUnanswered(rows []*results.Row) (calls int) {
	for _, row := range rows {
		calls += row.N(measures.UnsimulatedCalls)
	}
	return calls
}

// actingIn returns the sessions in which a strategy acts that ends none early.
func actingIn(list []*ranked) map[string]bool {
	acting := map[string]bool{}
	for _, x := range list {
		if len(x.cut) > 0 {
			continue
		}
		for _, row := range x.rows {
			if acts(row) > 0 {
				acting[row.Session] = true
			}
		}
	}
	return acting
}

// standings returns the wanted cells in order of their cost, with their places.
func (r *ranker) standings(all []*ranked, wanted func(*ranked) bool, off results.ModelError, ordered bool) []studies.Standing {
	at := slices.IndexFunc(all, func(x *ranked) bool { return x.own })
	list := slices.DeleteFunc(slices.Clone(all), func(x *ranked) bool { return !wanted(x) })
	if at < 0 || len(list) == 0 {
		return nil
	}
	out := make([]studies.Standing, len(list))
	recall, _ := results.LookupMetric(measures.NameRecall)
	places := make([][]studies.Place, 3)
	for i := range places {
		places[i] = make([]studies.Place, len(list))
	}
	sure := make([]stats.Estimate, len(list))
	if ordered {
		sure = r.againstOwn(list, all[at], off.Noise)
		places[0] = placesBy(list, costFigure, stats.Lower, off.Noise, r.among)
		places[1] = placesBy(list, func(rows []*results.Row) (f stats.Figure) {
			for _, row := range rows {
				part, base := recall.Parts(row)
				f.Part, f.Base = append(f.Part, part), append(f.Base, base)
			}
			return f
		}, stats.Higher, nil, r.among)
		places[2] = placesBy(list, waitFigure, stats.Lower, nil, r.among)
	}
	for i, x := range list {
		own, base := &all[at].total, all[at].total.CostUSD()
		if rows := all[at].on(x); len(rows) < len(all[at].rows) {
			some := totalOf(rows)
			own, base = &some, some.CostUSD()
		}
		s := studies.Standing{Strategy: x.Cell.Cell, Own: x.own, Place: places[0][i], PlaceRecall: places[1][i], PlaceWait: places[2][i],
			CostUSD: x.total.CostUSD(), Recall: math.NaN(), WaitSeconds: x.total.Figures[measures.AddedLatency], OverBestUSD: math.NaN()}
		s.VsOwn, s.Low, s.High = s.CostUSD/base-1, math.NaN(), math.NaN()
		if e := &sure[i]; e.Pairs > 0 && e.Interval.Known() {
			s.Low, s.High, s.Drawn, s.Cheaper = max(-1, e.Interval.Low/base), e.Interval.High/base, e.Units, e.Verdict == stats.Lower
		}
		if preset, err := r.plan.Registry.Strategy(x.Strategy); err == nil {
			s.Basis = preset.Origin.Certainty.String()
		}
		if v, ok := recall.Value(&x.total); ok {
			s.Recall = v
		}
		if r.bounds != nil {
			s.OverBestUSD = s.CostUSD
			for _, row := range x.rows {
				s.OverBestUSD -= r.bounds[row.Session].found
			}
		}
		s.Why = why(&x.total, own)
		if x.own {
			s.Why = "your agents' own"
		}
		s.Lacks, s.Ends, s.Unanswered = len(all[at].rows)-len(x.rows), len(x.cut), countUnanswered(x.cut)
		if s.Ends > 0 {
			s.Why += fmt.Sprintf("; ends %s early, %s not answered", document.Count(s.Ends, "session"), document.Count(s.Unanswered, "call"))
		}
		if s.Unpriced = x.total.N(measures.UnpricedCalls); s.Unpriced > 0 {
			s.Cheaper = false // by how much, nobody can say
		}
		if failed := s.Lacks - s.Ends; failed > 0 {
			s.Why += fmt.Sprintf("; without %s", document.Count(failed, "session"))
		}
		out[i] = s
	}
	whole := all[at].total.CostUSD()
	slices.SortStableFunc(out, func(a, b studies.Standing) int {
		return cmp.Or(cmp.Compare(a.Whole(whole), b.Whole(whole)), cmp.Compare(a.Strategy, b.Strategy))
	})
	r.nameSame(out)
	return out
}

// nameSame says of a schedule that comes again under another name which it is.
func (r *ranker) nameSame(list []studies.Standing) {
	for i := range list {
		s, err := r.plan.Registry.Strategy(list[i].Strategy)
		for j := 0; j < i && err == nil; j++ {
			if first, unknown := r.plan.Registry.Strategy(list[j].Strategy); unknown == nil && s.Same(first) {
				list[i].Why = "same as " + list[j].Strategy
				break
			}
		}
	}
}

// minor is the share of the cost up to which a difference needs no reason.
const minor = 0.005

// why says in a few words what makes most of the difference in cost between two totals, and what works against it.
func why(x, own *results.Row) string {
	diff, usd := x.CostUSD()-own.CostUSD(), own.CostUSD()
	switch {
	case acts(x) == 0:
		return "never acts"
	case math.Abs(diff) <= minor*usd:
		return "costs what your own does"
	}
	var more, less float64
	pays, saves := "", ""
	for _, part := range []struct {
		usd         float64
		pays, saves string
	}{
		{x.CostBy(measures.SourceCompact).Total() - own.CostBy(measures.SourceCompact).Total(), summaries(x), "fewer summary calls"},
		{x.CostBy(measures.SourceReread).Total() - own.CostBy(measures.SourceReread).Total(), "fetches again", "less to fetch"},
		{beside(x) - beside(own), "calls beside", "fewer calls beside"},
		{written(x) - written(own), rewrites(x), "writes less"},
		{ownCost(x, measures.ClassRead) - ownCost(own, measures.ClassRead), "longer context", shorter(x)},
	} {
		if part.usd > more {
			more, pays = part.usd, part.pays
		}
		if -part.usd > less {
			less, saves = -part.usd, part.saves
		}
	}
	if diff > 0 {
		more, pays, saves = less, saves, pays
	}
	if more <= 2*minor*usd {
		return saves
	}
	return saves + "; " + pays
}

// acts counts what was done to contexts.
func acts(x *results.Row) int {
	return x.N(measures.Compactions) + x.N(measures.Microcompactions) + x.N(measures.CacheDeletions) + x.N(measures.StoredResults)
}

// summaries says how summary calls are made: from a cold cache if less than half of what they send is read.
func summaries(x *results.Row) string {
	if u := x.UsageBy(measures.SourceCompact); 2*u.Read < u.Input() {
		return "cold summary calls"
	}
	return "warm summary calls"
}

// often is the share of calls from which on something happens each turn.
const often = 0.1

// rewrites says why the cache is written again.
func rewrites(x *results.Row) string {
	switch edits := x.MissesOf(exchange.MissEdit); {
	case float64(edits) > often*float64(x.OwnCalls()):
		return "writes again each turn"
	case edits > x.MissesOf(exchange.MissCompaction):
		return "writes again after edits"
	}
	return "writes again after summaries"
}

// shorter says how a context is kept short: on a cold cache if few of the acts make a call miss.
func shorter(x *results.Row) string {
	if float64(x.MissesOf(exchange.MissEdit)+x.MissesOf(exchange.MissCompaction)) < often*float64(acts(x)) {
		return "acts when cold"
	}
	return "shorter context"
}

// beside is the cost of calls that neither answer, summarise nor fetch again.
func beside(x *results.Row) (usd float64) {
	for s := measures.SourceCompact + 1; int(s) < measures.NumSources; s++ {
		if s != measures.SourceReread {
			usd += x.CostBy(s).Total()
		}
	}
	return usd
}

// ownCost is the cost of a class in the calls of the conversations.
func ownCost(x *results.Row, class measures.Class) (usd float64) {
	for s := measures.SourceMain; s < measures.SourceCompact; s++ {
		usd += x.CostBy(s)[class]
	}
	return usd
}

// written is the cost of input that conversations do not read from the cache.
func written(x *results.Row) (usd float64) {
	for c := measures.ClassUncached; c < measures.ClassOutput; c++ {
		if c != measures.ClassRead {
			usd += ownCost(x, c)
		}
	}
	return usd
}
