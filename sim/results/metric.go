package results

import (
	"cmp"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/sim/results/measures"
)

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
	// Exact says that the figure is counted or priced call by call. Other
	// figures rest on draws from a fitted distribution, so that a small
	// difference between two rows can be chance.
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

// Per returns the ratio of m to another metric, or to a thousand units of a metric in tokens, so
// that different sessions can be compared. It is false when one of the two does not add
// up over rows.
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
