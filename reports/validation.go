package reports

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/compactsim/compactsim/internal/validate"
	"github.com/compactsim/compactsim/sim/results"
)

// Validation writes how well predictions met recordings in a format of Formats.
// CSV is the table of scores; JSON is the whole report.
func Validation(w io.Writer, format string, r *validate.Report) error {
	switch format {
	case "json":
		b, err := json.Marshal(r, json.Deterministic(true), jsontext.WithIndent("  "), jsontext.AllowInvalidUTF8(true))
		if err != nil {
			return fmt.Errorf("encoding a validation: %w", err)
		}
		_, err = w.Write(append(b, '\n'))
		return err
	case "csv":
		return scoreSheet(r).Write(w, format)
	}
	var b bytes.Buffer
	for i, s := range validationSheets(r) {
		if i > 0 {
			b.WriteString("\n")
		}
		if err := s.Write(&b, format); err != nil {
			return err
		}
	}
	return flush(w, &b)
}

func validationSheets(r *validate.Report) []*Sheet {
	list := []*Sheet{scoreSheet(r)}
	if len(r.Worst) > 0 {
		list = append(list, worstSheet(r))
	}
	if r.Compactions != nil {
		list = append(list, compactionSheet(r.Compactions))
	}
	return list
}

// scoreSheet is one line for each set of calls, the naive rule beside it.
func scoreSheet(r *validate.Report) *Sheet {
	s := &Sheet{Columns: []SheetColumn{
		{Name: "group", Title: "CALLS OF"},
		{Name: "calls", Title: "N", Right: true},
		{Name: "exact", Title: "EXACT", Right: true},
		{Name: "within_1pct", Title: "WITHIN 1 %", Right: true},
		{Name: "token_weighted_error", Title: "TOKEN ERROR", Right: true},
		{Name: "sessions", Title: "SESSIONS", Right: true},
		{Name: "session_cost_error_median", Title: "COST MEDIAN", Right: true},
		{Name: "session_cost_error_p90", Title: "P90", Right: true},
		{Name: "corpus_cost_error", Title: "CORPUS", Right: true},
		{Name: "naive_exact", Title: "NAIVE EXACT", Right: true},
		{Name: "naive_within_1pct", Title: "WITHIN 1 %", Right: true},
		{Name: "naive_corpus_cost_error", Title: "CORPUS", Right: true},
	}}
	add := func(name string, m, n *validate.Score) {
		s.Rows = append(s.Rows, []any{
			name, m.Calls, errorShare(m.Exact, false), errorShare(m.Within1, false), errorShare(m.TokenErr, false), m.Sessions,
			errorShare(m.Median, false), errorShare(m.P90, false), errorShare(m.Corpus, true),
			errorShare(n.Exact, false), errorShare(n.Within1, false), errorShare(n.Corpus, true),
		})
	}
	add("all but first calls", &r.Score, &r.Naive)
	none := validate.Score{}
	add("  sessions without unexplained collapse", &r.Steady, &none)
	groups := func(prefix string, list []validate.Group) {
		for i := range list {
			add(prefix+list[i].Name, &list[i].Score, &list[i].Naive)
		}
	}
	groups("", r.Classes)
	groups("version ", r.Versions)
	groups("lifetime ", r.Tiers)
	groups("gap ", r.Gaps)
	s.Notes = validationNotes(r)
	return s
}

func validationNotes(r *validate.Report) []string {
	notes := []string{
		"Model: " + r.Model + ". Profile: " + r.Profile + ".",
		"EXACT, WITHIN 1 %: reads predicted to the token, and within 1 % of the context. COST: input cost of a session.",
		fmt.Sprintf("%s collapsed inside the lifetime for no visible reason.", CountOf(r.Collapses, "call")),
	}
	if b := r.Bands; b != nil {
		notes = append(notes, fmt.Sprintf("90 %% bands of %d replications hold %d of %s (%s); interval score %s, naive rule %s; corpus %s as their mean.",
			b.Replications, b.Inside, CountOf(b.Sessions, "session"), errorShare(r.BandCoverage, false),
			errorShare(b.Interval, false), errorShare(b.IntervalNaive, false), errorShare(b.MeanCorpus, true)))
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

// maxSkippedNotes bounds the sessions named below a table.
const maxSkippedNotes = 10

// errorShare writes a share; an empty set has none.
func errorShare(x *float64, signed bool) string {
	if x == nil {
		return "–"
	}
	text := strconv.FormatFloat(100**x, 'f', 2, 64) + " %"
	if signed && *x >= 0 {
		text = "+" + text
	}
	return strings.Replace(text, "-", "−", 1)
}

func worstSheet(r *validate.Report) *Sheet {
	s := &Sheet{Columns: []SheetColumn{
		{Name: "place", Title: "WORST CALLS"},
		{Name: "session", Title: "SESSION"},
		{Name: "class", Title: "CLASS"},
		{Name: "gap", Title: "GAP", Unit: results.UnitSeconds, Right: true},
		{Name: "context", Title: "CONTEXT", Right: true},
		{Name: "predicted", Title: "EXPECTED", Right: true},
		{Name: "recorded", Title: "RECORDED", Right: true},
		{Name: "miss", Title: "PREDICTED MISS"},
	}}
	for i := range r.Worst {
		c := &r.Worst[i]
		s.Rows = append(s.Rows, []any{
			shortPlace(c.File, c.Line), short(c.Session), c.Class, c.Gap,
			c.Context, c.Predicted, c.Recorded, c.Miss,
		})
	}
	return s
}

func compactionSheet(c *validate.CompactionCheck) *Sheet {
	s := &Sheet{Columns: []SheetColumn{
		{Name: "place", Title: strings.ToUpper(c.Strategy)},
		{Name: "session", Title: "SESSION"},
		{Name: "version", Title: "VERSION"},
		{Name: "verdict", Title: "VERDICT"},
		{Name: "calls", Title: "CALLS OFF", Right: true},
		{Name: "count", Title: "COUNT", Right: true},
		{Name: "logged", Title: "LOGGED", Right: true},
		{Name: "threshold", Title: "THRESHOLD", Right: true},
		{Name: "after", Title: "CONTEXT AFTER", Right: true},
		{Name: "predicted", Title: "EXPECTED READ", Right: true},
		{Name: "recorded", Title: "RECORDED READ", Right: true},
	}}
	for i := range c.Compactions {
		x := &c.Compactions[i]
		s.Rows = append(s.Rows, []any{
			shortPlace(x.File, x.Line), short(x.Session), x.Version, x.Verdict, x.Calls, x.Count, x.Logged, x.Threshold,
			x.After, x.Predicted, x.Read,
		})
	}
	s.Notes = []string{fmt.Sprintf(
		"%s fires at the very call of %d of %d automatic compactions (%s), at it or the one before of %d; earlier at %d, not at %d; %d false. %d were asked for by a person. Anchored anew at each recorded compaction.",
		c.Strategy, c.Hit, c.Automatic, errorShare(c.HitShare, false), c.Near, c.Early, c.Late, c.False, c.Manual)}
	if c.Unchecked > 0 {
		s.Notes = append(s.Notes, fmt.Sprintf("%d sessions are of agents for which no threshold is known here.", c.Unchecked))
	}
	return s
}

// shortPlace names a line by the last part of its file's path.
func shortPlace(file string, line int) string {
	return fmt.Sprintf("%s:%d", file[strings.LastIndexAny(file, `/\`)+1:], line)
}

// short cuts a session id to what tells it apart.
func short(id string) string { return id[:min(8, len(id))] }
