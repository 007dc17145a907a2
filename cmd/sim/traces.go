package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/compactsim/compactsim/cmd/sim/internal/console"
	"github.com/compactsim/compactsim/cmd/sim/internal/recordings"
	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/scenarios"
	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/calls"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/store"
)

func newTraces() *cobra.Command {
	return group("traces", "List recorded sessions, generate sessions, and manage the store", "",
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

// configure returns the configuration that simulates a strategy outside of a
// scenario, at the prices of the flags, and the plan that made it.
func (f *traceFlags) configure(
	plan scenarios.Plan, strategy string, set ...string,
) (sim.Config, *scenarios.Plan, error) {
	var err error
	if plan.Prices, err = f.prices.table(); err != nil {
		return sim.Config{}, nil, err
	}
	if plan.Registry, err = strategies.Builtin(); err != nil {
		return sim.Config{}, nil, err
	}
	config, err := plan.Config(strategy, set)
	if err != nil {
		return sim.Config{}, nil, console.Misuse(err)
	}
	return config, &plan, nil
}

// session reads what is under paths and returns the one session whose id begins
// with prefix. The caller closes the corpus.
func (f *traceFlags) session(
	cmd *cobra.Command, prefix string, paths []string,
) (*traces.Session, *recordings.Opened, error) {
	f.read.Bare = true
	corpus, err := f.read.open(cmd, paths)
	if err != nil {
		return nil, nil, err
	}
	s, err := findSession(corpus.Corpus, prefix)
	if err != nil && corpus.Sample {
		err = console.Misuse(fmt.Errorf("%w; these are the samples: for others give their PATH", err))
	}
	if err != nil {
		return nil, nil, errors.Join(err, corpus.Close())
	}
	return s, corpus, nil
}

// findSession returns the one session whose id begins with name, which may also
// name a call (calls.ParseName).
func findSession(corpus *traces.Corpus, name string) (*traces.Session, error) {
	prefix, _, _, _ := calls.ParseName(name)
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
		return nil, console.Misuse(fmt.Errorf("no session %s among %s; sim traces ls lists them",
			prefix, document.Count(len(corpus.Sessions), "session")))

	}
	ids := make([]string, len(found))
	for i, s := range found {
		ids[i] = s.ID
	}
	return nil, console.Misuse(fmt.Errorf("%s is the beginning of %d ids: %s", prefix, len(found), strings.Join(ids, ", ")))
}

func newTracesList() *cobra.Command {
	var f traceFlags
	cmd := &cobra.Command{
		Use:   "ls [PATH…]",
		Short: "List the sessions under PATH, their cost and how much of each is known",
		Long: `Lists the sessions under PATH with what they cost. The table shortens ids as long
as they stay distinct; sim explain accepts the short form. CSV and JSON have whole ids,
files, pauses and sub-agents, and how much of each session is known: unseen_share, the share
of new tokens that are in no line; derived_outputs, outputs whose final size is estimated;
assumed_lifetimes, calls whose cache lifetime is not logged.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			table, err := f.prices.table()
			if err != nil {
				return err
			}
			f.read.Lazy, f.read.Once = true, true
			corpus, err := f.read.open(cmd, args)
			if err != nil {
				return err
			}
			defer corpus.Close()
			sheet, err := sessionSheet(corpus.Corpus, table, f.format == "json" || f.format == "csv")
			if err != nil {
				return err
			}
			sheet.Notes = append(sheet.Notes, corpus.Reading()...)
			return sheet.Write(cmd.OutOrStdout(), f.format)
		},
	}
	f.bind(cmd)
	return cmd
}

// minModel is the least width of clipped model names.
const minModel = 16

// listed is a session in a list, with its bill.
type listed struct {
	*traces.Session
	bill results.Row
}

// sessionColumns are the columns of a list of sessions; only machines see those without a title.
func sessionColumns() []document.ColumnOf[*listed] {
	var list []document.ColumnOf[*listed]
	label := func(name, title string, of func(s *listed) any) {
		list = append(list, document.ColumnOf[*listed]{Column: document.Column{Name: name, Title: title}, Of: of})
	}
	figure := func(name, title, unit string, of func(s *listed) any) {
		list = append(list, document.ColumnOf[*listed]{Column: document.Column{Name: name, Title: title, Unit: unit, Right: true}, Of: of})
	}
	label("id", "ID", func(s *listed) any { return s.ID })
	label("start", "STARTED", (*listed).started)
	label("project", "", func(s *listed) any { return s.Project })
	label("agent", "", func(s *listed) any { return s.Agent })
	label("version", "", func(s *listed) any { return s.Version() })
	label("model", "MODEL", func(s *listed) any { return mainModel(s.Session) })
	list[len(list)-1].Clip = minModel
	label("file", "", func(s *listed) any { return strings.Join(s.Files[:min(1, len(s.Files))], "") })
	figure("calls", "CALLS", "", func(s *listed) any { return s.bill.N(measures.Calls) })
	figure("input_tokens", "INPUT", measures.UnitTokens, func(s *listed) any { u := s.bill.Usage(); return u.Input() })
	figure("output_tokens", "OUTPUT", measures.UnitTokens, func(s *listed) any { return s.bill.Usage().Output })
	figure("compactions", "COMPACTIONS", "", func(s *listed) any { return s.bill.N(measures.Compactions) })
	figure("gaps_over_5m", "", "", func(s *listed) any { return gaps(s.Session, 5*time.Minute) })
	figure("gaps_over_1h", "", "", func(s *listed) any { return gaps(s.Session, time.Hour) })
	figure("sub_agents", "", "", (*listed).agents)
	figure("billed_usd", "BILLED", measures.UnitUSD, func(s *listed) any { return s.bill.CostUSD() })
	figure("unseen_share", "", measures.UnitRatio, (*listed).unseen)
	figure("derived_outputs", "", "", func(s *listed) any { return s.Quality.DerivedOutputs })
	figure("assumed_lifetimes", "", "", func(s *listed) any { return s.Quality.AssumedTiers })
	figure("problems", "", "", func(s *listed) any { return s.Quality.Problems })
	return list
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

// sessionSheet lists sessions, one per row, for people with ids as short as they may be to differ. One session is loaded at a time.
func sessionSheet(corpus *traces.Corpus, prices *costmodel.Table, machine bool) (*document.Table, error) {
	var ids []string
	var total results.Row
	var unpriced calls.Unpriced
	columns := sessionColumns()
	t := document.TableOf(columns, nil)
	t.Fitted = true
	for _, session := range corpus.Sessions {
		whole, err := session.Load()
		if err != nil {
			return nil, err
		}
		s := &listed{whole, sim.Billed(whole, prices, time.Time{})}
		t.Rows, ids = append(t.Rows, document.TableOf(columns, []*listed{s}).Rows...), append(ids, s.ID)
		if total.Add(&s.bill); s.bill.N(measures.UnpricedCalls) > 0 {
			table := calls.Of(whole, prices)
			for _, list := range append(table.Threads, table.Apart) {
				for i := range list {
					unpriced.Add(&list[i])
				}
			}
		}
	}
	if !machine {
		for i, id := range document.Beginnings(ids) {
			t.Rows[i][0] = id
		}
	}
	t.Notes = []string{
		fmt.Sprintf("%s, %s, $%.2f at API prices of each call's date.", document.Count(len(ids), "session"), calls.TallyBy(total.CallsBy), total.CostUSD()),
	}
	if text := calls.UnpricedCalls(unpriced.Tally, unpriced.Models()); text != "" {
		t.Notes = append(t.Notes, text)
	}
	return t, nil
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

func newTracesStore() *cobra.Command {
	return group("store", "Show or remove what is kept of sessions that were read",
		`Sessions that were read are kept in the user's cache folder, so that the next run over the same files starts
at once: numbers, paths, names of tools and models, and digests of what was said, but no text. What audit and advise
found is kept with them, for a second look. A file that has changed is read again, and all files after an upgrade whose readers differ. The folder holds 1 GiB at most; what was used longest ago goes first.`,
		newLs("Say where parsed sessions are kept and how much they take", storeTable), newStoreClean())
}

// storeTable says how much is stored.
func storeTable() (*document.Table, error) {
	dir, err := recordings.StoreFolder()
	if err != nil {
		return nil, fmt.Errorf("no folder for parsed sessions: %w", err)
	}
	list, err := store.List(dir)
	if err != nil {
		return nil, fmt.Errorf("list parsed sessions: %w", err)
	}
	row := []any{dir, len(list), int64(0), "", ""}
	for i, e := range list {
		row[2] = row[2].(int64) + e.Bytes
		at := e.Used.UTC().Format("2006-01-02T15:04Z")
		if row[4] = at; i == 0 {
			row[3] = at
		}
	}
	return &document.Table{Columns: []document.Column{
		{Name: "folder", Title: "FOLDER"}, {Name: "entries", Title: "ENTRIES", Right: true},
		{Name: "bytes", Title: "BYTES", Right: true}, {Name: "oldest_use", Title: "OLDEST USE"},
		{Name: "latest_use", Title: "LATEST USE"},
	}, Rows: [][]any{row}}, nil
}

func newStoreClean() *cobra.Command {
	return &cobra.Command{
		Use: "clean", Short: "Remove what is kept; the next run reads its sessions again", Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			dir, err := recordings.StoreFolder()
			if err == nil {
				err = store.Clean(dir)
			}
			if err != nil {
				return fmt.Errorf("remove parsed sessions: %w", err)
			}
			return nil
		},
	}
}
