package reports

import (
	"fmt"
	"math"
	"slices"

	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/traces/synthetic"
)

// CorpusComparison holds one corpus against another, dimension by dimension.
type CorpusComparison struct {
	Names      [2]string // of the corpora: the generated one, the recorded one
	Sessions   [2]int    // compared
	Dimensions []CorpusDimension
}

// CorpusDimension is one dimension of both corpora.
type CorpusDimension struct {
	Name   string
	Unit   string // as synthetic.Observation
	Values [2][]float64
	// KS is the Kolmogorov–Smirnov distance: the largest difference between the
	// two shares of values up to some x, 0…1.
	KS float64
}

// fewValues is the number of values below which a dimension says little.
const fewValues = 30

// CompareCorpora compares what was observed of two corpora. Dimensions that one
// of them has no value of are left out.
func CompareCorpora(generated, recorded []synthetic.Observation) *CorpusComparison {
	c := &CorpusComparison{}
	for _, g := range generated {
		i := slices.IndexFunc(recorded, func(r synthetic.Observation) bool { return r.Name == g.Name })
		if i < 0 || len(g.Values) == 0 || len(recorded[i].Values) == 0 {
			continue
		}
		d := CorpusDimension{Name: g.Name, Unit: g.Unit, Values: [2][]float64{slices.Sorted(slices.Values(g.Values)), slices.Sorted(slices.Values(recorded[i].Values))}}
		d.KS = distance(d.Values[0], d.Values[1])
		if g.Name == synthetic.PerSession {
			c.Sessions = [2]int{len(d.Values[0]), len(d.Values[1])}
		}
		c.Dimensions = append(c.Dimensions, d)
	}
	return c
}

// distance is the Kolmogorov–Smirnov distance of two sorted samples.
func distance(a, b []float64) float64 {
	worst, i, j := 0.0, 0, 0
	for i < len(a) && j < len(b) {
		x := min(a[i], b[j])
		for i < len(a) && a[i] == x {
			i++
		}
		for j < len(b) && b[j] == x {
			j++
		}
		worst = max(worst, math.Abs(float64(i)/float64(len(a))-float64(j)/float64(len(b))))
	}
	return worst
}

// fit says in a word how alike two samples are.
func (d *CorpusDimension) fit() string {
	switch {
	case min(len(d.Values[0]), len(d.Values[1])) < fewValues:
		return "few"
	case d.KS <= 0.1:
		return "alike"
	case d.KS <= 0.25:
		return "near"
	}
	return "differs"
}

// quantile returns a quantile of one of the corpora.
func (d *CorpusDimension) quantile(corpus int, u float64) float64 {
	v := d.Values[corpus]
	at := u * float64(len(v)-1)
	i := int(at)
	return v[i] + (at-float64(i))*(v[min(i+1, len(v)-1)]-v[i])
}

// Sheet returns the comparison as a table: medians, tails and distance.
func (c *CorpusComparison) Sheet() *Sheet {
	s := &Sheet{Columns: []SheetColumn{
		{Name: "dimension", Title: "DIMENSION"}, {Name: "unit", Title: "UNIT"},
		{Name: "generated_n", Title: "N GENERATED", Right: true}, {Name: "recorded_n", Title: "RECORDED", Right: true},
	}}
	for _, q := range []string{"p10", "p50", "p90", "p99"} {
		s.Columns = append(s.Columns, SheetColumn{Name: "generated_" + q, Title: q, Right: true}, SheetColumn{Name: "recorded_" + q, Title: "REC.", Right: true})
	}
	s.Columns = append(s.Columns, SheetColumn{Name: "ks", Title: "KS", Unit: results.UnitRatio, Right: true}, SheetColumn{Name: "fit", Title: "FIT"})
	for i := range c.Dimensions {
		d := &c.Dimensions[i]
		row := []any{d.Name, d.Unit, len(d.Values[0]), len(d.Values[1])}
		for _, u := range []float64{0.1, 0.5, 0.9, 0.99} {
			row = append(row, corpusFigure(d.quantile(0, u)), corpusFigure(d.quantile(1, u)))
		}
		s.Rows = append(s.Rows, append(row, math.Round(d.KS*1000)/1000, d.fit()))
	}
	s.Notes = []string{
		fmt.Sprintf("%s: %s; %s: %s.", c.Names[0], CountOf(c.Sessions[0], "session"), c.Names[1], CountOf(c.Sessions[1], "session")),
		"KS: largest difference between the shares of values up to some x. alike: at most 10 %; near: at most 25 %; few: fewer than 30 values on a side.",
	}
	return s
}

// corpusFigure writes a value with three digits.
func corpusFigure(x float64) string {
	switch {
	case x != 0 && math.Abs(x) < 1:
		return fmt.Sprintf("%.2g", x)
	case math.Abs(x) < 100 && x != math.Trunc(x):
		return fmt.Sprintf("%.3g", x)
	}
	return fmt.Sprintf("%.0f", x)
}
