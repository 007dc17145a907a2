package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/compactsim/compactsim/cmd/sim/internal/console"
	"github.com/compactsim/compactsim/cmd/sim/internal/outputs"
	"github.com/compactsim/compactsim/cmd/sim/internal/recordings"
	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/reports/charts"
	"github.com/compactsim/compactsim/scenarios"
	"github.com/compactsim/compactsim/sim/live"
	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/studies"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces"
)

// runFlags are the flags of verbs that run the cells of a scenario.
type runFlags struct {
	read       readFlags
	live       liveFlags
	output     outputFlags
	prices     priceFlags
	set        []string
	format     string
	file       string // of the report; "" for standard output
	split      bool
	perSession bool
	all        bool
	dryRun     bool
	keys       keyFlags // bound by the verbs that have pseudonyms
	searches   bool     // the verb simulates few of the cells: a scenario may have more than a run (parse)
}

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
	flags, settings := cmd.Flags(), settingFlags(cmd)
	settings.StringSlice("strategy", scenarios.DefaultStrategies(),
		"`NAMES` of the strategies to run, separated by commas")
	flags.StringArrayVar(&f.set, "set", nil,
		"set a parameter of the scenario as `PATH=VALUE`; a list sweeps it; repeatable")
	completeFlag(cmd, "strategy", presetNames)
	settings.Bool("verify", false, "check the invariants at every call")
	settings.Bool("open-loop", false,
		"the agent fetches nothing again, whatever was forgotten")
	settings.Uint64("seed", 1, "seed `N` of all random draws")
	settings.Int64("window", 0, "context window in `TOKENS`; 0 for the window of each session's client")
	settings.String("server", "", "replay on the cache of provider `NAME` (docs/servers.md); without it, on each recording's")
	settings.String("profile", scenarios.ProfileDefault,
		"fitted profile: default, none or a `FILE` written by sim calibrate")
	settings.String("prices-at", "call", "`DATE` of the prices: call or YYYY-MM-DD")
}

// settingFlags returns the flags of a command, to declare flags that no variable is bound to: override puts their values into
// the scenario, under the keys that scenarios.File.Flag has for their names.
func settingFlags(cmd *cobra.Command) *pflag.FlagSet { return cmd.Flags() }

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
  sim run --set server.lifetime_5m=[5m,1h] --dry-run ~/.claude/projects
  sim run --set summarizer.median=1500 ~/.codex/sessions`,
		RunE: f.runScenario,
	}
	f.bindCells(cmd, "table", "markdown", "csv", "json")        // sim report writes pages
	cmd.Flags().Lookup("quiet").Usage = "print the table alone" // bindCells has declared --quiet, and --yes too, whose help live.bind adds to
	f.live.bind(cmd, &f.read.Discovery.Yes)
	f.output.bind(cmd, charts.RunKinds()...)
	f.keys.bind(cmd)
	flags := cmd.Flags()
	flags.BoolVar(&f.split, "split", false, "show cost by token class and by source")
	flags.BoolVar(&f.perSession, "per-session", false, "with --format csv: a row for each session")
	flags.BoolVar(&f.all, "all", false, fmt.Sprintf("list every cell, even more than %d", maxLines))
	settingFlags(cmd).Bool("bound", false, "show what the best schedule costs and how far each strategy is from it")
	flags.BoolVar(&f.dryRun, "dry-run", false, "only print what would be simulated")
	return cmd
}

func (f *runFlags) runScenario(cmd *cobra.Command, args []string) error {
	f.read.Discovery.YesIsForCalls = cmd.Flags().Changed("summarizer")
	f.read.Lazy = !f.live.real() // real calls use all sessions repeatedly
	key, err := f.keys.key()
	if f.perSession && f.format != "csv" {
		err = errors.Join(err, errors.New("--per-session needs --format csv"))
	}
	s, err := f.open(cmd, args, err)
	if err != nil {
		return err
	}
	defer s.corpus.Close()
	if f.dryRun {
		return dryRun(cmd, s.plan, s.corpus.Corpus)
	}
	run, made, runErr := f.simulate(cmd, s)
	if run == nil {
		return runErr
	}
	s.corpus.Remark(&run.Workload)
	shown := hideNames(key, run, nil, nil) // run itself keeps its names: Follow finds cells and sessions by them
	d := charts.Run(shown, charts.Options{Split: f.split, PerSession: f.perSession, MaxCells: f.most()})
	if f.read.Quiet && runErr == nil { // an interrupted run says so
		d.Alone()
	}
	errs := []error{runErr, f.write(cmd, d)}
	var calls []results.CellCalls
	var chains []studies.Chains
	if s.follows() {
		calls, chains, err = s.plan.Follow(cmd.Context(), s.corpus.Corpus, run)
		if runErr == nil && (s.folder == nil || cmd.Context().Err() == nil) { // save reports an interruption
			errs = append(errs, err)
		}
		hideNames(key, run, calls, chains) // in calls and chains: shown hides names already
	}
	errs = append(errs, f.draw(cmd, s, func() []charts.Drawing { return charts.Charts(shown, calls) }))
	if s.folder != nil {
		errs = append(errs, s.save(cmd, shown, chains, key, made, runErr != nil))
	}
	return errors.Join(errs...)
}

// study is what a verb simulates: the cells of a plan over the sessions of a corpus.
type study struct {
	plan   *scenarios.Plan
	file   *scenarios.File // the scenario, including the flags
	corpus *recordings.Opened
	folder *outputs.Folder // nil without output files
	set    []string        // settings from --set
	args   []string        // of the command, for the advice of hintScenario
	calls  bool            // charts of single calls are asked for
}

// follows reports whether files of the study show calls or compactions: the plan keeps them (Keep) and returns them (Follow).
func (s *study) follows() bool { return s.calls || s.folder != nil }

// open checks flags and scenario, and reads the sessions, which the caller closes. What is wrong with the flags is reported together with problems.
func (f *runFlags) open(cmd *cobra.Command, args []string, problems ...error) (*study, error) {
	s, err := f.study(cmd, args, problems...)
	if err == nil {
		err = f.readInto(cmd, s)
	}
	return s, err
}

// study checks everything that needs no sessions. All problems of flags and scenario are reported at once, together with problems.
func (f *runFlags) study(cmd *cobra.Command, args []string, problems ...error) (*study, error) {
	asked, paths, err := splitArgs(args)
	if err != nil {
		return nil, console.Misuse(err)
	}
	plan, file, err := f.parse(cmd, asked, paths)
	if err := errors.Join(append(problems, err)...); err != nil {
		return nil, console.Misuse(err)
	}
	return &study{plan: plan, file: file, set: f.set, args: args, calls: f.output.wants("context", "hit")}, nil
}

// parse returns the plan and the scenario with the flags applied, or
// everything that is wrong with scenario, flags and prices.
func (f *runFlags) parse(
	cmd *cobra.Command, asked *scenarioText, paths []string,
) (*scenarios.Plan, *scenarios.File, error) {
	registry, err := strategies.Builtin()
	if err != nil {
		return nil, nil, err
	}
	errs := []error{f.output.check(), checkCounts(cmd)}
	file, err := scenarios.Parse(registry, asked.text, asked.name, asked.keys...)
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
		errs = append(errs, f.read.choice.empty(cmd)...) // without a design, choice.of below does not come to say it
		return nil, nil, errors.Join(append(errs, err)...)
	}
	f.read.Filter, err = f.read.choice.of(cmd, &design.Scenario.Sessions)
	errs = append(errs, err)
	prices := &design.Scenario.Prices
	table, err := priceTable(prices.File, aliasesOf(prices.As))
	errs = append(errs, err)
	profiles, err := loadProfiles(design.Scenario.Profile)
	errs = append(errs, err)
	return &scenarios.Plan{
		Registry: registry, Prices: table, Design: design, Profiles: profiles,
		Workers: f.read.Workers, Strict: f.read.Strict, Version: version(), Seed: design.Scenario.Seed, // the seed is for searches: cells have their own
	}, file, errors.Join(errs...)
}

// override applies the given flags to the scenario.
func (f *runFlags) override(cmd *cobra.Command, file *scenarios.File, paths []string) []error {
	var errs []error
	cmd.Flags().Visit(func(flag *pflag.Flag) { errs = append(errs, file.Flag(flag.Name, flag.Value)) })
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

// loadProfiles returns the profile of a scenario by its name if it is a file.
func loadProfiles(name string) (map[string]*profile.Profile, error) {
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

// readInto returns an error for a folder in use, and reads the sessions of a study, which the caller closes.
func (f *runFlags) readInto(cmd *cobra.Command, s *study) (err error) {
	if err := cmd.Context().Err(); err != nil {
		return fmt.Errorf("interrupted before anything was read: %w", err)
	}
	if !f.dryRun && f.output.out != "" {
		if s.folder, err = outputs.OpenFolder(f.output.out, f.output.force); err != nil {
			return err
		}
	}
	f.read.Rows = true // for how often garbage is collected; whether bodies stay in the store (Lazy) is said by the verb
	s.corpus, err = f.sessions(cmd, s.plan, s.args)
	return err
}

// sessions reads or generates what a plan replays, records in the plan where it
// was found, and warns of models without a price and of settings without effect. The caller closes them.
func (f *runFlags) sessions(cmd *cobra.Command, plan *scenarios.Plan, args []string) (*recordings.Opened, error) {
	s := &plan.Design.Scenario.Sessions // parse has put the paths of the command there
	f.read.useGenerated(plan)
	if !f.dryRun {
		f.read.Listener = plan.Listener()
	}
	opened, err := f.read.openFiltered(cmd, s.Paths)
	if err != nil {
		return nil, hintScenario(err, args)
	}
	if opened.Found != nil {
		s.Paths = opened.Found
	}
	if !f.read.Strict {
		f.read.Warn(plan.PriceGaps(opened.Sessions))
	}
	f.read.Warn(plan.Design.Unmet())
	return opened, nil
}

// dryRun prints how large the run would be.
func dryRun(cmd *cobra.Command, plan *scenarios.Plan, corpus *traces.Corpus) error {
	sessions, sent, cells := 0, 0, len(plan.Design.Cells)
	for _, s := range corpus.Sessions {
		if n := s.NumCalls(); n > 0 {
			sessions, sent = sessions+1, sent+n*cells
		}
	}
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s × %s = %s to simulate\n", document.Count(sessions, "session"),
		document.Count(cells, "cell"), document.Count(sent, "call"))
	return err
}

// simulate runs the plan, with real calls if the flags ask for them, and returns what these did.
func (f *runFlags) simulate(cmd *cobra.Command, s *study) (*results.Run, *live.Report, error) {
	modelCalls, err := f.live.live(s.plan, s.corpus.Corpus) // nil without real calls, which adviseOn, remark and end take
	if err != nil {
		return nil, nil, err
	}
	if modelCalls != nil {
		if err := modelCalls.agree(cmd, s.plan, s.corpus.Corpus); err != nil {
			return nil, nil, err
		}
	}
	if s.follows() {
		if err := s.plan.Keep(s.corpus.Corpus, s.calls); err != nil {
			return nil, nil, err
		}
	}
	run, err := f.read.runPlan(cmd, s.plan, s.corpus.Corpus)
	err = modelCalls.adviseOn(cmd.Context(), err)
	if run == nil {
		return nil, nil, err
	}
	modelCalls.remark(cmd.ErrOrStderr(), run, err)
	return run, modelCalls.end(), err // from here on there are no real calls
}

// maxLines is the largest number of cells in a table; of more it shows the
// cheapest and the most expensive.
const maxLines = 40

// most returns the largest number of lines of a table, 0 for no limit.
func (f *runFlags) most() int {
	if f.all {
		return 0
	}
	return maxLines
}

// write writes a report in the format of the flags to their file, or to standard output.
func (f *runFlags) write(cmd *cobra.Command, r outputs.Report) error {
	return writeOr(cmd, f.file, func(w io.Writer) error { return r.Write(w, f.format) })
}

// draw draws the charts asked for, and the charts of the folder of a study. The first drawing is the main one.
func (f *runFlags) draw(cmd *cobra.Command, s *study, list func() []charts.Drawing) error {
	if s.folder == nil && len(f.output.charts) == 0 {
		return nil
	}
	drawings := list()
	if s.folder != nil {
		s.folder.AddCharts(f.output.inFolder(drawings), f.output.form, f.output.format(), cmd.ErrOrStderr())
	}
	return f.output.draw(cmd, drawings)
}

// save writes the files of a run beside its charts, none if it was interrupted.
func (s *study) save(cmd *cobra.Command, run *results.Run, chains []studies.Chains, key []byte, made *live.Report, partial bool) error {
	o, ctx := s.folder, cmd.Context()
	if ctx.Err() != nil {
		console.Say(cmd.ErrOrStderr(), "nothing is written into %s", o.Dir)
		if partial {
			return nil // the run says what interrupted it
		}
		return fmt.Errorf("interrupted before anything was written: %w", context.Cause(ctx))
	}
	if err := s.addRun(run, key); err != nil {
		return err
	}
	o.AddReport(outputs.ReportFile, charts.Run(run, charts.Options{Split: true}), "table")
	o.AddReport(outputs.ChainsFile, charts.Chains(run, chains, 0), "csv")
	if made != nil && key == nil {
		o.Add(outputs.LiveFile, document.Indented(made))
	}
	return o.Save(ctx)
}

// addRun adds what every folder of a run has. A folder with pseudonyms, that is with a key, has neither scenario nor profile.
func (s *study) addRun(run *results.Run, key []byte) error {
	s.folder.Add(outputs.RowsFile, func(w io.Writer) error { return results.WriteRows(w, run) })
	s.folder.SetSummary(charts.Run(run, charts.Options{}))
	if key != nil {
		return nil
	}
	scenario, err := resolveScenario(s.plan)
	text := scenarios.WithGiven(scenario, s.set)
	s.folder.Add(outputs.ScenarioFile, func(w io.Writer) error { _, err := w.Write(text); return err })
	if err != nil {
		return err
	}
	fitted, err := s.plan.Profile()
	if fitted != nil && err == nil {
		s.folder.Add(outputs.ProfileFile, fitted.Write)
	}
	return err
}

// resolveScenario returns the scenario with absolute paths, so that it can be run again
// from any folder. Standard input, "-", cannot be read again and stays.
func resolveScenario(plan *scenarios.Plan) ([]byte, error) {
	design := *plan.Design
	paths := slices.Clone(design.Scenario.Sessions.Paths) // what --discover has found, too
	for i, path := range paths {
		if path == "-" {
			continue
		}
		full, err := filepath.Abs(path)
		if err != nil {
			return nil, fmt.Errorf("path %s: %w", path, err)
		}
		paths[i] = full
	}
	design.Scenario.Sessions.Paths = paths
	return design.Resolved()
}
