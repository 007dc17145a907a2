package results

import (
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/compactsim/compactsim/internal/kit/jsonlines"
	"github.com/compactsim/compactsim/sim/results/measures"
)

// Replications are the cells of a run that differ in their seed alone.
type Replications struct {
	Cell     string // their name without the seed
	Strategy string
	Cells    []*Cell
}

// Replications returns the cells grouped, those that differ in their seed alone together,
// in the order of the run.
func (r *Run) Replications() []Replications {
	var list []Replications
	for i := range r.Cells {
		c := &r.Cells[i]
		name := c.Cell
		if seed, ok := c.Params[measures.SeedParam]; ok {
			name = strings.Replace(name, " "+measures.SeedParam+"="+seed, "", 1)
		}
		k := slices.IndexFunc(list, func(g Replications) bool { return g.Cell == name && g.Strategy == c.Strategy })
		if k < 0 {
			list = append(list, Replications{Cell: name, Strategy: c.Strategy})
			k = len(list) - 1
		}
		list[k].Cells = append(list[k].Cells, c)
	}
	return list
}

// Replicated returns r with one cell instead of replications that cover the same sessions: its
// metrics are means over the seeds, with intervals, and its rows are the first seed's. Only r has
// the rows of each seed.
func (r *Run) Replicated() *Run {
	out := *r
	out.Cells, out.Notes = nil, slices.Clone(r.Notes)
	for _, g := range r.Replications() {
		first := g.Cells[0]
		apart := slices.ContainsFunc(g.Cells, func(c *Cell) bool {
			return !c.Covers(first) || c.Total.CutShort() != first.Total.CutShort()
		})
		if len(g.Cells) == 1 || apart {
			for _, c := range g.Cells {
				out.Cells = append(out.Cells, *c)
			}
			continue
		}
		cell := *first
		cell.Cell, cell.seeds, cell.Params = g.Cell, g.Cells, map[string]string{}
		for name, value := range first.Params {
			if name != measures.SeedParam {
				cell.Params[name] = value
			}
		}
		cell.Total = meanRow(g.Cells)
		out.Cells = append(out.Cells, cell)
		for i := range out.Notes {
			if n := &out.Notes[i]; slices.ContainsFunc(g.Cells, func(c *Cell) bool { return c.Cell == n.Cell }) {
				n.Cell = g.Cell
			}
		}
	}
	seen := map[Note]bool{}
	out.Notes = slices.DeleteFunc(out.Notes, func(n Note) bool {
		was := seen[n]
		seen[n] = true
		return was
	})
	return &out
}

// meanRow returns the mean of totals, counts rounded; metrics are means of their own.
func meanRow(cells []*Cell) Row {
	total := Row{Strategy: cells[0].Strategy}
	for _, c := range cells {
		total.Add(&c.Total)
	}
	n, said := float64(len(cells)), total.Breaks.Matrix()
	rowForm.Each(func(m *jsonlines.Member) {
		if m.Kind == jsonlines.Small {
			said[m.At] = uint32(math.Round(float64(said[m.At]) / n))
			return
		}
		v := &total.Figures[m.At]
		switch {
		case slices.Contains(maxima[:], measures.ID(m.At)):
		case m.Kind == jsonlines.Whole:
			*v = math.Round(*v / n)
		default:
			*v /= n
		}
	})
	total.Breaks = said.Counts()
	for _, counts := range []map[string]int{total.Firings, total.Reasons} {
		for name, k := range counts {
			counts[name] = int(math.Round(float64(k) / n))
		}
	}
	return total
}

// seedLevel is the confidence of intervals over seeds.
const seedLevel = 0.95

// OverSeeds returns Student's 95 % interval of the mean of a metric over the seeds of a
// replicated cell, false when all seeds give the same value or only one gives any.
func (c *Cell) OverSeeds(m Metric) (Interval, bool) {
	values := c.bySeed(m)
	if len(values) < 2 || !slices.ContainsFunc(values, func(v float64) bool { return v != values[0] }) {
		return Interval{}, false
	}
	mean, deviation := stat.MeanStdDev(values, nil)
	n := float64(len(values))
	half := distuv.StudentsT{Sigma: 1, Nu: n - 1}.Quantile((1+seedLevel)/2) * deviation / math.Sqrt(n)
	return Interval{mean - half, mean + half, seedLevel}, true
}

// bySeed returns a metric under each seed that has a sample.
func (c *Cell) bySeed(m Metric) []float64 {
	var values []float64
	for _, s := range c.seeds {
		if v, ok := s.Value(m); ok {
			values = append(values, v)
		}
	}
	return values
}

// costs returns the cost of each row, USD: of a replicated cell the mean over the seeds.
func (c *Cell) costs() []float64 {
	cells := c.seeds
	if cells == nil {
		cells = []*Cell{c}
	}
	list := make([]float64, c.Rows.Len())
	for _, s := range cells {
		for i, r := range s.Rows.All() {
			list[i] += r.CostUSD()
		}
	}
	for i := range list {
		list[i] /= float64(len(cells))
	}
	return list
}
