package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/compactsim/compactsim/internal/studies"
	"github.com/compactsim/compactsim/reports"
	"github.com/compactsim/compactsim/scenarios"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/traces"
)

// ablateFlags are the flags of sim ablate.
type ablateFlags struct {
	runFlags
	pairs bool
}

func newAblate() *cobra.Command {
	var f ablateFlags
	cmd := &cobra.Command{
		Use:   "ablate [SCENARIO|PATH…]",
		Short: "Switch every mechanism of a strategy, one at a time, and tell what each is worth",
		Long: `Replays the sessions under PATH under a strategy as it is and once more for each
of its mechanisms, with that one switched: layers, their switches and values that
mean off, and the switches of the client and the server. It prints what each makes
of cost, tokens, hits, compactions and waiting.

Without --strategy and SCENARIO it takes ` + pipeline + `.`,
		Example: `  sim ablate
  sim ablate ~/.claude/projects --chart tornado.svg
  sim ablate --strategy auto-compact/167k,microcompact/2.1 --pairs session.jsonl`,
		RunE: func(cmd *cobra.Command, args []string) error { return f.ablate(cmd, args) },
	}
	f.bindCells(cmd)
	flags := cmd.Flags()
	flags.BoolVar(&f.pairs, "pairs", false, "also switch two at a time of those that make a difference")
	flags.StringVar(&f.chart, "chart", "", "also draw the differences into this `FILE` (.svg or .png)")
	flags.StringVar(&f.out, "out", "", "also write rows, the scenario, report and charts into this `DIR`")
	flags.BoolVar(&f.force, "force", false, "with --out: write into a folder in use; an earlier run in it goes, other files stay")
	flags.Lookup("strategy").DefValue = ""
	flags.Lookup("strategy").Usage = "strategies whose mechanisms are switched, separated by commas"
	return cmd
}

// pipeline is the strategy that is taken apart when none is named.
const pipeline = "claude-code/2026-03"

func (f *ablateFlags) ablate(cmd *cobra.Command, args []string) error {
	if err := f.choose(cmd, args); err != nil {
		return err
	}
	plan, a, err := f.planned(cmd, args)
	if err != nil {
		return usageError{err}
	}
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
	watched, stop := f.read.watched(cmd, plan, corpus)
	out, runErr := watched.Ablate(cmd.Context(), corpus, a, f.pairs)
	stop()
	if out == nil {
		return runErr
	}
	remarkSamples(&out.Run.Workload, sample, "ablate")
	f.read.remark(&out.Run.Workload, corpus)
	errs := []error{runErr, reports.Ablation(out).Write(cmd.OutOrStdout(), f.format), f.draw(out)}
	if folder != nil {
		errs = append(errs, folder.save(ablationFiles(folder, out)))
	}
	return errors.Join(errs...)
}

// choose names the strategy when the command line does not.
func (f *ablateFlags) choose(cmd *cobra.Command, args []string) error {
	for _, arg := range args {
		if s, err := asScenario(arg); err == nil && s != nil {
			return nil
		}
	}
	if cmd.Flags().Changed("strategy") {
		return nil
	}
	return cmd.Flags().Set("strategy", pipeline)
}

// planned returns the plan of the command line with its ablation.
func (f *ablateFlags) planned(cmd *cobra.Command, args []string) (*scenarios.Plan, *scenarios.Ablation, error) {
	asked, paths, err := splitArgs(args)
	if err != nil {
		return nil, nil, err
	}
	plan, file, err := f.parsed(cmd, asked, paths)
	if err != nil {
		return nil, nil, err
	}
	a, err := file.Ablate()
	if err != nil {
		return nil, nil, err
	}
	if f.chart != "" && a.Bases() > 1 {
		return nil, nil, fmt.Errorf("--chart %s: one strategy to a chart; --out draws one for each", f.chart)
	}
	return plan, a, nil
}

func (f *ablateFlags) draw(a *studies.Ablation) error {
	if f.chart == "" {
		return nil
	}
	format, err := reports.ChartFormat(f.chart)
	if err != nil {
		return usageError{err}
	}
	return writeFile(f.chart, func(w io.Writer) error { return reports.Tornado(w, format, a, a.Bases[0]) })
}

// ablationFiles are the files of an ablation in its folder.
func ablationFiles(o *outFolder, a *studies.Ablation) []outFile {
	files := []outFile{
		{rowsFile, func(w io.Writer) error { return results.WriteRows(w, a.Run) }},
		{documentFile, func(w io.Writer) error { return reports.Run(a.Run, reports.Options{}).Write(w, "json") }},
		{scenarioFile, func(w io.Writer) error { _, err := w.Write(o.resolved); return err }},
		{reportFile, func(w io.Writer) error { return reports.Ablation(a).Write(w, "table") }},
		{ablationFile, func(w io.Writer) error { return reports.Ablation(a).Write(w, "csv") }},
	}
	for _, d := range reports.AblationDrawings(a) {
		for _, format := range reports.ChartFormats() {
			files = append(files, outFile{
				filepath.Join(chartFolder, d.Name+"."+format), func(w io.Writer) error { return d.Draw(w, format) },
			})
		}
	}
	return files
}

func newChains() *cobra.Command {
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
		RunE: func(cmd *cobra.Command, args []string) error { return f.chains(cmd, args) },
	}
	f.bindCells(cmd)
	cmd.Flags().BoolVar(&f.all, "all", false, fmt.Sprintf("list every compaction, even more than %d", maxLines))
	return cmd
}

func (f *runFlags) chains(cmd *cobra.Command, args []string) error {
	plan, corpus, sample, err := f.prepare(cmd, args)
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
func (f *runFlags) prepare(cmd *cobra.Command, args []string) (plan *scenarios.Plan, corpus *traces.Corpus, sample bool, err error) {
	asked, paths, err := splitArgs(args)
	if err != nil {
		return nil, nil, false, usageError{err}
	}
	if plan, err = f.plan(cmd, asked, paths); err != nil {
		return nil, nil, false, usageError{err}
	}
	corpus, sample, err = f.sessions(cmd, plan, args)
	return plan, corpus, sample, err
}

// remarkSamples says above the figures of a verb that nobody named sessions.
func remarkSamples(w *results.Workload, sample bool, verb string) {
	if sample {
		w.Remarks = append(w.Remarks, "These are the samples that come with sim. For your own sessions: sim "+verb+" ~/.claude/projects")
	}
}
