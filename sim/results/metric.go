package results

import (
	"slices"

	"github.com/compactsim/compactsim/sim/prompt"
)

// Better says which direction of a metric is an improvement.
type Better uint8

// Directions of improvement.
const (
	Neither Better = iota // describes the workload or the strategy; no direction is good by itself
	Lower
	Higher
)

// String returns "neither", "lower" or "higher".
func (b Better) String() string { return [...]string{"neither", "lower", "higher"}[min(b, Higher)] }

// Units of metrics.
const (
	UnitUSD     = "USD"
	UnitTokens  = "tokens"
	UnitCalls   = "calls"
	UnitCount   = "count"
	UnitRatio   = "ratio" // in [0, 1]
	UnitSeconds = "s"
)

// Ways in which a metric is split into parts that add up to it.
const (
	BySource = "source"
	ByClass  = "class"
	ByPart   = "part"
)

// Groups of metrics that a summary leaves out and a table of its own shows.
const (
	GroupResults     = "tool results"
	GroupCompactions = "summary calls"
	GroupBeside      = "beside the conversation"
	GroupRequests    = "requests"
	GroupLevels      = "levels of the window"
	GroupLive        = "live calls"
)

// Groups returns the groups of metrics in the order of publication.
func Groups() []string {
	return []string{GroupLevels, GroupResults, GroupCompactions, GroupRequests, GroupBeside, GroupLive}
}

// Metric is a published figure of a row that describes itself. Names are
// stable: outputs, checks and comparisons refer to metrics by name only.
type Metric struct {
	Name   string
	Unit   string
	Better Better
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
	// Kind is how the figures of several rows make one. Row.Add and Kind agree:
	// the Value of added rows is that of their values, joined.
	Kind Kind
	// Value returns the figure for a row, in Unit. It is false when the row
	// has no sample of it, such as a ratio over nothing.
	Value func(*Row) (float64, bool)
	// Parts returns the two figures of which a ratio is the quotient; each of
	// them adds up over rows. It is nil for other kinds.
	Parts func(*Row) (part, base float64)
}

// Metrics returns every metric a row carries, in the order of publication.
func Metrics() []Metric {
	return slices.Concat(costMetrics(), usageMetrics(), cacheMetrics(), compactionMetrics(),
		costParts(), missParts(), waitParts(), levelMetrics(), countMetrics(), breakMetrics())
}

// LookupMetric returns the metric with a name.
func LookupMetric(name string) (Metric, bool) {
	ms := Metrics()
	i := slices.IndexFunc(ms, func(m Metric) bool { return m.Name == name })
	if i < 0 {
		return Metric{}, false
	}
	return ms[i], true
}

func costMetrics() []Metric {
	return []Metric{
		{Name: "cost_usd", Unit: UnitUSD, Better: Lower, Exact: true,
			Definition: "price of all calls of all sources, storage included",
			Value:      figure((*Row).CostUSD)},
		{Name: "calls", Unit: UnitCalls, Better: Lower, Exact: true,
			Definition: "requests answered by a model, summary calls included",
			Value:      figure(func(r *Row) int { return r.Calls })},
	}
}

func usageMetrics() []Metric {
	tokens := func(name string, better Better, definition string, f func(*Row) int64) Metric {
		return Metric{Name: name, Unit: UnitTokens, Better: better, Exact: true, Definition: definition, Value: figure(f)}
	}
	return []Metric{
		tokens("input_uncached_tokens", Lower, "input tokens neither read from nor written to the cache",
			func(r *Row) int64 { return r.Usage.Uncached }),
		tokens("cache_read_tokens", Neither, "input tokens read from the cache",
			func(r *Row) int64 { return r.Usage.Read }),
		tokens("cache_write_5m_tokens", Lower, "input tokens written to the cache with a lifetime of 5 minutes",
			func(r *Row) int64 { return r.Usage.Write5m }),
		tokens("cache_write_1h_tokens", Lower, "input tokens written to the cache with a lifetime of 1 hour",
			func(r *Row) int64 { return r.Usage.Write1h }),
		tokens("cache_write_other_tokens", Lower, "input tokens written to the cache with another or an unstated lifetime",
			func(r *Row) int64 { return r.Usage.WriteOther }),
		tokens("output_tokens", Neither, "tokens written by the model, summaries included",
			func(r *Row) int64 { return r.Usage.Output }),
	}
}

func cacheMetrics() []Metric {
	return []Metric{
		ratio(Metric{Name: "cache_hit_ratio", Better: Higher, Exact: true,
			Definition: "cache_read_tokens / all input tokens; no sample without input"},
			func(r *Row) (int64, int64) { return r.Usage.Read, r.Usage.Input() }),
		ratio(Metric{Name: "call_hit_ratio", Better: Higher, Exact: true,
			Definition: "calls that read all of the best prefix of their thread / calls that are not the first of their thread; no sample without later calls"},
			func(r *Row) (int64, int64) { return int64(r.HitCalls), int64(r.LaterCalls) }),
		{Name: "misses", Unit: UnitCalls, Better: Lower, Exact: true,
			Definition: "calls that read less than the best prefix of their thread; the first call of a thread is not counted",
			Value:      figure(func(r *Row) int { return r.Misses })},
	}
}

func compactionMetrics() []Metric {
	count := func(name, unit string, better Better, definition string, f func(*Row) int) Metric {
		return Metric{Name: name, Unit: unit, Better: better, Exact: true, Definition: definition, Value: figure(f)}
	}
	return []Metric{
		count("compactions", UnitCount, Neither, "times that messages were replaced by a summary",
			func(r *Row) int { return r.Compactions }),
		count("microcompactions", UnitCount, Neither, "times that tool results were cleared without a summary",
			func(r *Row) int { return r.Microcompactions }),
		count("recompactions", UnitCount, Lower, "compactions of a context that already held a summary",
			func(r *Row) int { return r.Recompactions }),
		{Name: "chain_max", Unit: UnitCount, Better: Lower, Exact: true, Kind: KindMaximum,
			Definition: "longest run of compactions on one thread; over several sessions the maximum",
			Value:      figure(func(r *Row) int { return r.ChainMax })},
		{Name: "peak_context_tokens", Unit: UnitTokens, Better: Lower, Exact: true, Kind: KindMaximum,
			Definition: "largest request sent, tokens; over several sessions the maximum",
			Value:      figure(func(r *Row) int64 { return r.PeakContext })},
		count("overflows", UnitCalls, Lower, "requests that a server refuses as too long; what no layer shortens is counted as if it were answered",
			func(r *Row) int { return r.Overflows }),
		{Name: "added_latency_seconds", Unit: UnitSeconds, Better: Lower,
			Definition: "waiting that context management added, seconds of the simulated clock; calls of sub-agents and of conversations that run at the same time count each",
			Value:      figure(func(r *Row) float64 { return r.AddedLatency })},
	}
}

// costParts lists the splits of cost_usd. Storage belongs to no class and no
// source: it is the remainder of both.
func costParts() []Metric {
	part := func(name, by, definition string, f func(*Row) float64) Metric {
		return Metric{Name: name, Unit: UnitUSD, Better: Lower, Exact: true, Definition: definition,
			Of: "cost_usd", By: by, Value: figure(f)}
	}
	ms := []Metric{{Name: "storage_usd", Unit: UnitUSD, Better: Lower, Exact: true,
		Definition: "price of keeping cache entries, for providers that charge by time",
		Value:      figure(func(r *Row) float64 { return r.StorageUSD })}}
	for c := range Class(NumClasses) {
		ms = append(ms, part("cost_usd_"+c.String(), ByClass, "cost_usd of the token class "+c.String(),
			func(r *Row) float64 { return r.CostByClass[c] }))
	}
	for s := range Source(NumSources) {
		ms = append(ms, part("cost_usd_"+s.String(), BySource, "cost_usd of the calls of source "+s.String(),
			func(r *Row) float64 { return r.CostBySource[s].Total() }))
	}
	return ms
}

func missParts() []Metric {
	var ms []Metric
	for i := 1; i < prompt.NumMissClasses; i++ {
		name := prompt.MissClass(i).String()
		ms = append(ms, Metric{Name: "misses_" + name, Unit: UnitCalls, Better: Lower, Exact: true,
			Definition: "misses of class " + name, Of: "misses", By: ByClass,
			Value: figure(func(r *Row) int { return r.MissesByClass[i] })})
	}
	return ms
}
