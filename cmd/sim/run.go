package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/internal/loop"
	"github.com/compactsim/compactsim/internal/report/charts"
	"github.com/compactsim/compactsim/internal/report/pseudonym"
	"github.com/compactsim/compactsim/internal/serving/live"
	"github.com/compactsim/compactsim/internal/serving/profile"
	"github.com/compactsim/compactsim/scenarios"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces"
)

// runFlags are the flags of verbs that run the cells of a scenario.
type runFlags struct {
	read       readFlags
	live       liveFlags
	output     outputFlags
	prices     priceFlags
	pricesAt   string
	strategies []string
	set        []string
	format     string
	split      bool
	perSession bool
	all        bool
	verify     bool
	openLoop   bool
	bound      bool
	dryRun     bool
	seed       uint64
	window     int64
	profile    string
	server     string
	keys       keyFlags // bound by the verbs that have pseudonyms
	searches   bool     // only few of the cells are simulated
}

// maxLines is the largest number of cells in a table; of more it shows the
// cheapest and the most expensive.
const maxLines = 40

// bindCells binds the flags of every verb that runs the cells of a scenario; without
// formats it has all there are.
func (f *runFlags) bindCells(cmd *cobra.Command, formats ...string) {
	f.read.bind(cmd)
	bindFormat(cmd, &f.format, formats...)
	f.prices.bind(cmd)
	f.bindStrategies(cmd)
}

// bindStrategies binds what the cells are, on sessions and at prices that other flags choose.
func (f *runFlags) bindStrategies(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringSliceVar(&f.strategies, "strategy", scenarios.DefaultStrategies(),
		"`NAMES` of the strategies to run, separated by commas")
	flags.StringArrayVar(&f.set, "set", nil,
		"set a parameter of the scenario as `PATH=VALUE`; a list sweeps it; repeatable")
	completeFlag(cmd, "strategy", presetNames)
	flags.BoolVar(&f.verify, "verify", false, "check the invariants at every call")
	flags.BoolVar(&f.openLoop, "open-loop", false,
		"let the agent act as recorded whatever was forgotten: it fetches nothing again")
	flags.Uint64Var(&f.seed, "seed", 1, "seed `N` of all random draws")
	flags.Int64Var(&f.window, "window", 0, "context window, `TOKENS`; 0 takes that of the session's client")
	flags.StringVar(&f.server, "server", "", "replay on the cache of provider `NAME` (docs/servers.md); default that of each recording")
	flags.StringVar(&f.profile, "profile", scenarios.ProfileDefault,
		"fitted behaviour: default, none or a `FILE` of sim calibrate")
	flags.StringVar(&f.pricesAt, "prices-at", "call", "`DATE` of the prices: call, today or YYYY-MM-DD")
}

// study is what a verb simulates: the cells of a plan over the sessions of a corpus.
type study struct {
	plan   *scenarios.Plan
	file   *scenarios.File // the scenario, including the flags
	corpus *traces.Corpus
	folder *outFolder // nil without output files
	key    []byte     // of pseudonyms; nil for none
	set    []string   // settings from --set
}

// study checks everything that needs no sessions. All problems are reported at
// once, with those that the verb has found.
func (f *runFlags) study(cmd *cobra.Command, args []string, problems ...error) (*study, error) {
	asked, paths, err := splitArgs(args)
	if err != nil {
		return nil, usageError{err}
	}
	plan, file, err := f.parsed(cmd, asked, paths)
	if err := errors.Join(append(problems, err)...); err != nil {
		return nil, usageError{err}
	}
	return &study{plan: plan, file: file, set: f.set}, nil
}

// open returns an error for a folder in use, and reads the sessions, which the caller closes.
func (f *runFlags) open(cmd *cobra.Command, s *study, args []string) (err error) {
	if err := cmd.Context().Err(); err != nil {
		return fmt.Errorf("interrupted before anything was read: %w", err)
	}
	if !f.dryRun {
		if s.folder, err = f.output.folder(cmd, "run", holdsRun); err != nil {
			return err
		}
	}
	s.corpus, err = f.sessions(cmd, s.plan, args)
	return err
}

func newRun() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use: "run [SCENARIO] [PATH…]",

		ValidArgsFunction: complete(scenarioNames),
		Short:             "Replay sessions under several strategies and print the bill of each",
		Long: `Replays the sessions under PATH (files, folders, or - for standard input) under
each strategy and prints what each would have cost. Without a path it replays
the samples that come with the program.

SCENARIO is a built-in scenario (sim scenarios ls) or a .yaml file of strategies, server and prices;
sim scenarios show reference prints the manual. Lists are swept, and flags override the scenario.`,
		Example: `  sim run
  sim run ~/.claude/projects
  sim run --strategy none,auto-compact/155k --split session.jsonl
  sim run thresholds ~/.claude/projects --out thresholds
  sim run --set server.lifetime_5m=[5m,1h] --dry-run ~/.claude/projects`,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	f.bindCells(cmd, "table", "markdown", "csv", "json") // sim report writes pages
	cmd.Flags().Lookup("quiet").Usage = "print the table alone"
	f.live.bind(cmd, &f.read.discover.yes)
	f.output.bind(cmd, "run", reports.RunKinds()...)
	f.keys.bind(cmd)
	flags := cmd.Flags()
	flags.BoolVar(&f.split, "split", false, "show cost by token class and by source")
	flags.BoolVar(&f.perSession, "per-session", false, "with --format csv: a row for each session")
	flags.BoolVar(&f.all, "all", false, fmt.Sprintf("list every cell, even more than %d", maxLines))
	flags.BoolVar(&f.bound, "bound", false, "say what the best schedule costs, and how far each strategy is from it")
	flags.BoolVar(&f.dryRun, "dry-run", false, "print what would be simulated and how long it would take, and stop")
	return cmd
}

func (f *runFlags) run(cmd *cobra.Command, args []string) error {
	f.read.discover.pays = cmd.Flags().Changed("summarizer")
	key, err := f.keys.key()
	s, err := f.study(cmd, args, append(f.live.check(cmd, f.set), err)...)
	if err != nil {
		return err
	}
	s.key = key
	f.read.lazy = !f.live.real() // real calls use all sessions repeatedly
	if f.read.lazy {
		defer f.read.closeStore(cmd)
	}
	if err := f.open(cmd, s, args); err != nil {
		return err
	}
	defer s.corpus.Close()
	defer debug.SetGCPercent(debug.SetGCPercent(50)) // rows stay, and are most of what is allocated from here on
	if f.dryRun {
		return dryRun(cmd, s.plan, s.corpus)
	}
	calls, err := f.live.live(s.plan, s.corpus)
	if err != nil {
		return err
	}
	if calls != nil {
		if err := calls.agree(cmd, s.plan, s.corpus); err != nil {
			return err
		}
	}
	if s.folder != nil || f.output.wants("context", "hit") {
		if err := s.plan.Keep(s.corpus); err != nil {
			return err
		}
	}
	run, runErr := f.read.simulate(cmd, s.plan, s.corpus)
	runErr = calls.advised(cmd.Context(), runErr)
	if run == nil {
		return runErr
	}
	calls.remark(cmd.ErrOrStderr(), run, runErr)
	f.read.remark(cmd, &run.Workload, s.corpus)
	made := calls.done() // from here on there are no real calls
	o, shown := reports.Options{Split: f.split, PerSession: f.perSession, MaxCells: f.most()}, hidden(key, run, nil, nil)
	d := reports.Run(shown, o)
	if f.read.quiet && runErr == nil { // an interrupted run says so
		d.Alone()
	}
	return errors.Join(runErr,
		d.Write(cmd.OutOrStdout(), f.format),
		f.draw(cmd, s, run),
		s.save(cmd, run, made, runErr != nil))
}

// draw draws the charts asked for. Those of single calls need these simulated once more.
func (f *runFlags) draw(cmd *cobra.Command, s *study, run *results.Run) error {
	if len(f.output.charts) == 0 {
		return nil
	}
	var calls []results.CellCalls
	if f.output.wants("context", "hit") {
		var err error
		if calls, _, err = s.plan.Follow(cmd.Context(), s.corpus, run); err != nil {
			return err
		}
	}
	return f.output.draw(cmd, reports.Charts(hidden(s.key, run, calls, nil), calls))
}

// most returns the largest number of lines of a table, 0 for no limit.
func (f *runFlags) most() int {
	if f.all {
		return 0
	}
	return maxLines
}

// save writes the files of a run, none if it was interrupted. If an error ended the run early, what cannot be drawn is
// left out without another.
func (s *study) save(cmd *cobra.Command, run *results.Run, made *live.Report, partial bool) error {
	o, ctx := s.folder, cmd.Context()
	if o == nil {
		return nil
	}
	// The rows are written even when a chart cannot be drawn.
	calls, chains, followErr := s.plan.Follow(ctx, s.corpus, run)
	if ctx.Err() != nil {
		say(cmd.ErrOrStderr(), "nothing is written into %s", o.dir)
		if partial {
			return nil // the run says what interrupted it
		}
		return fmt.Errorf("interrupted before anything was written: %w", context.Cause(ctx))
	}
	if partial {
		followErr = nil
	}
	run = hidden(s.key, run, calls, chains)
	if err := s.addRun(run); err != nil {
		return err
	}
	o.addReport(reportFile, reports.Run(run, reports.Options{Split: true}), "table")
	o.addReport(chainsFile, reports.Chains(run, chains, 0), "csv")
	if made != nil && s.key == nil {
		o.add(liveFile, document.Indented(made))
		o.add(summariesFile, made.WriteSummaries)
	}
	o.addCharts(reports.Drawings(run, calls))
	return errors.Join(followErr, o.save(ctx))
}

// addRun adds what every folder of a run has.
func (s *study) addRun(run *results.Run) error {
	scenario, err := s.scenario()
	if err != nil {
		return err
	}
	s.folder.add(rowsFile, func(w io.Writer) error { return results.WriteRows(w, run) })
	s.folder.setSummary(documentFile, reports.Run(run, reports.Options{}))
	s.folder.addText(scenarioFile, scenario)
	fitted, err := s.plan.Profile()
	if fitted != nil && err == nil && s.key == nil {
		s.folder.add(profileFile, fitted.Write)
	}
	return err
}

// scenario returns the scenario of a run, with the settings that were given.
func (s *study) scenario() ([]byte, error) {
	resolved, err := resolvedScenario(s.plan)
	if err == nil && s.key != nil {
		return pseudonym.Scenario(resolved, s.key)
	}
	return scenarios.WithGiven(resolved, s.set), err
}

// resolvedScenario returns the scenario with absolute paths, so that it can be run again
// from any folder. Standard input, "-", cannot be read again and stays.
func resolvedScenario(plan *scenarios.Plan) ([]byte, error) {
	paths := &plan.Design.Scenario.Sessions.Paths
	given := *paths
	defer func() { *paths = given }()
	*paths = slices.Clone(given)
	for i, path := range given {
		if path == "-" {
			continue
		}
		full, err := filepath.Abs(path)
		if err != nil {
			return nil, fmt.Errorf("path %s: %w", path, err)
		}
		(*paths)[i] = full
	}
	return plan.Design.Resolved()
}

// parsed returns the plan and the scenario with the flags applied, or
// everything that is wrong with scenario, flags and prices.
func (f *runFlags) parsed(
	cmd *cobra.Command, asked *scenarioText, paths []string,
) (*scenarios.Plan, *scenarios.File, error) {
	registry, err := strategies.Builtin()
	if err != nil {
		return nil, nil, err
	}
	errs := append(f.checkOutput(), f.read.checkReading())
	file, err := scenarios.Parse(registry, asked.text, asked.name)
	if err != nil {
		return nil, nil, errors.Join(append(errs, err)...)
	}
	file.Builtin = asked.builtin
	file.Locate(isFile) // before the flags, whose files are relative to the working folder
	errs = append(errs, f.override(cmd, file, paths)...)
	design, err := file.Expand()
	if f.searches && errors.Is(err, scenarios.ErrCells) {
		design, err = file.First()
	}
	if err != nil {
		return nil, nil, errors.Join(append(append(errs, f.read.choice.empty(cmd)...), err)...)
	}
	if err := f.filter(cmd, &design.Scenario.Sessions); err != nil {
		errs = append(errs, err)
	}
	prices := &design.Scenario.Prices
	table, err := priceTable(prices.File, aliasesOf(prices.As))
	if err != nil {
		errs = append(errs, err)
	}
	profiles, err := namedProfiles(design.Scenario.Profile)
	if err != nil {
		errs = append(errs, err)
	}
	return &scenarios.Plan{
		Registry: registry, Prices: table, Design: design, Profiles: profiles,
		Workers: f.read.workers, Strict: f.read.strict, Version: version(), Seed: design.Scenario.Seed,
	}, file, errors.Join(errs...)
}

// plan returns the plan alone.
func (f *runFlags) plan(cmd *cobra.Command, asked *scenarioText, paths []string) (*scenarios.Plan, error) {
	plan, _, err := f.parsed(cmd, asked, paths)
	return plan, err
}

// filter returns the scenario's filter of sessions, which includes that of the
// flags, and writes the period into the scenario as the times it means.
func (f *runFlags) filter(cmd *cobra.Command, s *scenarios.Sessions) error {
	choice := &f.read.choice
	choice.text = s.Filter()
	if s.UTC && !cmd.Flags().Changed("tz") {
		choice.tz = "UTC"
	}
	filter, err := choice.parse(cmd)
	if err != nil {
		return err
	}
	s.Fix(&filter)
	choice.text = s.Filter()
	return nil
}

// namedProfiles returns the profile of a scenario by its name if it is a file.
func namedProfiles(name string) (map[string]*profile.Profile, error) {
	if name == scenarios.ProfileDefault || name == scenarios.ProfileNone {
		return nil, nil
	}
	p, err := loadProfile(name)
	if err != nil {
		return nil, err
	}
	return map[string]*profile.Profile{name: p}, nil
}

func aliasesOf(as map[string]string) []string {
	var list []string
	for _, from := range slices.Sorted(maps.Keys(as)) {
		list = append(list, from+"="+as[from])
	}
	return list
}

// checkOutput returns what is wrong with the output flags.
func (f *runFlags) checkOutput() []error {
	errs := []error{f.output.check()}
	if f.perSession && !strings.HasPrefix(f.format, "csv") {
		errs = append(errs, fmt.Errorf("--per-session belongs to --format csv"))
	}
	if len(f.strategies) == 0 {
		errs = append(errs, errors.New("--strategy names none"))
	}
	return errs
}

// override applies the given flags to the scenario.
func (f *runFlags) override(cmd *cobra.Command, file *scenarios.File, paths []string) []error {
	var errs []error
	set := func(flag string, value any, keys ...string) {
		if cmd.Flags().Changed(flag) {
			errs = append(errs, file.Set("--"+flag, value, keys...))
		}
	}
	if cmd.Flags().Changed("strategy") {
		errs = append(errs, file.Choose("--strategy", f.strategies))
	}
	set("seed", f.seed, "seed")
	set("window", f.window, "client", "window")
	set("profile", f.profile, "profile")
	set("server", f.server, "server", "name")
	set("verify", f.verify, "verify")
	if f.openLoop {
		set("open-loop", loop.RefetchNever.Names()[loop.RefetchNever], "agent", "refetch")
	}
	set("bound", f.bound, "bound")
	set("prices", f.prices.file, "prices", "file")
	set("prices-at", f.pricesAt, "prices", "at")
	for _, a := range f.prices.as {
		from, to, err := costmodel.ParseAlias(a)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		set("price-as", to, "prices", "as", from)
	}
	choice := &f.read.choice
	set("since", choice.text.Since, "sessions", "since")
	set("until", choice.text.Until, "sessions", "until")
	set("project", choice.text.Projects, "sessions", "project")
	set("model", choice.text.Models, "sessions", "model")
	set("agent", choice.text.Agents, "sessions", "agent")
	f.live.set(set)
	if len(paths) > 0 {
		errs = append(errs, file.Set(strings.Join(paths, " "), paths, "sessions", "paths"))
	}
	for _, a := range f.set {
		errs = append(errs, file.Assign(a))
	}
	said := map[string]bool{}
	return slices.DeleteFunc(errs, func(err error) bool {
		if err == nil || said[err.Error()] { // a flag given twice is reported once
			return true
		}
		said[err.Error()] = true
		return false
	})
}
