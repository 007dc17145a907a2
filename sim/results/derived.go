package results

import (
	"cmp"
	"math"

	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/results/confusion"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/sim/results/recall"
)

// ratio makes m the ratio of the sums of two figures, without a sample when the base is zero.
func ratio(m Metric, parts func(*Row) (part, base float64)) Metric {
	m.Kind, m.Parts = measures.KindRatio, parts
	m.Unit, m.Exact = measures.UnitRatio, true
	m.Value = func(r *Row) (float64, bool) {
		part, base := parts(r)
		if base == 0 {
			return 0, false
		}
		return part / base, true
	}
	return m
}

// tokenMetrics are the metrics of all tokens.
func tokenMetrics() []Metric {
	tokens := func(c measures.Class, name string, better measures.Better, definition string) Metric {
		return figure(measures.Tokens+measures.ID(c), name, atTokens, measures.UnitTokens, better, definition)
	}
	const written = "input tokens written to the cache with "
	return []Metric{
		tokens(measures.ClassUncached, measures.NameUncachedTokens, measures.Lower, "input tokens neither read from nor written to the cache"),
		tokens(measures.ClassRead, measures.NameReadTokens, measures.Neither, "input tokens read from the cache"),
		tokens(measures.ClassWrite5m, measures.NameWrite5mTokens, measures.Lower, written+"a lifetime of 5 minutes"),
		tokens(measures.ClassWrite1h, measures.NameWrite1hTokens, measures.Lower, written+"a lifetime of 1 hour"),
		tokens(measures.ClassWriteOther, measures.NameWriteOtherTokens, measures.Lower, written+"another or an unstated lifetime"),
		tokens(measures.ClassOutput, measures.NameOutputTokens, measures.Neither, "tokens written by the model, summaries included"),
		ratio(Metric{place: atHitRatio, Name: measures.NameHitRatio, Better: measures.Higher,
			Definition: "cache_read_tokens / all input tokens; no sample without input"},
			func(r *Row) (float64, float64) {
				u := r.Usage()
				return float64(u.Read), float64(u.Input())
			}),
	}
}

// classCosts are the total cost and its parts by class. Storage and searches belong to no
// class and no source: they are the remainder of both.
func classCosts() []Metric {
	ms := []Metric{{place: atCost, Name: measures.NameCost, Unit: measures.UnitUSD, Better: measures.Lower, Exact: true,
		Definition: "price of all calls of all sources, storage and searches included",
		Value:      func(r *Row) (float64, bool) { return r.CostUSD(), true }}}
	for c, name := range measures.ClassNames {
		ms = append(ms, part(measures.CostByClass+measures.ID(c), measures.NameCost+"_"+name, atClassCosts, measures.UnitUSD, measures.NameCost, measures.ByClass,
			"cost_usd of the token class "+name))
	}
	return ms
}

func sourceCosts() []Metric {
	var ms []Metric
	for s, name := range measures.SourceNames {
		m := part(0, measures.NameCost+"_"+name, atSourceCosts, measures.UnitUSD, measures.NameCost, measures.BySource, "cost_usd of the calls of source "+name)
		m.Value = func(r *Row) (float64, bool) { return r.CostBy(measures.Source(s)).Total(), true }
		ms = append(ms, m)
	}
	return ms
}

// expectedCost is the cost with the expected cost of losses without a visible reason. A
// bill has none.
func expectedCost() Metric {
	return Metric{place: atExpected, Name: measures.NameExpectedCost, Unit: measures.UnitUSD, Better: measures.Lower, Exact: true,
		Definition: "cost_usd and what losses of cached messages without a visible reason cost on average: " +
			"their rate by class and gap × what the call would cost more; no sample in billed rows",
		Value: func(r *Row) (float64, bool) {
			return r.CostUSD() + r.Figures[measures.ExpectedLossUSD], r.Strategy != measures.StrategyBilled
		}}
}

// overPredicted is how much dearer a bill is than a cache that works makes it.
func overPredicted() Metric {
	parts := func(r *Row) (float64, float64) {
		return r.Figures[measures.PredictedOfUSD], r.Figures[measures.PredictedUSD]
	}
	return Metric{place: atExpected, Name: measures.NameOverPredicted, Unit: measures.UnitRate, Better: measures.Lower, Kind: measures.KindRatio,
		Definition: "billed input of calls that are not the first of a thread, over what the same requests cost on average with a " +
			"cache that works; nothing that calls read goes into the prediction; no sample outside sim check and billed rows",
		Parts: parts,
		Value: func(r *Row) (float64, bool) {
			part, base := parts(r)
			return part / cmp.Or(base, 1), base > 0
		}}
}

// regret is the cost above the cost of the best schedule.
func regret() Metric {
	return Metric{place: atBound, Name: measures.NameRegret, Unit: measures.UnitUSD, Better: measures.Lower, Exact: true,
		Definition: "cost_usd − bound_usd: what the best schedule of full compaction could save at most; " +
			"below 0 for what beats every schedule, or passes the window; no sample without a bound",
		Value: func(r *Row) (float64, bool) {
			return r.CostUSD() - r.Figures[measures.BoundUSD], r.Figures[measures.Bounded] > 0
		}}
}

func missMetrics() []Metric {
	var ms []Metric
	for m := 1; m < exchange.NumMissClasses; m++ {
		ms = append(ms, part(measures.MissesByClass+measures.ID(m), "misses_"+missNames[m], atMissClasses, measures.UnitCalls, measures.NameMisses, measures.ByClass,
			"misses of class "+missNames[m]))
	}
	return ms
}

func callHits() Metric {
	return ratio(Metric{place: atCallHits, Name: measures.NameCallHitRatio, Better: measures.Higher,
		Definition: "calls that read all of the best prefix of their thread / " +
			"calls that are not the first of their thread; no sample without later calls"},
		func(r *Row) (float64, float64) { return r.Figures[measures.HitCalls], r.Figures[measures.LaterCalls] })
}

func waitMetrics() []Metric {
	definitions := [measures.NumWaits]string{
		measures.WaitCompaction: "waiting for the calls of compactions, seconds",
		measures.WaitFirstToken: "later first tokens of the conversation against the recording, seconds; negative for earlier ones",
		measures.WaitOther:      "waiting for other calls that block the conversation and for background calls, seconds",
	}
	var ms []Metric
	for w, name := range measures.WaitNames {
		ms = append(ms, part(measures.Waits+measures.ID(w), measures.NameAddedLatency+"_"+name, atWaits, measures.UnitSeconds, measures.NameAddedLatency, measures.ByPart, definitions[w]))
	}
	return ms
}

func levelMetrics() []Metric {
	var ms []Metric
	for l := measures.LevelWarning; l < measures.NumLevels; l++ {
		m := figure(measures.SecondsAt+measures.ID(l), l.String()+"_seconds", atLevels, measures.UnitSeconds, measures.Lower,
			"time that main conversations spent at the "+l.String()+" level, pauses of the person included; "+
				"levels are conditions of their own, and their times overlap")
		m.Group = groupLevels
		ms = append(ms, m)
	}
	return ms
}

func leftMetrics() []Metric {
	return []Metric{
		ratio(Metric{place: atLeft, Name: "percent_left", Group: groupLevels,
			Definition: "share of its limit that the client showed as left, " +
				"mean over the calls of main conversations; no sample without calls"},
			func(r *Row) (float64, float64) {
				return r.Figures[measures.LeftSum], 100 * r.Figures[measures.LeftCalls]
			}),
		{place: atLeft, Name: "percent_left_least", Unit: measures.UnitRatio, Better: measures.Higher, Exact: true,
			Group: groupLevels, Kind: measures.KindMinimum,
			Definition: "least share of its limit that the client showed as left at a call; " +
				"over several sessions the minimum; no sample without calls",
			Value: func(r *Row) (float64, bool) {
				return (100 - r.Figures[measures.MostUsed]) / 100, r.Figures[measures.LeftCalls] > 0
			}},
	}
}

// breakMetrics are what the client's break detector says, without a sample when it does
// not run.
func breakMetrics() []Metric {
	of := func(f func(*confusion.Matrix) int) func(*Row) (float64, bool) {
		return func(r *Row) (float64, bool) {
			b := r.Breaks.Matrix()
			if !b.Ran() {
				return 0, false
			}
			return float64(f(b)), true
		}
	}
	definitions := map[confusion.Reason]string{
		confusion.Model:    "breaks said to come from another model",
		confusion.State:    "breaks said to come from something else that changed before the conversation or beside it",
		confusion.Expiry5m: "breaks said to be possible expiries after more than 5 minutes",
		confusion.Expiry1h: "breaks said to be possible expiries after more than an hour",
		confusion.Server:   "breaks said to be likely the server's",
		confusion.Unknown:  "breaks without a reason: the length of the pause is not known",
	}
	ms := []Metric{{place: atBreaks, Name: measures.NameBreaks, Unit: measures.UnitCalls, Better: measures.Lower, Exact: true,
		Definition: "calls of conversations that the client's break detector takes for broken; " +
			"no sample when it does not run",
		Value: of((*confusion.Matrix).Broke)}}
	for r := confusion.Model; int(r) < confusion.NumReasons; r++ {
		m := part(0, "breaks_"+r.String(), atBreaks, measures.UnitCalls, measures.NameBreaks, measures.ByPart, definitions[r])
		m.Value = of(func(b *confusion.Matrix) int { return b.Said(r) })
		ms = append(ms, m)
	}
	return ms
}

// Front is what the best schedules of full compaction reach in cost and recall for a
// known future, and bounds that none passes. Its points are by price of a lost need.
type Front struct {
	// Needs is the weight of what later actions use, 1 for a need found in one block.
	Needs  float64      `json:"needs"`
	Points []FrontPoint `json:"points"`
}

// FrontPoint is the best that can be reached when a lost need of weight 1 costs Price.
type FrontPoint struct {
	Price float64 `json:"price_usd"`
	// Below is a lower bound, USD, of any schedule's cost plus the price of its loss.
	Below float64 `json:"below_usd"`
	// CostUSD and Recall belong to the schedule found for the price, as simulated.
	CostUSD float64 `json:"cost_usd"`
	Recall  float64 `json:"needed_recall"`
}

// Add adds the point of total, which is the sum of the rows.
func (f *Front) Add(price, below float64, total *Row) {
	t := needsOf(total).Total()
	f.Needs = t[recall.Weight] / 1000
	f.Points = append(f.Points, FrontPoint{Price: price, Below: below, CostUSD: total.CostUSD(),
		Recall: t.Kept() / max(1, t[recall.Weight])})
}

// Least returns the cost below which no schedule reaches recall, USD: at every price,
// cost and the price of what is lost are at least Below.
func (f *Front) Least(recall float64) float64 {
	least := math.Inf(-1)
	for _, p := range f.Points {
		least = max(least, p.Below-p.Price*(1-recall)*f.Needs)
	}
	return least
}
