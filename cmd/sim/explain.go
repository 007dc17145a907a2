package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/internal/loop"
	"github.com/compactsim/compactsim/internal/serving/needs"
	"github.com/compactsim/compactsim/internal/study/audit"
	"github.com/compactsim/compactsim/internal/study/explain"
	"github.com/compactsim/compactsim/internal/study/studies"
	"github.com/compactsim/compactsim/scenarios"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/traces"
)

// explainFlags are the flags of sim explain.
type explainFlags struct {
	traceFlags
	strategy string
	seed     uint64
	window   int64
	all      bool
	set      []string
}

func newExplain() *cobra.Command {
	var f explainFlags
	cmd := &cobra.Command{
		Use:   "explain SESSION[:LINE] [CALL] [PATH…]",
		Short: "Explain what each call of a session cost under a strategy",
		Long: `Replays the session whose id begins with SESSION under a strategy and lists the
calls at which something happened: what a trigger measured, what a layer did,
what changed in the prefix, what the server read and why it missed. CALL, a
number, shows one call in full, its request drawn in segments; so does SESSION:LINE,
the name of a call in the lists of sim audit and sim validate.`,
		Example: `  sim explain 38c5
  sim explain 38c5 81 --strategy auto-compact/155k
  sim explain 38c5 81 --format json ~/.claude/projects`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 || args[0] == "" {
				return usageError{fmt.Errorf("which session? sim traces ls lists them")}
			}
			return f.run(cmd, args)
		},
	}
	f.bind(cmd, "table", "json")
	flags := cmd.Flags()
	flags.StringVar(&f.strategy, "strategy", "recorded", "`NAME` of the strategy to explain")
	completeFlag(cmd, "strategy", presetNames)
	cmd.ValidArgsFunction = complete(sessionNames)
	flags.Uint64Var(&f.seed, "seed", 1, "seed `N` of all random draws")
	flags.Int64Var(&f.window, "window", 0, "context window, `TOKENS`; 0 takes that of the session's client")
	flags.BoolVar(&f.all, "all", false, "list every call")
	flags.StringArrayVar(&f.set, "set", nil, "set a parameter of the scenario as `PATH=VALUE`, such as full-compact.trigger.fixed=80000; repeatable")
	return cmd
}

func (f *explainFlags) run(cmd *cobra.Command, args []string) error {
	_, plan, err := f.configured(scenarios.Plan{Seed: f.seed, Window: f.window, Workers: f.read.workers}, f.strategy, f.set...)
	if err != nil {
		return err
	}
	call, paths, err := callNumber(args[1:])
	if err != nil {
		return usageError{err}
	}
	s, corpus, err := f.session(cmd, args[0], paths)
	if err != nil {
		return err
	}
	defer corpus.Close()
	if err := plan.Prepare(cmd.Context(), corpus); err != nil { // as sim run learns from all sessions
		return err
	}
	config, err := plan.Config(f.strategy, f.set)
	if err != nil {
		return err
	}
	e, err := explain.Session(config, s, call)
	if err != nil {
		return err
	}
	behind := ""
	if _, file, line, ok := traces.ParseCallName(args[0]); ok && call == 0 && int(file) < len(s.Files) {
		at := callAt(e, s.Files[file], int(line))
		if at == nil {
			return usageError{fmt.Errorf("%s: no call at or behind that line", args[0])}
		}
		if call = at.Number; at.Line > int(line) {
			behind = fmt.Sprintf("%s is no line of a call: this is the next one behind it, at line %d", args[0], at.Line)
		}
		if e, err = explain.Session(config, s, call); err != nil { // its request, too
			return err
		}
	}
	if call > len(e.Calls) {
		return usageError{fmt.Errorf("call %d: session %s has %s under %s",
			call, s.ID, document.Count(len(e.Calls), "call"), f.strategy)}
	}
	d, err := explain.Document(e, explain.Options{Call: call, All: f.all, Logged: loggedOf(e, s, config.Prices)})
	if err != nil {
		return usageError{err}
	}
	if behind != "" {
		d.Head = append([]string{behind}, d.Head...)
	}
	return d.Write(cmd.OutOrStdout(), f.format)
}

// loggedOf returns what the recording has about an explained session.
func loggedOf(e *studies.Explanation, s *traces.Session, prices loop.Prices) explain.Logged {
	row := loop.Billed(s, prices, time.Time{})
	logged := explain.Logged{USD: row.CostUSD()}
	if e.Strategy != "recorded" {
		return logged
	}
	threads := map[string]*traces.Thread{}
	for i := range s.Threads {
		threads[s.Threads[i].ID] = &s.Threads[i]
	}
	for i := range e.Calls {
		c, read := &e.Calls[i], int64(-1)
		if t := threads[c.Thread]; t != nil && c.Layer == "" && c.Round < len(t.Rounds) {
			read = t.Rounds[c.Round].Usage.Read
		}
		logged.Reads = append(logged.Reads, read)
	}
	return logged
}

// callAt returns the conversation's call at a line of a file or the next one
// after it, nil for none.
func callAt(e *studies.Explanation, file string, line int) *studies.ExplainedCall {
	var at *studies.ExplainedCall
	for i := range e.Calls {
		c := &e.Calls[i]
		if c.Layer == "" && c.File == file && c.Line >= line && (at == nil || c.Line < at.Line) {
			at = c
		}
	}
	return at
}

// callNumber splits off the number of a call, if the first argument is one.
func callNumber(args []string) (call int, rest []string, err error) {
	if len(args) == 0 {
		return 0, nil, nil
	}
	n, err := strconv.Atoi(args[0])
	switch {
	case err != nil:
		return 0, args, nil
	case n < 1:
		return 0, nil, fmt.Errorf("call %d: calls count from 1", n)
	}
	return n, args[1:], nil
}

// auditFlags are the flags of sim audit.
type auditFlags struct {
	traceFlags
	top int
}

func newAudit() *cobra.Command {
	var f auditFlags
	cmd := &cobra.Command{
		Use:   "audit [PATH…]",
		Short: "Explain the bill of recorded sessions: where the money went",
		Long: `Explains the bill of the sessions under PATH from recorded usage. It shows what
was paid for, what cache misses cost and why, what compactions cost and saved, what the
contexts held, and for each finding where to look. --since and --until choose calls, not
sessions; days, weeks (ISO 8601) and months are those of --tz. Two things are simulated:
what compactions cost and saved, and the last line, the best change that sim advise finds.
Prices are those of the API; a subscription pays none of it.`,
		Example: `  sim audit ~/.claude/projects
  sim audit --since 7d --project api ~/.claude/projects
  sim audit --top 0 --tz Europe/Berlin ~/.claude/projects`,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	f.bind(cmd)
	flags := cmd.Flags()
	f.read.choice.byCall = true
	flags.IntVar(&f.top, "top", 5, "`N` findings in full, and lines of each list; the others are summed up; 0 for all")
	return cmd
}

func (f *auditFlags) run(cmd *cobra.Command, args []string) error {
	prices, err := f.prices.table()
	if f.top < 0 {
		err = errors.Join(err, fmt.Errorf("--top %d must not be negative", f.top))
	}
	if err != nil {
		return usageError{err}
	}
	f.read.listener = needs.NewListener() // the simulation asks what was used later
	f.read.lazy = true
	defer f.read.closeStore(cmd)
	defer debug.SetGCPercent(debug.SetGCPercent(30)) // bodies of sessions come and go
	corpus, err := f.read.corpus(cmd, args)
	if err != nil {
		return err
	}
	defer corpus.Close()
	report, err := f.explain(cmd.Context(), corpus, prices)
	if err != nil {
		return err
	}
	var read results.Workload
	f.read.remark(cmd, &read, corpus)
	report.Remarks = read.Remarks
	o := audit.DocumentOptions{Top: f.top}
	if f.prices.file != "" {
		o.Prices = filepath.Base(f.prices.file)
	}
	if f.format != "json" && !strings.HasPrefix(f.format, "csv") { // for people
		advice, err := f.advice(cmd, corpus, prices)
		if err != nil {
			return err
		}
		o.Advice = advice.Line()
	}
	return report.Document(o).Write(cmd.OutOrStdout(), f.format)
}

// explain makes the report.
func (f *auditFlags) explain(ctx context.Context, corpus *traces.Corpus, prices *costmodel.Table) (*audit.Report, error) {
	o := audit.Options{Prices: prices, Top: f.top, Zone: f.read.choice.zone, In: f.read.filter.InPeriod}
	plan, err := f.plan(prices)
	if err != nil {
		return nil, err
	}
	switch _, cells, err := plan.Chains(ctx, corpus); {
	case err == nil:
		o.Compactions = cells[0].Compactions
	case !errors.Is(err, traces.ErrNoSessions): // sessions without a call have no advice
		return nil, err
	}
	return audit.Run(corpus.Sessions, o)
}
