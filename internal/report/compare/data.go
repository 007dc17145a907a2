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
const Schema = 1

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

// comparedRuns is a report for machines.
type comparedRuns struct {
	Schema      int                  `json:"schema"`
	Level       float64              `json:"level"`
	Resamples   int                  `json:"resamples"`
	Seed        uint64               `json:"seed"`
	Baseline    string               `json:"baseline"`
	Runs        []runDocument        `json:"runs"`
	Comparisons []comparisonDocument `json:"comparisons"`
	Notes       []string             `json:"notes,omitempty"`
}

type runDocument struct {
	Label      string             `json:"label"`
	Provenance results.Provenance `json:"provenance"`
	ModelError results.ModelError `json:"model_error,omitzero"`
}

type comparisonDocument struct {
	Cell     string           `json:"cell,omitzero"`
	Base     string           `json:"baseline"`
	Other    string           `json:"label"`
	Sessions int              `json:"sessions"`
	Method   string           `json:"method"`
	Notes    []string         `json:"notes,omitempty"`
	Metrics  []figureDocument `json:"metrics"`
}

type figureDocument struct {
	Name             string            `json:"metric"`
	Unit             string            `json:"unit"`
	Better           string            `json:"better"`
	Exact            bool              `json:"exact"`
	Base             *float64          `json:"baseline,omitempty"`
	Other            *float64          `json:"value,omitempty"`
	Difference       *float64          `json:"difference,omitempty"`
	Relative         *float64          `json:"relative,omitempty"`
	Interval         *results.Interval `json:"interval,omitempty"`
	RelativeInterval *results.Interval `json:"relative_interval,omitempty"`
	P                *float64          `json:"p,omitempty"`
	Detectable       *float64          `json:"detectable,omitempty"`
	Lower            int               `json:"sessions_lower"`
	Ties             int               `json:"sessions_same"`
	Higher           int               `json:"sessions_higher"`
	Verdict          string            `json:"verdict"`
	Notes            []string          `json:"notes,omitempty"`
}

func (r *Report) json(w io.Writer, o WriteOptions) error {
	d := comparedRuns{Schema: Schema, Level: r.Level, Resamples: r.Resamples, Seed: r.Seed, Baseline: r.Labels[0],
		Notes: r.Notes}
	for _, in := range r.Inputs {
		d.Runs = append(d.Runs, runDocument{in.Label, in.Run.Provenance, in.Run.ModelError})
	}
	for i := range r.Comparisons {
		c := &r.Comparisons[i]
		x := comparisonDocument{c.Cell, c.Base, c.Other, c.Sessions, "bootstrap", c.Notes, []figureDocument{}}
		for _, f := range r.shown(c, o) {
			x.Metrics = append(x.Metrics, f.document(r.Level))
		}
		d.Comparisons = append(d.Comparisons, x)
	}
	if err := json.MarshalWrite(w, d, json.Deterministic(true)); err != nil {
		return fmt.Errorf("encoding a comparison: %w", err)
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func (f *Figure) document(level float64) figureDocument {
	d := figureDocument{
		Name: f.Metric.Name, Unit: f.Metric.Unit, Better: f.Metric.Better.String(), Exact: f.Exact,
		Base: pointer(f.Base), Other: pointer(f.Other), Lower: f.Lower, Ties: f.Ties, Higher: f.Higher,
		Verdict: f.Verdict.String(), Notes: f.Notes,
	}
	if f.Verdict == Missing {
		return d
	}
	d.Difference, d.Relative = pointer(f.Difference), pointer(f.Relative)
	d.Interval, d.RelativeInterval = published(f.Interval, level), published(f.RelativeInterval, level)
	if f.Verdict != Same {
		d.P, d.Detectable = pointer(estimated(f.P)), pointer(estimated(f.Detectable))
	}
	return d
}

// pointer returns v for a document, nil for a figure that there is not.
func pointer(v float64) *float64 {
	if !finite(v) {
		return nil
	}
	return &v
}

func published(i stats.Interval, level float64) *results.Interval {
	if !i.Known() {
		return nil
	}
	return &results.Interval{Low: estimated(i.Low), High: estimated(i.High), Level: level}
}

// data has a line for each comparison and metric. A missing value is empty.
func (r *Report) data(o WriteOptions) *document.Table {
	t := &document.Table{Columns: document.Columns(
		"cell", "baseline", "label", "sessions", "metric", "unit", "better", "exact", "baseline_value", "value",
		"difference",
		"relative", "low", "high", "relative_low", "relative_high", "level", "p", "detectable",
		"sessions_lower", "sessions_same", "sessions_higher", "verdict",
	)}
	for i := range r.Comparisons {
		c := &r.Comparisons[i]
		for _, f := range r.shown(c, o) {
			d := f.document(r.Level)
			low, high := ends(d.Interval)
			relativeLow, relativeHigh := ends(d.RelativeInterval)
			t.Rows = append(t.Rows, []any{
				c.Cell, c.Base, c.Other, c.Sessions, d.Name, d.Unit, d.Better, d.Exact,
				number(d.Base), number(d.Other), number(d.Difference), number(d.Relative), low, high, relativeLow,
				relativeHigh,
				number(&r.Level), number(d.P), number(d.Detectable), d.Lower, d.Ties, d.Higher, d.Verdict,
			})
		}
	}
	return t
}

func ends(i *results.Interval) (low, high any) {
	if i == nil {
		return nil, nil
	}
	return number(&i.Low), number(&i.High)
}

func number(v *float64) any {
	if v == nil {
		return nil
	}
	return document.Plain(*v)
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
