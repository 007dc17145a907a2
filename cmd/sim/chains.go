package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/compactsim/compactsim/reports"
	"github.com/compactsim/compactsim/scenarios"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/traces"
)

func newChains(stdin io.Reader) *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "chains [SCENARIO] [PATH…]",
		Short: "Tell of every compaction what it cost and whether it paid back",
		Long: `Replays the sessions under PATH under each strategy and lists its compactions:
what started each, what its summary call and the re-writing behind it cost, what
every later call saved, after how many calls it had paid for itself, and where a
conversation compacts again and again without gaining anything.`,
		Example: `  sim chains
  sim chains --strategy recorded ~/.claude/projects
  sim chains --strategy auto-compact/167k --set full-compact.trigger.fixed=60000
  sim chains --format csv thresholds ~/.claude/projects`,
		RunE: func(cmd *cobra.Command, args []string) error { return f.chains(cmd, stdin, args) },
	}
	f.bindCells(cmd)
	cmd.Flags().BoolVar(&f.all, "all", false, fmt.Sprintf("table: every compaction, even of more than %d", maxLines))
	return cmd
}

func (f *runFlags) chains(cmd *cobra.Command, stdin io.Reader, args []string) error {
	plan, corpus, sample, err := f.prepare(cmd, stdin, args)
	if err != nil {
		return err
	}
	defer corpus.Close()
	watched, stop := f.read.watched(cmd, plan, corpus)
	run, cells, runErr := watched.Chains(cmd.Context(), corpus)
	stop()
	if run == nil {
		return runErr
	}
	remarkSamples(&run.Workload, sample, "chains")
	f.read.remark(&run.Workload, corpus)
	most := maxLines
	if f.all {
		most = 0
	}
	return errors.Join(runErr, reports.Chains(run, cells, most).Write(cmd.OutOrStdout(), f.format))
}

// prepare checks the command line and reads the sessions.
func (f *runFlags) prepare(cmd *cobra.Command, stdin io.Reader, args []string) (plan *scenarios.Plan, corpus *traces.Corpus, sample bool, err error) {
	asked, paths, err := splitArgs(args)
	if err != nil {
		return nil, nil, false, usageError{err}
	}
	if plan, err = f.plan(cmd, asked, paths); err != nil {
		return nil, nil, false, usageError{err}
	}
	corpus, sample, err = f.sessions(cmd, stdin, plan, args)
	return plan, corpus, sample, err
}

// remarkSamples says above the figures of a verb that nobody named sessions.
func remarkSamples(w *results.Workload, sample bool, verb string) {
	if sample {
		w.Remarks = append(w.Remarks, "These are the samples that come with sim. For your own sessions: sim "+verb+" ~/.claude/projects")
	}
}
