// Fit fits the profile that comes with the program on recordings, or scores sessions by profiles that have not seen them.
//
//	go run ./tools/fit PATH… > profile.yaml
//	go run ./tools/fit -folds repository -replications 200 PATH…
//
// sim calibrate is for one's own sessions: it adds what they show to the fitted profile.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/scenarios"
	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/sim/validate"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "fit:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	name := flag.String("name", "fitted", "`NAME` of the profile")
	by := flag.String("folds", "", "write a report instead: each session scored by a profile fitted on others, by `KIND`: "+
		strings.Join([]string{byRepository, bySession, byEpoch}, ", "))
	replications := flag.Int("replications", 0, "with -folds: draw the bands of a session's cost from `N` replications")
	format := flag.String("format", "table", "of the report: table, markdown, csv or json")
	flag.Parse()
	if flag.NArg() == 0 {
		return errors.New("which recordings? Give files or folders")
	}
	config, err := recorded()
	if err != nil {
		return err
	}
	base, err := profile.Default()
	if err != nil {
		return err
	}
	corpus, err := agents.Read(ctx, traces.Options{}, flag.Args()...)
	if err != nil {
		return err
	}
	defer corpus.Close()
	if *by != "" {
		o := validate.Options{
			Config: config, Worst: validate.DefaultWorst, Replications: *replications,
			Model: "plain cache with " + strings.Join(base.Switches.Names(), ", "),
		}
		r, err := crossValidate(ctx, o, base, corpus.Sessions, *by)
		if err != nil {
			return err
		}
		return r.Document().Write(os.Stdout, *format)
	}
	p, err := calibrate(ctx, config, base, corpus.Sessions)
	if err != nil {
		return err
	}
	p.Name = *name
	if err := fitRefetch(ctx, corpus, p); err != nil {
		return err
	}
	return p.Write(os.Stdout)
}

// recorded returns the cell that replays recordings without a profile, at their recorded times.
func recorded() (config sim.Config, err error) {
	plan := scenarios.Plan{Seed: 1}
	if plan.Prices, err = costmodel.Default(); err != nil {
		return config, err
	}
	if plan.Registry, err = strategies.Builtin(); err != nil {
		return config, err
	}
	if config, err = plan.Config(measures.StrategyRecorded, nil); err != nil {
		return config, err
	}
	config.Profile, config.Latency = nil, costmodel.Latency{}
	return config, nil
}
