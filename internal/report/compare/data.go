package compare

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/internal/kit/stats"
)

// Schema is the version of the document that the format json writes.
const Schema = 2

// estimated rounds a random figure to six digits: more mean nothing, and the
// last ones differ between processors.
func estimated(v float64) float64 {
	if v == 0 || math.IsInf(v, 0) || math.IsNaN(v) {
		return v
	}
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 6, 64), 64)
	if err != nil {
		return v
	}
	return rounded
}

// propertyNames are the names of the properties of a figure in CSV and JSON.
var propertyNames = []string{
	"metric", "unit", "better", "exact", "baseline_value", "value", "difference", "relative", "low", "high",
	"relative_low", "relative_high", "p", "detectable", "sessions_lower", "sessions_same", "sessions_higher", "verdict", "notes",
}

// properties returns the properties of a figure, nil for those that it does not have.
func (f *Figure) properties() []any {
	e := stats.Estimate{Difference: math.NaN(), Relative: math.NaN(), Detectable: math.NaN(), P: math.NaN(),
		Interval: stats.Everything, RelativeInterval: stats.Everything}
	if f.Verdict != Missing {
		e = f.Estimate
	}
	if f.Verdict == Same {
		e.P = math.NaN()
	}
	row := []any{f.Metric.Name, f.Metric.Unit, f.Metric.Better.String(), f.Exact}
	for _, v := range []float64{
		f.Base, f.Other, e.Difference, e.Relative, estimated(e.Interval.Low), estimated(e.Interval.High),
		estimated(e.RelativeInterval.Low), estimated(e.RelativeInterval.High), estimated(e.P), estimated(e.Detectable),
	} {
		if finite(v) {
			row = append(row, v)
		} else {
			row = append(row, nil)
		}
	}
	row = append(row, f.Lower, f.Ties, f.Higher, f.Verdict.String(), nil)
	if len(f.Notes) > 0 {
		row[len(row)-1] = strings.Join(f.Notes, "; ")
	}
	return row
}

// MarshalJSONTo writes the properties of a figure by the names of their columns.
func (f Figure) MarshalJSONTo(e *jsontext.Encoder) error {
	t := document.Table{Columns: document.Columns(propertyNames...), Rows: [][]any{f.properties()}}
	return json.MarshalEncode(e, t.Objects()[0])
}

func (r *Report) encode(w io.Writer) error {
	text, err := json.Marshal(r, json.Deterministic(true))
	if err == nil {
		_, err = w.Write(append(text, '\n'))
	}
	if err != nil {
		return fmt.Errorf("encoding a comparison: %w", err)
	}
	return nil
}

// data has a line for each comparison and metric.
func (r *Report) data() *document.Table {
	t := &document.Table{Columns: document.Columns(slices.Concat([]string{"cell", "baseline", "label", "sessions"}, propertyNames, []string{"level"})...)}
	for i := range r.Comparisons {
		c := &r.Comparisons[i]
		for _, f := range c.Figures {
			row := slices.Concat([]any{c.Cell, c.Base, c.Other, c.Sessions}, f.properties(), []any{r.Level})
			for k, x := range row {
				if v, ok := x.(float64); ok {
					row[k] = document.Plain(v) // without exponents
				}
			}
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}
