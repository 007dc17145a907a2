package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/compactsim/compactsim/internal/document"
	"github.com/compactsim/compactsim/reports"
	"github.com/compactsim/compactsim/sim/results"
)

// say writes a message of the program without control characters, which names of
// files may have.
func say(w io.Writer, format string, args ...any) {
	lines := strings.Split(fmt.Sprintf(format, args...), "\n")
	for i := range lines {
		lines[i] = document.Printable(lines[i])
	}
	fmt.Fprintf(w, "sim: %s\n", strings.Join(lines, "\n"))
}

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
	fleetFile     = "fleet.json"    // of sim fleet run: all figures
	fleetYAMLFile = "fleet.yaml"    // the resolved fleet
	orgsFile      = "orgs.csv"      // a row for each strategy and organisation
	hoursFile     = "hours.csv"     // a row for each hour, with and without what is compared
	chartFolder   = "charts"        // SVG and PNG
)

// outputFlags say where pictures and files go.
type outputFlags struct {
	chart string
	out   string
	force bool
}

// bind binds the flags: picture names what --chart draws, what names the contents of
// the folder.
func (f *outputFlags) bind(cmd *cobra.Command, picture, what string) {
	flags := cmd.Flags()
	f.bindChart(cmd, picture)
	flags.StringVar(&f.out, "out", "", "write figures, the resolved "+what+", the report and charts into `DIR`")
	flags.BoolVar(&f.force, "force", false, "with --out: replace an earlier "+what+" in DIR; other files stay")
}

// bindChart binds the flag of the picture alone.
func (f *outputFlags) bindChart(cmd *cobra.Command, picture string) {
	cmd.Flags().StringVar(&f.chart, "chart", "", "draw "+picture+" into `FILE`.svg or .png")
}

// check returns what is wrong with the flags.
func (f *outputFlags) check() error {
	var errs []error
	if f.chart != "" {
		_, err := reports.ChartFormat(f.chart)
		errs = append(errs, err, placeFor("--chart", f.chart))
	}
	if f.force && f.out == "" {
		errs = append(errs, errors.New("--force belongs to --out"))
	}
	return errors.Join(errs...)
}

// oneChart refuses a picture of several strategies.
func (f *outputFlags) oneChart(strategies int) error {
	if f.chart == "" || strategies < 2 {
		return nil
	}
	return fmt.Errorf("--chart %s: one strategy to a chart; --out draws one for each", f.chart)
}

// draw draws the picture that was asked for.
func (f *outputFlags) draw(draw func(w io.Writer, format string) error) error {
	if f.chart == "" {
		return nil
	}
	format, err := reports.ChartFormat(f.chart)
	if err != nil {
		return usageError{err}
	}
	return writeFile(f.chart, func(w io.Writer) error { return draw(w, format) })
}

// placeFor returns an error when no file can be written under a name that a flag
// gives: better known before anything is computed.
func placeFor(flag, file string) error {
	if file == "" {
		return nil
	}
	if isFolder(file) {
		return fmt.Errorf("%s %s: it is a folder", flag, file)
	}
	if dir := filepath.Dir(file); !isFolder(dir) {
		return fmt.Errorf("%s %s: there is no folder %s", flag, file, dir)
	}
	return nil
}

// isFolder reports whether there is a folder of a name.
func isFolder(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// isThere reports whether there is anything of a name.
func isThere(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

// outFolder is where the files of a run go. They are written into a folder beside
// it that takes its place at the end, so that none is ever half written.
type outFolder struct {
	dir   string
	ours  bool // it holds an earlier run, whose charts go
	files []outFile
}

// outFile is one file of an output folder.
type outFile struct {
	name  string
	write func(io.Writer) error
}

// folder returns the output folder, nil without --out. It refuses one with files in it
// unless --force is set. what names the contents; holds reports whether a folder has
// earlier ones.
func (f *outputFlags) folder(what string, holds func(dir string) bool) (*outFolder, error) {
	if f.out == "" {
		return nil, nil
	}
	o := &outFolder{dir: filepath.Clean(f.out)}
	entries, err := os.ReadDir(o.dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return o, nil
	case err != nil && isThere(o.dir) && !isFolder(o.dir):
		return nil, usageError{fmt.Errorf("--out %s: not a folder", o.dir)}
	case err != nil:
		return nil, usageError{fmt.Errorf("--out: %w", err)}
	}
	o.ours = holds(o.dir)
	switch {
	case len(entries) == 0 || f.force:
		return o, nil
	case o.ours:
		return nil, usageError{fmt.Errorf("--out %s: holds an earlier %s; --force replaces it", o.dir, what)}
	}
	err = fmt.Errorf("--out %s: not empty and not a %s of sim; --force writes into it all the same", o.dir, what)
	return nil, usageError{err}
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

// add adds a file.
func (o *outFolder) add(name string, write func(io.Writer) error) {
	o.files = append(o.files, outFile{name, write})
}

// addText adds a file with a text.
func (o *outFolder) addText(name string, text []byte) {
	o.add(name, func(w io.Writer) error { _, err := w.Write(text); return err })
}

// report is a document or a table.
type report interface {
	Write(w io.Writer, format string) error
}

// addReport adds a report in a format.
func (o *outFolder) addReport(name string, r report, format string) {
	o.add(name, func(w io.Writer) error { return r.Write(w, format) })
}

// addCharts adds the drawings in every format of charts.
func (o *outFolder) addCharts(drawings []reports.Drawing) {
	for _, d := range drawings {
		for _, format := range reports.ChartFormats() {
			name := filepath.Join(chartFolder, d.Name+"."+format)
			o.add(name, func(w io.Writer) error { return d.Draw(w, format) })
		}
	}
}

// save writes the files and moves them into place.
func (o *outFolder) save() (err error) {
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
	for _, file := range o.files {
		errs = append(errs, writeInto(filepath.Join(tmp, file.name), file.write))
	}
	if err := o.replace(tmp); err != nil {
		errs = append(errs, fmt.Errorf("write %s: %w", o.dir, err))
	}
	return errors.Join(errs...)
}

// writeInto writes a file and makes its folder.
func writeInto(name string, write func(io.Writer) error) error {
	err := os.MkdirAll(filepath.Dir(name), 0o755)
	if err == nil {
		var f *os.File
		if f, err = os.Create(name); err == nil {
			err = errors.Join(write(f), f.Close())
		}
	}
	if err != nil {
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

// writeOr writes into a file, or to standard output without one.
func writeOr(cmd *cobra.Command, file string, write func(io.Writer) error) error {
	if file == "" {
		return write(cmd.OutOrStdout())
	}
	return writeFile(file, write)
}

// writeFile writes a file whole or not at all: into a temporary file beside it
// that takes its name at the end. A link stays a link, a file that was there
// keeps its permissions, and what is no file (a device, a pipe) is written to.
func writeFile(name string, write func(io.Writer) error) error {
	target, mode := name, fs.FileMode(0)
	info, err := os.Stat(name)
	switch {
	case err == nil && info.IsDir():
		return fmt.Errorf("write %s: it is a folder", name)
	case err == nil && !info.Mode().IsRegular():
		return writeThrough(name, write)
	case err == nil:
		mode = info.Mode().Perm()
		if target, err = filepath.EvalSymlinks(name); err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
	default:
		if _, err := os.Readlink(name); err == nil { // a link to what is not there yet
			return writeThrough(name, write)
		}
	}
	if err := replaceFile(target, mode, write); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// replaceFile renames a new file over target. A mode of 0 leaves the permissions
// to what the user has set for new files.
func replaceFile(target string, mode fs.FileMode, write func(io.Writer) error) error {
	dir, base := filepath.Split(target)
	name := filepath.Join(dir, fmt.Sprintf(".%s-%08x", base, rand.Uint32()))
	tmp, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return cause(err)
	}
	defer os.Remove(name)
	err = write(tmp)
	if err == nil && mode != 0 {
		err = tmp.Chmod(mode)
	}
	if err := errors.Join(err, tmp.Close()); err != nil {
		return err
	}
	return cause(os.Rename(name, target))
}

// writeThrough writes to the device, pipe or link of a name without replacing it.
func writeThrough(name string, write func(io.Writer) error) error {
	w, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
	if err != nil {
		return fmt.Errorf("write %s: %w", name, cause(err))
	}
	if err := errors.Join(write(w), w.Close()); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// cause is what the system says of opening or renaming a file, without the path:
// that may be the temporary file's, and writeFile says which file it is about.
func cause(err error) error {
	path, link := (*fs.PathError)(nil), (*os.LinkError)(nil)
	switch {
	case errors.As(err, &path):
		return path.Err
	case errors.As(err, &link):
		return link.Err
	}
	return err
}
