package reports

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/internal/document"
)

// corpusQuantiles are the quantiles that machines get of each dimension. People
// get those from the median up, which have room on a terminal.
var corpusQuantiles = []struct {
	name   string
	share  float64
	people bool
}{{"p10", 0.1, false}, {"p50", 0.5, true}, {"p90", 0.9, true}, {"p99", 0.99, true}}

// Document reports the comparison: sizes, quantiles and distance of each
// dimension. In CSV and JSON figures are numbers in full, and what is not there is
// empty or null.
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

// brief is the table for people, as wide as a terminal.
func (c *CorpusComparison) brief() *document.Table {
	t := &document.Table{Fitted: true, Notes: c.notes(), Columns: slices.Concat(document.Left("DIMENSION"), document.Right("", "N", "REC."))}
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
		c.Names[0], document.Count(c.Sessions[0], "session"), c.Names[1], document.Count(c.Sessions[1], "session"))}, c.Remarks...)
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

// figure writes a quantile of one corpus, a dash when it has no values.
func (d *CorpusDimension) figure(corpus int, u float64) string {
	if len(d.Values[corpus]) == 0 {
		return document.Dash
	}
	return corpusFigure(d.quantile(corpus, u))
}

// corpusFigure writes a value with three digits, or four before the point.
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
