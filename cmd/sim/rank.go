package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/compactsim/compactsim/reports/charts"
	"github.com/compactsim/compactsim/scenarios/rank"
	"github.com/compactsim/compactsim/strategies"
)

// rankFlags are the flags of sim rank.
type rankFlags struct {
	runFlags
	with rank.Options
}

func newRank() *cobra.Command {
	var f rankFlags
	cmd := &cobra.Command{
		Use:               "rank [SCENARIO] [PATH…]",
		ValidArgsFunction: complete(scenarioNames),
		Short:             "Rank the strategies of other agents on the same sessions",
		Long: `Replays the sessions under PATH under every strategy that comes with the program, at the
window of each session's client, and orders them by cost, with what they keep at hand and
make people wait. The strategies in front are ranked again at a window of 200,000 tokens,
by kind of session and on several servers; with --all every strategy is, and with
--sensitivity the strategies in front are ranked under other assumptions, too: sizes of
summaries, what agents fetch again, longer work, lifetimes of caches, draws. A place is a
range: what chance leaves open of the order.`,
		Example: `  sim rank
  sim rank ~/.claude/projects --chart front.svg
  sim rank ~/.claude/projects --sensitivity --chart places=places.svg
  sim rank --strategy 'cline/*,mine.yaml' --all ~/.claude/projects`,
		RunE: f.rank,
	}
	f.bindCells(cmd)
	f.output.chartFlags.bind(cmd, charts.RankingKinds()...)
	cmd.Flags().BoolVar(&f.all, "all", false, "list every strategy in every table, and why some are not ranked; takes longer")
	cmd.Flags().BoolVar(&f.with.Assumptions, "sensitivity", false, "rank the strategies in front under other assumptions, too")
	cmd.Flags().Lookup("strategy").DefValue = strategies.AllStrategies
	return cmd
}

func (f *rankFlags) rank(cmd *cobra.Command, args []string) error {
	if err := byDefault(cmd, args, strategies.AllStrategies); err != nil {
		return err
	}
	f.read.Lazy = true
	f.with.All = f.all
	s, err := f.open(cmd, args)
	if err != nil {
		return err
	}
	defer s.corpus.Close()
	stop := f.read.watchPlan(s.plan)
	out, err := rank.Run(cmd.Context(), s.plan, s.file, s.corpus.Corpus, f.with)
	stop()
	if out == nil {
		return err
	}
	s.corpus.Remark(&out.Run.Workload)
	return errors.Join(err, f.write(cmd, charts.Ranking(out, f.all)), f.draw(cmd, s, func() []charts.Drawing { return charts.RankingCharts(out) }))
}
