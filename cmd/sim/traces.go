package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/internal/document"
	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/traces"
)

func newTraces() *cobra.Command {
	return group("traces", "Look at recorded sessions", "",
		newTracesList(), newTracesShow(), newTracesGen(), newTracesCompare(), newTracesFit())
}

// traceFlags are the flags of the verbs under traces.
type traceFlags struct {
	read    readFlags
	format  string
	prices  string
	priceAs []string
}

func (f *traceFlags) bind(cmd *cobra.Command, formats ...string) {
	f.read.bind(cmd)
	bindFormat(cmd, &f.format, formats...)
	cmd.Flags().StringVar(&f.prices, "prices", "", "prices from `FILE` add to the built-in ones or replace them")
	cmd.Flags().StringArrayVar(&f.priceAs, "price-as", nil, "bill model A as model B, given as `A=B`; repeatable")
}

func (f *traceFlags) table() (*costmodel.Table, error) {
	table, err := priceTable(f.prices, f.priceAs)
	if err != nil {
		return nil, usageError{err}
	}
	return table, nil
}

// findSession returns the one session whose id begins with prefix.
func findSession(corpus *traces.Corpus, prefix string) (*traces.Session, error) {
	var found []*traces.Session
	for _, s := range corpus.Sessions {
		if s.ID == prefix {
			return s, nil
		}
		if strings.HasPrefix(s.ID, prefix) {
			found = append(found, s)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return nil, usageError{fmt.Errorf("no session %s among %s; sim traces ls lists them", prefix, plural(len(corpus.Sessions), "session"))}
	}
	ids := make([]string, len(found))
	for i, s := range found {
		ids[i] = s.ID
	}
	return nil, usageError{fmt.Errorf("%s is the beginning of %d ids: %s", prefix, len(found), strings.Join(ids, ", "))}
}

func newTracesList() *cobra.Command {
	var f traceFlags
	var wide bool
	cmd := &cobra.Command{
		Use:   "ls [PATH…]",
		Short: "List the sessions under PATH with what they cost and how much of them is known",
		Long: `List the sessions under PATH with what they cost. The table shows of each id as
much as tells it from the others, which sim traces show and sim explain take for
the session; --wide shows ids whole, pauses, sub-agents and how much of each
session is known, in lines of any length. CSV and JSON have all of it, and the
files.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			table, err := f.table()
			if err != nil {
				return err
			}
			machine := f.format == "csv" || f.format == "json"
			if wide && machine {
				return usageError{fmt.Errorf("--wide belongs to --format table and markdown: %s has all columns", f.format)}
			}
			corpus, _, err := f.read.corpus(cmd, args)
			if err != nil {
				return err
			}
			defer corpus.Close()
			sheet := sessionSheet(corpus, table)
			if !wide && !machine {
				brief(sheet)
			}
			sheet.Notes = append(sheet.Notes, f.read.remarks()...)
			return sheet.Write(cmd.OutOrStdout(), f.format)
		},
	}
	f.bind(cmd)
	cmd.Flags().BoolVar(&wide, "wide", false, "all columns and whole ids, in lines of any length")
	return cmd
}

// wideNote explains columns that a brief list has not.
const wideNote = "UNSEEN: share of new tokens in no transcript line. DERIVED: outputs logged before they were final. ASSUMED: calls whose cache lifetime is not logged."

// sessionSheet lists sessions, one a row.
func sessionSheet(corpus *traces.Corpus, prices *costmodel.Table) *document.Table {
	s := &document.Table{Columns: []document.Column{
		{Name: "id", Title: "ID"},
		{Name: "start", Title: "STARTED"},
		{Name: "project"},
		{Name: "agent", Title: "AGENT"},
		{Name: "version", Title: "VERSION"},
		{Name: "model", Title: "MODEL"},
		{Name: "file"},
		{Name: "calls", Title: "CALLS", Right: true},
		{Name: "input_tokens", Title: "INPUT", Unit: results.UnitTokens, Right: true},
		{Name: "output_tokens", Title: "OUTPUT", Unit: results.UnitTokens, Right: true},
		{Name: "compactions", Title: "COMPACTIONS", Right: true},
		{Name: "gaps_over_5m", Title: "GAPS > 5 MIN", Right: true},
		{Name: "gaps_over_1h", Title: "> 1 H", Right: true},
		{Name: "sub_agents", Title: "AGENTS", Right: true},
		{Name: "billed_usd", Title: "BILLED", Unit: results.UnitUSD, Right: true},
		{Name: "unseen_share", Title: "UNSEEN", Unit: results.UnitRatio, Right: true},
		{Name: "derived_outputs", Title: "DERIVED", Right: true},
		{Name: "assumed_lifetimes", Title: "ASSUMED", Right: true},
		{Name: "problems", Title: "PROBLEMS", Right: true},
	}}
	var total results.Row
	for _, session := range corpus.Sessions {
		row := sim.Billed(session, prices, time.Time{})
		s.Rows = append(s.Rows, sessionRow(session, &row))
		total.Add(&row)
	}
	s.Notes = []string{
		fmt.Sprintf("%s, %s, $%.2f at API prices of each call's date.",
			plural(len(corpus.Sessions), "session"), plural(total.Calls, "call"), total.CostUSD()),
		wideNote,
	}
	if total.Unpriced > 0 {
		s.Notes = append(s.Notes, fmt.Sprintf("%s of models without a price cost nothing here; --price-as bills them as another.", plural(total.Unpriced, "call")))
	}
	return s
}

func sessionRow(s *traces.Session, billed *results.Row) []any {
	q := &s.Quality
	unseen := 0.0
	if q.InputTokens > 0 {
		unseen = float64(q.UnseenTokens) / float64(q.InputTokens)
	}
	file, start := "", ""
	if len(s.Files) > 0 {
		file = s.Files[0]
	}
	if t := s.StartTime(); !t.IsZero() {
		start = t.Format("2006-01-02T15:04Z")
	}
	agents := 0
	for i := range s.Threads {
		if k := s.Threads[i].Kind; k == traces.ThreadAgent || k == traces.ThreadOrphan {
			agents++
		}
	}
	return []any{
		s.ID, start, s.Project, s.Agent, s.Version(), mainModel(s), file, billed.Calls,
		billed.Usage.Input(), billed.Usage.Output, billed.Compactions, gaps(s, 5*time.Minute), gaps(s, time.Hour), agents,
		billed.CostUSD(), unseen, q.DerivedOutputs, q.AssumedTiers, q.Problems,
	}
}

// mainModel returns the model of the first round, with a plus sign when there
// are others.
func mainModel(s *traces.Session) string {
	if len(s.Models) == 0 {
		return ""
	}
	first := s.Models[0]
	for i := range s.Threads {
		if len(s.Threads[i].Rounds) > 0 {
			first = s.Models[s.Threads[i].Rounds[0].Model]
			break
		}
	}
	if len(s.Models) > 1 {
		return first + " +" + fmt.Sprint(len(s.Models)-1)
	}
	return first
}

// gaps counts the pauses of the main thread and its branches, from the end of a
// response to the next request, that are longer than d.
func gaps(s *traces.Session, d time.Duration) int {
	n := 0
	for i := range s.Threads {
		t := &s.Threads[i]
		if t.Kind != traces.ThreadMain && t.Kind != traces.ThreadBranch {
			continue
		}
		for j := range t.Rounds {
			if j > 0 && t.Rounds[j].Wait > int64(d) {
				n++
			}
		}
	}
	return n
}

// leastID is how much of an id a list shows at least, in characters: the first
// group of a UUID.
const leastID = 8

// brief leaves in a list of sessions what has room on a terminal: ids as far as
// they tell sessions apart, and the columns that most people look for.
func brief(s *document.Table) {
	for i := range s.Columns {
		switch c := &s.Columns[i]; c.Name {
		case "id":
			ids := make([]string, len(s.Rows))
			for k, row := range s.Rows {
				ids[k] = row[i].(string)
			}
			for k, id := range beginnings(ids) {
				s.Rows[k][i] = id
			}
		case "agent", "version", "gaps_over_5m", "gaps_over_1h", "sub_agents", "unseen_share", "derived_outputs", "assumed_lifetimes", "problems":
			c.Title = ""
		}
	}
	s.Fitted = true
	s.Notes = slices.DeleteFunc(s.Notes, func(note string) bool { return note == wideNote })
	s.Notes = append(s.Notes, "--wide shows whole ids, pauses, sub-agents and how much of each session is known.")
}

// beginnings returns each id as far as it takes to tell it from all others, but at
// least leastID characters. An id that another begins with stays whole.
func beginnings(ids []string) []string {
	order := slices.Sorted(slices.Values(ids))
	out := make([]string, len(ids))
	for i, id := range ids {
		at, _ := slices.BinarySearch(order, id)
		n := leastID
		if at > 0 {
			n = max(n, 1+common(order[at-1], id))
		}
		if at+1 < len(order) {
			n = max(n, 1+common(order[at+1], id))
		}
		out[i] = string([]rune(id)[:min(n, len([]rune(id)))])
	}
	return out
}

// common returns how many characters two texts begin with alike.
func common(a, b string) int {
	x, y := []rune(a), []rune(b)
	n := 0
	for n < min(len(x), len(y)) && x[n] == y[n] {
		n++
	}
	return n
}
