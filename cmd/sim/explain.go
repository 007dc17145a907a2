package main

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/compactsim/compactsim/cmd/sim/internal/console"
	"github.com/compactsim/compactsim/cmd/sim/internal/recordings"
	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/scenarios"
	"github.com/compactsim/compactsim/sim/audit"
	"github.com/compactsim/compactsim/sim/calls"
	"github.com/compactsim/compactsim/sim/explain"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/sim/results/studies"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/facts"
)

// explainFlags are the flags of sim explain.
type explainFlags struct {
	traceFlags
	strategy string
	seed     uint64
	profile  string
	window   int64
	all      bool
	open     bool
	set      []string
}

func newExplain() *cobra.Command {
	var f explainFlags
	cmd := &cobra.Command{
		Use:   "explain SESSION[:LINE] [CALL] [PATH…]",
		Short: "Show what each call of a session was billed, and why",
		Long: `Lists the calls of the session whose id begins with SESSION at which something happened:
what was billed for each, what it missed in the cache and why, and what the cache model
expects of the recording. --strategy adds what another strategy would have done: what a
trigger measured, what a layer did, what the server would have read. CALL, a number, or
SESSION:LINE, as sim audit and sim validate name calls, shows one call in full, with its request
drawn in segments. --format csv has every call with all figures.`,
		Example: `  sim explain 38c5
  sim explain 38c5 81 --strategy auto-compact/155k
  sim traces ls ~/.claude/projects
  sim explain SESSION --format csv ~/.claude/projects`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 || args[0] == "" {
				return console.Misuse(fmt.Errorf("which session? sim traces ls lists them"))
			}
			return f.run(cmd, args)
		},
	}
	f.bind(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.strategy, "strategy", "", "also show what the strategy `NAME` would have done")
	completeFlag(cmd, "strategy", presetNames)
	flags.Uint64Var(&f.seed, "seed", 1, "seed `N` of all random draws")
	flags.Int64Var(&f.window, "window", 0, "context window in `TOKENS`; 0 for the window of each session's client")
	flags.StringVar(&f.profile, "profile", scenarios.ProfileDefault, "fitted profile: default, none or a `FILE` written by sim calibrate")
	flags.BoolVar(&f.open, "open-loop", false, "the agent acts as recorded, whatever the strategy forgot (agent.refetch=never)")
	flags.BoolVar(&f.all, "all", false, "list every call")
	flags.StringArrayVar(&f.set, "set", nil, "set a parameter of the scenario as `PATH=VALUE`, such as full-compact.trigger.fixed=80000; repeatable")
	return cmd
}

// asked reports whether another strategy or other settings than the recorded ones are asked for.
func (f *explainFlags) asked() bool { return f.strategy != "" || len(f.set) > 0 }

func (f *explainFlags) run(cmd *cobra.Command, args []string) error {
	strategy := cmp.Or(f.strategy, measures.StrategyRecorded)
	profiles, err := loadProfiles(f.profile)
	if err != nil {
		return err
	}
	set := slices.Concat([]string{"profile=" + f.profile}, f.set)
	if f.open {
		set = append(set, "agent.refetch=never")
	}
	_, plan, err := f.configure(scenarios.Plan{Seed: f.seed, Window: f.window, Workers: f.read.Workers, Profiles: profiles}, strategy, set...)
	if err != nil {
		return err
	}
	call, paths, err := callNumber(args[1:])
	if err != nil {
		return console.Misuse(err)
	}
	s, corpus, err := f.session(cmd, args[0], paths)
	if err != nil {
		return err
	}
	defer corpus.Close()
	f.read.Warn(plan.Unmet(strategy, f.set))
	if err := plan.Prepare(cmd.Context(), corpus.Corpus); err != nil { // as sim run learns from all sessions
		return err
	}
	config, err := plan.Config(strategy, set)
	if err != nil {
		return err
	}
	recorded, err := plan.Config(measures.StrategyRecorded, set[:1])
	if err != nil {
		return err
	}
	o := explain.Options{Call: call, All: f.all, Asked: f.asked()}
	e, err := explain.Session(config, s, call)
	if err != nil {
		return err
	}
	named := "" // as a line, not as a number
	if call == 0 {
		named = args[0]
	}
	if _, file, line, ok := calls.ParseName(named); ok && int(file) < len(s.Files) {
		at := callAt(e, s.Files[file], int(line))
		if at == nil {
			return console.Misuse(fmt.Errorf("%s: no call at or after that line", args[0]))
		}
		if o.Call = at.Number; at.Line > int(line) {
			o.Head = append(o.Head, fmt.Sprintf("%s is not the line of a call; this is the next call, at line %d", args[0], at.Line))
		}
		if e, err = explain.Session(config, s, o.Call); err != nil { // its request, too
			return err
		}
	}
	if o.Call > len(e.Calls) {
		line := fmt.Sprintf("line %d of its file is %s:%[1]d", o.Call, args[0]) // for who took a line for a number
		if callAt(e, s.Files[0], o.Call) == nil {
			line = fmt.Sprintf("no call is at or after line %d of its file", o.Call)
		}
		return console.Misuse(fmt.Errorf("call %d: session %s has only %s; %s", o.Call, s.ID, numbered(e, strategy), line))
	}
	if err := explain.Bill(e, s, recorded); err != nil {
		return err
	}
	if o.Call == 0 {
		o.Head = describe(s)
	} else {
		found, err := findingsAt(s, &e.Calls[o.Call-1], plan.Prices)
		if err != nil {
			return err
		}
		o.Head = append(o.Head, found...)
	}
	if text := recordings.Ahead([]*traces.Session{s}, time.Now()); text != "" {
		o.Head = append(o.Head, text)
	}
	if o.Call > 0 && s.Agent == facts.Requests {
		c := &e.Calls[o.Call-1]
		if o.Parting = f.parting(corpus.Corpus, e, c); c.First && o.Parting == nil {
			if o.Parting, o.Beside, err = explain.PartHead(corpus.Corpus, plan.Prices, s.ID); err != nil {
				return err
			}
		}
	}
	d, err := explain.Document(e, o)
	if err != nil {
		return console.Misuse(err)
	}
	return d.Write(cmd.OutOrStdout(), f.format)
}

// numbered says which calls of a session have numbers under a strategy: its own, such as summaries, too.
func numbered(e *studies.Explanation, strategy string) string {
	beside := 0
	for i := range e.Calls {
		if c := &e.Calls[i]; c.Layer != "" || c.Again {
			beside++
		}
	}
	text := document.Count(len(e.Calls)-beside, "call") + " under " + strategy
	if beside > 0 {
		text += fmt.Sprintf(", and %d more beside the conversation, such as summaries", beside)
	}
	return text
}

// describe returns what is known of a session, one fact per line.
func describe(s *traces.Session) []string {
	q := &s.Quality
	period := "no times"
	if s.Start != 0 {
		period = s.StartTime().Format(time.RFC3339) + " … " + s.EndTime().Format(time.RFC3339)
	}
	lines := []string{
		fmt.Sprintf("%s · %s · %s · %s", s.Project, period, document.Count(s.NumCalls(), "call"), document.Count(len(s.Threads), "thread")),
		fmt.Sprintf("new tokens %d (prefix %d, unseen %d) · outputs derived %d, unknown %d · lifetimes assumed %d"+
			" · lines %d, bad %d · synthetic %d · repeated %d, of a parent that is not here %d",
			q.InputTokens, q.PrefixTokens, q.UnseenTokens, q.DerivedOutputs, q.UnknownOutputs, q.AssumedTiers,
			q.Lines, q.BadLines, q.Synthetic, q.Repeated, q.Inherited),
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

// parting returns where the request of a call parts from the one before it in its thread, nil where they do not part or
// the log does not show both as lines.
func (f *explainFlags) parting(corpus *traces.Corpus, e *studies.Explanation, c *studies.ExplainedCall) *explain.Parting {
	var before *studies.ExplainedCall
	for i := range e.Calls[:c.Number-1] {
		if b := &e.Calls[i]; b.Thread == c.Thread && b.Layer == "" && !b.Again {
			before = b
		}
	}
	if before == nil || c.Layer != "" || c.Again {
		return nil
	}
	if p, ok := explain.Part(lineOf(corpus, before), lineOf(corpus, c)); ok {
		return &p
	}
	return nil
}

// lineOf returns the line of a call, nil where its file cannot be read.
func lineOf(corpus *traces.Corpus, c *studies.ExplainedCall) (found []byte) {
	explain.EachLine(corpus, c.File, func(n int, line []byte) bool {
		if n == c.Line {
			found = line
		}
		return n < c.Line
	})
	return found
}

// callAt returns the conversation's call at a line of a file or the next one
// after it, nil for none.
func callAt(e *studies.Explanation, file string, line int) *studies.ExplainedCall {
	var at *studies.ExplainedCall
	for i := range e.Calls {
		c := &e.Calls[i]
		if c.Layer == "" && !c.Again && c.File == file && c.Line >= line && (at == nil || c.Line < at.Line) {
			at = c
		}
	}
	return at
}

// findingsAt says what sim audit finds in the recording at a call, and in results that it is the first to send.
func findingsAt(s *traces.Session, c *studies.ExplainedCall, prices calls.Prices) (lines []string, err error) {
	report, err := audit.Run([]*traces.Session{s}, audit.Options{Prices: prices})
	if err != nil {
		return nil, err
	}
	file := slices.Index(s.Files, c.File)
	if file < 0 || c.Layer != "" {
		return nil, nil
	}
	name := calls.Name(s.ID, uint16(file), int32(c.Line))
	for i := range report.Findings {
		f, usd := &report.Findings[i], 0.0
		for _, p := range f.Places {
			if p.Call == name {
				usd += p.USD
			}
		}
		if text := document.USD(usd, 2); text != document.USD(0, 2) {
			lines = append(lines, fmt.Sprintf("recorded, by sim audit: %s, %s", f.Title, text))
		}
	}
	return lines, nil
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
