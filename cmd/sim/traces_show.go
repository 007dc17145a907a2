package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/internal/loop"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
)

func newTracesShow() *cobra.Command {
	var f traceFlags
	cmd := &cobra.Command{
		Use: "show ID[:LINE] [PATH…]",

		ValidArgsFunction: complete(sessionNames),
		Short:             "Show the calls of one session, thread by thread",
		Long: `Shows the calls of the session whose id begins with ID: what was new in each, what
was billed, and what the recording did to its context in between. ID:LINE, the name of a
call in the lists of sim audit and sim validate, shows that call and those around it.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 || args[0] == "" {
				return usageError{fmt.Errorf("which session? sim traces ls lists them")}
			}
			table, err := f.prices.table()
			if err != nil {
				return err
			}
			s, corpus, err := f.session(cmd, args[0], args[1:])
			if err != nil {
				return err
			}
			defer corpus.Close()
			return f.show(cmd.OutOrStdout(), s, args[0], table)
		},
	}
	f.bind(cmd)
	return cmd
}

func (f *traceFlags) show(w io.Writer, s *traces.Session, name string, table *costmodel.Table) error {
	sheet := callSheet(s, name)
	d := document.Document{Head: describe(s, table), Sections: []document.Section{{Blocks: []document.Block{sheet}}}}
	return d.Write(w, f.format)
}

// describe returns what is known of a session, one fact per line.
func describe(s *traces.Session, table *costmodel.Table) []string {
	billed := loop.Billed(s, table, time.Time{})
	q := &s.Quality
	lines := []string{
		fmt.Sprintf("session %s · %s · %s", s.ID, strings.TrimSpace(s.Agent+" "+s.Version()), s.Project),
		fmt.Sprintf("%s … %s · %s on %s · $%.2f", s.StartTime().Format(time.RFC3339), s.EndTime().Format(time.RFC3339),
			document.Count(billed.Calls, "call"), document.Count(len(s.Threads), "thread"), billed.CostUSD()),
		fmt.Sprintf("new tokens %d, of these prefix %d, unseen %d · outputs derived %d, unknown %d · lifetimes assumed %d"+
			" · lines %d, bad %d · synthetic %d · repeated %d",
			q.InputTokens, q.PrefixTokens, q.UnseenTokens, q.DerivedOutputs, q.UnknownOutputs, q.AssumedTiers,
			q.Lines, q.BadLines, q.Synthetic, q.Repeated),
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
	return lines
}

// call is a row of a session: a call, or an event before one, which has only a
// place and a wait.
type call struct {
	traces.Round
	thread                *traces.Thread
	number                int // of the round
	event, model, trigger string
	said                  string // the server's verdict if it names a difference
	file                  string
	fresh, unseen, missed int64
}

// verdictColumn is what the server said of the prefix of a request.
const verdictColumn = "server_verdict"

// callColumns are the columns of the calls of a session.
var callColumns = []column[*call]{
	label("thread", "THREAD", func(c *call) any { return c.thread.ID }),
	label("kind", "", func(c *call) any { return c.thread.Kind.String() }),
	figure("round", "ROUND", "", func(c *call) any { return c.number }),
	label("event", "EVENT", func(c *call) any { return c.event }),
	figure("line", "LINE", "", func(c *call) any { return int(c.Line) }),
	label("file", "", func(c *call) any { return c.file }),
	label("id", "", func(c *call) any { return c.ID }),
	label("model", "", func(c *call) any { return c.model }),
	figure("wait_seconds", "WAIT", results.UnitSeconds, func(c *call) any { return float64(c.Wait) / 1e9 }),
	figure("stream_seconds", "STREAM", results.UnitSeconds, func(c *call) any { return float64(c.Stream) / 1e9 }),
	label("trigger", "AFTER", func(c *call) any { return c.trigger }),
	figure("new_tokens", "NEW", "", func(c *call) any { return c.fresh }),
	figure("unseen_tokens", "UNSEEN", "", func(c *call) any { return c.unseen }),
	figure("context_tokens", "CONTEXT", "", func(c *call) any { return c.Usage.Input() }),
	figure("read_tokens", "READ", "", func(c *call) any { return c.Usage.Read }),
	figure("missed_tokens", "MISSED", "", func(c *call) any { return c.missed }),
	figure("write_5m_tokens", "WRITE 5M", "", func(c *call) any { return c.Usage.Write5m + c.Usage.WriteOther }),
	figure("write_1h_tokens", "WRITE 1H", "", func(c *call) any { return c.Usage.Write1h }),
	figure("uncached_tokens", "UNCACHED", "", func(c *call) any { return c.Usage.Uncached }),
	figure("output_tokens", "OUTPUT", "", func(c *call) any { return c.Usage.Output }),
	figure("logged_output_tokens", "LOGGED", "", func(c *call) any { return c.Logged }),
	label(verdictColumn, "SERVER SAYS", func(c *call) any { return c.said }),
}

// around is the number of calls shown on each side of a named one.
const around = 3

// near returns the calls around a named one; all for the name of a session.
func near(s *traces.Session, calls []*call, name string) []*call {
	_, file, line, ok := traces.ParseCallName(name)
	if !ok || int(file) >= len(s.Files) {
		return calls
	}
	at := slices.IndexFunc(calls, func(c *call) bool { return c.file == s.Files[file] && c.Line >= line })
	if at < 0 {
		return nil
	}
	return calls[max(0, at-around):min(len(calls), at+around+1)]
}

// callSheet lists the calls of a session, or those around a named one, with the
// events before them.
func callSheet(s *traces.Session, name string) *document.Table {
	var calls []*call
	for i := range s.Threads {
		t := &s.Threads[i]
		first := len(calls)
		for j := range t.Events {
			e := &t.Events[j]
			calls = append(calls, &call{
				Round:  traces.Round{Line: e.Line, Wait: e.Wait},
				thread: t, number: int(e.Round), event: eventText(e), file: s.Files[e.File],
			})
		}
		for j := range t.Rounds {
			calls = append(calls, callOf(s, t, j))
		}
		slices.SortStableFunc(calls[first:], func(a, b *call) int { return cmp.Compare(a.number, b.number) })
	}
	calls = near(s, calls, name)
	columns := slices.Clone(callColumns)
	for i := range columns {
		if slices.Contains([]string{"wait_seconds", "stream_seconds", "unseen_tokens"}, columns[i].Name) {
			columns[i].Spare = 1
		}
	}
	if !slices.ContainsFunc(calls, func(c *call) bool { return c.said != "" }) {
		// Formats for programs have the column anyway.
		i := slices.IndexFunc(columns, func(c column[*call]) bool { return c.Name == verdictColumn })
		columns[i].Title = ""
	}
	return tableOf(columns, calls)
}

// callOf returns the row of a round.
func callOf(s *traces.Session, t *traces.Thread, j int) *call {
	c := &call{Round: t.Rounds[j], thread: t, number: j, missed: missed(s, t, j)}
	c.file, c.model, c.trigger = s.Files[c.File], s.Models[c.Model], c.Trigger.String()
	if c.Verdict > traces.VerdictSame {
		c.said = c.Verdict.String()
	}
	for _, b := range s.Blocks[c.Input.From:c.Input.To] {
		c.fresh += int64(b.Tokens)
		if b.Kind == prompt.KindUnseen {
			c.unseen += int64(b.Tokens)
		}
	}
	return c
}

// eventText says what happened to the context.
func eventText(e *traces.Event) string {
	text := e.Kind.String()
	if e.Manual {
		text += " (manual)"
	}
	if e.PreTokens > 0 {
		text += fmt.Sprintf(" at %d", e.PreTokens)
	}
	if e.PostTokens > 0 {
		text += fmt.Sprintf(" to %d", e.PostTokens)
	}
	if e.Preserved > 0 {
		text += fmt.Sprintf(", %d kept", e.Preserved)
	}
	if e.Saved > 0 {
		text += fmt.Sprintf(", −%d", e.Saved)
	}
	return text
}

// missed returns the tokens that the previous call had left in the cache and
// that this one, by the log, did not read: a cache miss, whatever its cause. It
// is 0 for the first call of a thread. An automatic cache keeps all that was
// sent, in steps; less than a step is no miss.
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
