package compare

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/internal/kit/stats"
	"github.com/compactsim/compactsim/sim/results"
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

func (r *Report) json(w io.Writer, o WriteOptions) error {
	type run struct {
		Label      string             `json:"label"`
		Provenance results.Provenance `json:"provenance"`
		ModelError results.ModelError `json:"model_error,omitzero"`
	}
	type comparison struct {
		Cell     string   `json:"cell,omitzero"`
		Base     string   `json:"baseline"`
		Other    string   `json:"label"`
		Sessions int      `json:"sessions"`
		Notes    []string `json:"notes,omitempty"`
		Metrics  []any    `json:"metrics"`
	}
	d := struct {
		Schema      int          `json:"schema"`
		Level       float64      `json:"level"`
		Resamples   int          `json:"resamples"`
		Seed        uint64       `json:"seed"`
		Baseline    string       `json:"baseline"`
		Runs        []run        `json:"runs"`
		Comparisons []comparison `json:"comparisons"`
		Notes       []string     `json:"notes,omitempty"`
	}{Schema: Schema, Level: r.Level, Resamples: r.Resamples, Seed: r.Seed, Baseline: r.Labels[0], Notes: r.Notes}
	for _, in := range r.Inputs {
		d.Runs = append(d.Runs, run{in.Label, in.Run.Provenance, in.Run.ModelError})
	}
	for i := range r.Comparisons {
		c := &r.Comparisons[i]
		t := &document.Table{Columns: document.Columns(propertyNames...)}
		for _, f := range r.shown(c, o) {
			t.Rows = append(t.Rows, f.properties())
		}
		d.Comparisons = append(d.Comparisons, comparison{c.Cell, c.Base, c.Other, c.Sessions, c.Notes, t.Objects()})
	}
	if err := json.MarshalWrite(w, d, json.Deterministic(true)); err != nil {
		return fmt.Errorf("encoding a comparison: %w", err)
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// data has a line for each comparison and metric.
func (r *Report) data(o WriteOptions) *document.Table {
	t := &document.Table{Columns: document.Columns(slices.Concat([]string{"cell", "baseline", "label", "sessions"}, propertyNames, []string{"level"})...)}
	for i := range r.Comparisons {
		c := &r.Comparisons[i]
		for _, f := range r.shown(c, o) {
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

// benchfmt writes the Go benchmark format: a line for each side, cell and
// session, with the metrics as units and the side as the configuration "label".
// benchstat -col label compares the sides.
func (r *Report) benchfmt(w io.Writer, o WriteOptions) error {
	b := bufio.NewWriter(w)
	metrics := r.shownMetrics(o)
	for _, m := range metrics {
		writeUnit(b, m)
	}
	for _, label := range r.Labels {
		fmt.Fprintf(b, "\nlabel: %s\n", document.Printable(label))
		written := map[string]bool{} // the baseline is in every comparison
		for i := range r.Comparisons {
			c := &r.Comparisons[i]
			for s, x := range c.pairs.sides {
				if x.label == label {
					c.benchmarks(b, s, metrics, written)
				}
			}
		}
	}
	if err := b.Flush(); err != nil {
		return fmt.Errorf("writing benchmarks: %w", err)
	}
	return nil
}

// shownMetrics returns the metrics that any comparison shows.
func (r *Report) shownMetrics(o WriteOptions) []results.Metric {
	return slices.DeleteFunc(results.Metrics(), func(m results.Metric) bool {
		return !slices.ContainsFunc(r.Comparisons, func(c Comparison) bool {
			return slices.ContainsFunc(r.shown(&c, o), func(f Figure) bool { return f.Metric.Name == m.Name })
		})
	})
}

// writeUnit says which direction of a unit is better. It does not declare a
// unit exact, though the figures of a session are: sessions are the repetitions
// here and differ, and benchstat does not test exact units.
func writeUnit(b *bufio.Writer, m results.Metric) {
	if m.Better != results.Neither {
		fmt.Fprintf(b, "Unit %s better=%s\n", m.Name, m.Better)
	}
}

// benchmarks writes the lines of one side.
func (c *Comparison) benchmarks(b *bufio.Writer, s int, metrics []results.Metric, written map[string]bool) {
	for k, cell := range c.pairs.sides[s].cells {
		for i, session := range c.pairs.sessions {
			name := c.benchmark(session, cell, s)
			if written[name] {
				continue
			}
			written[name] = true
			fmt.Fprintf(b, "%s 1", name)
			for _, m := range metrics {
				if v, ok := cell.RowValue(c.pairs.rows[s][k][i], m); ok {
					fmt.Fprintf(b, " %s %s", strconv.FormatFloat(v, 'f', -1, 64), m.Name)
				}
			}
			fmt.Fprintln(b)
		}
	}
}

// processors matches an end of a benchmark name that would be read as the
// number of processors.
var processors = regexp.MustCompile(`-(\d+)$`)

// benchmark gives a line the same name on both sides. Lines of different
// sessions or cells have different names.
func (c *Comparison) benchmark(session string, cell *results.Cell, s int) string {
	name := "BenchmarkSession/session=" + benchmarkPart(session)
	if c.Cell != "" {
		name += "/cell=" + benchmarkPart(c.Cell)
	}
	cells := c.pairs.sides[s].cells
	params := varying(cells)
	for _, param := range params {
		name += "/" + benchmarkPart(param) + "=" + benchmarkPart(cell.Params[param])
	}
	if slices.ContainsFunc(cells, func(x *results.Cell) bool { return x != cell && alike(x, cell, params) }) {
		name += "/variant=" + benchmarkPart(cell.Cell)
	}
	return processors.ReplaceAllString(name, "%2D$1")
}

// alike reports whether two cells have the same values of parameters.
func alike(a, b *results.Cell, params []string) bool {
	return !slices.ContainsFunc(params, func(name string) bool { return a.Params[name] != b.Params[name] })
}

// benchmarkPart replaces characters that would end a part of a name, and the replacements
// themselves, so that different texts stay different. A slash, as in names of strategies,
// becomes a colon and a blank a plus sign; others are percent-encoded.
func benchmarkPart(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '/':
			b.WriteByte(':')
		case r == ' ':
			b.WriteByte('+')
		case strings.ContainsRune(":+%", r), unicode.IsSpace(r), !unicode.IsPrint(r):
			for _, octet := range []byte(string(r)) {
				fmt.Fprintf(&b, "%%%02X", octet)
			}
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
