package main

import (
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/internal/validate"
	"github.com/compactsim/compactsim/scenarios"
	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/strategies"
)

// calibrateFlags are the flags of sim calibrate.
type calibrateFlags struct {
	read readFlags
	out  string
	name string
}

func newCalibrate(stdin io.Reader) *cobra.Command {
	var f calibrateFlags
	cmd := &cobra.Command{
		Use:   "calibrate PATH… [-o FILE]",
		Short: "Fit from recordings what no document gives, with sample sizes and intervals",
		Long: `Fits a profile on the sessions under PATH: tokens per byte, static prefixes by
client version, lifetimes, calls no log shows, evictions, compactions and times.
Every number comes with its sample size and a 95 % interval. sim validate takes
the profile with --profile and scores it; with --folds on sessions it has not seen.
Sessions are generated from another kind of profile, which sim traces fit writes.`,
		Example: `  sim calibrate ~/.claude/projects -o profile.yaml
  sim validate --profile profile.yaml ~/.claude/projects`,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, stdin, args) },
	}
	f.read.bind(cmd)
	cmd.Flags().StringVarP(&f.out, "output", "o", "", "write the profile into this `FILE`; standard output when empty")
	cmd.Flags().StringVar(&f.name, "name", "fitted", "name of the profile")
	return cmd
}

func (f *calibrateFlags) run(cmd *cobra.Command, stdin io.Reader, args []string) error {
	if len(args) == 0 {
		return usageError{errors.New("which recordings? Give files or folders")}
	}
	registry, err := strategies.Builtin()
	if err != nil {
		return err
	}
	prices, err := priceTable("", nil)
	if err != nil {
		return err
	}
	plan := scenarios.Plan{Registry: registry, Prices: prices, Seed: 1}
	config, err := plan.Config(results.StrategyRecorded, nil)
	if err != nil {
		return err
	}
	config.Profile, config.Latency = nil, costmodel.Latency{} // calls stay at their recorded times
	base, err := profile.Default()
	if err != nil {
		return err
	}
	corpus, _, err := f.read.corpus(cmd, stdin, args)
	if err != nil {
		return err
	}
	defer corpus.Close()
	fitted, err := validate.Fit(cmd.Context(), config, base, corpus.Sessions)
	if err != nil {
		return err
	}
	fitted.Name = f.name
	if f.out == "" {
		return fitted.Write(cmd.OutOrStdout())
	}
	return writeFile(f.out, fitted.Write)
}
