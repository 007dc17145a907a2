package results

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/internal/kit/numbers"
	"github.com/compactsim/compactsim/sim/results/measures"
	"gonum.org/v1/gonum/stat"
)

// Run is what one invocation computed: where the figures come from, what was
// replayed, and a cell for every strategy and setting.
type Run struct {
	Provenance Provenance
	Workload   Workload
	// ModelError is set by Sum when both reference cells are present.
	ModelError ModelError
	// Notes are footnotes of the caller. Footnotes returns them together with
	// the warnings that follow from the figures.
	Notes []Note
	// Cells are in the order of presentation. Names are unique.
	Cells []Cell
	// Front is nil where it was not sought: see sim run --bound.
	Front *Front
}

// Provenance says what the figures depend on. Host and wall time do not belong to it: the same
// provenance gives the same bytes.
type Provenance struct {
	Version        string            `json:"version"`                 // of the tool
	Seed           uint64            `json:"seed"`                    // of all draws
	SessionsDigest string            `json:"sessions_digest"`         // of the replayed sessions or their files
	Prices         string            `json:"prices"`                  // date of the price table, ISO 8601, or the name of a file
	PricesDigest   string            `json:"prices_digest,omitzero"`  // SHA-256 of that file, hexadecimal; empty without one
	Profile        string            `json:"profile,omitzero"`        // name of the profile of recordings; empty without one
	ProfileDigest  string            `json:"profile_digest,omitzero"` // SHA-256 of the profile, what was learned from the sessions included
	Switches       map[string]string `json:"switches,omitempty"`      // flags that change figures
	Axes           map[string]string `json:"axes,omitempty"`          // what charts call swept parameters, by name: threshold (tokens)
}

// Workload describes the replayed sessions for the head of a report.
type Workload struct {
	Sessions int      `json:"sessions"`
	Calls    int      `json:"calls"`
	Models   []string `json:"models,omitempty"`   // most used first
	First    string   `json:"first,omitzero"`     // date of the first call, ISO 8601; empty when unknown
	Last     string   `json:"last,omitzero"`      // date of the last call
	PricesAt string   `json:"prices_at,omitzero"` // how prices were dated, for instance "call date"
	Quality  []Share  `json:"quality,omitempty"`
	// Remarks are sentences that belong above the figures: what the sessions
	// are, what every strategy keeps of the recording.
	Remarks    []string `json:"remarks,omitempty"`
	Unfinished int      `json:"unfinished,omitzero"` // simulations of a session that an interrupted run lacks
}

// Share is a measure of data quality: the share Value in [0, 1] of Of is What,
// for instance 0.08 of tokens is unseen.
type Share struct {
	Of    string  `json:"of"`
	What  string  `json:"what"`
	Value float64 `json:"share"`
}

// Cell is one strategy with its parameters over all sessions of the run.
type Cell struct {
	Cell     string // unique in the run
	Strategy string
	Params   map[string]string
	Sessions int
	Total    Row  // of all sessions; set by Sum from Rows, or given without rows
	Rows     Rows // one per session
	// Unmeasured names the metrics, and groups of metrics, that this cell has
	// no figures for, such as added latency of a bill. Their parts are
	// unmeasured with them.
	Unmeasured []string

	seeds []*Cell // of a replicated cell, see Run.Replicated
}

// Value returns the total of a metric over the sessions of c, false when there
// is no sample: of a replicated cell the mean over the seeds.
func (c *Cell) Value(m Metric) (float64, bool) {
	if c.seeds == nil {
		return c.RowValue(&c.Total, m)
	}
	values := c.bySeed(m)
	if len(values) == 0 {
		return 0, false
	}
	if _, spread := c.OverSeeds(m); !spread {
		return values[0], true // sums of equal numbers need not divide back to them
	}
	return stat.Mean(values, nil), true
}

// RowValue returns a metric of one row of c, false when there is no sample.
func (c *Cell) RowValue(r *Row, m Metric) (float64, bool) {
	if !c.Measures(m) {
		return 0, false
	}
	return m.Value(r)
}

// Measures reports whether c has figures of m.
func (c *Cell) Measures(m Metric) bool {
	return !slices.ContainsFunc(c.Unmeasured, func(name string) bool {
		return name != "" && (name == m.Name || name == m.Of || name == m.Group)
	})
}

// Note is a warning or an explanation, rendered as a footnote.
type Note struct {
	Cell   string `json:"cell,omitzero"`   // empty: all cells
	Metric string `json:"metric,omitzero"` // empty: the whole cell
	Text   string `json:"text"`
	// Detail limits the note to reports that go into detail.
	Detail bool `json:"detail,omitzero"`
}

// Sum sorts the rows of every cell by session, adds them up into its total and sets the model error
// where none is known by session. Sorting makes sums of floating-point numbers independent of the
// order in which sessions finished.
func (r *Run) Sum() {
	for i := range r.Cells {
		r.Cells[i].sum()
	}
	billed, recorded := r.Reference(measures.StrategyBilled), r.Reference(measures.StrategyRecorded)
	if billed != nil && recorded != nil && r.ModelError.Sessions == 0 {
		r.ModelError = ErrorOf(billed, recorded, 0)
	}
}

// sum sorts the rows of c and adds them up.
func (c *Cell) sum() {
	if c.Rows.Len() == 0 {
		return
	}
	c.Rows.Sort()
	c.Total = Row{Strategy: c.Strategy}
	for _, r := range c.Rows.All() {
		c.Total.Add(r)
	}
	c.Sessions = c.Total.N(measures.Sessions)
}

// Reference returns the first cell of a strategy, nil when there is none.
func (r *Run) Reference(strategy string) *Cell {
	i := slices.IndexFunc(r.Cells, func(c Cell) bool { return c.Strategy == strategy })
	if i < 0 {
		return nil
	}
	return &r.Cells[i]
}

// recordedFor returns the recorded cell to compare c with: the one whose parameters all equal c's,
// so that both were under one server and one set of prices, or else the first.
func (r *Run) recordedFor(c *Cell) *Cell {
	for i := range r.Cells {
		ref := &r.Cells[i]
		if ref.Strategy == measures.StrategyRecorded && ref.within(c) {
			return ref
		}
	}
	return r.Reference(measures.StrategyRecorded)
}

// within reports whether d has all parameters of c.
func (c *Cell) within(d *Cell) bool {
	for k, v := range c.Params {
		if w, ok := d.Params[k]; !ok || v != w {
			return false
		}
	}
	return true
}

// VsRecorded returns how the cost of c differs from the cost of the recorded cell under the same
// surroundings, over the sessions of c. It is false for the reference
// cells themselves, without a recorded cost, and when the recorded cell lacks a session
// of c or one of the two was cut short.
func (r *Run) VsRecorded(c *Cell) (Difference, bool) {
	ref := r.recordedFor(c)
	if ref == nil || c.Cell == ref.Cell || c.Strategy == measures.StrategyBilled {
		return Difference{}, false
	}
	return r.ModelError.Difference(c, ref)
}

// Covers reports whether c and d cover the same sessions, as far as their rows show; Sum
// has sorted them.
func (c *Cell) Covers(d *Cell) bool {
	if c.Sessions != d.Sessions || c.Rows.Len() == 0 || d.Rows.Len() == 0 {
		return c.Sessions == d.Sessions
	}
	as := &d.Rows
	return slices.EqualFunc(c.Rows.list, as.list, func(a, b packed) bool { return a.session == b.session })
}

// Over returns c on the sessions of d, false where c lacks such a session.
func (c *Cell) Over(d *Cell) (*Cell, bool) {
	if c.Covers(d) {
		return c, true
	}
	if c.Rows.Len() < d.Rows.Len() || d.Rows.Len() == 0 {
		return nil, false
	}
	drop := map[string]bool{}
	for i := range c.Rows.Len() {
		drop[c.Rows.Session(i)] = true
	}
	for i := range d.Rows.Len() {
		delete(drop, d.Rows.Session(i))
	}
	some := c.without(drop)
	return some, some.Covers(d)
}

// without returns c without some of its sessions.
func (c *Cell) without(drop map[string]bool) *Cell {
	some := *c
	some.Rows = c.Rows.without(func(session string) bool { return drop[session] })
	some.sum()
	return &some
}

// RankUSD returns the cost that ranks c among the cells of r, USD: infinite when it covers fewer sessions than the
// recorded cell or was cut short.
func (r *Run) RankUSD(c *Cell) float64 {
	if ref := r.Reference(measures.StrategyRecorded); ref != nil && c.Sessions < ref.Sessions {
		return math.Inf(1)
	}
	return c.Total.RankUSD()
}

// Footnotes returns the warnings that follow from the figures, in the order of
// the cells, and then the notes of the caller.
func (r *Run) Footnotes() []Note {
	var notes []Note
	ref := r.Reference(measures.StrategyRecorded)
	for i := range r.Cells {
		c := &r.Cells[i]
		notes = append(notes, c.warnings()...)
		if ref != nil && c.Strategy != measures.StrategyBilled && !c.Covers(ref) {
			how := "not the same, not compared"
			if _, ok := ref.Over(c); ok {
				how = "compared over these"
			}
			notes = append(notes, Note{Cell: c.Cell, Metric: measures.NameCost, Text: fmt.Sprintf(
				"covers %s, recorded covers %s: %s", document.Count(c.Sessions, "session"), document.Whole(ref.Sessions), how)})
		}
	}
	if note, ok := r.unpriced(); ok {
		notes = append(notes, note)
	}
	return append(notes, r.Notes...)
}

// unpriced is the note on calls without a price: of all cells, or of the only one
// that has some. Cells differ in the calls that they add to the recorded ones.
func (r *Run) unpriced() (Note, bool) {
	n := Note{Metric: measures.NameCost}
	least, most, have := math.MaxInt, 0, 0
	var whole []string
	for i := range r.Cells {
		if calls := r.Cells[i].Total.N(measures.UnpricedCalls); calls > 0 {
			least, most, have = min(least, calls), max(most, calls), have+1
			n.Cell = r.Cells[i].Cell
		} else {
			whole = append(whole, r.Cells[i].Cell)
		}
	}
	if have > 1 {
		n.Cell = ""
	}
	n.Text = "the cost leaves out " + document.Count(least, "call") + " of models without a price"
	if least < most {
		n.Text += fmt.Sprintf(", and up to %s more that a strategy adds", document.Whole(most-least))
	}
	n.Text += "; --price-as bills them as another model"
	if have > 1 && len(whole) == 1 {
		n.Text += "; " + whole[0] + " has them all, so its cost is not to be compared with the cost of other rows"
	}
	return n, have > 0
}

func (c *Cell) warnings() []Note {
	var notes []Note
	warn := func(n int, metric, text string) {
		if n > 0 {
			notes = append(notes, Note{Cell: c.Cell, Metric: metric, Text: text})
		}
	}
	t := &c.Total
	if answered := t.N(measures.AnsweredOverWindow); answered > 0 {
		warn(t.N(measures.OverWindow), measures.NameOverflows, fmt.Sprintf("%s the window: their %s beyond it count as answered",
			sessionsPass(t.N(measures.OverWindow)), document.Count(answered, "call")))
	} else if !t.CutShort() {
		warn(t.N(measures.OverWindow), measures.NameOverflows, sessionsPass(t.N(measures.OverWindow))+" the window")
	}
	warn(t.N(measures.FailedCompactions), measures.NameCompactions, document.Count(t.N(measures.FailedCompactions), "compaction")+" failed")
	ends := sessionsEnd(t.N(measures.EndedSessions)) + " early"
	if t.N(measures.EndedSessions) == t.N(measures.Sessions) {
		ends += fmt.Sprintf(", behind requests of up to %s tokens", numbers.Grouped(t.Figures[measures.PeakContext], 0))
	}
	warn(t.N(measures.UnsimulatedCalls), measures.NameCost, fmt.Sprintf("%s, %s not simulated: cost of an answered call, not compared",
		ends, document.Count(t.N(measures.UnsimulatedCalls), "recorded call")))
	if derived := t.DerivedUSD(); c.Strategy == measures.StrategyBilled && derived >= 0.005 {
		notes = append(notes, Note{Cell: c.Cell, Metric: measures.NameCost, Text: fmt.Sprintf("includes $%.2f %s", derived, measures.DerivedText)})
	}
	if t.Figures[measures.UnloggedWritesUSD] >= 0.005 {
		notes = append(notes, Note{Cell: c.Cell, Metric: measures.NameCost, Detail: true, Text: fmt.Sprintf(
			"the provider charges for cache writes that some logs do not show: $%.2f if nothing was written, $%.2f if every token not read was",
			t.CostUSD(), t.CostUSD()+t.Figures[measures.UnloggedWritesUSD])})
	}
	return notes
}

func sessionsPass(n int) string {
	if n == 1 {
		return "1 session passes"
	}
	return document.Whole(n) + " sessions pass"
}

func sessionsEnd(n int) string {
	if n == 1 {
		return "1 session ends"
	}
	return document.Whole(n) + " sessions end"
}

// CellCalls are the calls of one cell in order of completion, session by
// session.
type CellCalls struct {
	Cell  string
	Calls []CallRecord
}

// Foremost returns the names of at most ForemostCells cells among those that may be
// shown, bills aside: the recorded ones, then the cheapest, in the order of the run.
func (r *Run) Foremost(may func(cell string) bool) []string {
	rank := func(c *Cell) float64 {
		if c.Strategy == measures.StrategyRecorded {
			return -1
		}
		return r.RankUSD(c)
	}
	var cells []*Cell
	for i := range r.Cells {
		if c := &r.Cells[i]; c.Strategy != measures.StrategyBilled && may(c.Cell) {
			cells = append(cells, c)
		}
	}
	slices.SortStableFunc(cells, func(a, b *Cell) int { return cmp.Compare(rank(a), rank(b)) })
	cells = cells[:min(len(cells), measures.ForemostCells)]
	var names []string
	for i := range r.Cells {
		if slices.Contains(cells, &r.Cells[i]) {
			names = append(names, r.Cells[i].Cell)
		}
	}
	return names
}
