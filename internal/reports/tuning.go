package reports

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/internal/document"
	"github.com/compactsim/compactsim/internal/studies"
	"github.com/compactsim/compactsim/sim/results"
)

// maxTuned is the largest number of settings in a table for people.
const maxTuned = 12

// Tuning reports a search: the best setting, what choosing it gains on sessions
// that took no part, what ties with it, the front, and which parameters matter.
// CSV has a row for every setting that was left.
func Tuning(t *studies.Tuning) *document.Document {
	d := &document.Document{
		Title: "What to set", Head: append(headLines(t.Run), tuningWork(t)),
		Data: func() *document.Table { return tuningData(t) },
		JSON: func(w io.Writer) error { return document.Indented(publishedTuning(t))(w) },
		Notes: []string{
			"FRONT: no other setting is better in one of the figures sought and as good in the others. TIE: the 90 % interval of " +
				"its difference to the best one holds 0.", trustLine(t.Run),
		},
	}
	d.Sections = append(d.Sections, document.Section{Blocks: []document.Block{tuningBest(t)}},
		document.Section{Blocks: []document.Block{tuningTable(t)}})
	if len(t.Indices) > 0 {
		d.Sections = append(d.Sections, document.Section{Title: "which parameters matter", Blocks: []document.Block{indexTable(t)}})
	}
	return d
}

// tuningWork says how much was simulated.
func tuningWork(t *studies.Tuning) string {
	tried := document.Whole(t.Tried) + " of " + document.Count(t.Space, "setting") + " tried"
	if t.Tried > t.Space {
		tried = document.Count(t.Space, "setting") + " tried, and " + document.Whole(t.Tried-t.Space) + " between them"
	}
	text := fmt.Sprintf("%s, the work of %s over all sessions", tried, document.Count(int(math.Ceil(t.Work)), "run"))
	if t.Chosen > 0 {
		text += fmt.Sprintf("; dropped and refined on %s, judged on the other %d", document.Count(t.Chosen, "session"), t.Judged)
	}
	return text
}

// tuningBest says what won, how certain that is, and how to run it again.
func tuningBest(t *studies.Tuning) document.List {
	if len(t.Settings) == 0 {
		return document.List{{Text: "No setting was simulated over all sessions."}}
	}
	best := &t.Settings[0]
	list := document.List{{Label: "best", Text: best.Cell}}
	if !best.Keeps {
		list[0] = document.Item{Label: "none", Text: "No setting tried keeps " + limitsText(t.Limits) + "; the nearest is " + best.Cell + "."}
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
		list = append(list, document.Item{Label: "ties", Text: "Chance can make the difference to " + document.Few(ties) + "."})
	}
	return append(list, document.Item{Label: "again", Text: document.Quoted(t.Command...), Whole: true})
}

func limitsText(limits []studies.Limit) string {
	var list []string
	for _, l := range limits {
		sign := " ≤ "
		if l.Least {
			sign = " ≥ "
		}
		list = append(list, l.Metric.Name+sign+document.Plain(l.Value))
	}
	if len(list) == 0 {
		return "every session to its end"
	}
	return strings.Join(list, " and ")
}

func heldOutText(t *studies.Tuning) string {
	g, name := &t.HeldOut, t.Objectives[0].Name
	if math.IsInf(g.High, 0) || math.IsNaN(g.Share) {
		return "too few sessions to choose on some and judge on others"
	}
	shown := func(v float64) string {
		if t.Objectives[0].Better == results.Lower {
			v = -v
		}
		return document.SignedPercent(v)
	}
	low, high := shown(g.High), shown(g.Low)
	if t.Objectives[0].Better == results.Higher {
		low, high = high, low
	}
	return fmt.Sprintf("%s %s against recorded on sessions not used to choose (90 %%: %s … %s), better in %d of %d folds",
		name, shown(g.Share), low, high, g.Agree, g.Folds)
}

// tuningTable lists the settings that were left, best first, below the recorded strategy.
func tuningTable(t *studies.Tuning) *document.Table {
	shown := *t.Run
	shown.Cells = nil
	marks := map[string]string{}
	if base := t.Run.Reference(results.StrategyRecorded); base != nil {
		shown.Cells = append(shown.Cells, *base)
	}
	rest := 0
	for i := range t.Settings {
		s := &t.Settings[i]
		at := slices.IndexFunc(t.Run.Cells, func(c results.Cell) bool { return c.Cell == s.Cell })
		if len(shown.Cells) > maxTuned && !s.Front || at < 0 {
			rest++
			continue
		}
		shown.Cells = append(shown.Cells, t.Run.Cells[at])
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
	var marks []string
	for _, m := range []struct {
		is   bool
		text string
	}{{place == 0 && s.Keeps, "best"}, {s.Tie, "tie"}, {s.Front && place > 0, "front"}, {!s.Keeps, "fails"}} {
		if m.is {
			marks = append(marks, m.text)
		}
	}
	return strings.Join(marks, ", ")
}

// soughtMetrics returns the objectives, the metrics of the limits, and cost and recall.
func soughtMetrics(t *studies.Tuning) []results.Metric {
	list := slices.Clone(t.Objectives)
	for _, l := range t.Limits {
		list = append(list, l.Metric)
	}
	for _, name := range []string{"cost_usd", "needed_recall"} {
		if m, ok := results.LookupMetric(name); ok && anyValue(t.Run, name) {
			list = append(list, m)
		}
	}
	seen := map[string]bool{}
	return slices.DeleteFunc(list, func(m results.Metric) bool {
		defer func() { seen[m.Name] = true }()
		return seen[m.Name]
	})
}

// indexTable lists the share of each parameter in the variance.
func indexTable(t *studies.Tuning) *document.Table {
	x := &document.Table{
		Columns: slices.Concat(document.Left("STRATEGY", "PARAMETER"), document.Right("", "BY ITSELF", "90 %", "IN ALL", "90 %")),
		Notes: []string{"Share of the variance of " + t.Objectives[0].Name + " over the swept values (Sobol indices): what a parameter makes " +
			"by itself, and with all in which it takes part. One at 0 in all does not matter here."},
	}
	for _, v := range t.Indices {
		between := func(low, high float64) string { return document.Percent(low) + " … " + document.Percent(high) }
		x.Rows = append(x.Rows, []any{v.Strategy, v.Parameter, document.Percent(v.First), between(v.FirstLow, v.FirstHigh),
			document.Percent(v.Total), between(v.TotalLow, v.TotalHigh)})
	}
	if text := fewPairs(t); text != "" {
		x.Notes = append(x.Notes, text)
	}
	return x
}

// fewPairs says what the intervals of the indices leave open, "" for nothing.
func fewPairs(t *studies.Tuning) string {
	var open []string
	for i := range t.Indices {
		x := &t.Indices[i]
		if x.First > x.TotalHigh {
			open = append(open, x.Parameter+" makes more by itself than in all")
		}
		for j := range t.Indices[:i] {
			y := &t.Indices[j]
			if x.Strategy == y.Strategy && min(x.Total, y.Total) > 0 && x.TotalLow <= y.TotalHigh && y.TotalLow <= x.TotalHigh {
				open = append(open, "which of "+y.Parameter+" and "+x.Parameter+" matters more is open")
			}
		}
	}
	if len(open) == 0 {
		return ""
	}
	text := document.Count(t.Pairs, "pair") + " are too few: " + document.Few(open)
	if more := min(16*t.Pairs, studies.MostPairs); more > t.Pairs {
		text += fmt.Sprintf("; try --sensitivity %d", more)
	}
	return text + "."
}

// Sensitivity draws the share of each parameter in the variance of the first objective.
func Sensitivity(t *studies.Tuning) Drawing {
	return Drawing{Name: "sensitivity", chart: func() (*document.Chart, error) { return sensitivity(t), nil }}
}

func sensitivity(t *studies.Tuning) *document.Chart {
	p := document.Panel{Height: 30 * float64(len(t.Indices)), X: unitAxis(results.UnitRatio, 0, 1, 5)}
	p.X.Title, p.X.Grid, p.Y.Bare = "share of the variance of "+t.Objectives[0].Name, true, true
	series := []document.Series{
		{Name: "by itself", Mark: document.MarkBox, Style: document.Style{Color: document.Blue}},
		{Name: "with others", Mark: document.MarkBox, Style: document.Style{Color: document.Sky}},
		{Name: "90 % interval in all", Mark: document.MarkBox, Style: document.Style{Color: document.Black}},
	}
	for i, v := range t.Indices {
		y := p.Y.Place(i, len(t.Indices), document.Shortened(v.Parameter, maxNameRunes))
		first, total := min(max(v.First, 0), 1), min(max(v.Total, 0), 1)
		series[1].Box(0, y-0.3, max(first, total), y+0.3, "")
		series[0].Box(0, y-0.3, min(first, total), y+0.3, "")
		series[2].Box(min(max(v.TotalLow, 0), 1), y-0.03, min(max(v.TotalHigh, 0), 1), y+0.03, "")
	}
	p.Series = []document.Series{series[1], series[0], series[2]}
	c := runChart(t.Run, "Which parameters matter", errorLine(t.Run))
	c.Facts, c.Width, c.Panels = headLines(t.Run)[:1], barsWidth+30, []document.Panel{p}
	return c
}

// tuningData has a row for each setting that was left, with every metric sought.
func tuningData(t *studies.Tuning) *document.Table {
	names := []string{"cell", "set", "keeps", "tie", "front"}
	list := soughtMetrics(t)
	for _, m := range list {
		names = append(names, m.Name)
	}
	x := &document.Table{Columns: document.Columns(names...)}
	for i := range t.Settings {
		s := &t.Settings[i]
		row := []any{s.Cell, strings.Join(s.Set, " "), s.Keeps, s.Tie, s.Front}
		for _, m := range list {
			row = append(row, valueOf(t.Run, s.Cell, m))
		}
		x.Rows = append(x.Rows, row)
	}
	return x
}

// valueOf returns a metric of a cell, nil if it has no sample.
func valueOf(run *results.Run, cell string, m results.Metric) any {
	for i := range run.Cells {
		if run.Cells[i].Cell == cell {
			if v, ok := run.Cells[i].Value(m); ok {
				return v
			}
		}
	}
	return nil
}

// publishedTuning returns a search in its JSON form.
func publishedTuning(t *studies.Tuning) any {
	type setting struct {
		studies.Setting
		Metrics map[string]any `json:"metrics"`
	}
	list := []setting{}
	for _, s := range t.Settings {
		v := setting{s, map[string]any{}}
		for _, m := range soughtMetrics(t) {
			v.Metrics[m.Name] = valueOf(t.Run, s.Cell, m)
		}
		list = append(list, v)
	}
	var names []string
	for _, m := range t.Objectives {
		names = append(names, m.Name)
	}
	out := map[string]any{
		"objectives": names, "subject_to": limitsText(t.Limits), "space": t.Space, "tried": t.Tried, "work_runs": t.Work,
		"sessions_chosen_on": t.Chosen, "sessions_judged_on": t.Judged, "settings": list, "sensitivity": t.Indices,
	}
	if !math.IsInf(t.HeldOut.High, 0) && !math.IsNaN(t.HeldOut.Share) {
		out["held_out"] = t.HeldOut
	}
	return out
}
