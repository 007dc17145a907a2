package reports

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/internal/document"
	"github.com/compactsim/compactsim/traces/synthetic"
)

// CorpusComparison compares one corpus with another, dimension by dimension.
type CorpusComparison struct {
	Names      [2]string // what the corpora are: the generated one, the recorded one
	Sessions   [2]int    // compared
	Dimensions []CorpusDimension
	Absent     []string // dimensions without a value in either corpus
	Remarks    []string // on how the corpora were chosen
}

// corpusRoles distinguish the corpora, whatever their names are.
var corpusRoles = [2]string{"generated", "recorded"}

// CorpusDimension is one dimension of both corpora.
type CorpusDimension struct {
	Name   string
	Unit   string       // as in synthetic.Observation
	Values [2][]float64 // ascending; one of the two may be empty
	// KS is the Kolmogorov–Smirnov distance: the largest difference between the
	// two shares of values up to some x, 0…1; 0 when one corpus has no values.
	KS float64
}

// fewValues is the number of values below which a dimension shows little.
const fewValues = 30

// CompareCorpora compares the observations of two corpora, in the order of the
// first. A dimension with values in only one of them is a difference like any
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
	d := CorpusDimension{Name: name, Unit: unit,
		Values: [2][]float64{slices.Sorted(slices.Values(generated)), slices.Sorted(slices.Values(recorded))}}
	d.KS = distance(d.Values[0], d.Values[1])
	if name == synthetic.PerSession {
		c.Sessions = [2]int{len(generated), len(recorded)}
	}
	c.Dimensions = append(c.Dimensions, d)
}

// distance returns the Kolmogorov–Smirnov distance of two sorted samples, 0
// when one of them is empty.
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

// fit says in a word how similar two samples are, from the distance as shown,
// in tenths of a per cent.
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
	step := float64((at - float64(i)) * (v[min(i+1,
		len(v)-1)] - v[i])) // rounded separately, so that every machine gives the same digits
	return v[i] + step
}

// corpusQuantiles are the quantiles of each dimension for machines. People get
// those from the median up, which fit on a terminal.
var corpusQuantiles = []struct {
	name   string
	share  float64
	people bool
}{{"p10", 0.1, false}, {"p50", 0.5, true}, {"p90", 0.9, true}, {"p99", 0.99, true}}

// Document reports the comparison: sizes, quantiles and distance of each
// dimension. CSV and JSON have numbers in full, and empty or null for missing
// ones.
func (c *CorpusComparison) Document() *document.Document {
	return &document.Document{Sections: []document.Section{{Blocks: []document.Block{c.brief()}}}, Data: c.data}
}

// data lists all figures in full.
func (c *CorpusComparison) data() *document.Table {
	t := &document.Table{Columns: document.Columns("dimension", "unit")}
	names := []string{"n"}
	for _, q := range corpusQuantiles {
		names = append(names, q.name)
	}
	for _, name := range names {
		for _, role := range corpusRoles {
			t.Columns = append(t.Columns, document.Columns(role+"_"+name)...)
		}
	}
	t.Columns = append(t.Columns, document.Columns("ks", "fit")...)
	for i := range c.Dimensions {
		d := &c.Dimensions[i]
		row := []any{d.Name, d.Unit, len(d.Values[0]), len(d.Values[1])}
		for _, q := range corpusQuantiles {
			for k := range d.Values {
				if len(d.Values[k]) > 0 {
					row = append(row, d.quantile(k, q.share))
				} else {
					row = append(row, nil)
				}
			}
		}
		var ks any
		if d.only() < 0 {
			ks = d.KS
		}
		t.Rows = append(t.Rows, append(row, ks, d.fit()))
	}
	return t
}

// brief returns the table for people, as wide as a terminal.
func (c *CorpusComparison) brief() *document.Table {
	t := &document.Table{Fitted: true, Notes: c.notes(),
		Columns: slices.Concat(document.Left("DIMENSION"), document.Right("", "N", "REC."))}
	for _, q := range corpusQuantiles {
		if q.people {
			t.Columns = append(t.Columns, document.Right("", q.name, "REC.")...)
		}
	}
	t.Columns = slices.Concat(t.Columns, document.Right("", "KS"), document.Left("FIT"))
	for i := range c.Dimensions {
		d := &c.Dimensions[i]
		row := []any{d.title(), len(d.Values[0]), len(d.Values[1])}
		for _, q := range corpusQuantiles {
			for k := range d.Values {
				if q.people {
					row = append(row, d.figure(k, q.share))
				}
			}
		}
		ks := document.Dash
		if d.only() < 0 {
			ks = document.Percent(d.KS)
		}
		t.Rows = append(t.Rows, append(row, ks, d.fit()))
	}
	return t
}

// notes say what was compared, and how to read the table.
func (c *CorpusComparison) notes() []string {
	notes := append([]string{fmt.Sprintf("generated: %s, %s; recorded (REC.): %s, %s.",
		c.Names[0], document.Count(c.Sessions[0], "session"), c.Names[1], document.Count(c.Sessions[1],
			"session"))}, c.Remarks...)
	notes = append(notes, fmt.Sprintf("KS: largest difference between the shares of values up to some x. "+
		"alike: at most 10 %%; near: at most 25 %%; few: fewer than %d values on a side.", fewValues))
	if len(c.Absent) > 0 {
		notes = append(notes, "In neither: "+strings.Join(c.Absent, ", ")+".")
	}
	return append(notes, "--format csv and json have figures in full, and p10.")
}

// title names the dimension and its unit.
func (d *CorpusDimension) title() string {
	if d.Unit == "" || d.Unit == "share" {
		return d.Name
	}
	return d.Name + ", " + d.Unit
}

// figure formats a quantile of one corpus, a dash when it has no values.
func (d *CorpusDimension) figure(corpus int, u float64) string {
	if len(d.Values[corpus]) == 0 {
		return document.Dash
	}
	return corpusFigure(d.quantile(corpus, u))
}

// corpusFigure formats a value with three digits, or four before the point.
func corpusFigure(x float64) string {
	switch {
	case x != 0 && math.Abs(x) < 1:
		return fmt.Sprintf("%.2g", x)
	case math.Abs(x) < 100 && x != math.Trunc(x):
		return fmt.Sprintf("%.3g", x)
	case math.Abs(x) >= 9999.5:
		return document.Tokens(x)
	}
	return fmt.Sprintf("%.0f", x)
}
