package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"
	"github.com/spf13/pflag"

	"github.com/compactsim/compactsim/internal/kit/files"
	"github.com/compactsim/compactsim/scenarios"
	"github.com/compactsim/compactsim/scenarios/builtin"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces/store"
)

// options are the flags; they mean the same as in sim run.
type options struct {
	scenario         string
	strategies, set  []string
	seed             uint64
	window           int64
	profile          string
	prices, pricesAt string
	priceAs          []string
	verify, strict   bool
	out              string
	force, dryRun    bool
	coreHour         float64 // USD
	globs            []string
	limits           limits
}

func (o *options) bind(f *pflag.FlagSet) {
	o.limits = usual
	f.StringVar(&o.scenario, "scenario", "default", "a built-in scenario, or a `FILE`.yaml")
	f.StringSliceVar(&o.strategies, "strategy", nil, "strategies to run in place of the scenario's, separated by commas")
	f.StringArrayVar(&o.set, "set", nil, "set a parameter of the scenario as `PATH=VALUE`; a list sweeps it; repeatable")
	f.Uint64Var(&o.seed, "seed", 1, "seed of all random draws")
	f.Int64Var(&o.window, "window", 0, "context window in `TOKENS`; 0 for the window of each session's client")
	f.StringVar(&o.profile, "profile", scenarios.ProfileDefault, "default, none or a `FILE` of sim calibrate or an earlier run")
	f.StringVar(&o.prices, "prices", "", "`FILE` with prices that add to the built-in ones or replace them")
	f.StringVar(&o.pricesAt, "prices-at", "call", "`DATE` of the prices: call or YYYY-MM-DD")
	f.StringArrayVar(&o.priceAs, "price-as", nil, "bill model A as model B, given as `A=B`; repeatable")
	f.BoolVar(&o.verify, "verify", false, "check the invariants at every call")
	f.BoolVar(&o.strict, "strict", false, "fail at the first bad line, unreadable file or model without a price")
	f.StringVar(&o.out, "out", "", "write the run into `DIR`, which all workers reach")
	f.BoolVar(&o.force, "force", false, "replace an earlier run in DIR")
	f.BoolVar(&o.dryRun, "dry-run", false, "say what the run would take, and stop")
	f.Float64Var(&o.coreHour, "core-hour", 0.05, "price of an hour of a core for --dry-run, `USD`")
}

// run carries out the command.
func (o *options) run(ctx context.Context, flags *pflag.FlagSet, stdout, stderr io.Writer) error {
	o.globs = flags.Args()
	r, err := o.recipe(flags)
	if err != nil {
		return usageError{err}
	}
	if o.out == "" && !o.dryRun {
		return usageError{errors.New("--out: which folder does the run go into?")}
	}
	found, other, err := find(ctx, r.Paths)
	if err == nil && r.Strict && len(other.Problems) > 0 {
		err = other.Problems[0]
	}
	if err != nil {
		return usageError{err}
	}
	if o.dryRun {
		return dryRun(ctx, stdout, r, found, o.coreHour)
	}
	if r.Out, err = o.folder(ctx); err != nil {
		return usageError{err}
	}
	l := launch{recipe: r, files: found, other: other, parallel: parallelism(), limits: o.limits, stdout: stdout, stderr: stderr}
	return l.run(ctx)
}

// parallelism returns how many blocks may be simulated at once.
func parallelism() int {
	if *jobopts.Parallelism > 0 {
		return *jobopts.Parallelism
	}
	return runtime.NumCPU()
}

// recipe returns all that a worker needs, or all that is wrong with scenario, flags and prices.
func (o *options) recipe(flags *pflag.FlagSet) (*recipe, error) {
	registry, err := strategies.Builtin()
	if err != nil {
		return nil, err
	}
	file, err := o.file(registry)
	if err != nil {
		return nil, err
	}
	errs := o.override(flags, file)
	design, err := file.Expand()
	if err := errors.Join(append(errs, err)...); err != nil {
		return nil, err
	}
	s := &design.Scenario.Sessions
	if _, err := s.Select(time.Now(), nil); err != nil {
		return nil, err
	}
	r := &recipe{Strict: o.strict, Program: programDigest(), Set: o.set, Paths: slices.Clone(s.Paths)}
	if s.Generate.Profile != "" {
		return nil, errors.New("sessions.generate: sim traces gen writes sessions into files, which can be read here")
	}
	if design.Scenario.Users.Any() {
		return nil, errors.New("users: all share one clock, which sim run simulates in one program")
	}
	for i, path := range s.Paths { // as sim run writes them to its folder
		if local(path) {
			if s.Paths[i], err = filepath.Abs(strings.TrimPrefix(path, "file://")); err != nil {
				return nil, err
			}
		}
	}
	if r.Scenario, err = design.Resolved(); err != nil {
		return nil, err
	}
	if name := design.Scenario.Prices.File; name != "" {
		r.Prices, err = files.Read(name)
	}
	if name := design.Scenario.Profile; err == nil && name != scenarios.ProfileDefault && name != scenarios.ProfileNone {
		r.Profile, err = files.Read(name)
	}
	if err != nil {
		return nil, err
	}
	_, err = r.plan() // reports errors before there is a worker
	return r, err
}

// file returns the scenario without flags.
func (o *options) file(registry *strategies.Registry) (*scenarios.File, error) {
	if builtin, err := builtin.Lookup(o.scenario); err == nil {
		file, err := scenarios.Parse(registry, builtin.Text, builtin.Name+".yaml")
		if err == nil {
			file.Builtin = true
		}
		return file, err
	}
	text, err := files.Read(o.scenario)
	if err != nil {
		return nil, fmt.Errorf("--scenario %s: no built-in scenario and no file: %w", o.scenario, err)
	}
	file, err := scenarios.Parse(registry, text, o.scenario)
	if err == nil {
		file.Locate(func(name string) bool { info, err := os.Stat(name); return err == nil && !info.IsDir() })
	}
	return file, err
}

// override applies the given flags to the scenario.
func (o *options) override(flags *pflag.FlagSet, file *scenarios.File) []error {
	var errs []error
	flags.Visit(func(flag *pflag.Flag) { errs = append(errs, file.Flag(flag.Name, flag.Value)) })
	if len(o.globs) > 0 {
		errs = append(errs, file.Set(strings.Join(o.globs, " "), o.globs, "sessions", "paths"))
	}
	for _, a := range o.set {
		errs = append(errs, file.Assign(a))
	}
	return errs
}

// folder creates the output folder. It refuses one with files in it; with --force it replaces a run in a local
// folder.
func (o *options) folder(ctx context.Context) (string, error) {
	if !local(o.out) {
		for _, glob := range []string{"*", "*/*"} { // a * need not match a /
			if list, err := list(ctx, at(o.out, glob)); err != nil {
				return "", fmt.Errorf("--out %s: %w", o.out, err)
			} else if len(list) > 0 {
				return "", fmt.Errorf("--out %s: not empty, and --force replaces local runs alone: give another folder", o.out)
			}
		}
		return o.out, nil
	}
	dir, err := filepath.Abs(strings.TrimPrefix(o.out, "file://"))
	if err != nil {
		return "", err
	}
	entries, err := os.ReadDir(dir)
	switch {
	case err != nil && !errors.Is(err, os.ErrNotExist):
		return "", fmt.Errorf("--out: %w", err)
	case len(entries) > 0 && !holdsRun(dir):
		return "", fmt.Errorf("--out %s: not empty and not a run: give another folder", o.out)
	case len(entries) > 0 && !o.force:
		return "", fmt.Errorf("--out %s: not empty; --force replaces an earlier run", o.out)
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", fmt.Errorf("--out: %w", err)
	}
	if err := files.Writable(dir); err != nil {
		return "", fmt.Errorf("--out %s: %w", o.out, err)
	}
	if err := errors.Join(remove(dir, runFiles), removeParts(dir)); err != nil {
		return "", fmt.Errorf("--out: %w", err)
	}
	return dir, nil
}

// runFiles are the files of a run, partFiles the files of a run in progress, as globs in the
// order of removal: run.json or the recipe identifies what is left as a run.
var (
	runFiles = []string{
		"rows.jsonl", "report.txt", "scenario.yaml", fitted, problemsFile, runFile,
	}
	partFiles = []string{
		"*-of-*.block", "*-of-*.sights", "rows-*-of-*.jsonl", "rows-*-of-*.rest", "*" + linksFile, "*" + problemsFile, recipeFile,
	}
)

// holdsRun reports whether a folder has a run, complete or not.
func holdsRun(dir string) bool {
	for _, name := range []string{runFile, filepath.Join(partsFolder, recipeFile)} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return true
		}
	}
	return false
}

// remove removes the matching files of a folder, and folders that become empty.
func remove(dir string, globs []string) error {
	for _, glob := range globs {
		names, err := fs.Glob(os.DirFS(dir), glob)
		if err != nil {
			return err
		}
		for _, name := range names {
			name = filepath.Join(dir, name)
			if err := os.Remove(name); err != nil && !isFolder(name) {
				return err
			}
		}
	}
	return nil
}

func isFolder(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// removeParts removes what a run needs only while it is in progress.
func removeParts(dir string) error {
	dir = filepath.Join(dir, partsFolder)
	err := errors.Join(store.Clean(filepath.Join(dir, sessionsFolder)), remove(dir, partFiles))
	_ = os.Remove(dir) // it may hold other files
	return err
}
