package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/internal/loop"
	"github.com/compactsim/compactsim/scenarios"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces"
)

func newTraces() *cobra.Command {
	return group("traces", "Look at recorded sessions", "",
		newTracesList(), newTracesGen(), newTracesFit(), newTracesStore())
}

// traceFlags are the flags of verbs that show sessions as recorded.
type traceFlags struct {
	read   readFlags
	format string
	prices priceFlags
}

func (f *traceFlags) bind(cmd *cobra.Command, formats ...string) {
	f.read.bind(cmd)
	bindFormat(cmd, &f.format, formats...)
	f.prices.bind(cmd)
}

// configured returns the configuration that simulates a strategy outside of a
// scenario, at the prices of the flags, and the plan that made it.
func (f *traceFlags) configured(
	plan scenarios.Plan, strategy string, set ...string,
) (loop.Config, *scenarios.Plan, error) {
	var err error
	if plan.Prices, err = f.prices.table(); err != nil {
		return loop.Config{}, nil, err
	}
	if plan.Registry, err = strategies.Builtin(); err != nil {
		return loop.Config{}, nil, err
	}
	config, err := plan.Config(strategy, set)
	if err != nil {
		return loop.Config{}, nil, usageError{err}
	}
	return config, &plan, nil
}

// session reads what is under paths and returns the one session whose id begins
// with prefix. The caller closes the corpus.
func (f *traceFlags) session(
	cmd *cobra.Command, prefix string, paths []string,
) (*traces.Session, *traces.Corpus, error) {
	f.read.bare = true
	corpus, err := f.read.corpus(cmd, paths)
	if err != nil {
		return nil, nil, err
	}
	s, err := findSession(corpus, prefix)
	if err != nil && f.read.sample {
		err = usageError{fmt.Errorf("%w; these are the samples: for others give their PATH", err)}
	}
	if err != nil {
		return nil, nil, errors.Join(err, corpus.Close())
	}
	return s, corpus, nil
}

// findSession returns the one session whose id begins with name, which may also
// name a call (traces.ParseCallName).
func findSession(corpus *traces.Corpus, name string) (*traces.Session, error) {
	prefix, _, _, _ := traces.ParseCallName(name)
	var found []*traces.Session
	for _, s := range corpus.Sessions {
		if s.ID == prefix || s.ID == name {
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
		return nil, usageError{fmt.Errorf("no session %s among %s; sim traces ls lists them",
			prefix, document.Count(len(corpus.Sessions), "session"))}
	}
	ids := make([]string, len(found))
	for i, s := range found {
		ids[i] = s.ID
	}
	return nil, usageError{fmt.Errorf("%s is the beginning of %d ids: %s", prefix, len(found), strings.Join(ids, ", "))}
}

// column is a column of a table and the function that gives its values.
type column[T any] struct {
	document.Column
	of func(T) any
}

// tableOf returns a table with a row for each of rows.
func tableOf[T any](columns []column[T], rows []T) *document.Table {
	t := &document.Table{Rows: make([][]any, len(rows))}
	for _, c := range columns {
		t.Columns = append(t.Columns, c.Column)
		for i, row := range rows {
			t.Rows[i] = append(t.Rows[i], c.of(row))
		}
	}
	return t
}

// label returns a column of texts.
func label[T any](name, title string, of func(T) any) column[T] {
	return column[T]{document.Column{Name: name, Title: title}, of}
}

// figure returns a column of numbers.
func figure[T any](name, title, unit string, of func(T) any) column[T] {
	return column[T]{document.Column{Name: name, Title: title, Unit: unit, Right: true}, of}
}

func newTracesList() *cobra.Command {
	var f traceFlags
	var wide bool
	cmd := &cobra.Command{
		Use:   "ls [PATH…]",
		Short: "List the sessions under PATH with what they cost and how much of them is known",
		Long: `Lists the sessions under PATH with what they cost. The table shortens ids as far as
they stay distinct; sim explain takes such a beginning. --wide
adds whole ids, pauses, sub-agents and how much of each session is known, in lines
of any length. CSV and JSON have all of it, and the files.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			table, err := f.prices.table()
			if err != nil {
				return err
			}
			machine := f.format == "json" || strings.HasPrefix(f.format, "csv")
			return f.read.reading(cmd, args, func(corpus *traces.Corpus) error {
				sheet := sessionSheet(corpus, table)
				if sheet.Wide = wide; !wide && !machine {
					brief(sheet)
				}
				sheet.Notes = append(sheet.Notes, f.read.remarks(corpus)...)
				return sheet.Write(cmd.OutOrStdout(), f.format)
			})
		},
	}
	f.bind(cmd)
	cmd.Flags().BoolVar(&wide, "wide", false, "all columns and whole ids, in lines of any length")
	return cmd
}

// minModel is the least width of clipped model names.
const minModel = 16

// wideNote explains the columns that a brief list lacks.
const wideNote = "UNSEEN: share of new tokens in no transcript line. DERIVED: outputs logged before they were final. " +
	"ASSUMED: calls whose cache lifetime is not logged."

// listed is a session in a list, with its bill.
type listed struct {
	*traces.Session
	bill results.Row
}

// sessionColumns are the columns of a list of sessions.
var sessionColumns = []column[*listed]{
	label("id", "ID", func(s *listed) any { return s.ID }),
	label("start", "STARTED", (*listed).started),
	label("project", "", func(s *listed) any { return s.Project }),
	label("agent", "AGENT", func(s *listed) any { return s.Agent }),
	label("version", "VERSION", func(s *listed) any { return s.Version() }),
	{document.Column{Name: "model", Title: "MODEL", Clip: minModel}, func(s *listed) any { return mainModel(s.Session) }},
	label("file", "", func(s *listed) any { return strings.Join(s.Files[:min(1, len(s.Files))], "") }),
	figure("calls", "CALLS", "", func(s *listed) any { return s.bill.N(results.Calls) }),
	figure("input_tokens", "INPUT", results.UnitTokens, func(s *listed) any { u := s.bill.Usage(); return u.Input() }),
	figure("output_tokens", "OUTPUT", results.UnitTokens, func(s *listed) any { return s.bill.Usage().Output }),
	figure("compactions", "COMPACTIONS", "", func(s *listed) any { return s.bill.N(results.Compactions) }),
	figure("gaps_over_5m", "GAPS > 5 MIN", "", func(s *listed) any { return gaps(s.Session, 5*time.Minute) }),
	figure("gaps_over_1h", "> 1 H", "", func(s *listed) any { return gaps(s.Session, time.Hour) }),
	figure("sub_agents", "AGENTS", "", (*listed).agents),
	figure("billed_usd", "BILLED", results.UnitUSD, func(s *listed) any { return s.bill.CostUSD() }),
	figure("unseen_share", "UNSEEN", results.UnitRatio, (*listed).unseen),
	figure("derived_outputs", "DERIVED", "", func(s *listed) any { return s.Quality.DerivedOutputs }),
	figure("assumed_lifetimes", "ASSUMED", "", func(s *listed) any { return s.Quality.AssumedTiers }),
	figure("problems", "PROBLEMS", "", func(s *listed) any { return s.Quality.Problems }),
}

func (s *listed) started() any {
	t := s.StartTime()
	if t.IsZero() {
		return ""
	}
	return t.Format("2006-01-02T15:04Z")
}

func (s *listed) agents() any {
	n := 0
	for i := range s.Threads {
		if k := s.Threads[i].Kind; k == traces.ThreadAgent || k == traces.ThreadOrphan {
			n++
		}
	}
	return n
}

// unseen returns the share of new tokens that are in no line of the transcript.
func (s *listed) unseen() any {
	return float64(s.Quality.UnseenTokens) / max(1, float64(s.Quality.InputTokens))
}

// sessionSheet lists sessions, one per row.
func sessionSheet(corpus *traces.Corpus, prices *costmodel.Table) *document.Table {
	var rows []*listed
	var total results.Row
	for _, session := range corpus.Sessions {
		s := &listed{session, loop.Billed(session, prices, time.Time{})}
		rows = append(rows, s)
		total.Add(&s.bill)
	}
	t := tableOf(sessionColumns, rows)
	t.Notes = []string{
		fmt.Sprintf("%s, %s, $%.2f at API prices of each call's date.",
			document.Count(len(rows), "session"), document.Count(total.N(results.Calls), "call"), total.CostUSD()),
		wideNote,
	}
	if total.N(results.UnpricedCalls) > 0 {
		t.Notes = append(t.Notes, fmt.Sprintf("%s of models without a price cost nothing here; --price-as bills them as "+
			"another.", document.Count(total.N(results.UnpricedCalls), "call")))
	}
	return t
}

// mainModel returns the model of the first round, with a plus sign if there are
// others.
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

// gaps counts the pauses of the main thread and its branches that are longer
// than d, from the end of a response to the next request.
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

// wideColumns are shown only by --wide.
var wideColumns = []string{"agent", "version", "gaps_over_5m", "gaps_over_1h", "sub_agents", "unseen_share",
	"derived_outputs", "assumed_lifetimes", "problems"}

// brief shortens a list of sessions to what fits a terminal: ids as long as
// they must be to differ, and the most useful columns.
func brief(s *document.Table) {
	for i := range s.Columns {
		if slices.Contains(wideColumns, s.Columns[i].Name) {
			s.Columns[i].Title = ""
		}
	}
	ids := make([]string, len(s.Rows))
	for i, row := range s.Rows {
		ids[i] = row[0].(string)
	}
	for i, id := range document.Beginnings(ids) {
		s.Rows[i][0] = id
	}
	s.Fitted = true
	s.Notes = slices.DeleteFunc(s.Notes, func(note string) bool { return note == wideNote })
	s.Notes = append(s.Notes, "--wide shows whole ids, pauses, sub-agents and how much of each session is known.")
}
