package main

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/reports"
	"github.com/compactsim/compactsim/scenarios"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/strategies"
)

// runFlags are the flags of sim run.
type runFlags struct {
	read       readFlags
	strategies []string
	format     string
	chart      string
	split      bool
	perSession bool
	verify     bool
	seed       uint64
	window     int64
	prices     string
	pricesAt   string
	priceAs    []string
}

func newRun(stdin io.Reader) *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run [PATH…]",
		Short: "Replay sessions under several strategies and print the bill of each",
		Long: `Replays the sessions under PATH (files, folders, or - for standard input) under
each strategy and prints what each would have cost. Without a path it replays
the samples that come with the program.`,
		Example: `  sim run
  sim run ~/.claude/projects
  sim run --strategy none,auto-compact/155k --split session.jsonl
  sim run --format json --chart cost.svg ~/.claude/projects`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd, stdin, args)
		},
	}
	f.read.bind(cmd)
	flags := cmd.Flags()
	flags.StringSliceVar(&f.strategies, "strategy", scenarios.DefaultStrategies(), "strategies to run, separated by commas")
	flags.StringVar(&f.format, "format", "table", "output: table, markdown, csv or json")
	flags.StringVar(&f.chart, "chart", "", "also draw cost by strategy into this `FILE` (.svg or .png)")
	flags.BoolVar(&f.split, "split", false, "also show cost by token class and by source")
	flags.BoolVar(&f.perSession, "per-session", false, "csv: a row for each session")
	flags.BoolVar(&f.verify, "verify", false, "check at every call what must always hold")
	flags.Uint64Var(&f.seed, "seed", 1, "seed of everything that is drawn")
	flags.Int64Var(&f.window, "window", 0, "context window in tokens; 0 for that of the session's client")
	flags.StringVar(&f.prices, "prices", "", "`FILE` with prices that add to or replace the built-in ones")
	flags.StringVar(&f.pricesAt, "prices-at", "call", "date of the prices: call, today or YYYY-MM-DD")
	flags.StringArrayVar(&f.priceAs, "price-as", nil, "`A=B`: bill model A as model B; may be repeated")
	return cmd
}

func (f *runFlags) run(cmd *cobra.Command, stdin io.Reader, paths []string) error {
	plan, err := f.plan()
	if err != nil {
		return usageError{err}
	}
	corpus, sample, err := f.read.corpus(cmd, stdin, paths)
	if err != nil {
		return err
	}
	defer corpus.Close()
	if !f.read.strict {
		f.read.warnUnpriced(cmd, plan, corpus.Sessions)
	}
	run, runErr := plan.Run(cmd.Context(), corpus)
	if run == nil {
		return runErr
	}
	if sample {
		run.Workload.Remarks = append(run.Workload.Remarks,
			"These are the samples that come with sim. For your own sessions: sim run ~/.claude/projects")
	}
	f.read.remark(&run.Workload, corpus)
	if err := f.report(cmd, run); err != nil {
		return err
	}
	return runErr
}

// plan checks the flags that need no sessions: strategies, prices, formats.
func (f *runFlags) plan() (*scenarios.Plan, error) {
	registry, err := strategies.Builtin()
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, name := range f.strategies {
		if name == results.StrategyBilled {
			continue
		}
		if _, err := registry.Strategy(name); err != nil {
			errs = append(errs, err)
		}
	}
	if err := checkFormat(f.format, reports.Formats()); err != nil {
		errs = append(errs, err)
	}
	if f.chart != "" {
		if _, err := reports.ChartFormat(f.chart); err != nil {
			errs = append(errs, err)
		}
	}
	if f.window < 0 {
		errs = append(errs, fmt.Errorf("--window %d must not be negative", f.window))
	}
	if f.perSession && f.format != "csv" {
		errs = append(errs, fmt.Errorf("--per-session belongs to --format csv"))
	}
	table, err := priceTable(f.prices, f.priceAs)
	if err != nil {
		errs = append(errs, err)
	}
	at, err := parsePricesAt(f.pricesAt, table)
	if err != nil {
		errs = append(errs, err)
	}
	return &scenarios.Plan{
		Registry: registry, Prices: table, Strategies: f.strategies, PricesAt: at, Seed: f.seed,
		Workers: f.read.workers, Window: f.window, Verify: f.verify, Strict: f.read.strict, Version: version(),
	}, errors.Join(errs...)
}

// parsePricesAt returns the date of the prices, zero for each call's own.
func parsePricesAt(s string, table *costmodel.Table) (time.Time, error) {
	switch s {
	case "call":
		return time.Time{}, nil
	case "today":
		return time.Now().UTC().Truncate(24 * time.Hour), nil
	}
	at, err := time.Parse("2006-01-02", s)
	if err != nil {
		return time.Time{}, fmt.Errorf("--prices-at %q: want call, today or a date like 2026-03-01", s)
	}
	return at, nil
}

func (f *runFlags) report(cmd *cobra.Command, run *results.Run) error {
	if f.chart != "" {
		if err := writeChart(f.chart, run); err != nil {
			return err
		}
	}
	return reports.Write(cmd.OutOrStdout(), f.format, run, reports.Options{Split: f.split, PerSession: f.perSession})
}
