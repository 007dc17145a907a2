package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/compactsim/compactsim/internal/live"
	"github.com/compactsim/compactsim/reports"
	"github.com/compactsim/compactsim/scenarios"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/traces"
)

// Files of an output folder.
const (
	rowsFile      = "rows.jsonl"    // canonical rows
	documentFile  = "run.json"      // the published summary
	scenarioFile  = "scenario.yaml" // the resolved scenario
	reportFile    = "report.txt"    // the table
	chainsFile    = "chains.csv"    // compactions of the recorded cell and the cheapest others
	ablationFile  = "ablation.csv"  // of sim ablate: differences
	liveFile      = "live.json"     // what real calls took and gave
	summariesFile = "summaries.csv" // a line for each
	chartFolder   = "charts"        // SVG and PNG
)

// outFolder is where a run goes. Its files are written into a folder beside it
// that takes its place at the end, so that none is ever half written.
type outFolder struct {
	dir      string
	resolved []byte
	// ours says that the folder there holds an earlier run, whose charts go.
	ours bool
	live *live.Report // of real calls, nil without any
	// partial says that the run ended early: what cannot be drawn is missing for
	// the same reason.
	partial bool
}

// newOutFolder refuses a folder that is in use, one with files in it, unless
// force is set.
func newOutFolder(dir string, force bool, plan *scenarios.Plan) (*outFolder, error) {
	resolved, err := resolvedScenario(plan)
	if err != nil {
		return nil, err
	}
	o := &outFolder{dir: filepath.Clean(dir), resolved: resolved}
	return o, o.claim(force, "run", holdsRun)
}

// claim refuses a folder with files in it unless force is set. What is the name of
// what sim writes there, holds reports whether an earlier one lies in a folder.
func (o *outFolder) claim(force bool, what string, holds func(dir string) bool) error {
	info, err := os.Stat(o.dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("--out: %w", err)
	case !info.IsDir():
		return fmt.Errorf("--out %s: not a folder", o.dir)
	}
	entries, err := os.ReadDir(o.dir)
	if err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	if len(entries) == 0 {
		return nil
	}
	o.ours = holds(o.dir)
	switch {
	case force:
		return nil
	case o.ours:
		return fmt.Errorf("--out %s: holds an earlier %s; --force replaces it", o.dir, what)
	}
	return fmt.Errorf("--out %s: not empty and not a %s of sim; --force writes into it all the same", o.dir, what)
}

// resolvedScenario returns the scenario with absolute paths, so that it can be
// run again from any folder. Standard input cannot be read again: its path
// stays "-".
func resolvedScenario(plan *scenarios.Plan) ([]byte, error) {
	given := plan.Design.Scenario.Sessions.Paths
	defer func() { plan.Design.Scenario.Sessions.Paths = given }()
	absolute := make([]string, len(given))
	for i, path := range given {
		absolute[i] = path
		if path == "-" {
			continue
		}
		full, err := filepath.Abs(path)
		if err != nil {
			return nil, fmt.Errorf("path %s: %w", path, err)
		}
		absolute[i] = full
	}
	plan.Design.Scenario.Sessions.Paths = absolute
	return plan.Design.Resolved()
}

// holdsRun reports whether a folder holds the summary of a run.
func holdsRun(dir string) bool {
	f, err := os.Open(filepath.Join(dir, documentFile))
	if err != nil {
		return false
	}
	defer f.Close()
	_, err = results.ReadDocument(documentFile, f)
	return err == nil
}

// write writes all files of a run and moves them into place.
func (o *outFolder) write(ctx context.Context, plan *scenarios.Plan, corpus *traces.Corpus, run *results.Run) error {
	// The rows are kept even when a chart cannot be drawn.
	calls, callsErr := plan.Calls(ctx, corpus, run)
	chains, chainsErr := plan.ForemostChains(ctx, corpus, run)
	files := append(o.files(run, calls), outFile{chainsFile, func(w io.Writer) error { return reports.Chains(run, chains, 0).Write(w, "csv") }})
	if o.partial {
		callsErr, chainsErr = nil, nil
	}
	return errors.Join(callsErr, chainsErr, o.save(files))
}

// save writes files and moves them into place.
func (o *outFolder) save(files []outFile) (err error) {
	parent := filepath.Dir(o.dir)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return fmt.Errorf("write %s: %w", o.dir, err)
	}
	tmp, err := os.MkdirTemp(parent, "."+filepath.Base(o.dir)+"-*")
	if err != nil {
		return fmt.Errorf("write %s: %w", o.dir, err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	var errs []error
	for _, file := range files {
		errs = append(errs, writeInto(filepath.Join(tmp, file.name), file.write))
	}
	if err := o.replace(tmp); err != nil {
		errs = append(errs, fmt.Errorf("write %s: %w", o.dir, err))
	}
	return errors.Join(errs...)
}

// outFile is one file of an output folder.
type outFile struct {
	name  string
	write func(io.Writer) error
}

func (o *outFolder) files(run *results.Run, calls []results.CellCalls) []outFile {
	files := []outFile{
		{rowsFile, func(w io.Writer) error { return results.WriteRows(w, run) }},
		{documentFile, func(w io.Writer) error { return reports.Run(run, reports.Options{}).Write(w, "json") }},
		{scenarioFile, func(w io.Writer) error { _, err := w.Write(o.resolved); return err }},
		{reportFile, func(w io.Writer) error { return reports.Run(run, reports.Options{Split: true}).Write(w, "table") }},
	}
	if o.live != nil {
		files = append(files,
			outFile{liveFile, func(w io.Writer) error { return writeIndented(w, o.live) }},
			outFile{summariesFile, func(w io.Writer) error { return writeSummaries(w, o.live) }})
	}
	for _, d := range reports.Drawings(run, calls) {
		for _, format := range reports.ChartFormats() {
			files = append(files, outFile{
				filepath.Join(chartFolder, d.Name+"."+format),
				func(w io.Writer) error { return d.Draw(w, format) },
			})
		}
	}
	return files
}

// writeIndented writes a value as JSON for people.
func writeIndented(w io.Writer, v any) error {
	b, err := json.Marshal(v, json.Deterministic(true), jsontext.WithIndent("  "))
	if err != nil {
		return err
	}
	_, err = w.Write(append(b, '\n'))
	return err
}

func writeInto(name string, write func(io.Writer) error) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return fmt.Errorf("write %s: %w", filepath.Base(name), err)
	}
	f, err := os.Create(name)
	if err != nil {
		return fmt.Errorf("write %s: %w", filepath.Base(name), err)
	}
	if err := errors.Join(write(f), f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", filepath.Base(name), err)
	}
	return nil
}

// replace puts the folder tmp in the place of o.dir. What else is in a folder
// there stays, but for the charts of an earlier run.
func (o *outFolder) replace(tmp string) error {
	if err := os.Chmod(tmp, 0o755); err != nil {
		return err
	}
	if err := os.Remove(o.dir); err == nil || errors.Is(err, fs.ErrNotExist) {
		return os.Rename(tmp, o.dir)
	}
	if o.ours {
		if err := removeCharts(filepath.Join(o.dir, chartFolder)); err != nil {
			return err
		}
	}
	return filepath.WalkDir(tmp, func(from string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(tmp, from)
		if err != nil {
			return err
		}
		to := filepath.Join(o.dir, rel)
		if d.IsDir() {
			return os.MkdirAll(to, 0o755)
		}
		return os.Rename(from, to)
	})
}

func removeCharts(dir string) error {
	for _, format := range reports.ChartFormats() {
		names, err := filepath.Glob(filepath.Join(dir, "*."+format))
		if err != nil {
			return err
		}
		for _, name := range names {
			if err := os.Remove(name); err != nil {
				return err
			}
		}
	}
	return nil
}

// runAt reads the rows of a run from the folder it was written into or from the
// file itself.
func runAt(ctx context.Context, path string) (*results.Run, error) {
	file, err := rowsOf(path)
	if err != nil {
		return nil, err
	}
	r, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("read a run: %w", err)
	}
	defer r.Close()
	run, err := results.ReadRows(file, &interruptible{ctx: ctx, r: r})
	if err != nil {
		return nil, fmt.Errorf("not the rows of a run: %w", err)
	}
	return run, nil
}

// rowsOf returns the rows file that a path means.
func rowsOf(path string) (string, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("no run at %s", path)
	case err != nil:
		return "", fmt.Errorf("read a run: %w", err)
	case filepath.Base(path) == documentFile:
		return "", fmt.Errorf("%s is a summary without sessions: give its folder or %s", path, rowsFile)
	case !info.IsDir():
		return path, nil
	}
	file := filepath.Join(path, rowsFile)
	if _, err := os.Stat(file); err != nil {
		return "", fmt.Errorf("%s holds no %s: not a folder of sim run --out", path, rowsFile)
	}
	return file, nil
}
