package charts

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/confusion"
	"github.com/compactsim/compactsim/sim/results/measures"
)

// splits shows the parts of the main figures. Parts that are zero in every cell
// and tables without parts are left out.
func (t *tables) splits() []*document.Table {
	tokens := []string{measures.NameUncachedTokens, measures.NameReadTokens, measures.NameWrite5mTokens,
		measures.NameWrite1hTokens, measures.NameWriteOtherTokens, measures.NameOutputTokens}
	var list []*document.Table
	for _, s := range []struct {
		title, total string
		parts        []string
	}{
		{"cost by token class", measures.NameCost, append(partsOf(measures.NameCost, measures.ByClass), measures.NameStorage, measures.NameSearch)},
		{"tokens by class", "", tokens},
		{"cost by source", measures.NameCost, append(partsOf(measures.NameCost, measures.BySource), measures.NameStorage, measures.NameSearch)},
		{"misses by class", measures.NameMisses, partsOf(measures.NameMisses, measures.ByClass)},
		{"added latency by part", measures.NameAddedLatency, partsOf(measures.NameAddedLatency, measures.ByPart)},
	} {
		columns := t.present(s.parts, s.total)
		if len(columns) == 0 {
			continue
		}
		if s.total != "" {
			columns = append(columns, t.metric("TOTAL", s.total))
		}
		list = append(list, t.table(s.title, columns, nil))
	}
	return list
}

// groups shows each group of metrics in its own table, without those that are
// zero in every cell.
func (t *tables) groups() []*document.Table {
	var list []*document.Table
	for _, group := range results.Groups() {
		var names []string
		for _, m := range results.Metrics() {
			if m.Group == group {
				names = append(names, m.Name)
			}
		}
		if columns := t.present(names, group); len(columns) > 0 {
			for i := range columns {
				columns[i].title = upper(columns[i].metric)
			}
			list = append(list, t.table(group, columns, nil))
		}
	}
	return list
}

// present returns the columns of the metrics that are not zero in every cell,
// with titles as parts of a total.
func (t *tables) present(names []string, total string) []column {
	var columns []column
	for _, name := range names {
		if anyValue(t.run, name) {
			columns = append(columns, t.metric(partTitle(name, total), name))
		}
	}
	return columns
}

// partsOf returns the names of the metrics that add up to one.
func partsOf(metric, by string) []string {
	var names []string
	for _, m := range results.Metrics() {
		if m.Of == metric && m.By == by {
			names = append(names, m.Name)
		}
	}
	return names
}

// partTitle shortens the name of a part to a column title: cost_usd_write_5m
// of cost_usd becomes WRITE 5M.
func partTitle(name, total string) string {
	name = strings.TrimPrefix(name, total+"_")
	for _, prefix := range []string{"input_", "cache_"} {
		name = strings.TrimPrefix(name, prefix)
	}
	for _, suffix := range []string{"_tokens", "_usd"} {
		name = strings.TrimSuffix(name, suffix)
	}
	if name == exchange.MissEviction.String() { // of a bill: a miss without a visible cause
		name = "unexplained"
	}
	return upper(name)
}

func upper(name string) string { return strings.ToUpper(strings.ReplaceAll(name, "_", " ")) }

// anyValue reports whether a metric is not zero in some cell.
func anyValue(run *results.Run, name string) bool {
	m, ok := results.LookupMetric(name)
	return ok && slices.ContainsFunc(run.Cells, func(c results.Cell) bool {
		v, ok := c.Value(m)
		return ok && v != 0
	})
}

// layers shows how often each layer acted, and why layers failed or refused,
// with a line for each layer and reason. A table without lines is left out.
func (t *tables) layers() []*document.Table {
	return slices.Concat(
		t.lines("firings by layer", []document.Column{{Title: "LAYER"}, {Title: "FIRINGS", Right: true}},
			func(r *results.Row) [][]any {
				return counted(r.Firings, func(name string) []any { return []any{name} })
			}),
		t.lines("why layers did not act",
			[]document.Column{{Title: "LAYER"}, {Title: "REASON"}, {Title: "TIMES", Right: true}},
			func(r *results.Row) [][]any {
				return counted(r.Reasons, func(name string) []any {
					layer, reason, _ := strings.Cut(name, ": ")
					return []any{layer, reason}
				})
			}))
}

// breaks compares what the client's break detector says with what happened: a
// line for each reason it gave or should have given, then the changes it named
// and the calls of layers, whose misses are unknown.
func (t *tables) breaks() []*document.Table {
	right := func(title string) document.Column { return document.Column{Title: title, Right: true} }
	columns := []document.Column{
		{Title: "IT SAYS"}, right("CALLS"), right("RIGHT"), right("PRECISION"), right("MISSED SO"), right("FOUND"),
		right("RECALL"),
		{Title: "WHAT HAPPENED"},
	}
	return t.lines(breaksTitle, columns,
		func(r *results.Row) [][]any { return breakLines(r.Breaks.Matrix()) })
}

const breaksTitle = "what the break detector says against what happened"

// lines lays out the lines of each cell; no table when there are none.
func (t *tables) lines(title string, columns []document.Column, of func(*results.Row) [][]any) []*document.Table {
	x := t.begin(title)
	x.Columns = append(x.Columns, columns...)
	for i := range t.run.Cells {
		c := &t.run.Cells[i]
		for _, line := range of(&c.Total) {
			x.Rows = append(x.Rows, append(t.row(c), line...))
		}
	}
	if len(x.Rows) == 0 {
		return nil
	}
	return []*document.Table{x}
}

// counted returns a line for each name, its words and its count.
func counted(counts map[string]int, words func(string) []any) [][]any {
	var lines [][]any
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		lines = append(lines, append(words(name), counts[name]))
	}
	return lines
}

// breakTexts are the reasons in words.
var breakTexts = [confusion.NumReasons]string{
	confusion.None: "no break", confusion.First: "nothing to compare with", confusion.Excluded: "model not watched",
	confusion.Compacted: "expected: compaction", confusion.Deleted: "expected: deletion",
	confusion.Model: "model changed",
	confusion.State: "prompt changed", confusion.Expiry5m: "possible expiry, 5 minutes",
	confusion.Expiry1h: "possible expiry, an hour",
	confusion.Server:   "likely the server", confusion.Unknown: "pause not known",
}

// breakLines are the lines of one cell.
func breakLines(b *confusion.Matrix) [][]any {
	if b.Watched() == 0 {
		return nil
	}
	var lines [][]any
	for r := range confusion.Reason(confusion.NumReasons) {
		recall, missed := b.Recall(r)
		if b.Said(r) == 0 && !missed {
			continue
		}
		line := []any{breakTexts[r], b.Said(r), b.Right(r), share(b.Precision(r)), nil, nil, nil,
			missedText(b.Calls(r))}
		if missed {
			line[4], line[5], line[6] = b.True(r), b.Found(r), document.Percent(recall)
		}
		lines = append(lines, line)
		if r == confusion.State {
			lines = append(lines, fieldLines(b)...)
		}
	}
	for r := confusion.Model; int(r) < confusion.NumReasons; r++ {
		if n := int(b[confusion.Beside+int(r)]); n > 0 {
			lines = append(lines, []any{"calls of layers: " + breakTexts[r], n, nil, nil, nil, nil, nil, nil})
		}
	}
	return lines
}

// fieldLines returns the changes that the detector named as causes. One break
// can name several.
func fieldLines(b *confusion.Matrix) [][]any {
	var lines [][]any
	for f := confusion.FieldSystem; int(f) < confusion.NumFields; f++ {
		n, right := b.Named(f), b.NamedRight(f)
		if n > 0 {
			lines = append(lines, []any{
				"· " + f.String(), n, right, document.Share(float64(right), float64(n)), nil, nil, nil,
				missedText(b.Changed(f)),
			})
		}
	}
	return lines
}

// missedText lists what calls missed, the most frequent first.
func missedText(calls *confusion.Missed) string {
	var classes []exchange.MissClass
	for m := range exchange.MissClass(exchange.NumMissClasses) {
		if calls[m] > 0 {
			classes = append(classes, m)
		}
	}
	slices.SortStableFunc(classes, func(a, b exchange.MissClass) int { return cmp.Compare(calls[b], calls[a]) })
	var texts []string
	for _, m := range classes {
		name := strings.ReplaceAll(m.String(), "_", " ")
		if m == exchange.MissNone {
			name = "hit"
		}
		texts = append(texts, document.Whole(int(calls[m]))+" "+name)
	}
	return strings.Join(texts, ", ")
}

// share formats a share, nothing for an unknown one.
func share(v float64, ok bool) any {
	if !ok {
		return nil
	}
	return document.Percent(v)
}

// recordedOnce reports whether no swept parameter changes what the recording did: then one row tells it.
func (t *tables) recordedOnce() bool {
	ref := t.run.Reference(measures.StrategyRecorded)
	return len(t.swept) > 0 && !slices.ContainsFunc(t.run.Cells, func(c results.Cell) bool {
		return c.Strategy == measures.StrategyRecorded && !slices.Equal(c.Total.Figures[:], ref.Total.Figures[:])
	})
}

// ofWhole empties a column for cells that did less work than others.
func ofWhole(col column) column {
	text := col.text
	col.text = func(c *results.Cell) string {
		if c.Total.CutShort() {
			return ""
		}
		return text(c)
	}
	return col
}
