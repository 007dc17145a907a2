// Package studies has the documents that go beyond the rows of a run:
// ablations, chains of compactions, and explanations of single sessions.
package studies

import (
	"cmp"
	"math"
	"slices"

	"github.com/compactsim/compactsim/sim/results"
)

// Ablation is a run whose cells are strategies as they are and, for each, one
// with a mechanism switched.
type Ablation struct {
	Run     *results.Run
	Bases   []string // cells as they are, in order
	Changes []Change
	Refused []Refusal
}

// Change is a cell that differs from its base in one mechanism.
type Change struct {
	Cell string `json:"-"`
	Base string `json:"-"`        // the cell as it is
	Path string `json:"-"`        // of the mechanism
	Set  string `json:"set"`      // what was set, as path=value
	On   bool   `json:"in_force"` // it is in force in the base: without it
	Doc  string `json:"doc,omitzero"`
}

// Refusal is a mechanism that cannot be switched alone.
type Refusal struct {
	Base   string `json:"-"`
	Set    string `json:"set"` // as path=value
	Reason string `json:"reason"`
}

// Difference is the effect of a change on the figures of its base: changed
// minus unchanged. Tokens, USD, seconds.
type Difference struct {
	*Change
	USD         float64 `json:"difference_usd"`        // positive: what is in force in the base saves it
	Relative    float64 `json:"difference_share"`      // to the cost of the base; 0 when that cost nothing
	Covered     bool    `json:"within_model_error"`    // the interval of the relative difference contains 0
	Cut         bool    `json:"sessions_end,omitzero"` // sessions end early on either side: the figures are not of the same work
	Calls       int     `json:"calls"`
	Read        int64   `json:"cache_read_tokens"`
	Written     int64   `json:"cache_write_tokens"`
	Uncached    int64   `json:"input_uncached_tokens"`
	Output      int64   `json:"output_tokens"`
	Hit         float64 `json:"cache_hit_ratio"` // difference of the hit ratio, in [−1, 1]
	Compactions int     `json:"compactions"`
	Cleared     int     `json:"microcompactions"`
	Latency     float64 `json:"added_latency_seconds"`
}

// None reports whether the change makes no difference.
func (d *Difference) None() bool {
	x := *d
	x.Change = nil
	return x == Difference{}
}

// Differences returns the changes of a base, largest in USD first. A change whose cell is missing, because the run was
// interrupted, is left out.
func (a *Ablation) Differences(base string) []Difference {
	b := a.cell(base)
	if b == nil {
		return nil
	}
	var list []Difference
	for i := range a.Changes {
		c := &a.Changes[i]
		if cell := a.cell(c.Cell); c.Base == base && cell != nil && cell.Covers(b) {
			list = append(list, a.difference(c, b, cell))
		}
	}
	slices.SortStableFunc(list, func(x, y Difference) int { return cmp.Compare(math.Abs(y.USD), math.Abs(x.USD)) })
	return list
}

func (a *Ablation) cell(name string) *results.Cell {
	i := slices.IndexFunc(a.Run.Cells, func(c results.Cell) bool { return c.Cell == name })
	if i < 0 {
		return nil
	}
	return &a.Run.Cells[i]
}

func (a *Ablation) difference(c *Change, base, cell *results.Cell) Difference {
	x, y := &base.Total, &cell.Total
	was, is := x.Usage(), y.Usage()
	d := Difference{
		Change: c, USD: y.CostUSD() - x.CostUSD(), Calls: y.N(results.Calls) - x.N(results.Calls),
		Uncached: is.Uncached - was.Uncached, Read: is.Read - was.Read, Written: is.Writes() - was.Writes(), Output: is.Output - was.Output,
		Hit: hitRatio(y) - hitRatio(x), Compactions: y.N(results.Compactions) - x.N(results.Compactions),
		Cleared: y.N(results.Microcompactions) - x.N(results.Microcompactions),
		Latency: y.Figures[results.AddedLatency] - x.Figures[results.AddedLatency],
	}
	if cost := x.CostUSD(); cost > 0 {
		d.Relative = d.USD / cost
	}
	relative, _ := a.Run.ModelError.Difference(cell, base)
	d.Covered = d.USD != 0 && relative.Chance()
	d.Cut = d.Calls != 0 && (x.CutShort() || y.CutShort())
	return d
}

func hitRatio(r *results.Row) float64 {
	u := r.Usage()
	if u.Input() == 0 {
		return 0
	}
	return float64(u.Read) / float64(u.Input())
}
