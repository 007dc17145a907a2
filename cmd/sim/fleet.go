package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"gopkg.in/yaml.v3"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/internal/kit/files"
	"github.com/compactsim/compactsim/internal/report/charts"
	"github.com/compactsim/compactsim/internal/study/fleet"
	"github.com/compactsim/compactsim/internal/study/studies"
	"github.com/compactsim/compactsim/scenarios"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/strategies"
)

func newFleet() *cobra.Command {
	return group("fleet", "Simulate the users of several organisations on one clock with one cache",
		`Simulates the people of several organisations on one clock, with one cache between
them: what a scope that everyone shares saves, what an upgrade of the client costs,
what users who pass their plan's quota do to the cache, how many calls are under way.`,
		listing("List the built-in fleets", fleetSheet),
		showing("fleet", "Print a built-in fleet, or the manual under the name reference",
			fleet.Names, fleet.Text), newFleetRun())
}

// fleetSheet lists the built-in fleets.
func fleetSheet() (*document.Table, error) {
	s := &document.Table{
		Columns: []document.Column{
			{Name: "name", Title: "NAME"}, {Name: "organisations", Title: "ORGS", Right: true},
			{Name: "users", Title: "USERS", Right: true}, {Name: "days", Title: "DAYS", Right: true},
			{Name: "doc", Title: "WHAT"},
		},
		Notes: []string{"sim fleet run NAME runs one, sim fleet show NAME prints it, sim fleet show reference the manual."},
	}
	for _, name := range fleet.Names() {
		f, err := fleet.Load(name, fleet.Inputs{})
		if err != nil {
			return nil, err
		}
		users := 0
		for i := range f.Orgs {
			users += f.Orgs[i].Users
		}
		s.Rows = append(s.Rows, []any{name, len(f.Orgs), users, f.Days, f.Doc})
	}
	return s, nil
}

// fleetFlags are the flags of sim fleet run.
type fleetFlags struct {
	read       readFlags // only workers and quiet
	strategies []string
	seed       uint64
	days       int
	set        []string
	prices     string
	format     string
	output     outputFlags
	verify     bool
}

// defaultFleet is the fleet when none is named.
const defaultFleet = "office"

func newFleetRun() *cobra.Command {
	var f fleetFlags
	cmd := &cobra.Command{
		Use:   "run [NAME|FILE.yaml]",
		Short: "Simulate a fleet and print what it costs, by organisation",
		Long: `Draws the people of a fleet and their sessions, and simulates them on one clock with
one cache for each provider: the fleet as it is, and once more for each comparison.
NAME is a built-in fleet (sim fleet ls), ` + defaultFleet + ` by default; sim fleet show reference
prints the manual of the files.

--set orgs.NAME.KEY=VALUE sets a key of one organisation, orgs.*.KEY of all.`,
		Example: `  sim fleet run
  sim fleet run global-scope --chart scope.png
  sim fleet run upgrade-wave --set 'orgs.*.resume=0.6' --out wave
  sim fleet run --strategy auto-compact/167k,truncate-oldest --set client.global_scope=false`,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&f.strategies, "strategy", nil, "`NAMES` of strategies in place of the fleet's, separated by commas")
	completeFlag(cmd, "strategy", presetNames)
	flags.Uint64Var(&f.seed, "seed", 1, "seed `N` of all random draws")
	flags.IntVar(&f.days, "days", 1, "`N` days over which sessions begin")
	flags.StringArrayVar(&f.set, "set", nil, "set a key of the fleet as `PATH=VALUE`; repeatable")
	flags.StringVar(&f.prices, "prices", "", "prices from `FILE` add to the built-in ones or replace them")
	bindFormat(cmd, &f.format)
	f.output.bind(cmd, "fleet", "fleet", "hours", "wave", "hits")
	flags.BoolVar(&f.verify, "verify", false, "check the invariants at every call")
	f.read.bindBasics(cmd, "`N` cores used at once; 0 means all")
	return cmd
}

func (f *fleetFlags) run(cmd *cobra.Command, args []string) error {
	runner, file, err := f.plan(cmd, args)
	if err != nil {
		return usageError{err}
	}
	folder, err := f.output.folder(cmd, "fleet", holdsFleet)
	if err != nil {
		return err
	}
	f.warn(cmd, file)
	result, runErr := f.simulate(cmd, runner, file)
	if result == nil {
		return runErr
	}
	return errors.Join(runErr,
		reports.Fleet(result).Write(cmd.OutOrStdout(), f.format),
		f.output.draw(cmd, append([]reports.Drawing{reports.FleetChart(result, 0)}, reports.FleetDrawings(result)...)),
		folder.saveFleet(context.WithoutCancel(cmd.Context()), file, result))
}

// largeFleet is the memory above which sim warns of a fleet's size, bytes: more
// than ten-thousand needs, less than most machines have.
const largeFleet = 6e9

// warn says how much memory a large fleet takes.
func (f *fleetFlags) warn(cmd *cobra.Command, file *fleet.File) {
	calls, err := file.Calls()
	if need := fleet.Memory(calls); err == nil && need > largeFleet && !f.read.quiet {
		say(cmd.ErrOrStderr(), "about %.2g calls, which take some %.0f GB of memory", calls, need/1e9)
	}
}

// plan checks everything that can be checked before the simulation.
func (f *fleetFlags) plan(cmd *cobra.Command, args []string) (*fleet.Runner, *fleet.File, error) {
	errs := []error{f.check(args)}
	registry, err := strategies.Builtin()
	if err != nil {
		return nil, nil, err
	}
	name := defaultFleet
	if len(args) > 0 {
		name = args[0]
	}
	file, err := fleet.Load(name, fleet.Inputs{Files: anyFile{}, Registry: registry}, f.changes(cmd)...)
	errs = append(errs, err)
	if file != nil {
		errs = append(errs, f.output.oneChart(len(file.Strategies)))
	}
	priceFile := f.prices
	if file != nil {
		priceFile = file.Prices.File // includes the flag
	}
	prices, err := priceTable(priceFile, nil)
	errs = append(errs, err)
	runner := &fleet.Runner{Registry: registry, Prices: prices, Workers: f.read.workers, Verify: f.verify}
	return runner, file, errors.Join(errs...)
}

// check returns what is wrong with the flags alone.
func (f *fleetFlags) check(args []string) error {
	var errs []error
	if len(args) > 1 {
		errs = append(errs, errors.New("sim fleet run takes one fleet"))
	}
	errs = append(errs, f.output.check(), f.read.checkReading())
	return errors.Join(errs...)
}

// simulate runs a fleet and shows progress.
func (f *fleetFlags) simulate(cmd *cobra.Command, runner *fleet.Runner, file *fleet.File) (*studies.Fleet, error) {
	s := &simulating{}
	runner.Done = s.done
	stop := f.read.watch(cmd, func(time.Duration) string { return fleetProgress(s.finished.Load(), s.total.Load()) })
	defer stop()
	ctx := cmd.Context()
	people, err := file.Generate(ctx, runner.Workers)
	if errors.Is(err, fleet.ErrNoSessions) {
		return nil, usageError{err}
	}
	if err != nil {
		return nil, interruptedFleet(ctx, "drawing people and sessions", err)
	}
	origin := fleetProvenance(runner, file, people)
	result, err := runner.Simulate(ctx, people)
	if result != nil {
		result.Provenance = origin
	}
	return result, interruptedFleet(ctx, "simulating", err)
}

// interruptedFleet replaces an error that only reports the end of the context,
// and says during what it came.
func interruptedFleet(ctx context.Context, during string, err error) error {
	if ctx.Err() == nil || !errors.Is(err, context.Canceled) {
		return err
	}
	return fmt.Errorf("interrupted while %s: %w", during, context.Cause(ctx))
}

// fleetProvenance says what the figures of a fleet depend on. Of the settings it has only
// the price file, which no other figure shows: named without its folder, which depends on
// where sim runs.
func fleetProvenance(runner *fleet.Runner, file *fleet.File, people *fleet.Population) results.Provenance {
	digest := scenarios.Digest(people.Sessions)
	p := results.Provenance{
		Version: version(), Seed: file.Seed, SessionsDigest: fmt.Sprintf("%016x%016x", digest.Hi, digest.Lo),
	}
	if table, ok := runner.Prices.(*costmodel.Table); ok {
		p.PricesDigest = table.Digest()
		if !table.AsOf().IsZero() {
			p.Prices = table.AsOf().Format(time.DateOnly)
		}
	}
	if file.Prices.File != "" {
		p.Switches = map[string]string{"prices.file": filepath.Base(file.Prices.File)}
	}
	return p
}

// fleetProgress formats the progress of a fleet: a session counts once for each strategy and
// comparison, when its clock has ended.
func fleetProgress(done, total int64) string {
	if done == 0 {
		return "drawing people and sessions"
	}
	return fmt.Sprintf("simulating: %d %% · %s of %s sessions × strategies and comparisons",
		100*done/max(1, total), document.Whole(done), document.Whole(total))
}

// anyFile opens files at any path, not only below a folder.
type anyFile struct{}

// Open implements fs.FS.
func (anyFile) Open(name string) (fs.File, error) { return files.Open(name) }

// changes returns the changes that the given flags make to the fleet.
func (f *fleetFlags) changes(cmd *cobra.Command) []fleet.Change {
	var list []fleet.Change
	set := func(name string, value any, keys ...string) {
		if cmd.Flags().Changed(name) {
			list = append(list, fleet.Set("--"+name, value, keys...))
		}
	}
	set("strategy", f.strategies, "strategies")
	set("seed", f.seed, "seed")
	set("days", f.days, "days")
	set("prices", f.prices, "prices", "file")
	for _, text := range f.set {
		list = append(list, fleet.Assign(text))
	}
	return list
}

// holdsFleet reports whether a folder holds the figures of a fleet.
func holdsFleet(dir string) bool { return isThere(files.Path(filepath.Join(dir, fleetFile))) }

// saveFleet writes the files of a fleet, if there is an output folder.
func (o *outFolder) saveFleet(ctx context.Context, file *fleet.File, f *studies.Fleet) error {
	if o == nil {
		return nil
	}
	resolved, err := yaml.Marshal(file.From(o.dir))
	if err != nil {
		return fmt.Errorf("writing the resolved fleet: %w", err)
	}
	o.setSummary(fleetFile, reports.Fleet(f))
	o.addText(fleetYAMLFile, resolved)
	o.addReport(reportFile, reports.Fleet(f), "table")
	o.addReport(orgsFile, reports.Fleet(f), "csv")
	o.addReport(hoursFile, reports.FleetHours(f), "csv")
	o.addCharts(reports.FleetDrawings(f))
	return o.save(ctx)
}
