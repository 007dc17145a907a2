package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/scenarios"
	"github.com/compactsim/compactsim/scenarios/advise"
	"github.com/compactsim/compactsim/sim/needs"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces"
)

// adviseFlags are the flags of sim advise.
type adviseFlags struct {
	traceFlags
	as    string
	since string // the date of a change, "" for none
}

func newAdvise() *cobra.Command {
	var f adviseFlags
	cmd := &cobra.Command{
		Use:   "advise [PATH…]",
		Short: "Say which client settings save money, how much, and how sure that is",
		Long: `Simulates the sessions under PATH with each setting that their clients offer and says which
settings save: how much on all sessions, how much on sessions that were not used to choose the
value, and what the agent would have forgotten. Without a path it reads the usual places of
coding agents.

--as tokens is for people on a subscription, who pay no dollars. It reports tokens by class, and
cost-weighted tokens per five hours and per week. A cost-weighted token costs as much as an
uncached input token of the model with the largest bill. The limits of plans are not known here.

--since-change tells whether a setting that was changed saves what was said: sessions that began
before DATE are compared with the sessions from it on. The bill of a call is divided into work,
prices, what the client does otherwise and the cache. What a changed setting saved stands beside
what a simulation of the earlier sessions says that the setting saves.`,
		Example: `  sim advise ~/.claude/projects
  sim advise --as tokens ~/.claude/projects
  sim advise --since 30d --format json ~/.codex/sessions
  sim advise --since-change 2026-11-10 ~/.claude/projects`,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	f.bind(cmd)
	f.as = advise.AsDollars
	cmd.Flags().StringVar(&f.since, "since-change", "", "compare the sessions before `DATE` with the sessions from it on")
	units := []string{advise.AsDollars, advise.AsTokens}
	bindChoice(cmd, &f.as, "as", "report use and savings in `UNIT`: "+strings.Join(units, " or "), units)
	cmd.MarkFlagsMutuallyExclusive("since-change", "as")
	return cmd
}

func (f *adviseFlags) run(cmd *cobra.Command, args []string) error {
	prices, err := f.prices.table()
	if err != nil {
		return usageError{err}
	}
	if len(args) == 0 && !f.read.discover.wanted() {
		f.read.discover.discover = true
	}
	f.read.listener = needs.NewListener()
	f.read.lazy = true
	if f.since != "" {
		return f.changed(cmd, args, prices)
	}
	return f.read.reading(cmd, args, func(corpus *traces.Corpus) error {
		advice, err := f.advice(cmd, corpus, prices)
		if err != nil {
			return err
		}
		var read results.Workload
		f.read.remark(cmd, &read, corpus)
		return advice.Document(read.Remarks, f.as).Write(cmd.OutOrStdout(), f.format)
	})
}

// advice finds the settings to advise.
func (f *traceFlags) advice(
	cmd *cobra.Command, corpus *traces.Corpus, prices *costmodel.Table,
) (*advise.Advice, error) {
	plan, err := f.plan(prices)
	if err != nil {
		return nil, err
	}
	var s simulating
	plan.Done = s.done
	defer f.read.watch(cmd, func(time.Duration) string {
		return fmt.Sprintf("simulating settings: %d of %d choices", s.finished.Load(), s.total.Load())
	})()
	return advise.Run(cmd.Context(), plan, corpus)
}

// plan returns a plan that simulates sessions as they were recorded.
func (f *traceFlags) plan(prices *costmodel.Table) (*scenarios.Plan, error) {
	registry, err := strategies.Builtin()
	if err != nil {
		return nil, err
	}
	return &scenarios.Plan{Registry: registry, Prices: prices, Strategies: []string{results.StrategyRecorded}, Seed: 1,
		Workers: f.read.workers, Strict: f.read.strict, Version: version()}, nil
}
