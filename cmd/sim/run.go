package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/reports"
	"github.com/compactsim/compactsim/scenarios"
	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/strategies"
)

// runFlags are the flags of sim run.
type runFlags struct {
	read       readFlags
	live       liveFlags
	strategies []string
	set        []string
	format     string
	chart      string
	split      bool
	perSession bool
	all        bool
	verify     bool
	dryRun     bool
	out        string
	force      bool
	seed       uint64
	window     int64
	prices     string
	pricesAt   string
	priceAs    []string
}

// maxLines is how many cells a table lists; of more it shows the cheapest and
// the dearest.
const maxLines = 40

func newRun() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run [SCENARIO] [PATH…]",
		Short: "Replay sessions under several strategies and print the bill of each",
		Long: `Replays the sessions under PATH (files, folders, or - for standard input) under
each strategy and prints what each would have cost. Without a path it replays
the samples that come with the program.

SCENARIO is the name of a built-in scenario (sim scenarios ls) or a .yaml file
that says which strategies, which server, which prices; lists in it are swept.
sim scenarios show reference prints the manual. Flags override the scenario.`,
		Example: `  sim run
  sim run ~/.claude/projects
  sim run --strategy none,auto-compact/155k --split session.jsonl
  sim run thresholds ~/.claude/projects --out thresholds
  sim run --set server.lifetime_5m=[5m,1h] --dry-run ~/.claude/projects`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd, args)
		},
	}
	f.bind(cmd)
	return cmd
}

// bindCells binds what every verb has that runs the cells of a scenario.
func (f *runFlags) bindCells(cmd *cobra.Command) {
	f.read.bind(cmd)
	flags := cmd.Flags()
	flags.StringSliceVar(&f.strategies, "strategy", scenarios.DefaultStrategies(), "strategies to run, separated by commas")
	flags.StringArrayVar(&f.set, "set", nil, "set a parameter of the scenario as `PATH=VALUE`; a list sweeps it; repeatable")
	bindFormat(cmd, &f.format)
	flags.BoolVar(&f.verify, "verify", false, "check the invariants at every call")
	flags.Uint64Var(&f.seed, "seed", 1, "seed of all random draws")
	flags.Int64Var(&f.window, "window", 0, "context window, `TOKENS`; 0 takes that of the session's client")
	flags.StringVar(&f.prices, "prices", "", "prices from `FILE` add to the built-in ones or replace them")
	flags.StringVar(&f.pricesAt, "prices-at", "call", "`DATE` of the prices: call, today or YYYY-MM-DD")
	flags.StringArrayVar(&f.priceAs, "price-as", nil, "bill model A as model B, given as `A=B`; repeatable")
}

func (f *runFlags) bind(cmd *cobra.Command) {
	f.bindCells(cmd)
	f.live.bind(cmd, &f.read.discover.yes)
	flags := cmd.Flags()
	flags.StringVar(&f.chart, "chart", "", "draw cost by strategy into `FILE`.svg or .png")
	flags.BoolVar(&f.split, "split", false, "show cost by token class and by source")
	flags.BoolVar(&f.perSession, "per-session", false, "with --format csv: a row for each session")
	flags.BoolVar(&f.all, "all", false, fmt.Sprintf("list every cell, even more than %d", maxLines))
	flags.BoolVar(&f.dryRun, "dry-run", false, "print what would be simulated and how long it would take, and stop")
	flags.StringVar(&f.out, "out", "", "write rows, the resolved scenario, the report and charts into `DIR`")
	flags.BoolVar(&f.force, "force", false, "with --out: replace an earlier run in DIR; other files stay")
}

func (f *runFlags) run(cmd *cobra.Command, args []string) error {
	asked, paths, err := splitArgs(args)
	if err != nil {
		return usageError{err}
	}
	f.read.discover.pays = cmd.Flags().Changed("summarizer")
	plan, err := f.plan(cmd, asked, paths)
	if err := errors.Join(append(f.live.check(), err)...); err != nil {
		return usageError{err}
	}
	if err := cmd.Context().Err(); err != nil {
		return fmt.Errorf("interrupted before anything was read: %w", err)
	}
	// A folder in use is refused before anything is read, unless the sessions
	// have to be looked for: they are part of what is written.
	folder, err := f.folder(plan, !f.read.discover.wanted())
	if err != nil {
		return err
	}
	corpus, sample, err := f.sessions(cmd, plan, args)
	if err != nil {
		return err
	}
	defer corpus.Close()
	if f.read.found != nil {
		if folder, err = f.folder(plan, true); err != nil {
			return err
		}
	}
	if f.dryRun {
		return dryRun(cmd, plan, corpus)
	}
	calls, err := f.live.live(plan, corpus)
	if err != nil {
		return err
	}
	if calls != nil {
		if err := calls.agree(cmd, plan, corpus); err != nil {
			return err
		}
	}
	run, runErr := f.read.simulate(cmd, plan, corpus)
	if run == nil {
		return runErr
	}
	calls.remark(cmd.ErrOrStderr(), run, runErr)
	remarkSamples(&run.Workload, sample, "run")
	f.read.remark(&run.Workload, corpus)
	errs := []error{runErr, f.report(cmd, run)}
	if folder != nil {
		folder.live, folder.partial = calls.done(), runErr != nil
		// What was computed is kept, also of a run that was interrupted.
		errs = append(errs, folder.write(context.WithoutCancel(cmd.Context()), plan, corpus, run))
	}
	return errors.Join(errs...)
}

// folder returns the output folder, nil when none is asked for or not yet.
func (f *runFlags) folder(plan *scenarios.Plan, now bool) (*outFolder, error) {
	if f.out == "" || f.dryRun || !now {
		return nil, nil
	}
	o, err := newOutFolder(f.out, f.force, plan)
	if err != nil {
		return nil, usageError{err}
	}
	return o, nil
}

// plan checks what needs no sessions: the scenario with the flags that override
// it, prices, formats. All problems are reported at once.
func (f *runFlags) plan(cmd *cobra.Command, asked *scenarioText, paths []string) (*scenarios.Plan, error) {
	plan, _, err := f.parsed(cmd, asked, paths)
	return plan, err
}

// parsed returns the plan and the scenario with the flags in it.
func (f *runFlags) parsed(cmd *cobra.Command, asked *scenarioText, paths []string) (*scenarios.Plan, *scenarios.File, error) {
	registry, err := strategies.Builtin()
	if err != nil {
		return nil, nil, err
	}
	errs := append(f.checkOutput(), f.read.checkReading()...)
	file, err := scenarios.Parse(registry, asked.text, asked.name)
	if err != nil {
		return nil, nil, errors.Join(append(errs, err)...)
	}
	file.Locate(isFile) // ahead of the flags: what they name is from the working folder
	errs = append(errs, f.override(cmd, file, paths)...)
	design, err := file.Expand()
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
		Workers: f.read.workers, Strict: f.read.strict, Version: version(),
	}, file, errors.Join(errs...)
}

// filter takes the scenario's choice of sessions, which has that of the flags in
// it, and writes the period into the scenario as the times it means.
func (f *runFlags) filter(cmd *cobra.Command, s *scenarios.Sessions) error {
	choice := &f.read.choice
	choice.text = s.Filter()
	choice.utc = s.UTC && (s.Since != "" || s.Until != "" || cmd.Flags().Changed("utc"))
	filter, err := choice.parse(cmd)
	if err != nil {
		return err
	}
	s.Fix(&filter)
	choice.text, choice.utc = s.Filter(), false
	return nil
}

// namedProfiles returns the profile of a scenario by its name when it is a file's.
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

// checkOutput returns what is wrong with the flags about what is printed.
func (f *runFlags) checkOutput() []error {
	var errs []error
	if f.chart != "" {
		if _, err := reports.ChartFormat(f.chart); err != nil {
			errs = append(errs, err)
		}
		if info, err := os.Stat(filepath.Dir(f.chart)); err != nil || !info.IsDir() {
			errs = append(errs, fmt.Errorf("--chart %s: no folder %s", f.chart, filepath.Dir(f.chart)))
		}
	}
	if f.perSession && f.format != "csv" {
		errs = append(errs, fmt.Errorf("--per-session belongs to --format csv"))
	}
	if f.force && f.out == "" {
		errs = append(errs, fmt.Errorf("--force belongs to --out"))
	}
	if len(f.strategies) == 0 {
		errs = append(errs, errors.New("--strategy names none"))
	}
	return errs
}

// override puts the flags that were given into the scenario.
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
	set("verify", f.verify, "verify")
	set("prices", f.prices, "prices", "file")
	set("prices-at", f.pricesAt, "prices", "at")
	for _, a := range f.priceAs {
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
	set("utc", choice.utc, "sessions", "utc")
	set("project", choice.text.Projects, "sessions", "project")
	set("model", choice.text.Models, "sessions", "model")
	set("agent", choice.text.Agents, "sessions", "agent")
	if len(paths) > 0 {
		errs = append(errs, file.Set(strings.Join(paths, " "), paths, "sessions", "paths"))
	}
	for _, a := range f.set {
		errs = append(errs, file.Assign(a))
	}
	said := map[string]bool{}
	return slices.DeleteFunc(errs, func(err error) bool {
		if err == nil || said[err.Error()] { // a flag given twice is wrong once
			return true
		}
		said[err.Error()] = true
		return false
	})
}

func (f *runFlags) report(cmd *cobra.Command, run *results.Run) error {
	o := reports.Options{Split: f.split, PerSession: f.perSession, MaxCells: maxLines}
	if f.all {
		o.MaxCells = 0
	}
	err := reports.Run(run, o).Write(cmd.OutOrStdout(), f.format)
	if f.chart != "" {
		err = errors.Join(err, writeChart(f.chart, run))
	}
	return err
}
