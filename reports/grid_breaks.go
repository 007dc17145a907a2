package reports

import (
	"fmt"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
)

// breakTexts are the reasons in words.
var breakTexts = [results.NumBreakReasons]string{
	results.BreakNone: "no break", results.BreakFirst: "nothing to compare with", results.BreakExcluded: "model not watched",
	results.BreakCompacted: "expected: compaction", results.BreakDeleted: "expected: deletion", results.BreakModel: "model changed",
	results.BreakState: "prompt changed", results.BreakExpiry5m: "possible expiry, 5 minutes", results.BreakExpiry1h: "possible expiry, an hour",
	results.BreakServer: "likely the server", results.BreakUnknown: "pause not known",
}

// breakGrids shows what the client's break detector says against what happened,
// a line for each reason it gave or should have given, then the changes it named
// and the calls of layers, of which nobody knows what they missed. Without a
// detector there is no table.
func breakGrids(run *results.Run) []grid {
	swept := sweptNames(run)
	g := grid{title: "what the break detector says against what happened", head: []field{{text: "STRATEGY"}}}
	for _, name := range append(slices.Clone(swept), "IT SAYS", "CALLS", "RIGHT", "PRECISION", "MISSED SO", "FOUND", "RECALL", "WHAT HAPPENED") {
		g.head = append(g.head, field{text: Printable(name)})
	}
	g.left = make([]bool, len(g.head))
	g.left[1+len(swept)], g.left[len(g.head)-1] = true, true
	for i := range run.Cells {
		c := &run.Cells[i]
		for _, line := range breakLines(&c.Total.Breaks) {
			row := []field{{text: Printable(label(c, swept))}}
			for _, name := range swept {
				row = append(row, field{text: Printable(c.Params[name])})
			}
			for _, text := range line {
				row = append(row, field{text: text})
			}
			g.rows = append(g.rows, row)
		}
	}
	if len(g.rows) == 0 {
		return nil
	}
	return []grid{g}
}

// breakLines are the lines of one cell.
func breakLines(b *results.Breaks) [][]string {
	if b.Watched() == 0 {
		return nil
	}
	var lines [][]string
	for r := range results.BreakReason(results.NumBreakReasons) {
		_, missed := b.Recall(r)
		if b.Said(r) == 0 && !missed {
			continue
		}
		lines = append(lines, reasonLine(b, r))
		if r == results.BreakState {
			lines = append(lines, fieldLines(b)...)
		}
	}
	for r, n := range b.Beside {
		if n > 0 && results.BreakReason(r).Broke() {
			lines = append(lines, []string{"calls of layers: " + breakTexts[r], countText(n), "", "", "", "", "", ""})
		}
	}
	return lines
}

func reasonLine(b *results.Breaks, r results.BreakReason) []string {
	line := []string{breakTexts[r], countText(b.Said(r)), countText(b.Right(r)), shareText(b.Precision(r)), "", "", "", missedText(&b.Calls[r])}
	if recall, ok := b.Recall(r); ok {
		line[4], line[5], line[6] = countText(b.True(r)), countText(b.Found(r)), shareText(recall, true)
	}
	return line
}

// fieldLines are the changes that breaks were put down to. One break can name
// several.
func fieldLines(b *results.Breaks) [][]string {
	var lines [][]string
	for f := results.BreakFieldSystem; int(f) < results.NumBreakFields; f++ {
		n, right := b.Named(f), b.NamedRight(f)
		if n == 0 {
			continue
		}
		lines = append(lines, []string{"· " + f.String(), countText(n), countText(right), shareText(float64(right)/float64(n), true), "", "", "",
			missedText(&b.Changed[f])})
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
		texts = append(texts, fmt.Sprintf("%s %s", countText(calls[m]), name))
	}
	return strings.Join(texts, ", ")
}

func countText(n int) string { return Grouped(float64(n), 0) }

// shareText writes a share, nothing for one that is not known.
func shareText(v float64, ok bool) string {
	if !ok {
		return ""
	}
	return percent(v)
}
