package compare

import (
	"bufio"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/compactsim/compactsim/internal/document"
	"github.com/compactsim/compactsim/sim/results"
)

// benchfmt writes the Go benchmark format: a line for each side, cell and
// session, with the metrics as units and the side as the configuration "label".
// benchstat -col label holds the sides against each other.
func (r *Report) benchfmt(w io.Writer, o WriteOptions) error {
	b := bufio.NewWriter(w)
	metrics := r.shownMetrics(o)
	for _, m := range metrics {
		writeUnit(b, m)
	}
	for _, label := range r.Labels {
		fmt.Fprintf(b, "\nlabel: %s\n", document.Printable(label))
		written := map[string]bool{} // the baseline stands in every comparison
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

// shownMetrics returns the metrics that some comparison shows.
func (r *Report) shownMetrics(o WriteOptions) []results.Metric {
	return slices.DeleteFunc(results.Metrics(), func(m results.Metric) bool {
		return !slices.ContainsFunc(r.Comparisons, func(c Comparison) bool {
			return slices.ContainsFunc(r.shown(&c, o), func(f Figure) bool { return f.Metric.Name == m.Name })
		})
	})
}

// writeUnit says which direction of a unit is better. It does not say that a unit
// is exact, though figures of a session are: sessions are the repetitions here, in
// which they differ, and benchstat makes no test of what it takes for exact.
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

// processors is what a name of a benchmark must not end with: it would be taken
// for the number of processors.
var processors = regexp.MustCompile(`-(\d+)$`)

// benchmark names a line the same on both sides. Lines of different sessions or
// cells have different names.
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

// benchmarkPart replaces what would end a part of a name, and what stands for it:
// different texts stay different. A slash, as in the names of strategies, becomes
// a colon and a blank a plus sign; others are percent-encoded.
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
