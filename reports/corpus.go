package reports

import (
	"math"
	"slices"

	"github.com/compactsim/compactsim/traces/synthetic"
)

// CorpusComparison holds one corpus against another, dimension by dimension.
type CorpusComparison struct {
	Names      [2]string // what the corpora are: the generated one, the recorded one
	Sessions   [2]int    // compared
	Dimensions []CorpusDimension
	Absent     []string // dimensions of which neither corpus has a value
	Remarks    []string // on how the corpora were chosen
}

// corpusRoles tell the corpora apart, whatever their names are.
var corpusRoles = [2]string{"generated", "recorded"}

// CorpusDimension is one dimension of both corpora.
type CorpusDimension struct {
	Name   string
	Unit   string       // as synthetic.Observation
	Values [2][]float64 // ascending; one of the two may be empty
	// KS is the Kolmogorov–Smirnov distance: the largest difference between the
	// two shares of values up to some x, 0…1; 0 when one corpus has no values.
	KS float64
}

// fewValues is the number of values below which a dimension says little.
const fewValues = 30

// CompareCorpora compares what was observed of two corpora, in the order of the
// first. A dimension that only one of them has values of is a difference like any
// other.
func CompareCorpora(generated, recorded []synthetic.Observation) *CorpusComparison {
	c := &CorpusComparison{}
	for _, g := range generated {
		var r synthetic.Observation
		if i := named(recorded, g.Name); i >= 0 {
			r = recorded[i]
		}
		c.add(g.Name, g.Unit, g.Values, r.Values)
	}
	for _, r := range recorded {
		if named(generated, r.Name) < 0 {
			c.add(r.Name, r.Unit, nil, r.Values)
		}
	}
	return c
}

// named returns the index of the observation of a dimension, −1 when there is none.
func named(list []synthetic.Observation, name string) int {
	return slices.IndexFunc(list, func(o synthetic.Observation) bool { return o.Name == name })
}

// add compares the values of one dimension.
func (c *CorpusComparison) add(name, unit string, generated, recorded []float64) {
	if len(generated)+len(recorded) == 0 {
		c.Absent = append(c.Absent, name)
		return
	}
	d := CorpusDimension{Name: name, Unit: unit, Values: [2][]float64{slices.Sorted(slices.Values(generated)), slices.Sorted(slices.Values(recorded))}}
	d.KS = distance(d.Values[0], d.Values[1])
	if name == synthetic.PerSession {
		c.Sessions = [2]int{len(generated), len(recorded)}
	}
	c.Dimensions = append(c.Dimensions, d)
}

// distance is the Kolmogorov–Smirnov distance of two sorted samples, 0 when one of
// them is empty.
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

// only returns the one corpus that has values of the dimension, −1 when both have.
func (d *CorpusDimension) only() int {
	switch {
	case len(d.Values[1]) == 0:
		return 0
	case len(d.Values[0]) == 0:
		return 1
	}
	return -1
}

// fit says in a word how alike two samples are. It goes by the distance as it is
// shown, in tenths of a per cent.
func (d *CorpusDimension) fit() string {
	ks := math.Round(d.KS*1000) / 1000
	one := d.only()
	switch {
	case one >= 0 && len(d.Values[one]) >= fewValues:
		return "differs"
	case min(len(d.Values[0]), len(d.Values[1])) < fewValues:
		return "few"
	case ks <= 0.1:
		return "alike"
	case ks <= 0.25:
		return "near"
	}
	return "differs"
}

// quantile returns a quantile of one of the corpora, which has values.
func (d *CorpusDimension) quantile(corpus int, u float64) float64 {
	v := d.Values[corpus]
	at := u * float64(len(v)-1)
	i := int(at)
	step := float64((at - float64(i)) * (v[min(i+1, len(v)-1)] - v[i])) // rounded by itself, so that every machine gives the same digits
	return v[i] + step
}
