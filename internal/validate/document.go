package validate

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/compactsim/compactsim/internal/document"
)

// Document reports how well predictions met recordings. CSV is the table of
// scores; JSON is the report itself.
func (r *Report) Document() *document.Document {
	d := &document.Document{JSON: document.Indented(r)}
	tables := []*document.Table{r.scores()}
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

// scores is one line for each set of calls, the naive rule beside it.
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
			name, m.Calls, Percent(m.Exact, false), Percent(m.Within1, false), Percent(m.TokenErr, false), m.Sessions,
			Percent(m.Median, false), Percent(m.P90, false), Percent(m.Corpus, true),
			Percent(n.Exact, false), Percent(n.Within1, false), Percent(n.Corpus, true),
		})
	}
	add("all but first calls", &r.Score, &r.Naive)
	add("  sessions without unexplained collapse", &r.Steady, &Score{})
	for _, groups := range []struct {
		prefix string
		list   []Group
	}{{"", r.Classes}, {"version ", r.Versions}, {"lifetime ", r.Tiers}, {"gap ", r.Gaps}} {
		for i := range groups.list {
			g := &groups.list[i]
			add(groups.prefix+g.Name, &g.Score, &g.Naive)
		}
	}
	return t
}

// maxSkippedNotes bounds the sessions named below a table.
const maxSkippedNotes = 10

func (r *Report) notes() []string {
	notes := []string{
		"Model: " + r.Model + ". Profile: " + r.Profile + ".",
		"EXACT, WITHIN 1 %: reads predicted to the token, and within 1 % of the context. COST: input cost of a " +
			"session.",
		fmt.Sprintf("%s collapsed inside the lifetime for no visible reason.", document.Count(r.Collapses, "call")),
	}
	if b := r.Bands; b != nil {
		notes = append(notes, fmt.Sprintf(
			"90 %% bands of %d replications hold %d of %s (%s); interval score %s, naive rule %s; corpus %s as their "+
				"mean.",
			b.Replications, b.Inside, document.Count(b.Sessions, "session"), Percent(r.BandCoverage, false),
			Percent(b.Interval, false), Percent(b.IntervalNaive, false), Percent(b.MeanCorpus, true)))
	}
	for i, k := range r.Skipped {
		if i == maxSkippedNotes {
			notes = append(notes, fmt.Sprintf("… and %d more sessions.", len(r.Skipped)-i))
			break
		}
		notes = append(notes, "Session "+k.Session+": "+k.Reason+".")
	}
	return notes
}

// Percent writes a share; an empty set has none.
func Percent(x *float64, signed bool) string {
	if x == nil {
		return document.Dash
	}
	text := strconv.FormatFloat(100**x, 'f', 2, 64) + " %"
	if signed && *x >= 0 {
		text = "+" + text
	}
	return strings.Replace(text, "-", document.Minus, 1)
}

func (r *Report) worstTable() *document.Table {
	t := &document.Table{Columns: document.Left("WORST CALLS", "SESSION", "CLASS")}
	t.Columns = append(t.Columns, document.Right(document.UnitSeconds, "GAP")...)
	t.Columns = append(t.Columns, document.Right("", "CONTEXT", "EXPECTED", "RECORDED")...)
	t.Columns = append(t.Columns, document.Left("PREDICTED MISS")...)
	for i := range r.Worst {
		c := &r.Worst[i]
		t.Rows = append(t.Rows, []any{
			lineOf(c.File, c.Line), short(c.Session), c.Class, c.Gap, c.Context, c.Predicted, c.Recorded, c.Miss,
		})
	}
	return t
}

func (c *CompactionCheck) table() *document.Table {
	t := &document.Table{Columns: document.Left(strings.ToUpper(c.Strategy), "SESSION", "VERSION", "VERDICT")}
	t.Columns = append(t.Columns, document.Right("",
		"CALLS OFF", "COUNT", "LOGGED", "THRESHOLD", "CONTEXT AFTER", "EXPECTED READ", "RECORDED READ")...)
	for i := range c.Compactions {
		x := &c.Compactions[i]
		t.Rows = append(t.Rows, []any{
			lineOf(x.File, x.Line), short(x.Session), x.Version, x.Verdict, x.Calls, x.Count, x.Logged, x.Threshold,
			x.After, x.Predicted, x.Read,
		})
	}
	t.Notes = []string{fmt.Sprintf(
		"%s fires at the very call of %d of %d automatic compactions (%s), at it or the one before of %d; "+
			"earlier at %d, not at %d; %d false. %d were asked for by a person. Anchored anew at each recorded "+
			"compaction.",
		c.Strategy, c.Hit, c.Automatic, Percent(c.HitShare, false), c.Near, c.Early, c.Late, c.False, c.Manual)}
	if c.Unchecked > 0 {
		t.Notes = append(t.Notes,
			fmt.Sprintf("%d sessions are of agents for which no threshold is known here.", c.Unchecked))
	}
	return t
}

// lineOf names a line by the last part of its file's path.
func lineOf(file string, line int) string {
	return fmt.Sprintf("%s:%d", file[strings.LastIndexAny(file, `/\`)+1:], line)
}

// short cuts a session id to what tells it apart.
func short(id string) string { return id[:min(8, len(id))] }
