package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/compactsim/compactsim/cmd/sim/internal/console"
	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/internal/kit/stats"
	"github.com/compactsim/compactsim/reports/check"
	"github.com/compactsim/compactsim/scenarios"
	"github.com/compactsim/compactsim/scenarios/advise"
	"github.com/compactsim/compactsim/scenarios/choose"
	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/needs"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
	"github.com/spf13/cobra"
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
		RunE: f.run,
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
		return console.Misuse(err)
	}
	if len(args) == 0 && !f.read.Discovery.Wanted() {
		f.read.Discovery.Asked = true
	}
	f.read.Listener = needs.NewListener()
	f.read.Lazy = true
	if f.since != "" {
		return f.compareChange(cmd, args, prices)
	}
	corpus, err := f.read.open(cmd, args)
	if err != nil {
		return err
	}
	defer corpus.Close()
	advice, err := f.advice(cmd, corpus.Corpus, prices)
	if err != nil {
		return err
	}
	advice.Again = f.sameSessions(cmd, args, "agent") // commands name one
	return advice.Document(corpus.Remarks(), f.as).Write(cmd.OutOrStdout(), f.format)
}

// advice finds the settings to advise.
func (f *traceFlags) advice(
	cmd *cobra.Command, corpus *traces.Corpus, prices *costmodel.Table,
) (*advise.Advice, error) {
	plan, err := f.plan(prices)
	if err != nil {
		return nil, err
	}
	var s console.Simulating
	plan.Done = s.Done
	defer f.read.Watch(func(time.Duration) string {
		finished, total := s.Count()
		return fmt.Sprintf("simulating settings: %d of %d choices", finished, total)
	})()
	return advise.Run(cmd.Context(), plan, corpus)
}

// unlogged says what calls read and sent of which the log has the output alone, as a simulation of their sessions has it: the bill
// lacks it, and row recorded of sim run has it.
func (f *traceFlags) unlogged(ctx context.Context, corpus *traces.Corpus, prices *costmodel.Table) ([]string, error) {
	some := *corpus
	some.Sessions = slices.DeleteFunc(slices.Clone(corpus.Sessions), func(s *traces.Session) bool { return s.Quality.Uncounted == 0 })
	if len(some.Sessions) == 0 {
		return nil, nil
	}
	plan, err := f.plan(prices)
	if err != nil {
		return nil, err
	}
	run, err := plan.Run(ctx, &some)
	if errors.Is(err, traces.ErrNoSessions) { // none has a call
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	usd := run.Reference(measures.StrategyRecorded).Total.Figures[measures.UnloggedInputUSD]
	if usd < 0.005 {
		return nil, nil
	}
	return []string{fmt.Sprintf("the bill lacks the input of calls without counts: %s, as row recorded of sim run has it", document.USD(usd, 2))}, nil
}

// plan returns a plan that simulates sessions as they were recorded.
func (f *traceFlags) plan(prices *costmodel.Table) (*scenarios.Plan, error) {
	registry, err := strategies.Builtin()
	if err != nil {
		return nil, err
	}
	return &scenarios.Plan{Registry: registry, Prices: prices, Strategies: []string{measures.StrategyRecorded}, Seed: 1,
		Workers: f.read.Workers, Strict: f.read.Strict, Version: version()}, nil
}

// compareChange compares the sessions before and since the day of a change, agent by agent.
func (f *adviseFlags) compareChange(cmd *cobra.Command, args []string, prices *costmodel.Table) error {
	if err := f.read.check(cmd); err != nil { // which sets the zone
		return err
	}
	at, err := traces.FilterText{Since: f.since}.Parse(time.Now(), f.read.choice.zone)
	if err != nil {
		return console.Misuse(fmt.Errorf("--since-change: %w", err))
	}
	corpus, err := f.read.open(cmd, args)
	if err != nil {
		return err
	}
	defer corpus.Close()
	plan, err := f.plan(prices)
	if err != nil {
		return err
	}
	if err := plan.Prepare(cmd.Context(), corpus.Corpus); err != nil {
		return err
	}
	remarks, untimed, uncounted := corpus.Remarks(), 0, 0
	sides := map[string]*[2][]*traces.Session{}
	var order []string
	for _, s := range corpus.Sessions {
		switch {
		case s.NumCalls() == 0:
			continue
		case s.Start == 0:
			untimed++
			continue
		case advise.Uncounted(s):
			uncounted++
			continue
		}
		if sides[s.Agent] == nil {
			sides[s.Agent] = new([2][]*traces.Session)
			order = append(order, s.Agent)
		}
		side := 0
		if !s.StartTime().Before(at.Since) {
			side = 1
		}
		sides[s.Agent][side] = append(sides[s.Agent][side], s)
	}
	if untimed > 0 {
		remarks = append(remarks, document.Count(untimed, "session")+" without a time: on neither side")
	}
	if uncounted > 0 {
		remarks = append(remarks, document.Count(uncounted, "session")+" without counts of input: on neither side")
	}
	var list []*check.Since
	for _, agent := range order {
		one, err := f.compare(cmd.Context(), plan, agent, sides[agent])
		if err != nil {
			return fmt.Errorf("%s: %w", agents.Of(agent).Title, err)
		}
		list = append(list, one)
	}
	return check.SinceDocument(at.Since.In(f.read.choice.zone).Format("2006-01-02 15:04 MST"), list, remarks).Write(cmd.OutOrStdout(), f.format)
}

// compare compares two sides of an agent's sessions.
func (f *adviseFlags) compare(ctx context.Context, plan *scenarios.Plan, agent string, sides *[2][]*traces.Session) (*check.Since, error) {
	var in [2]*check.Input
	for i, sessions := range sides {
		var err error
		if in[i], err = f.gatherBills(ctx, plan, sessions); err != nil {
			return nil, err
		}
	}
	byID := map[string]*traces.Session{}
	for _, s := range sides[1] {
		byID[s.ID] = s
	}
	units := func(ids []string) []stats.Units {
		list := make([]*traces.Session, len(ids))
		for i, id := range ids {
			list[i] = byID[id]
		}
		return choose.UnitsOf(list)
	}
	say := func(fact string, value float64) (*check.Saving, error) {
		e, ok, err := advise.Said(ctx, plan, sides[0], fact, value)
		if err != nil || !ok {
			return nil, err
		}
		return check.SavingOf(&e), nil
	}
	since, err := check.SinceOf(agents.Of(agent).Title, in[0], in[1], units, say)
	if since != nil {
		since.Agent = agent
	}
	return since, err
}

// gatherBills returns what sessions were billed and are predicted to be, in the form that a check judges.
func (f *adviseFlags) gatherBills(ctx context.Context, plan *scenarios.Plan, sessions []*traces.Session) (*check.Input, error) {
	cell := results.Cell{Cell: measures.StrategyBilled, Strategy: measures.StrategyBilled}
	in := &check.Input{Version: version(), Sessions: map[string]check.Session{}}
	for _, s := range sessions {
		whole, err := s.Load()
		if err != nil {
			return nil, err
		}
		row := sim.Billed(whole, plan.Prices, time.Time{})
		cell.Rows.Keep(&row)
		in.Calls += s.NumCalls()
	}
	run := results.Run{Cells: []results.Cell{cell}}
	run.Sum()
	shaped := *plan
	shaped.Design = &scenarios.Design{Scenario: scenarios.Default()}
	if err := sessionsInto(in, &shaped, sessions, hiding{}); err != nil {
		return nil, err
	}
	var judge checkFlags
	judge.read = f.read
	if err := judge.foretell(ctx, plan, sessions, &run, in, hiding{}); err != nil {
		return nil, err
	}
	in.Cells = []check.Cell{{Name: cell.Cell, Strategy: cell.Strategy, Draws: []*results.Cell{&run.Cells[0]}}}
	return in, nil
}
