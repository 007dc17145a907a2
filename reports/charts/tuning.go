package charts

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/internal/kit/stats"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/sim/results/studies"
)

// maxTuned is the largest number of settings in a table for people.
const maxTuned = 12

// Tuning reports a search: the best setting, what choosing it gains on sessions
// that took no part, and what ties with it. CSV has a row for every setting.
func Tuning(t *studies.Tuning) *document.Document {
	d := &document.Document{
		Title: "What to set", Head: append(headLines(t.Run), document.Whole(t.Tried)+" of "+document.Count(t.Space, "setting")+" tried"),
		Data:  func() *document.Table { return tuningData(t) },
		JSON:  func(w io.Writer) error { return document.Indented(publishedTuning(t))(w) },
		Notes: []string{"TIE: nothing shows that it differs from the best one on other sessions.", trustLine(t.Run)},
	}
	d.Sections = append(d.Sections, document.Section{Blocks: []document.Block{tuningBest(t)}},
		document.Section{Blocks: []document.Block{tuningTable(t)}})
	return d
}

// tuningBest says what won, how certain that is, and how to run it again.
func tuningBest(t *studies.Tuning) document.List {
	if len(t.Settings) == 0 {
		return document.List{{Text: "No setting was simulated over all sessions."}}
	}
	best := &t.Settings[0]
	list := document.List{{Label: "best", Text: best.Cell}}
	if best.Ends > 0 {
		list[0] = document.Item{Label: "none", Text: "Every setting tried ends sessions early; " + best.Cell + " the fewest."}
	}
	list = append(list, document.Item{Label: "unseen", Text: heldOutText(t)})
	if best.Edge != "" {
		list = append(list, document.Item{Label: "edge", Text: "It has " + best.Edge + " that was swept: sweep beyond it."})
	}
	var ties []string
	for i := range t.Settings {
		if t.Settings[i].Tie {
			ties = append(ties, t.Settings[i].Cell)
		}
	}
	if len(ties) > 0 {
		list = append(list, document.Item{Label: "ties", Text: "The difference from " + document.Few(ties) + " may be chance."})
	}
	return append(list, document.Item{Label: "again", Text: document.Quoted(t.Command...), Whole: true})
}

func heldOutText(t *studies.Tuning) string {
	g, name := &t.HeldOut, t.Objective.Name
	if math.IsNaN(g.Share) {
		return "too few sessions to choose on some and judge on others"
	}
	shown := func(v float64) string {
		if t.Objective.Better == measures.Lower {
			v = -v
		}
		return document.SignedPercent(v)
	}
	low, high := shown(g.High), shown(g.Low)
	if t.Objective.Better == measures.Higher {
		low, high = high, low
	}
	text := fmt.Sprintf("%s %s against recorded on sessions not used to choose (95 %%: %s … %s", name, shown(g.Share), low, high)
	if g.Units == "project" || g.Units == "person" {
		text += ", drawn by " + g.Units
	}
	text += ")"
	switch g.Verdict {
	case stats.TooFew:
		text += "; too few sessions differ to say anything of other sessions"
	case stats.Chance:
		text += "; that may be chance: only a gain of " + document.Percent(g.Detectable) + " would have shown"
	}
	return text
}

// tuningTable lists the settings, best first, below the recorded strategy.
func tuningTable(t *studies.Tuning) *document.Table {
	shown := *t.Run
	shown.Cells = nil
	marks := map[string]string{}
	if base := t.Run.Reference(measures.StrategyRecorded); base != nil {
		shown.Cells = append(shown.Cells, *base)
	}
	rest := 0
	for i := range t.Settings {
		s := &t.Settings[i]
		c := cellOf(t.Run, s.Cell)
		if len(shown.Cells) > maxTuned || c == nil {
			rest++
			continue
		}
		shown.Cells = append(shown.Cells, *c)
		marks[s.Cell] = markOf(s, i)
	}
	x := &tables{run: &shown, whole: t.Run, swept: sweptNames(t.Run), used: map[string]bool{}}
	columns := []column{{title: "MARK", text: func(c *results.Cell) string { return marks[c.Cell] }}}
	for _, m := range soughtMetrics(t) {
		columns = append(columns, x.metric(strings.ToUpper(m.Name), m.Name))
	}
	columns = append(columns, column{title: "VS RECORDED", spare: 1, text: func(c *results.Cell) string {
		text, _ := vsRecorded(t.Run, c)
		return text
	}})
	table := x.table("", columns, nil)
	if rest > 0 {
		table.Notes = append(table.Notes, document.Count(rest, "further setting")+" in --format csv")
	}
	return table
}

func markOf(s *studies.Setting, place int) string {
	switch {
	case s.Ends > 0:
		return "ends early"
	case place == 0:
		return "best"
	case s.Tie:
		return "tie"
	}
	return ""
}

// soughtMetrics returns the objective, and cost and recall.
func soughtMetrics(t *studies.Tuning) []results.Metric {
	list := []results.Metric{t.Objective}
	for _, name := range []string{measures.NameCost, measures.NameRecall} {
		if m, ok := results.LookupMetric(name); ok && name != t.Objective.Name && anyValue(t.Run, name) {
			list = append(list, m)
		}
	}
	return list
}

// tuningData has a row for each setting, with every metric sought.
func tuningData(t *studies.Tuning) *document.Table {
	names := []string{"cell", "set", "sessions_ended_early", "tie"}
	list := soughtMetrics(t)
	for _, m := range list {
		names = append(names, m.Name)
	}
	x := &document.Table{Columns: document.Columns(names...)}
	for i := range t.Settings {
		s := &t.Settings[i]
		row := []any{s.Cell, strings.Join(s.Set, " "), s.Ends, s.Tie}
		for _, m := range list {
			row = append(row, valueOf(t.Run, s.Cell, m))
		}
		x.Rows = append(x.Rows, row)
	}
	return x
}

// valueOf returns a metric of a cell, nil if it has no sample.
func valueOf(run *results.Run, cell string, m results.Metric) any {
	if c := cellOf(run, cell); c != nil {
		if v, ok := c.Value(m); ok {
			return v
		}
	}
	return nil
}

// publishedTuning returns a search in its JSON form.
func publishedTuning(t *studies.Tuning) any {
	out := map[string]any{"objective": t.Objective.Name, "space": t.Space, "tried": t.Tried, "settings": tuningData(t).Objects()}
	if g := &t.HeldOut; finite(g.Share) != nil {
		out["held_out"] = struct {
			Share      float64  `json:"share"`
			Low        *float64 `json:"low"`
			High       *float64 `json:"high"`
			Level      float64  `json:"level"`
			Detectable *float64 `json:"detectable"`
			Units      string   `json:"drawn_by,omitzero"`
		}{g.Share, finite(g.Low), finite(g.High), g.Level, finite(g.Detectable), g.Units}
	}
	return out
}

// finite returns a number as JSON has it: null for one that is unknown or without bounds, as few sessions leave it.
func finite(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}
