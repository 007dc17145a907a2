package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/internal/document"
	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
)

func newTracesShow() *cobra.Command {
	var f traceFlags
	cmd := &cobra.Command{
		Use:   "show ID [PATH…]",
		Short: "Show the calls of one session, thread by thread",
		Long: `Shows the calls of the session whose id begins with ID: what was new in each, what
was billed, and what the recording did to its context in between.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError{fmt.Errorf("which session? sim traces ls lists them")}
			}
			table, err := f.table()
			if err != nil {
				return err
			}
			corpus, _, err := f.read.corpus(cmd, args[1:])
			if err != nil {
				return err
			}
			defer corpus.Close()
			s, err := findSession(corpus, args[0])
			if err != nil {
				return err
			}
			return f.show(cmd.OutOrStdout(), s, table)
		},
	}
	f.bind(cmd)
	return cmd
}

func (f *traceFlags) show(w io.Writer, s *traces.Session, table *costmodel.Table) error {
	if f.format == "table" || f.format == "markdown" {
		if err := describe(w, s, table); err != nil {
			return err
		}
	}
	return callSheet(s).Write(w, f.format)
}

// describe writes what is known of a session above its calls.
func describe(w io.Writer, s *traces.Session, table *costmodel.Table) error {
	billed := sim.Billed(s, table, time.Time{})
	q := &s.Quality
	lines := []string{
		fmt.Sprintf("session %s · %s %s · %s", s.ID, s.Agent, s.Version(), s.Project),
		fmt.Sprintf("%s … %s · %s on %s · $%.2f", s.StartTime().Format(time.RFC3339), s.EndTime().Format(time.RFC3339),
			plural(billed.Calls, "call"), plural(len(s.Threads), "thread"), billed.CostUSD()),
		fmt.Sprintf("new tokens %d, of these prefix %d, unseen %d · outputs derived %d, unknown %d · lifetimes assumed %d · lines %d, bad %d · synthetic %d · repeated %d",
			q.InputTokens, q.PrefixTokens, q.UnseenTokens, q.DerivedOutputs, q.UnknownOutputs, q.AssumedTiers, q.Lines, q.BadLines, q.Synthetic, q.Repeated),
	}
	if s.LoggedUSD > 0 {
		lines = append(lines, fmt.Sprintf("logged by the client $%.2f", s.LoggedUSD))
	}
	for _, name := range s.Files {
		lines = append(lines, "file "+name)
	}
	for _, p := range s.Problems {
		lines = append(lines, "problem "+p.String())
	}
	for _, line := range lines {
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(w)
	return err
}

// callSheet lists the calls of a session with the events before them.
func callSheet(s *traces.Session) *document.Table {
	sheet := &document.Table{Columns: []document.Column{
		{Name: "thread", Title: "THREAD"},
		{Name: "kind"},
		{Name: "round", Title: "ROUND", Right: true},
		{Name: "event", Title: "EVENT"},
		{Name: "line", Title: "LINE", Right: true},
		{Name: "file"},
		{Name: "id"},
		{Name: "model"},
		{Name: "wait_seconds", Title: "WAIT", Unit: results.UnitSeconds, Right: true},
		{Name: "stream_seconds", Title: "STREAM", Unit: results.UnitSeconds, Right: true},
		{Name: "trigger", Title: "AFTER"},
		{Name: "new_tokens", Title: "NEW", Right: true},
		{Name: "unseen_tokens", Title: "UNSEEN", Right: true},
		{Name: "context_tokens", Title: "CONTEXT", Right: true},
		{Name: "read_tokens", Title: "READ", Right: true},
		{Name: "missed_tokens", Title: "MISSED", Right: true},
		{Name: "write_5m_tokens", Title: "WRITE 5M", Right: true},
		{Name: "write_1h_tokens", Title: "WRITE 1H", Right: true},
		{Name: "uncached_tokens", Title: "UNCACHED", Right: true},
		{Name: "output_tokens", Title: "OUTPUT", Right: true},
		{Name: "logged_output_tokens", Title: "LOGGED", Right: true},
	}}
	for i := range s.Threads {
		t := &s.Threads[i]
		for _, e := range t.Events {
			sheet.Rows = append(sheet.Rows, eventRow(s, t, &e))
		}
		for j := range t.Rounds {
			sheet.Rows = append(sheet.Rows, roundRow(s, t, j))
		}
		sortByRound(sheet.Rows[len(sheet.Rows)-len(t.Rounds)-len(t.Events):])
	}
	return sheet
}

func roundRow(s *traces.Session, t *traces.Thread, j int) []any {
	r := &t.Rounds[j]
	var fresh, unseen int64
	for _, b := range s.Blocks[r.Input.From:r.Input.To] {
		fresh += int64(b.Tokens)
		if b.Kind == prompt.KindUnseen {
			unseen += int64(b.Tokens)
		}
	}
	u := &r.Usage
	return []any{
		t.ID, t.Kind.String(), j, "", int(r.Line), s.Files[r.File], r.ID, s.Models[r.Model], float64(r.Wait) / 1e9, float64(r.Stream) / 1e9,
		r.Trigger.String(), fresh, unseen, u.Input(), u.Read, missed(s, t, j), u.Write5m + u.WriteOther, u.Write1h, u.Uncached, u.Output, r.Logged,
	}
}

// missed returns the tokens that the call before had left in the cache and this
// one, by the log, did not read: a cache miss, whatever its cause. 0 for the
// first call of a thread. An automatic cache keeps all that was sent, in steps:
// less than a step is no miss.
func missed(s *traces.Session, t *traces.Thread, j int) int64 {
	if j == 0 {
		return 0
	}
	before := &t.Rounds[j-1].Usage
	left := before.Read + before.Writes()
	if agents.Automatic(s) {
		const step = 1024
		if left = before.Input(); left-t.Rounds[j].Usage.Read < step {
			return 0
		}
	}
	return max(0, left-t.Rounds[j].Usage.Read)
}

// eventRow stands before the row of the round the event precedes.
func eventRow(s *traces.Session, t *traces.Thread, e *traces.Event) []any {
	text := e.Kind.String()
	if e.Manual {
		text += " (manual)"
	}
	if e.PreTokens > 0 {
		text += fmt.Sprintf(" at %d", e.PreTokens)
	}
	if e.Saved > 0 {
		text += fmt.Sprintf(", −%d", e.Saved)
	}
	return []any{
		t.ID, t.Kind.String(), int(e.Round), text, int(e.Line), s.Files[e.File], "", "", float64(e.Wait) / 1e9, 0.0,
		"", 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	}
}

// sortByRound puts events before the round they precede; rows are of one
// thread.
func sortByRound(rows [][]any) {
	const round = 2
	slices.SortStableFunc(rows, func(a, b []any) int { return cmp.Compare(a[round].(int), b[round].(int)) })
}
