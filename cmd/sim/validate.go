package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/compactsim/compactsim/cmd/sim/internal/console"
	"github.com/compactsim/compactsim/cmd/sim/internal/outputs"
	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/reports/charts"
	"github.com/compactsim/compactsim/scenarios"
	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/learning"
	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/sim/validate"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces"
)

// validateFlags are the flags of sim validate.
type validateFlags struct {
	traceFlags
	strategy     string
	charts       chartFlags
	profile      string
	alone        bool
	replications int
	worst        int
}

func newValidate() *cobra.Command {
	var f validateFlags
	cmd := &cobra.Command{
		Use:   "validate [PATH…]",
		Short: "Predict every recorded call and compare it with the bill",
		Long: `Replays the sessions under PATH as they were recorded, predicts how every call splits
into read, written and uncached tokens, and compares with the recording, call by call,
next to the simplest possible rule. --strategy also tests whether a preset compacts at
the calls at which the recording did.`,
		Example: `  sim validate ~/.claude/projects
  sim validate --strategy own --format json session.jsonl
  sim validate --chart survival.svg ~/.claude/projects`,
		RunE: f.run,
	}
	f.bind(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.strategy, "strategy", "",
		"also check when `PRESET` compacts; own is the generation of each session's client")
	f.charts.bind(cmd, "survival")
	flags.StringVar(&f.profile, "profile", "default", "fitted profile: default, none or a `FILE` written by sim calibrate")
	flags.BoolVar(&f.alone, "alone", false, "predict each session from the profile alone, not from the other sessions")
	flags.IntVar(&f.replications, "replications", 0, "draw the bands of a session's cost from `N` replications")
	flags.IntVar(&f.worst, "worst", validate.DefaultWorst, "`N` worst calls to list")
	return cmd
}

func (f *validateFlags) run(cmd *cobra.Command, args []string) error {
	if err := f.charts.check(); err != nil {
		return console.Misuse(err)
	}
	config, plan, err := f.configure(scenarios.Plan{Seed: 1}, measures.StrategyRecorded)
	if err != nil {
		return err
	}
	config.Latency = costmodel.Latency{} // calls are predicted at their recorded times
	var preset *strategies.Strategy
	if f.strategy != "" {
		if preset, err = plan.Registry.Strategy(f.strategy); err != nil {
			return console.Misuse(err)
		}
	}
	f.read.Bare = true
	f.read.Lazy = true
	corpus, err := f.read.open(cmd, args)
	if err != nil {
		return err
	}
	defer corpus.Close()
	if len(corpus.Sessions) == 0 {
		return console.Misuse(traces.ErrNoSessions)
	}
	report, err := f.validate(cmd, config, corpus.Sessions)
	if err == nil && preset != nil {
		err = report.CheckCompactions(config, preset, corpus.Sessions)
	}
	if err != nil {
		return err
	}
	d := report.Document()
	d.Head = corpus.Source()
	return errors.Join(d.Write(cmd.OutOrStdout(), f.format), f.charts.draw(cmd, charts.ValidationDrawings(report)))
}

func (f *validateFlags) validate(
	cmd *cobra.Command, config sim.Config, sessions []*traces.Session,
) (*validate.Report, error) {
	config.Profile = nil
	o := validate.Options{
		Config: config, Workers: f.read.Workers, Worst: f.worst,
		Model: "plain cache", Profile: "none", Replications: f.replications, Calls: f.strategy != "",
	}
	p, err := loadProfile(f.profile)
	if err != nil {
		return nil, console.Misuse(err)
	}
	if p != nil && !f.alone && f.profile == scenarios.ProfileDefault {
		if p, _, err = learning.Learn(cmd.Context(), config, p, sessions, nil); err != nil {
			return nil, err
		}
	}
	if p != nil {
		o.Config, o.Profile = config.WithProfile(p), p.Name
		o.DrawnFor = func(_ *traces.Session) sim.Config { return validate.Drawn(config, p) }
		o.Model += " with " + strings.Join(p.Switches.Names(), ", ")
		o.Automatic = "OpenAI's cache with " + strings.Join(p.Codex.Switches.Names(), ", ")
	}
	return validate.Run(cmd.Context(), o, sessions)
}

// calibrateFlags are the flags of sim calibrate.
type calibrateFlags struct {
	traceFlags
	out  string
	name string
}

func newCalibrate() *cobra.Command {
	var f calibrateFlags
	cmd := &cobra.Command{
		Use:   "calibrate PATH… [-o FILE]",
		Short: "Write the profile of undocumented behaviour with what recordings add to it",
		Long: `Writes the built-in profile with what the sessions under PATH add to it: what their first
calls found in the cache, how much of cached messages caches lost, and, for versions of a
client that the profile has no recordings of, unlogged calls and the rules that hold.
Every verb does so for the sessions that it is given; the file keeps it for others.
Generated sessions use another kind of profile, which sim traces fit writes.`,
		Example: `  sim calibrate ~/.claude/projects -o profile.yaml
  sim validate --profile profile.yaml ~/.claude/projects`,
		RunE: f.run,
	}
	f.read.bind(cmd)
	cmd.Flags().StringVarP(&f.out, "output", "o", "", "write the profile into `FILE` instead of standard output")
	cmd.Flags().StringVar(&f.name, "name", "fitted", "`NAME` of the profile")
	return cmd
}

func (f *calibrateFlags) run(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return console.Misuse(errors.New("which recordings? Give files or folders"))
	}
	if err := outputs.PlaceFor("--output", f.out); err != nil {
		return console.Misuse(err)
	}
	config, _, err := f.configure(scenarios.Plan{Seed: 1}, measures.StrategyRecorded)
	if err != nil {
		return err
	}
	config.Profile, config.Latency = nil, costmodel.Latency{} // calls stay at their recorded times
	base, err := profile.Default()
	if err != nil {
		return err
	}
	f.read.Bare = true
	f.read.Lazy = true
	corpus, err := f.read.open(cmd, args)
	if err != nil {
		return err
	}
	defer corpus.Close()
	learned, _, err := learning.Learn(cmd.Context(), config, base, corpus.Sessions, nil)
	if err != nil {
		return err
	}
	learned.Name = f.name
	learned.Source = fmt.Sprintf("%s; with %s", base.Source, document.Count(len(corpus.Sessions), "more session"))
	return writeOr(cmd, f.out, learned.Write)
}
