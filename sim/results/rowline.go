package results

import (
	"maps"

	"github.com/compactsim/compactsim/sim/prompt"
)

// rowLine is the encoded form of a row. Figures that are zero are left out of
// the objects that split a sum.
type rowLine struct {
	Cell             string                        `json:"cell"`
	Strategy         string                        `json:"strategy"`
	Session          string                        `json:"session"`
	Sessions         int                           `json:"sessions"`
	Calls            int                           `json:"calls"`
	CallsBySource    map[string]int                `json:"calls_by_source"`
	Tokens           usageLine                     `json:"tokens"`
	TokensBySource   map[string]usageLine          `json:"tokens_by_source"`
	CostByClass      map[string]float64            `json:"cost_usd_by_class"`
	CostBySource     map[string]map[string]float64 `json:"cost_usd_by_source"`
	StorageUSD       float64                       `json:"storage_usd"`
	Misses           int                           `json:"misses"`
	MissesByClass    map[string]int                `json:"misses_by_class"`
	MissedTokens     int64                         `json:"missed_tokens"`
	HitCalls         int                           `json:"hit_calls"`
	LaterCalls       int                           `json:"later_calls"`
	Compactions      int                           `json:"compactions"`
	Microcompactions int                           `json:"microcompactions"`
	Recompactions    int                           `json:"recompactions"`
	ChainMax         int                           `json:"chain_max"`
	PeakContext      int64                         `json:"peak_context_tokens"`
	Overflows        int                           `json:"overflows"`
	OverWindow       int                           `json:"over_window"`
	FailedCompaction int                           `json:"failed_compactions"`
	AddedLatency     float64                       `json:"added_latency_seconds"`
	Waits            map[string]float64            `json:"added_latency_seconds_by_part,omitzero"`
	SecondsAt        map[string]float64            `json:"seconds_at_level,omitzero"`
	Left             leftLine                      `json:"percent_left,omitzero"`
	Breaks           breaksLine                    `json:"breaks,omitzero"`
	Counts           map[string]int64              `json:"counts,omitzero"`
	Firings          map[string]int                `json:"firings,omitzero"`
	Reasons          map[string]int                `json:"reasons,omitzero"`
	LoggedOutputUSD  float64                       `json:"logged_output_usd,omitzero"`
	Unpriced         int                           `json:"unpriced_calls"`
}

// usageLine is the encoded form of token counts.
type usageLine struct {
	Uncached   int64 `json:"uncached,omitzero"`
	Read       int64 `json:"read,omitzero"`
	Write5m    int64 `json:"write_5m,omitzero"`
	Write1h    int64 `json:"write_1h,omitzero"`
	WriteOther int64 `json:"write_other,omitzero"`
	Output     int64 `json:"output,omitzero"`
}

// leftLine is the encoded form of Left.
type leftLine struct {
	Calls int   `json:"calls"`
	Sum   int64 `json:"sum"`
	Used  int   `json:"most_used"`
}

func newRowLine(cell string, r *Row) rowLine {
	l := rowLine{
		Cell: cell, Strategy: r.Strategy, Session: r.Session, Sessions: r.Sessions,
		Calls: r.Calls, CallsBySource: byName(r.CallsBySource[:], sourceName),
		Tokens: usageLine(r.Usage), TokensBySource: map[string]usageLine{},
		CostByClass: byName(r.CostByClass[:], className), CostBySource: map[string]map[string]float64{},
		StorageUSD: r.StorageUSD,
		Misses:     r.Misses, MissesByClass: byName(r.MissesByClass[:], missName),
		MissedTokens: r.MissedTokens, HitCalls: r.HitCalls, LaterCalls: r.LaterCalls,
		Compactions: r.Compactions, Microcompactions: r.Microcompactions, Recompactions: r.Recompactions,
		ChainMax: r.ChainMax, PeakContext: r.PeakContext,
		Overflows: r.Overflows, OverWindow: r.OverWindow, FailedCompaction: r.FailedCompaction,
		AddedLatency: r.AddedLatency, Left: leftLine(r.Left), Firings: r.Firings, Reasons: r.Reasons,
		LoggedOutputUSD: r.LoggedOutputUSD, Unpriced: r.Unpriced,
		Breaks: newBreaksLine(&r.Breaks),
		Counts: byNameOrNil(r.Counts[:], countName),
		Waits:  byNameOrNil(r.Waits[:], waitName), SecondsAt: byNameOrNil(r.SecondsAt[:], levelName),
	}
	for s, u := range r.UsageBySource {
		if u != (prompt.Usage{}) {
			l.TokensBySource[sourceName(s)] = usageLine(u)
		}
		if c := byName(r.CostBySource[s][:], className); len(c) > 0 {
			l.CostBySource[sourceName(s)] = c
		}
	}
	return l
}

// row returns the row of l, or an error that names what it does not know.
func (l *rowLine) row() (Row, error) {
	r := Row{
		Strategy: l.Strategy, Session: l.Session, Sessions: l.Sessions,
		Calls: l.Calls, Usage: prompt.Usage(l.Tokens), StorageUSD: l.StorageUSD,
		Misses: l.Misses, MissedTokens: l.MissedTokens, HitCalls: l.HitCalls, LaterCalls: l.LaterCalls,
		Compactions: l.Compactions, Microcompactions: l.Microcompactions, Recompactions: l.Recompactions,
		ChainMax: l.ChainMax, PeakContext: l.PeakContext,
		Overflows: l.Overflows, OverWindow: l.OverWindow, FailedCompaction: l.FailedCompaction,
		AddedLatency: l.AddedLatency, Left: Left(l.Left), Firings: l.Firings, Reasons: l.Reasons,
		LoggedOutputUSD: l.LoggedOutputUSD, Unpriced: l.Unpriced,
	}
	usage := [NumSources]usageLine{}
	costs := [NumSources]map[string]float64{}
	err := firstError(
		fromNames(r.CallsBySource[:], l.CallsBySource, "source", sourceName),
		fromNames(usage[:], l.TokensBySource, "source", sourceName),
		fromNames(r.CostByClass[:], l.CostByClass, "token class", className),
		fromNames(costs[:], l.CostBySource, "source", sourceName),
		fromNames(r.MissesByClass[:], l.MissesByClass, "miss class", missName),
		fromNames(r.Counts[:], l.Counts, "count", countName),
		fromNames(r.Waits[:], l.Waits, "part of the added latency", waitName),
		fromNames(r.SecondsAt[:], l.SecondsAt, "level", levelName),
	)
	breaks, errBreaks := l.Breaks.breaks()
	r.Breaks, err = breaks, firstError(err, errBreaks)
	for s := range usage {
		r.UsageBySource[s] = prompt.Usage(usage[s])
		err = firstError(err, fromNames(r.CostBySource[s][:], costs[s], "token class", className))
	}
	return r, err
}

func sourceName(i int) string { return Source(i).String() }
func countName(i int) string  { return Count(i).String() }
func waitName(i int) string   { return Wait(i).String() }
func levelName(i int) string  { return Level(i).String() }
func className(i int) string  { return Class(i).String() }
func missName(i int) string   { return prompt.MissClass(i).String() }

// byName returns the figures that are not zero under their names.
func byName[T int | int64 | float64](figures []T, name func(int) string) map[string]T {
	m := map[string]T{}
	for i, v := range figures {
		if v != 0 {
			m[name(i)] = v
		}
	}
	return m
}

// byNameOrNil is byName for an object that is left out when it is empty.
func byNameOrNil[T int | int64 | float64](figures []T, name func(int) string) map[string]T {
	m := byName(figures, name)
	if len(m) == 0 {
		return nil
	}
	return m
}

// fromNames sets the figures that m names.
func fromNames[T any](figures []T, m map[string]T, what string, name func(int) string) error {
	known := make([]string, len(figures))
	found := 0
	for i := range figures {
		known[i] = name(i)
		if v, ok := m[known[i]]; ok {
			figures[i] = v
			found++
		}
	}
	if found == len(m) {
		return nil
	}
	m = maps.Clone(m)
	for _, k := range known {
		delete(m, k)
	}
	return unknown(what, smallest(m), known)
}

// smallest returns the first key of m in lexical order, so that errors do not
// depend on the order of a map.
func smallest[T any](m map[string]T) string {
	least, first := "", true
	for k := range m {
		if first || k < least {
			least, first = k, false
		}
	}
	return least
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
