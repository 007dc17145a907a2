// Package studies has the documents that go beyond the rows of a run:
// ablations, chains of compactions, and explanations of single sessions.
package studies

import (
	"cmp"
	"math"
	"slices"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
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
	Cell string
	Base string // the unchanged cell
	Path string // of the mechanism
	Set  string // what was set, as path=value
	On   bool   // it is in force in the base: without it
}

// Refusal is a mechanism that cannot be switched alone.
type Refusal struct {
	Base   string
	Set    string // as path=value
	Reason string
}

// ablatedFigure is a figure of a cell that a mechanism can change.
type ablatedFigure struct {
	document.Column
	Of func(*results.Row) float64
}

// AblatedFigures are the figures of a cell, besides its cost, that show what a mechanism does.
var AblatedFigures = []ablatedFigure{
	{document.Column{Name: "calls"}, func(r *results.Row) float64 { return float64(r.N(measures.Calls)) }},
	{document.Column{Name: "cache_read_tokens", Title: "READ", Unit: document.UnitTokens},
		func(r *results.Row) float64 { return float64(r.Usage().Read) }},
	{document.Column{Name: "cache_write_tokens", Title: "WRITTEN", Unit: document.UnitTokens},
		func(r *results.Row) float64 { u := r.Usage(); return float64(u.Writes()) }},
	{document.Column{Name: "input_uncached_tokens", Title: "UNCACHED", Unit: document.UnitTokens},
		func(r *results.Row) float64 { return float64(r.Usage().Uncached) }},
	{document.Column{Name: "output_tokens"}, func(r *results.Row) float64 { return float64(r.Usage().Output) }},
	{document.Column{Name: measures.NameHitRatio, Title: "HIT", Unit: document.UnitRatio}, hitRatio},
	{document.Column{Name: "compactions", Title: "COMPACTIONS"}, func(r *results.Row) float64 { return float64(r.N(measures.Compactions)) }},
	{document.Column{Name: "microcompactions", Title: "CLEARINGS"},
		func(r *results.Row) float64 { return float64(r.N(measures.Microcompactions)) }},
	{document.Column{Name: measures.NameAddedLatency, Title: "WAIT", Unit: document.UnitSeconds},
		func(r *results.Row) float64 { return r.Figures[measures.AddedLatency] }},
}

func hitRatio(r *results.Row) float64 {
	u := r.Usage()
	if u.Input() == 0 {
		return 0
	}
	return float64(u.Read) / float64(u.Input())
}

// Difference is the effect of a change on the figures of its base: changed
// minus unchanged.
type Difference struct {
	*Change
	Changed  *results.Cell // the cell of the change
	USD      float64       // positive: what is in force in the base saves it
	Relative float64       // to the cost of the base; 0 when that cost nothing
	Covered  bool          // the interval of the relative difference contains 0
	Cut      bool          // sessions end early on either side: the figures are not of the same work
	Figures  []float64     // of AblatedFigures
}

// None reports whether the change makes no difference.
func (d *Difference) None() bool {
	return d.USD == 0 && !slices.ContainsFunc(d.Figures, func(v float64) bool { return v != 0 })
}

func (a *Ablation) cell(name string) *results.Cell {
	i := slices.IndexFunc(a.Run.Cells, func(c results.Cell) bool { return c.Cell == name })
	if i < 0 {
		return nil
	}
	return &a.Run.Cells[i]
}

// Differences returns the changes of a base, over the sessions of each change, largest in USD first. A change whose cell
// is missing, because the run was interrupted, or has sessions that the base lacks is left out.
func (a *Ablation) Differences(base string) []Difference {
	b := a.cell(base)
	if b == nil {
		return nil
	}
	var list []Difference
	for i := range a.Changes {
		c := &a.Changes[i]
		cell := a.cell(c.Cell)
		if c.Base != base || cell == nil {
			continue
		}
		if same, ok := b.Over(cell); ok {
			list = append(list, a.difference(c, same, cell))
		}
	}
	slices.SortStableFunc(list, func(x, y Difference) int { return cmp.Compare(math.Abs(y.USD), math.Abs(x.USD)) })
	return list
}

func (a *Ablation) difference(c *Change, base, cell *results.Cell) Difference {
	x, y := &base.Total, &cell.Total
	d := Difference{Change: c, Changed: cell, USD: y.CostUSD() - x.CostUSD()}
	for _, f := range AblatedFigures {
		d.Figures = append(d.Figures, f.Of(y)-f.Of(x))
	}
	if cost := x.CostUSD(); cost > 0 {
		d.Relative = d.USD / cost
	}
	relative, _ := a.Run.ModelError.Difference(cell, base)
	d.Covered = d.USD != 0 && relative.Chance()
	d.Cut = y.N(measures.Calls) != x.N(measures.Calls) && (x.CutShort() || y.CutShort())
	return d
}
