package validate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/internal/kit/numbers"
	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
	"github.com/compactsim/compactsim/traces/facts"
)

// Report is the outcome of a validation. Its top level covers the calls that
// are not the first of their thread.
type Report struct {
	Score
	// BandCoverage is the share of sessions whose recorded input cost lies in
	// the 90 % band of the replications; nil without replications.
	BandCoverage *float64     `json:"band_coverage"`
	Bands        *Bands       `json:"bands,omitempty"`
	Model        string       `json:"model"`   // the parts of the model that are on
	Profile      string       `json:"profile"` // name of the profile, "none" for the plain cache model
	Naive        Score        `json:"naive"`   // the naive rule on the same calls
	Collapses    int          `json:"unexplained_collapses"`
	Classes      []Group      `json:"by_class"`
	Versions     []Group      `json:"by_version"`
	Agents       []AgentScore `json:"by_agent"`
	Clocks       []Clock      `json:"lifetimes,omitempty"`
	// Expected is the same cost with the average cost of losses: the expected cost
	// of a session and the prediction of its calls are two figures.
	Expected Expected    `json:"expected_cost"`
	Worst    []WorstCall `json:"worst"`
	Skipped  []Skipped   `json:"skipped"`
	// Unshown compares the calls that no line shows, in sessions whose client logs the sum of all its calls.
	Unshown *Unshown `json:"unshown,omitempty"`
	// Compactions is the check of a preset's trigger, nil if none was asked for.
	Compactions *CompactionCheck `json:"compactions,omitempty"`

	keep       bool                                   // the calls
	most       int                                    // calls in Worst
	calls      []Call                                 // by session, if they are kept
	agentOf    map[string]int                         // index in Agents by session
	profileFor func(*traces.Session) *profile.Profile // that predicted a session
	running    `json:"-"`
}

// running is what a report adds up of sessions.
type running struct {
	ids       []string // of the sessions with calls
	all       versus   // of calls but first ones
	mean      scoring  // with the average cost of losses
	classes   [numClasses]versus
	versions  map[string]*versus
	ages      map[survivalKey]*[len(ages)]ageBin
	automatic int // of Collapses
}

// Calls returns all calls with their predictions, by session, thread and round, if Options.Calls asked for them.
func (r *Report) Calls() []Call { return slices.Clone(r.calls) }

// Group is the score of the calls that share a property.
type Group struct {
	Name  string `json:"name"`
	Score Score  `json:"score"`
	Naive Score  `json:"naive"`
}

// Expected compares the expected cost of sessions with the recorded one, over
// calls that are not first ones.
type Expected struct {
	LossUSD float64  `json:"loss_usd"` // average cost of losses, over all sessions
	Median  *float64 `json:"session_cost_error_median"`
	Corpus  *float64 `json:"corpus_cost_error"`
}

// WorstCall is a call that the model missed: its place, and both figures.
type WorstCall struct {
	Name      string  `json:"name"` // as sim explain takes it (calls.Name)
	Session   string  `json:"session"`
	Thread    string  `json:"thread"`
	Call      int     `json:"call"` // round of the thread, from 1
	File      string  `json:"file"`
	Line      int     `json:"line"`
	Class     string  `json:"class"`
	Gap       float64 `json:"gap_seconds"`
	Context   int64   `json:"context"`
	Predicted int64   `json:"predicted_read"`
	Recorded  int64   `json:"recorded_read"`
	Miss      string  `json:"predicted_miss"`
	Collapsed bool    `json:"unexplained"`
}

// Skipped is a session, or a part of one, that could not be compared with the
// recording.
type Skipped struct {
	Session string `json:"session"`
	Reason  string `json:"reason"`
}

// Unshown has the calls that no line shows, summaries and others, of sessions whose client logs its sum.
type Unshown struct {
	Sessions  int     `json:"sessions"`
	BilledUSD float64 `json:"billed_usd"` // of calls that the model has to predict, by the clients' sums
	ModelUSD  float64 `json:"model_usd"`  // of its calls
	GivenUSD  float64 `json:"given_usd"`  // of calls that it takes from the sums (traces.Session.Given)
}

func (u *Unshown) add(o *Unshown) {
	u.Sessions, u.BilledUSD = u.Sessions+o.Sessions, u.BilledUSD+o.BilledUSD
	u.ModelUSD, u.GivenUSD = u.ModelUSD+o.ModelUSD, u.GivenUSD+o.GivenUSD
}

func later(c *Call) bool { return c.Class != ClassFirst }

// newReport returns a report on no session, which lists at most so many calls, largest error first.
func newReport(worst int) *Report {
	return &Report{most: worst, Worst: []WorstCall{}, Skipped: []Skipped{}}
}

// add adds the calls of the next session.
func (r *Report) add(own []Call) {
	if len(own) == 0 {
		return
	}
	if r.ids = append(r.ids, own[0].Session); r.keep {
		r.calls = append(r.calls, own...)
	}
	r.agent(own)
	for i := range own {
		c := &own[i]
		r.age(c)
		r.clock(c)
		r.classes[c.Class].add(c)
		if c.Collapsed() {
			r.Collapses++
			r.automatic += index(agents.Of(c.Agent).Cache(c.Model) == facts.CacheAutomatic)
		}
		if !later(c) {
			continue
		}
		r.all.add(c)
		r.mean.add(c, c.Predicted.Read, c.PredictedUSD+c.LossUSD)
		if c.Priced {
			r.Expected.LossUSD += c.LossUSD
		}
		if r.versions[c.Version] == nil {
			if r.versions == nil {
				r.versions = map[string]*versus{}
			}
			r.versions[c.Version] = new(versus)
		}
		r.versions[c.Version].add(c)
		if c.Error() != 0 && !c.Spread {
			if r.Worst = append(r.Worst, worstOf(c)); len(r.Worst) >= 2*r.most+spareWorst {
				r.cutWorst(r.most)
			}
		}
	}
}

// spareWorst is how many calls a report lists beyond its longest list before it sorts and cuts the list.
const spareWorst = 1000

// finish sums up the sessions.
func (r *Report) finish() {
	r.Score, r.Naive = r.all.model.score(), r.all.naive.score()
	mean := r.mean.score()
	r.Expected.Median, r.Expected.Corpus = mean.Median, mean.Corpus
	for class := range numClasses {
		r.Classes = r.classes[class].group(r.Classes, class.String())
	}
	for _, v := range slices.SortedFunc(maps.Keys(r.versions), func(a, b string) int {
		return cmp.Or(profile.Compare(a, b), strings.Compare(a, b))
	}) {
		r.Versions = r.versions[v].group(r.Versions, cmp.Or(v, "unknown"))
	}
	for k := range r.Agents {
		a := &r.Agents[k]
		a.Score, a.Naive, a.Expected = a.calls.model.score(), a.calls.naive.score(), a.mean.score().Corpus
	}
	slices.SortFunc(r.Clocks, func(a, b Clock) int {
		return cmp.Or(cmp.Compare(a.Provider, b.Provider), cmp.Compare(a.Model, b.Model), cmp.Compare(a.Life, b.Life))
	})
	r.cutWorst(r.most)
}

// worstOf lists a call.
func worstOf(c *Call) WorstCall {
	return WorstCall{
		Name:    c.Session + c.Name,
		Session: c.Session, Thread: c.Thread, Call: c.Round + 1, File: c.File, Line: c.Line, Class: c.Class.String(),
		Gap: float64(c.Gap) / 1e9, Context: c.Context, Predicted: c.Predicted.Read, Recorded: c.Actual.Read,
		Miss: c.Miss.String(), Collapsed: c.Collapsed(),
	}
}

// cutWorst leaves the n calls that the model missed by most, the earlier one of two.
func (r *Report) cutWorst(n int) {
	size := func(c *WorstCall) int64 { return max(c.Predicted-c.Recorded, c.Recorded-c.Predicted) }
	slices.SortStableFunc(r.Worst, func(a, b WorstCall) int { return cmp.Compare(size(&b), size(&a)) })
	r.Worst = r.Worst[:min(n, len(r.Worst))]
}

// Document reports how well predictions match recordings. CSV is the table of
// scores; JSON is the report itself.
func (r *Report) Document() *document.Document {
	d := &document.Document{JSON: document.Indented(r)}
	tables := []*document.Table{r.scores(), r.byAgent(), r.sessionCosts()}
	if t := r.clockTable(); t != nil {
		tables = append(tables, t)
	}
	if len(r.Worst) > 0 {
		tables = append(tables, r.worstTable())
	}
	if r.Compactions != nil {
		tables = append(tables, r.Compactions.table())
	}
	for _, t := range tables {
		d.Sections = append(d.Sections, document.Section{Blocks: []document.Block{t}})
	}
	return d
}

// scores has one line for each set of calls, with the naive rule beside it.
func (r *Report) scores() *document.Table {
	t := &document.Table{Notes: r.notes(), Columns: []document.Column{{Name: "group", Title: "CALLS OF"}}}
	for _, c := range [][2]string{
		{"calls", "N"}, {"exact", "EXACT"}, {"within_1pct", "WITHIN 1 %"}, {"token_weighted_error", "TOKEN ERROR"},
		{"sessions", "SESSIONS"}, {"session_cost_error_median", "COST MEDIAN"}, {"session_cost_error_p90", "P90"},
		{"corpus_cost_error", "CORPUS"}, {"naive_exact", "NAIVE EXACT"}, {"naive_within_1pct", "WITHIN 1 %"},
		{"naive_corpus_cost_error", "CORPUS"},
	} {
		t.Columns = append(t.Columns, document.Column{Name: c[0], Title: c[1], Right: true})
	}
	add := func(name string, m, n *Score) {
		t.Rows = append(t.Rows, []any{
			name, m.Calls, percentOf(m.Exact, false), percentOf(m.Within1, false), percentOf(m.TokenErr, false), m.Sessions,
			percentOf(m.Median, false), percentOf(m.P90, false), percentOf(m.Corpus, true),
			percentOf(n.Exact, false), percentOf(n.Within1, false), percentOf(n.Corpus, true),
		})
	}
	add("all but first calls", &r.Score, &r.Naive)
	for _, groups := range []struct {
		prefix string
		list   []Group
	}{{"", r.Classes}, {"version ", r.Versions}} {
		for i := range groups.list {
			g := &groups.list[i]
			add(groups.prefix+g.Name, &g.Score, &g.Naive)
		}
	}
	return t
}

// sessionCosts shows three figures of a session's input cost: the sum of the
// predictions of its calls, its expected value, and its bands.
func (r *Report) sessionCosts() *document.Table {
	t := &document.Table{Columns: document.Left("INPUT COST OF SESSIONS")}
	t.Columns = append(t.Columns, document.Right("", "SESSIONS", "MEDIAN", "CORPUS", "IN 90 % BAND")...)
	add := func(name string, n int, median, corpus, band *float64) {
		t.Rows = append(t.Rows, []any{name, n, Percent(median, false), Percent(corpus, true), Percent(band, false)})
	}
	add("calls as predicted", r.Sessions, r.Median, r.Corpus, nil)
	add("expected, with losses by their rates", r.Sessions, r.Expected.Median, r.Expected.Corpus, nil)
	if b := r.Bands; b != nil {
		add(fmt.Sprintf("%d replications", b.Replications), b.Sessions, nil, b.MeanCorpus, r.BandCoverage)
	}
	add("naive rule", r.Naive.Sessions, r.Naive.Median, r.Naive.Corpus, nil)
	return t
}

// maxSkippedNotes bounds the sessions named below a table.
const maxSkippedNotes = 10

func (r *Report) notes() []string {
	notes := []string{
		"Model: " + r.Model + ". Profile: " + r.Profile + ".",
		"EXACT, WITHIN 1 %: reads predicted to the token, and within 1 % of the context. COST: input cost of a " +
			"session.",
		r.collapses(),
	}
	if u := r.Unshown; u != nil {
		notes = append(notes, fmt.Sprintf("Calls that no line shows, in %s whose client logs the sum of all: summaries and ends of turns %s billed, %s by the model; "+
			"titles and cut streams, taken from the sums, %s.",
			document.Count(u.Sessions, "session"), document.USD(u.BilledUSD, 2), document.USD(u.ModelUSD, 2), document.USD(u.GivenUSD, 2)))
	}
	for i, k := range r.Skipped {
		if i == maxSkippedNotes {
			notes = append(notes, fmt.Sprintf("… and %s.", document.Count(len(r.Skipped)-i, "more session")))
			break
		}
		notes = append(notes, "Session "+k.Session+": "+k.Reason+".")
	}
	return notes
}

// collapses says how many calls read less than nine tenths of what was left, and where.
func (r *Report) collapses() string {
	text := fmt.Sprintf("For no visible reason %s inside the lifetime read less than nine tenths of what was left",
		document.Count(r.Collapses-r.automatic, "call"))
	if r.automatic > 0 {
		text += fmt.Sprintf(", and %d of automatic caches, which promise no lifetime", r.automatic)
	}
	return text + "."
}

// percentOf is a share as a number, which people see in per cent.
func percentOf(x *float64, signed bool) document.Cell {
	c := document.Cell{Text: Percent(x, signed)}
	if x != nil {
		c.Value = *x
	}
	return c
}

// Percent formats a share, nil as a dash.
func Percent(x *float64, signed bool) string {
	if x == nil {
		return document.Dash
	}
	text := strconv.FormatFloat(100**x, 'f', 2, 64) + " %"
	if signed && *x >= 0 {
		text = "+" + text
	}
	return strings.Replace(text, "-", numbers.Minus, 1)
}

func (r *Report) worstTable() *document.Table {
	t := &document.Table{Columns: document.Left("WORST CALLS", "CLASS")}
	short := document.ByBeginning(slices.Compact(slices.Sorted(slices.Values(r.ids))))
	t.Columns = append(t.Columns, document.Right(document.UnitSeconds, "GAP")...)
	t.Columns = append(t.Columns, document.Right("", "CONTEXT", "EXPECTED", "RECORDED")...)
	t.Columns = append(t.Columns, document.Left("PREDICTED MISS")...)
	for i := range r.Worst {
		c := &r.Worst[i]
		t.Rows = append(t.Rows, []any{
			short[c.Session] + strings.TrimPrefix(c.Name, c.Session), c.Class, c.Gap, c.Context, c.Predicted, c.Recorded, c.Miss,
		})
	}
	return t
}

func (c *CompactionCheck) table() *document.Table {
	t := &document.Table{Columns: document.Left(strings.ToUpper(c.Strategy), "VERSION", "VERDICT")}
	t.Columns = append(t.Columns, document.Right("",
		"CALLS OFF", "COUNT", "LOGGED", "THRESHOLD", "CONTEXT AFTER", "EXPECTED AFTER", "CONSTANT", "EXPECTED READ", "RECORDED READ")...)
	for i := range c.Compactions {
		x := &c.Compactions[i]
		t.Rows = append(t.Rows, []any{
			x.Session + x.name, x.Version, x.Verdict, x.Calls, x.Count, x.Logged, x.Threshold,
			x.After, tokensOrDash(x.Behind), tokensOrDash(x.Constant), x.Predicted, x.Read,
		})
	}
	t.Notes = []string{fmt.Sprintf(
		"%s fires at the very call of %d of %d automatic compactions (%s), at it or the one before of %d; "+
			"earlier at %d, not at %d; %d false. %d were asked for by a person. Anchored anew at each recorded "+
			"compaction.",
		c.Strategy, c.Hit, c.Automatic, Percent(c.HitShare, false), c.Near, c.Early, c.Late, c.False, c.Manual)}
	if note := c.Size.note(c.Strategy); note != "" {
		t.Notes = append(t.Notes, note)
	}
	return t
}

// tokensOrDash formats a size, a dash for none.
func tokensOrDash(n int64) any {
	if n == 0 {
		return document.Dash
	}
	return n
}
