package charts

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
)

// Options select what a report shows beyond one line for each cell.
type Options struct {
	Split      bool // tables of cost and tokens by token class, cost by source, misses by class
	PerSession bool // CSV: a row for each cell and session instead of each cell
	// MaxCells is the largest number of cells in tables for people, 0 for all. Of
	// more they show the cheapest and the most expensive.
	MaxCells int
	Whole    bool // all columns, for readers who have room
}

// Run reports what the cells of a run cost: a line for each, footnotes and the
// trust line. CSV has a line for each cell, or for each cell and session, with
// all metrics in their units; JSON is the published summary, see
// results.Document.
func Run(run *results.Run, o Options) *document.Document {
	bySeed := run
	run = run.Replicated() // one cell, a mean, for the seeds of a setting
	shown, rest := selectCells(run, o.MaxCells)
	t := &tables{run: shown, whole: run, swept: sweptNames(shown), every: o.Whole, split: o.Split, notes: notesOf(shown, o.Split), used: map[string]bool{}}
	d := &document.Document{
		Head: headLines(run),
		Data: func() *document.Table { return runData(bySeed, o.PerSession) },
		JSON: func(w io.Writer) error { return writeRun(w, run) },
	}
	if rest != "" {
		d.Head = append(d.Head, rest)
	}
	list := append([]*document.Table{t.main()}, t.organisations()...)
	if o.Split {
		list = append(list, slices.Concat(t.splits(), t.groups(), t.layers(), t.breaks())...)
	}
	for _, x := range list {
		d.Sections = append(d.Sections, document.Section{Blocks: []document.Block{x}})
	}
	if len(run.Cells) < len(bySeed.Cells) {
		d.Notes = append(d.Notes, "± half the 95 % interval of the mean over the seeds; a row for each seed is in --format csv")
	}
	d.Notes = append(d.Notes, slices.Concat(t.unmarked(), ownNote(shown), t.optimum())...)
	if hasUsers(run) {
		return d // nothing was recorded that figures or advice could be held against
	}
	d.Notes = append(d.Notes, "", trustLine(run))
	if !o.Whole {
		d.Notes = append(d.Notes, "for what to set, run sim advise on the same PATH")
	}
	return d
}

// notesOf returns the notes of a run; those marked as detail only with detail.
func notesOf(run *results.Run, detail bool) []results.Note {
	return slices.DeleteFunc(run.Footnotes(), func(n results.Note) bool { return n.Detail && !detail })
}

// optimum says which of the swept cells is the cheapest; nothing without a sweep.
func (t *tables) optimum() []string {
	if len(t.swept) == 0 {
		return nil
	}
	best := cheapest(t.whole, measures.NameCost)
	if best == nil {
		return nil
	}
	usd := best.Total.CostUSD()
	return []string{fmt.Sprintf("cheapest: %s, %s", best.Cell, document.Amounts(usd)(usd))}
}

// cheapest returns the simulated cell with the lowest metric among those that did all the work, in all sessions; nil
// without one and for an interrupted run.
func cheapest(run *results.Run, metric string) (best *results.Cell) {
	m, _ := results.LookupMetric(metric)
	least := math.Inf(1)
	for i := range run.Cells {
		c := &run.Cells[i]
		if v, ok := c.Value(m); ok && run.Workload.Unfinished == 0 && v < least && !isReference(c) && !math.IsInf(run.RankUSD(c), 1) && !free(c) {
			best, least = c, v
		}
	}
	return best
}

// free reports whether no call of a cell has a price, as calls of models that the server of a sweep does not have.
func free(c *results.Cell) bool {
	n := c.Total.N(measures.Calls)
	return n > 0 && c.Total.N(measures.UnpricedCalls) == n
}

func writeRun(w io.Writer, run *results.Run) error {
	d, err := run.Document()
	if err != nil {
		return err
	}
	return results.WriteDocument(w, d)
}

// tables lays out the cells of a run.
type tables struct {
	run, whole *results.Run // what is shown, and what it is compared within
	swept      []string
	every      bool
	split      bool
	notes      []results.Note
	used       map[string]bool // texts of notes to which something on the page points
}

// noted returns the texts of the notes that want selects.
func (t *tables) noted(want func(results.Note) bool) []string {
	var texts []string
	for _, n := range t.notes {
		if want(n) {
			texts = append(texts, n.Text)
			t.used[n.Text] = true
		}
	}
	return texts
}

// unmarked returns the notes to which nothing on the page points.
func (t *tables) unmarked() []string {
	var texts []string
	for _, n := range t.notes {
		if !t.used[n.Text] {
			texts = append(texts, n.Text)
		}
	}
	return texts
}

// column is one column of figures: a metric, or something derived from the
// cell when metric is empty.
type column struct {
	title, metric string
	text          func(*results.Cell) string
	spare         int // as document.Column.Spare
}

// main lists the cells, with the notes on metrics that have no column of their own.
func (t *tables) main() *document.Table {
	columns := []column{
		t.cost(costTitle(t.whole), measures.NameCost),
		{title: "VS RECORDED", text: func(c *results.Cell) string {
			text, _ := vsRecorded(t.whole, c)
			return text
		}},
	}
	recall := t.metric("RECALL", measures.NameRecall)
	regret := ofWhole(t.metric("REGRET", measures.NameRegret))
	hit, recall := t.metric("HIT", measures.NameHitRatio).spared(-1), recall.spared(-1)  // never dropped for lack of room
	if slices.ContainsFunc(t.run.Cells, func(c results.Cell) bool { return free(&c) }) { // tokens say what dollars do not
		columns = append(columns, t.metric("READ", measures.NameReadTokens), column{title: "NOT READ", text: func(c *results.Cell) string {
			u := c.Total.Usage()
			return document.Tokens(u.Input() - u.Read)
		}})
	}
	doings := []column{t.metric("MISSES", measures.NameMisses).spared(3), t.metric("COMPACTIONS", measures.NameCompactions).spared(1)}
	if t.split {
		doings = append(doings, t.metric("CHAIN", measures.NameChainMax).spared(4), t.metric("PEAK", measures.NamePeakContext).spared(5))
	}
	doings = append(doings, t.metric("WAIT", measures.NameAddedLatency).spared(2))
	bound := anyValue(t.run, measures.NameBound)
	switch {
	case t.every: // the most important come first, as others may be out of sight
		columns = append(columns, recall, t.recallRange())
		if bound {
			columns = append(columns, regret)
		}
		columns = append(append(columns, hit), doings...)
	case bound:
		columns[1] = columns[1].spared(2) // REGRET says more
		columns = append(columns, regret, hit, recall, t.recallRange(), t.metric("RULES KEPT", measures.NameInstructionsKept).spared(1))
	default:
		columns = append(append(append(columns, hit), doings...), recall)
		if t.split {
			columns = append(columns, t.recallRange())
		}
	}
	columns = slices.DeleteFunc(columns, func(c column) bool {
		if c.title == "VS RECORDED" && t.whole.Reference(measures.StrategyRecorded) == nil {
			return true
		}
		m, _ := results.LookupMetric(c.metric)
		return (m.Group != "" || m.Level > 0) && !anyValue(t.run, m.Name)
	})
	return t.table("", columns, func(n results.Note) bool {
		return !slices.ContainsFunc(columns, func(c column) bool { return c.metric != "" && c.metric == n.Metric })
	})
}

// costTitle is the title of costs, which says so where agents fetch nothing again.
func costTitle(run *results.Run) string {
	open := false
	if hasUsers(run) {
		return "COST"
	}
	for i := range run.Cells {
		for _, r := range run.Cells[i].Rows.All() {
			if r.Loop == measures.LoopClosed {
				return "COST"
			}
			open = open || r.Loop == measures.LoopOpen
		}
	}
	if open {
		return "COST, OPEN LOOP"
	}
	return "COST"
}

// begin returns a table with the columns that name a cell: the strategy and the
// swept parameters, or the name of the cell if none are swept.
func (t *tables) begin(title string) *document.Table {
	x := &document.Table{Title: title, Columns: []document.Column{{Title: "STRATEGY"}}}
	for _, name := range t.swept {
		x.Columns = append(x.Columns, document.Column{Title: name, Right: true})
	}
	return x
}

// row returns a row that begins with the columns that name a cell.
func (t *tables) row(c *results.Cell) []any {
	name := c.Cell
	if len(t.swept) > 0 {
		name = c.Strategy
	}
	if slices.ContainsFunc(t.run.Notes, func(n results.Note) bool { return n.Cell == c.Cell && strings.HasPrefix(n.Text, measures.ChangedTo) }) {
		name += ", changed"
	}
	row := []any{name}
	for _, p := range t.swept {
		row = append(row, c.Params[p])
	}
	return row
}

// table lays out a row for each cell. Notes on a cell that onName selects are
// attached to its name.
func (t *tables) table(title string, columns []column, onName func(results.Note) bool) *document.Table {
	x := t.begin(title)
	for _, col := range columns {
		x.Columns = append(x.Columns,
			document.Column{Title: col.title, Right: true, Spare: col.spare, Notes: t.noted(func(n results.Note) bool {
				return n.Cell == "" && n.Metric != "" && n.Metric == col.metric
			})})
	}
	for i := range t.run.Cells {
		c := &t.run.Cells[i]
		row := t.row(c)
		if t.recordedOnce() && c.Strategy == measures.StrategyRecorded {
			if c != t.run.Reference(measures.StrategyRecorded) {
				continue
			}
			for j := range t.swept {
				row[1+j] = ""
			}
		}
		row[0] = document.Cell{Value: row[0], Notes: t.noted(func(n results.Note) bool {
			return onName != nil && n.Cell == c.Cell && onName(n)
		})}
		for _, col := range columns {
			row = append(row, document.Cell{Value: col.text(c), Notes: t.noted(func(n results.Note) bool {
				return n.Cell == c.Cell && n.Metric != "" && n.Metric == col.metric
			})})
		}
		x.Rows = append(x.Rows, row)
	}
	return x
}

// metric returns the column of a published metric; cells without a sample are empty.
func (t *tables) metric(title, name string) column {
	m, ok := results.LookupMetric(name)
	if !ok {
		return column{title: title, metric: name, text: func(*results.Cell) string { return "" }}
	}
	var values []float64
	for i := range t.run.Cells {
		if v, ok := t.run.Cells[i].Value(m); ok {
			values = append(values, v)
		}
	}
	format := document.Format(m.Unit, values)
	return column{title: title, metric: name, text: func(c *results.Cell) string {
		v, ok := c.Value(m)
		if !ok {
			return ""
		}
		b, _ := c.OverSeeds(m)
		if half := format((b.High - b.Low) / 2); half != format(0) {
			return format(v) + " ± " + strings.TrimSuffix(half, " %")
		}
		return format(v)
	}}
}

// recallRange returns the column of recall if summaries keep nothing and if
// they keep all that fits, empty where that makes no difference.
func (t *tables) recallRange() column {
	m, _ := results.LookupMetric(measures.NameRecall)
	return column{title: "LEAST … MOST", metric: m.Name, text: func(c *results.Cell) string {
		b, ok := c.Interval(m)
		format := document.Format(m.Unit, []float64{b.High})
		low, high := format(b.Low), format(b.High)
		if !ok || low == high {
			return ""
		}
		return strings.TrimSuffix(low, " %") + " … " + high
	}}.spared(6)
}

// spared sets when the column is dropped for lack of room.
func (c column) spared(order int) column {
	c.spare = order
	return c
}

// cost returns the column of a cost, or of the cost per answered call if
// sessions ended early: the total then covers less work than the total of other cells.
func (t *tables) cost(title, name string) column {
	col := t.metric(title, name)
	m, _ := results.LookupMetric(name)
	total := col.text
	col.text = func(c *results.Cell) string {
		if free(c) {
			return "–"
		}
		if v, ok := c.Value(m); ok && c.Total.CutShort() {
			return document.USD(v/float64(max(1, c.Total.OwnCalls())), 4) + "/call"
		}
		return total(c)
	}
	return col
}

// hasUsers reports whether sessions belong to users.
func hasUsers(run *results.Run) bool {
	return slices.ContainsFunc(run.Cells, func(c results.Cell) bool { return c.Rows.Len() > 0 && c.Rows.At(0).Organisation != "" })
}

// organisations shows every cell by organisation, nothing where sessions have no users.
func (t *tables) organisations() []*document.Table {
	if !hasUsers(t.run) {
		return nil
	}
	by, of := *t.run, []string(nil)
	by.Cells = nil
	for _, c := range t.run.Cells {
		rows := map[string]*results.Rows{}
		for _, r := range c.Rows.All() {
			if rows[r.Organisation] == nil {
				rows[r.Organisation] = &results.Rows{}
			}
			rows[r.Organisation].Keep(r)
		}
		for _, name := range slices.Sorted(maps.Keys(rows)) {
			part := results.Cell{Cell: c.Cell, Strategy: c.Strategy, Params: c.Params, Unmeasured: c.Unmeasured, Rows: *rows[name]}
			by.Cells, of = append(by.Cells, part), append(of, name)
		}
	}
	by.Sum()
	parts := &tables{run: &by, whole: &by, swept: t.swept, used: map[string]bool{}}
	columns := []column{parts.metric("REQUESTS", measures.NameCalls), parts.metric("COST", measures.NameCost), parts.metric("HIT", measures.NameHitRatio),
		parts.metric("GLOBAL WRITTEN", "global_written_tokens"), parts.metric("ORGANISATION'S", "organisation_written_tokens"),
		parts.metric("OWN", "own_written_tokens").spared(1)}
	x := parts.table("by organisation: requests, background ones included, and tokens written to the cache by who shares them", columns, nil)
	at := 1 + len(t.swept)
	x.Columns = slices.Insert(x.Columns, at, document.Column{Title: "ORGANISATION"}, document.Column{Title: "SESSIONS", Right: true})
	for i := range x.Rows {
		x.Rows[i] = slices.Insert(x.Rows[i], at, any(of[i]), any(by.Cells[i].Sessions))
	}
	return []*document.Table{x}
}

// runData is a run for spreadsheets: cell, strategy, a column param.NAME for
// each parameter, the session, the number of sessions and all metrics in their
// units. A missing sample is empty.
func runData(run *results.Run, perSession bool) *document.Table {
	type line struct {
		cell *results.Cell
		row  *results.Row
	}
	var columns []document.ColumnOf[line]
	column := func(name string, of func(line) any) {
		columns = append(columns, document.ColumnOf[line]{Column: document.Column{Name: name}, Of: of})
	}
	column("cell", func(x line) any { return x.cell.Cell })
	column("strategy", func(x line) any { return x.cell.Strategy })
	for _, p := range paramNames(run) {
		column("param."+p, func(x line) any { return x.cell.Params[p] })
	}
	if perSession {
		column("session", func(x line) any { return x.row.Session })
	}
	if perSession && hasUsers(run) {
		column("organisation", func(x line) any { return x.row.Organisation })
	}
	column("sessions", func(x line) any { return x.row.N(measures.Sessions) })
	for _, m := range results.Metrics() {
		column(m.Name, func(x line) any {
			if v, ok := x.cell.RowValue(x.row, m); ok {
				return v
			}
			return nil
		})
	}
	var lines []line
	for i := range run.Cells {
		c := &run.Cells[i]
		if perSession {
			for k := range c.Rows.Len() {
				lines = append(lines, line{c, c.Rows.At(k)})
			}
			continue
		}
		total := c.Total
		total.Figures[measures.Sessions] = float64(c.Sessions)
		lines = append(lines, line{c, &total})
	}
	return document.TableOf(columns, lines)
}

// paramNames returns the parameters of all cells, sorted.
func paramNames(run *results.Run) []string {
	set := map[string]bool{}
	for i := range run.Cells {
		for name := range run.Cells[i].Params {
			set[name] = true
		}
	}
	return slices.Sorted(maps.Keys(set))
}
