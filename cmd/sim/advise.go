package main

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/internal/loop"
	"github.com/compactsim/compactsim/internal/serving/needs"
	"github.com/compactsim/compactsim/scenarios"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
)

// adviseFlags are the flags of sim advise.
type adviseFlags struct {
	traceFlags
	as string
}

func newAdvise() *cobra.Command {
	var f adviseFlags
	cmd := &cobra.Command{
		Use:   "advise [PATH…]",
		Short: "Say what to set in the clients that made sessions, what it saves, and how sure that is",
		Long: `Tries the settings that each client really offers on the sessions under PATH, by
simulation, and says which of them save: how much on all sessions, how much on
sessions that were not used to choose the value, and what the agent would have
forgotten. Without a path it reads the usual places of coding agents.

--as tokens is for people on a subscription, who pay no dollars: tokens by class, and
cost-weighted tokens in five hours and in a week, by the clock of the sessions. A cost-weighted
token is what an uncached input token of the model with the largest bill costs at the API. What a
plan allows is not known here.`,
		Example: `  sim advise ~/.claude/projects
  sim advise --as tokens ~/.claude/projects
  sim advise --since 30d --format json ~/.codex/sessions`,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	f.bind(cmd)
	f.as = scenarios.AsDollars
	units := []string{scenarios.AsDollars, scenarios.AsTokens}
	bindChoice(cmd, &f.as, "as", "tell what is used and saved in `UNIT`: "+strings.Join(units, " or "), units)
	return cmd
}

// begin runs sim without a verb: advice on the person's own sessions, or help if there are none.
func begin(cmd *cobra.Command) error {
	found, _, err := survey(cmd.Context())
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(found, func(s traces.Stock) bool { return agents.Readable(s.Place) }) {
		return cmd.Help()
	}
	advise := newAdvise()
	advise.SetContext(cmd.Context())
	advise.SetIn(cmd.InOrStdin())
	advise.SetOut(cmd.OutOrStdout())
	advise.SetErr(cmd.ErrOrStderr())
	return advise.RunE(advise, nil)
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
	if !f.read.quiet && isTerminal(cmd.ErrOrStderr()) {
		f.read.ahead = func(sessions []*traces.Session) (bool, error) { return sayBill(cmd, sessions, prices) }
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

// sayBill prints on a terminal what was paid as soon as that is known, because the advice takes longer. It returns
// whether the texts of all sessions have been examined already.
func sayBill(cmd *cobra.Command, sessions []*traces.Session, prices *costmodel.Table) (examined bool, err error) {
	paid, total := map[string]float64{}, 0.0
	examined = true
	for _, s := range sessions {
		if s, err = s.Load(); err != nil {
			return false, err
		}
		examined = examined && s.Index != nil
		row := loop.Billed(s, prices, time.Time{})
		paid[agents.Of(s.Agent).Title] += row.CostUSD()
		total += row.CostUSD()
	}
	if total == 0 {
		return examined, nil // there is no bill to tell
	}
	text := document.USD(total, 2) + " paid at the prices of the API"
	for _, agent := range slices.Sorted(maps.Keys(paid)) {
		text += ", " + agent + " " + document.USD(paid[agent], 2)
	}
	say(cmd.ErrOrStderr(), "%s; trying what their clients offer", text)
	return examined, nil
}

// advice finds the settings to advise.
func (f *traceFlags) advice(
	cmd *cobra.Command, corpus *traces.Corpus, prices *costmodel.Table,
) (*scenarios.Advice, error) {
	plan, err := f.plan(prices)
	if err != nil {
		return nil, err
	}
	return plan.Advise(cmd.Context(), corpus)
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
