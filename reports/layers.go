package reports

import (
	"maps"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/internal/document"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
)

// layers shows how often each layer acted, and why layers failed or refused to, a
// line for each layer and reason. A table without lines is left out.
func (t *tables) layers() []*document.Table {
	return slices.Concat(
		t.lines("firings by layer", []document.Column{{Title: "LAYER"}, {Title: "FIRINGS", Right: true}}, func(r *results.Row) [][]any {
			return counted(r.Firings, func(name string) []any { return []any{name} })
		}),
		t.lines("why layers did not act", []document.Column{{Title: "LAYER"}, {Title: "REASON"}, {Title: "TIMES", Right: true}},
			func(r *results.Row) [][]any {
				return counted(r.Reasons, func(name string) []any {
					layer, reason, _ := strings.Cut(name, ": ")
					return []any{layer, reason}
				})
			}))
}

// breaks shows what the client's break detector says against what happened, a line
// for each reason it gave or should have given, then the changes it named and the
// calls of layers, of which nobody knows what they missed.
func (t *tables) breaks() []*document.Table {
	right := func(title string) document.Column { return document.Column{Title: title, Right: true} }
	columns := []document.Column{
		{Title: "IT SAYS"}, right("CALLS"), right("RIGHT"), right("PRECISION"), right("MISSED SO"), right("FOUND"), right("RECALL"),
		{Title: "WHAT HAPPENED"},
	}
	return t.lines("what the break detector says against what happened", columns,
		func(r *results.Row) [][]any { return breakLines(&r.Breaks) })
}

// lines lays out the lines of each cell, no table when there are none.
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
var breakTexts = [results.NumBreakReasons]string{
	results.BreakNone: "no break", results.BreakFirst: "nothing to compare with", results.BreakExcluded: "model not watched",
	results.BreakCompacted: "expected: compaction", results.BreakDeleted: "expected: deletion", results.BreakModel: "model changed",
	results.BreakState: "prompt changed", results.BreakExpiry5m: "possible expiry, 5 minutes",
	results.BreakExpiry1h: "possible expiry, an hour",
	results.BreakServer:   "likely the server", results.BreakUnknown: "pause not known",
}

// breakLines are the lines of one cell.
func breakLines(b *results.Breaks) [][]any {
	if b.Watched() == 0 {
		return nil
	}
	var lines [][]any
	for r := range results.BreakReason(results.NumBreakReasons) {
		recall, missed := b.Recall(r)
		if b.Said(r) == 0 && !missed {
			continue
		}
		line := []any{breakTexts[r], b.Said(r), b.Right(r), share(b.Precision(r)), nil, nil, nil, missedText(&b.Calls[r])}
		if missed {
			line[4], line[5], line[6] = b.True(r), b.Found(r), document.Percent(recall)
		}
		lines = append(lines, line)
		if r == results.BreakState {
			lines = append(lines, fieldLines(b)...)
		}
	}
	for r, n := range b.Beside {
		if n > 0 && results.BreakReason(r).Broke() {
			lines = append(lines, []any{"calls of layers: " + breakTexts[r], n, nil, nil, nil, nil, nil, nil})
		}
	}
	return lines
}

// fieldLines are the changes that breaks were put down to. One break can name
// several.
func fieldLines(b *results.Breaks) [][]any {
	var lines [][]any
	for f := results.BreakFieldSystem; int(f) < results.NumBreakFields; f++ {
		n, right := b.Named(f), b.NamedRight(f)
		if n > 0 {
			lines = append(lines, []any{
				"· " + f.String(), n, right, document.Share(float64(right), float64(n)), nil, nil, nil, missedText(&b.Changed[f]),
			})
		}
	}
	return lines
}

// missedText lists what calls missed, the most frequent first.
func missedText(calls *[prompt.NumMissClasses]int) string {
	var classes []prompt.MissClass
	for m := range prompt.MissClass(prompt.NumMissClasses) {
		if calls[m] > 0 {
			classes = append(classes, m)
		}
	}
	slices.SortStableFunc(classes, func(a, b prompt.MissClass) int { return calls[b] - calls[a] })
	var texts []string
	for _, m := range classes {
		name := strings.ReplaceAll(m.String(), "_", " ")
		if m == prompt.MissNone {
			name = "hit"
		}
		texts = append(texts, document.Whole(calls[m])+" "+name)
	}
	return strings.Join(texts, ", ")
}

// share writes a share, nothing for one that is not known.
func share(v float64, ok bool) any {
	if !ok {
		return nil
	}
	return document.Percent(v)
}
