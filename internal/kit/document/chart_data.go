package document

import (
	"cmp"
	"math"
	"strconv"
)

// Data returns what the chart draws: a line for each point, with the number or the name at which it stands, its value
// and their intervals. A bar has its name as x and its length as value, a tile its column, its row and its value.
func (c *Chart) Data() *Table {
	t := &Table{Columns: Columns("panel", "series", "label", "x", "x_low", "x_high", "y", "value", "low", "high", "sessions")}
	for i := range c.Panels {
		p := &c.Panels[i]
		for j := range p.Series {
			if s := &p.Series[j]; !s.Aid && s.Mark != MarkBand {
				t.Rows = append(t.Rows, p.data(s)...)
			}
		}
	}
	return t
}

// data returns the lines of a series.
func (p *Panel) data(s *Series) (rows [][]any) {
	ends := func(spans []Span, i int, a *Axis) (low, high any) {
		if i >= len(spans) || spans[i].Low == spans[i].High {
			return nil, nil
		}
		return a.real(spans[i].Low), a.real(spans[i].High)
	}
	for i := range s.X {
		if math.IsNaN(s.Y[i]) {
			continue
		}
		row := make([]any, 11)
		row[0], row[1] = p.Title, cmp.Or(s.Data, s.Name)
		if len(s.Texts) > 0 {
			row[2] = s.Texts[i]
		}
		switch {
		case len(s.Values) > 0:
			row[3], row[6], row[7] = p.X.named((s.X[i]+s.X2[i])/2), p.Y.named((s.Y[i]+s.Y2[i])/2), exact(s.Values[i])
		case p.Y.Names && len(s.X2) > 0:
			row[3], row[7] = p.Y.named((s.Y[i]+s.Y2[i])/2), exact(s.X2[i]-s.X[i])
			row[8], row[9] = ends(s.XSpans, i, &p.X)
		case len(s.X2) > 0:
			row[3], row[7] = p.X.named((s.X[i]+s.X2[i])/2), exact(s.Y2[i]-s.Y[i])
		case p.Y.Names:
			row[3], row[7] = p.Y.named(s.Y[i]), p.X.real(s.X[i])
			row[8], row[9] = ends(s.XSpans, i, &p.X)
		default:
			row[3], row[7] = p.X.named(s.X[i]), p.Y.real(s.Y[i])
			row[4], row[5] = ends(s.XSpans, i, &p.X)
			row[8], row[9] = ends(s.YSpans, i, &p.Y)
		}
		if i < len(s.Sessions) {
			row[10] = s.Sessions[i]
		}
		rows = append(rows, row)
	}
	return rows
}

// named returns the name at a place of an axis, or its value.
func (a *Axis) named(v float64) any {
	if a.Names {
		for _, t := range a.Ticks {
			if math.Abs(t.Value-v) < 0.5 {
				return t.Label
			}
		}
	}
	if a.Says != nil && a.Real == nil {
		return a.Says(v)
	}
	return a.real(v)
}

// real returns the value at a place of an axis.
func (a *Axis) real(v float64) float64 {
	if a.Real != nil {
		v = a.Real(v)
	}
	return exact(v)
}

// exact rounds away the error of a sum of floating-point numbers.
func exact(v float64) float64 {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 12, 64), 64)
	if err != nil {
		return v
	}
	return rounded
}
