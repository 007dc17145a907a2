package results

import (
	"cmp"
	"math"
	"slices"
	"strings"

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

// expectedCost is the cost with the expected cost of losses without a visible reason. A bill has none.
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

// breakMetrics are what the client's break detector says, without a sample when it does not run.
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

// Groups of metrics that have a table of their own and are not in a summary.
const (
	groupLevels      = "levels of the window"
	groupResults     = "tool results"
	groupCompactions = "summary calls"
	groupRequests    = "requests"
	groupBeside      = "beside the conversation"
	groupLive        = "live calls"
	groupUsers       = "users"
	groupNeeds       = "what is forgotten"
	groupKinds       = "recall by kind"
	groupUses        = "uses by kind"
	groupSurvival    = "what survives compactions"
)

// Groups returns the groups of metrics in the order of publication.
func Groups() []string {
	return []string{groupLevels, groupResults, groupCompactions, groupRequests, groupBeside, groupLive, groupUsers,
		groupNeeds, groupKinds, groupUses, groupSurvival}
}

// Metric is a published figure of a row that describes itself. Names are
// stable: outputs, checks and comparisons refer to metrics by name only.
type Metric struct {
	Name   string
	Unit   string
	Better measures.Better
	// Exact says that the figure is counted or priced call by call. Other figures rest on draws from a fitted
	// distribution, so that a small difference between two rows can be chance.
	Exact      bool
	Definition string
	// Of and By name the metric that this one is a part of and the way it is
	// split, for instance "cost_usd" by "class"; both are empty for others.
	Of, By string
	// Group is one of Groups for what belongs to a table of its own, else "".
	Group string
	// Low and High name the metrics between which this one lies with a probability
	// of Level, 1 for bounds that always hold; "" without an interval.
	Low, High string
	Level     float64
	// Kind is how the figures of several rows make one. Row.Add and Kind agree: the value
	// of added rows is the Join of their values.
	Kind measures.Kind
	// Value returns the figure for a row, in Unit. It is false when the row has no sample of the
	// figure, such as a ratio over nothing.
	Value func(*Row) (float64, bool)
	// Parts returns the two figures of which a ratio is the quotient; each figure adds up over rows.
	// It is nil for other kinds.
	Parts func(*Row) (part, base float64)

	place place
	id    measures.ID // of a metric that is a figure
}

// Per returns the ratio of m to another metric, or to a thousand units of a metric in tokens, so that different
// sessions can be compared. It is false when one of the two does not add up over rows.
func (m Metric) Per(base Metric) (Metric, bool) {
	if m.Kind != measures.KindSum || base.Kind != measures.KindSum {
		return Metric{}, false
	}
	each, scale := strings.TrimSuffix(base.Name, "s"), 1.0
	if base.Unit == measures.UnitTokens {
		each, scale = "1,000 "+base.Name, 1000
	}
	per := m
	per.Name, per.Kind, per.Of = m.Name+" per "+each, measures.KindRatio, cmp.Or(m.Of, m.Name)
	per.Definition = m.Definition + ", for each of " + base.Name
	if m.Unit != measures.UnitUSD {
		per.Unit = measures.UnitRate
	}
	per.Parts = func(r *Row) (float64, float64) {
		part, _ := m.Value(r)
		of, _ := base.Value(r)
		return scale * part, of
	}
	per.Value = func(r *Row) (float64, bool) {
		part, of := per.Parts(r)
		_, ok := m.Value(r)
		return part / of, ok && of != 0
	}
	return per, true
}

// place is where a metric stands among those published.
type place uint8

const (
	atCost place = iota
	atCalls
	atTokens
	atHitRatio
	atCallHits
	atMisses
	atCompaction
	atStorage
	atExpected
	atBound
	atRecall
	atClassCosts
	atSourceCosts
	atMissClasses
	atWaits
	atLeft
	atLevels
	atNeeds
	atCounts
	atBreaks
)

// published are the metrics of all members of a row in the order of publication.
var published = allMetrics()

func allMetrics() []Metric {
	var list []Metric
	for _, f := range rowFields {
		list = append(list, f.metrics...)
	}
	slices.SortStableFunc(list, func(a, b Metric) int { return cmp.Compare(a.place, b.place) })
	return list
}

// Metrics returns every metric a row carries, in the order of publication.
func Metrics() []Metric { return slices.Clone(published) }

// LookupMetric returns the metric with a name.
func LookupMetric(name string) (Metric, bool) {
	for i := range published {
		if published[i].Name == name {
			return published[i], true
		}
	}
	return Metric{}, false
}

// known reports whether a name is the name of a metric or of a group.
func known(name string) bool {
	_, ok := LookupMetric(name)
	return ok || slices.Contains(Groups(), name)
}
