package main

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/compactsim/compactsim/reports/charts"
	"github.com/compactsim/compactsim/scenarios/tune"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/sim/results/studies"
)

// tuneFlags are the flags of sim tune.
type tuneFlags struct {
	runFlags
	search tune.Search
}

func newTune() *cobra.Command {
	var f tuneFlags
	cmd := &cobra.Command{
		Use:               "tune [SCENARIO] [PATH…]",
		ValidArgsFunction: complete(scenarioNames),
		Short:             "Search swept values for the best setting",
		Long: `Searches the settings that SCENARIO or --set sweeps for the one that is best by --objective.
It tries every setting, or --budget of them if there are more. It prints the best setting, what
it gains on sessions that were not used to choose it, and the settings whose difference from it
may be chance. --chart front=FILE shows what each setting costs and forgets.`,
		Example: `  sim tune thresholds ~/.claude/projects
  sim tune thresholds --objective cache_hit_ratio --chart front.svg ~/.claude/projects
  sim tune --strategy auto-compact/167k --set 'full-compact.trigger.fixed={from: 60000, to: 165000, step: 500}' \
    --set 'server.lifetime_5m=[1m, 5m, 1h]' --budget 30 ~/.claude/projects`,
		RunE: f.tune,
	}
	f.bindCells(cmd)
	f.output.chartFlags.bind(cmd, charts.TuningKinds()...)
	flags := cmd.Flags()
	flags.StringVar(&f.search.Objective, "objective", measures.NameCost, "`METRIC` to improve")
	flags.IntVar(&f.search.Budget, "budget", 50, "try at most `N` settings")
	return cmd
}

func (f *tuneFlags) tune(cmd *cobra.Command, args []string) error {
	f.searches = true
	s, err := f.open(cmd, args, f.search.Check())
	if err != nil {
		return err
	}
	defer s.corpus.Close()
	stop := f.read.watchPlan(s.plan)
	out, err := tune.Run(cmd.Context(), s.plan, s.file, s.corpus.Corpus, f.search)
	stop()
	if out == nil {
		return err
	}
	out.Command = f.again(cmd, args, out.Settings)
	s.corpus.Remark(&out.Run.Workload)
	return errors.Join(err, f.write(cmd, charts.Tuning(out)), f.draw(cmd, s, func() []charts.Drawing { return charts.TuningCharts(out) }))
}

// again returns the command that gives the figures of the best setting. A parameter that
// --set swept has the name it had there.
func (f *tuneFlags) again(cmd *cobra.Command, args []string, best []studies.Setting) []string {
	command, paths := []string{"sim", "run"}, []string(nil)
	for _, arg := range args {
		if asked, err := asScenario(arg); err == nil && asked != nil {
			command = append(command, arg)
		} else {
			paths = append(paths, arg)
		}
	}
	if len(best) == 0 {
		return command
	}
	command = append(command, "--strategy", strings.Fields(best[0].Cell)[0])
	chosen := slices.Clone(best[0].Set)
	for _, set := range f.set {
		path, _, _ := strings.Cut(set, "=")
		at := slices.IndexFunc(chosen, func(c string) bool {
			full, _, _ := strings.Cut(c, "=")
			return full == path || strings.HasSuffix(full, "."+path)
		})
		if at >= 0 {
			_, value, _ := strings.Cut(chosen[at], "=")
			set, chosen = path+"="+value, slices.Delete(chosen, at, at+1)
		}
		command = append(command, "--set", set)
	}
	for _, set := range chosen {
		command = append(command, "--set", set)
	}
	return slices.Concat(command, givenFlags(cmd, "discover", "since", "until", "tz", "project", "model", "agent",
		"open-loop", "profile", "seed", "window", "prices", "price-as", "prices-at"), paths)
}

// givenFlags returns the flags among names that the command line has, as arguments.
func givenFlags(cmd *cobra.Command, names ...string) (args []string) {
	for _, name := range names {
		flag := cmd.Flags().Lookup(name)
		if flag == nil || !flag.Changed {
			continue
		}
		values := []string{flag.Value.String()}
		if list, ok := flag.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, value := range values {
			switch {
			case flag.NoOptDefVal == "":
				args = append(args, "--"+name, value)
			case value == flag.NoOptDefVal:
				args = append(args, "--"+name)
			default:
				args = append(args, "--"+name+"="+value)
			}
		}
	}
	return args
}
