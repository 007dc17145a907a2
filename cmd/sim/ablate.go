package main

import (
	"context"
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"github.com/compactsim/compactsim/cmd/sim/internal/console"
	"github.com/compactsim/compactsim/cmd/sim/internal/outputs"
	"github.com/compactsim/compactsim/reports/charts"
	"github.com/compactsim/compactsim/scenarios/ablate"
	"github.com/compactsim/compactsim/sim/results/studies"
)

// ablateFlags are the flags of sim ablate.
type ablateFlags struct{ runFlags }

func newAblate() *cobra.Command {
	var f ablateFlags
	cmd := &cobra.Command{
		Use:   "ablate [SCENARIO|PATH…]",
		Short: "Switch mechanisms of a strategy one at a time and show what each is worth",
		Long: `Replays the sessions under PATH under a strategy, and once more for each of its
mechanisms with only that one switched: a layer, a switch of a layer, the client or the server,
or a parameter set to the value that turns it off. It prints what each changes in cost, tokens,
hits, compactions and waiting.

Without --strategy and SCENARIO it takes ` + pipeline + `, each session's own client.`,
		Example: `  sim ablate
  sim ablate ~/.claude/projects --chart tornado.svg
  sim ablate --strategy auto-compact/167k,microcompact/2.1 session.jsonl`,
		RunE: f.ablate,
	}
	f.bindCells(cmd)
	flags := cmd.Flags()
	f.output.bind(cmd, "tornado")
	flags.Lookup("strategy").DefValue = pipeline
	flags.Lookup("strategy").Usage = "`NAMES` of strategies whose mechanisms are switched, separated by commas"
	return cmd
}

// pipeline is the strategy to ablate when none is named.
const pipeline = "own"

func (f *ablateFlags) ablate(cmd *cobra.Command, args []string) error {
	if err := byDefault(cmd, args, pipeline); err != nil {
		return err
	}
	s, err := f.study(cmd, args)
	if err != nil {
		return err
	}
	a, err := ablate.Of(s.file)
	if err == nil {
		err = f.output.oneChart(a.Bases())
	}
	if err != nil {
		return console.Misuse(err)
	}
	if err := f.readInto(cmd, s); err != nil {
		return err
	}
	defer s.corpus.Close()
	stop := f.read.watchPlan(s.plan)
	out, err := a.Run(cmd.Context(), s.plan, s.corpus.Corpus)
	stop()
	if out == nil {
		return err
	}
	s.corpus.Remark(&out.Run.Workload)
	errs := []error{err, f.write(cmd, charts.Ablation(out)), f.draw(cmd, s, func() []charts.Drawing { return charts.AblationDrawings(out) })}
	if s.folder != nil {
		errs = append(errs, s.saveAblation(context.WithoutCancel(cmd.Context()), out))
	}
	return errors.Join(errs...)
}

// byDefault has a command line that names neither a scenario nor strategies take one of its own.
func byDefault(cmd *cobra.Command, args []string, strategy string) error {
	named := slices.ContainsFunc(args, func(arg string) bool {
		s, err := asScenario(arg)
		return err == nil && s != nil
	})
	if named || cmd.Flags().Changed("strategy") {
		return nil
	}
	return cmd.Flags().Set("strategy", strategy)
}

// saveAblation writes the files of an ablation.
func (s *study) saveAblation(ctx context.Context, a *studies.Ablation) error {
	if err := s.addRun(a.Run, nil); err != nil {
		return err
	}
	s.folder.AddReport(outputs.ReportFile, charts.Ablation(a), "table")
	s.folder.AddReport(outputs.AblationFile, charts.Ablation(a), "csv")
	return s.folder.Save(ctx)
}
