package reports

import (
	"fmt"
	"io"
	"math"
	"strings"
)

// corpusQuantiles are the quantiles that machines get of each dimension. People
// get those from the median up, which have room on a terminal.
var corpusQuantiles = []struct {
	name   string
	share  float64
	people bool
}{{"p10", 0.1, false}, {"p50", 0.5, true}, {"p90", 0.9, true}, {"p99", 0.99, true}}

// Write writes the comparison in a format of Formats: sizes, quantiles and
// distance of each dimension. In CSV and JSON figures are numbers in full, and
// what is not there is empty or null.
func (c *CorpusComparison) Write(w io.Writer, format string) error {
	if format == "csv" || format == "json" {
		return c.sheet().Write(w, format)
	}
	return c.brief().Write(w, format)
}

// sheet lists all figures in full.
func (c *CorpusComparison) sheet() *Sheet {
	s := &Sheet{Columns: []SheetColumn{{Name: "dimension"}, {Name: "unit"}}}
	column := func(name string) {
		for _, role := range corpusRoles {
			s.Columns = append(s.Columns, SheetColumn{Name: role + "_" + name})
		}
	}
	column("n")
	for _, q := range corpusQuantiles {
		column(q.name)
	}
	s.Columns = append(s.Columns, SheetColumn{Name: "ks"}, SheetColumn{Name: "fit"})
	for i := range c.Dimensions {
		d := &c.Dimensions[i]
		row := []any{d.Name, d.Unit, len(d.Values[0]), len(d.Values[1])}
		for _, q := range corpusQuantiles {
			for k := range d.Values {
				row = append(row, optional(len(d.Values[k]) > 0, func() any { return d.quantile(k, q.share) }))
			}
		}
		s.Rows = append(s.Rows, append(row, optional(d.only() < 0, func() any { return d.KS }), d.fit()))
	}
	return s
}

// brief is the table for people, as wide as a terminal.
func (c *CorpusComparison) brief() *Sheet {
	s := &Sheet{Fitted: true, Columns: []SheetColumn{{Title: "DIMENSION"}, {Title: "N", Right: true}, {Title: "REC.", Right: true}}}
	for _, q := range corpusQuantiles {
		if q.people {
			s.Columns = append(s.Columns, SheetColumn{Title: q.name, Right: true}, SheetColumn{Title: "REC.", Right: true})
		}
	}
	s.Columns = append(s.Columns, SheetColumn{Title: "KS", Right: true}, SheetColumn{Title: "FIT"})
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
		ks := "–"
		if d.only() < 0 {
			ks = percent(d.KS)
		}
		s.Rows = append(s.Rows, append(row, ks, d.fit()))
	}
	s.Notes = c.notes()
	return s
}

// notes say what was compared, and how to read the table.
func (c *CorpusComparison) notes() []string {
	notes := []string{fmt.Sprintf("generated: %s, %s; recorded (REC.): %s, %s.",
		Printable(c.Names[0]), CountOf(c.Sessions[0], "session"), Printable(c.Names[1]), CountOf(c.Sessions[1], "session"))}
	for _, r := range c.Remarks {
		notes = append(notes, Printable(r))
	}
	notes = append(notes, fmt.Sprintf("KS: largest difference between the shares of values up to some x. alike: at most 10 %%; near: at most 25 %%; few: fewer than %d values on a side.", fewValues))
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
		return "–"
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
		return tokens(x)
	}
	return fmt.Sprintf("%.0f", x)
}

// optional returns a value that may be missing.
func optional(there bool, value func() any) any {
	if there {
		return value()
	}
	return missing{}
}

// missing is a value that is not there: nothing in CSV, null in JSON.
type missing struct{}

func (missing) String() string { return "" }

// MarshalJSON writes null.
func (missing) MarshalJSON() ([]byte, error) { return []byte("null"), nil }
