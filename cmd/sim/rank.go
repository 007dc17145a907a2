package main

import (
	"errors"
	"runtime/debug"
	"slices"

	"github.com/spf13/cobra"

	"github.com/compactsim/compactsim/internal/report/charts"
	"github.com/compactsim/compactsim/strategies"
)

// rankFlags are the flags of sim rank.
type rankFlags struct{ runFlags }

func newRank() *cobra.Command {
	var f rankFlags
	cmd := &cobra.Command{
		Use:               "rank [SCENARIO] [PATH…]",
		ValidArgsFunction: complete(scenarioNames),
		Short:             "Rank the strategies of other agents on the same sessions",
		Long: `Replays the sessions under PATH under every strategy that comes with the program, at the
window of each session and at one of 200,000 tokens, and ranks what they cost, keep at
hand and make people wait; then by kind of session and on several servers. Strategies
that chance can put in either order share a place.`,
		Example: `  sim rank
  sim rank ~/.claude/projects --chart front.svg
  sim rank --strategy 'cline/*,mine.yaml' --all ~/.claude/projects`,
		RunE: func(cmd *cobra.Command, args []string) error { return f.rank(cmd, args) },
	}
	f.bindCells(cmd)
	f.output.chartFlags.bind(cmd, reports.TuningKinds()...)
	cmd.Flags().BoolVar(&f.all, "all", false, "list every strategy, and why some have no place")
	cmd.Flags().Lookup("strategy").DefValue = strategies.AllStrategies
	return cmd
}

func (f *rankFlags) rank(cmd *cobra.Command, args []string) error {
	named := slices.ContainsFunc(args, func(arg string) bool {
		s, err := asScenario(arg)
		return err == nil && s != nil
	})
	if !named && !cmd.Flags().Changed("strategy") {
		if err := cmd.Flags().Set("strategy", strategies.AllStrategies); err != nil {
			return err
		}
	}
	s, err := f.study(cmd, args)
	if err != nil {
		return err
	}
	f.read.lazy = true
	defer f.read.closeStore(cmd)
	if err := f.open(cmd, s, args); err != nil {
		return err
	}
	defer s.corpus.Close()
	defer debug.SetGCPercent(debug.SetGCPercent(50)) // rows stay, and are most of what is allocated from here on
	stop := f.read.watched(cmd, s.plan, s.corpus)
	out, err := s.plan.Rank(cmd.Context(), s.file, s.corpus)
	stop()
	if err != nil {
		return err
	}
	f.read.remark(cmd, &out.Run.Workload, s.corpus)
	return errors.Join(reports.Ranking(out, f.all).Write(cmd.OutOrStdout(), f.format), f.output.draw(cmd, reports.RankingCharts(out)))
}
