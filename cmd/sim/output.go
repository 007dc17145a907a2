package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/internal/kit/files"
	"github.com/compactsim/compactsim/internal/kit/parallel"
	"github.com/compactsim/compactsim/internal/report/charts"
	"github.com/compactsim/compactsim/sim/results"
)

// say writes a message of the program, in lines that fit a terminal and without
// control characters, which file names may have.
func say(w io.Writer, format string, args ...any) {
	text := "sim: " + fmt.Sprintf(format, args...)
	if isTerminal(w) {
		lines := strings.Split(text, "\n") // several errors
		for i := range lines {
			lines[i] = document.Flowed(lines[i], widthOf(screenOf(w)))
		}
		text = strings.Join(lines, "\n")
	}
	tell(w, text)
}

// tell writes lines of text that are harmless to a terminal and to the runner of a CI job.
func tell(w io.Writer, text string) {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = document.Printable(lines[i])
	}
	_, _ = w.Write(document.Inert([]byte(strings.Join(lines, "\n") + "\n")))
}

// Files of an output folder.
const (
	rowsFile      = "rows.jsonl"    // canonical rows
	documentFile  = "run.json"      // the published summary
	profileFile   = "profile.yaml"  // what recordings show, these sessions included
	scenarioFile  = "scenario.yaml" // the resolved scenario
	reportFile    = "report.txt"    // the table
	chainsFile    = "chains.csv"    // compactions of the recorded cell and the cheapest others
	ablationFile  = "ablation.csv"  // differences of sim ablate
	liveFile      = "live.json"     // what real calls took and returned
	summariesFile = "summaries.csv" // a line for each
	fleetFile     = "fleet.json"    // all figures of sim fleet run
	fleetYAMLFile = "fleet.yaml"    // the resolved fleet
	orgsFile      = "orgs.csv"      // a row for each strategy and organisation
	hoursFile     = "hours.csv"     // a row for each hour, with and without what is compared
	chartFolder   = "charts"        // SVG and PNG
)

// outputFlags say where to write pictures and files.
type outputFlags struct {
	chart string
	form  reports.Form // of charts
	out   string
	force bool
}

// bind binds the flags. picture names what --chart draws, what names the
// content of the folder.
func (f *outputFlags) bind(cmd *cobra.Command, picture, what string) {
	flags := cmd.Flags()
	f.bindChart(cmd, picture)
	flags.StringVar(&f.out, "out", "", "write figures, the resolved "+what+", the report and charts into `DIR`")
	flags.BoolVar(&f.force, "force", false, "with --out: replace an earlier "+what+" in DIR; other files stay")
}

// bindChart binds the flags of the picture alone.
func (f *outputFlags) bindChart(cmd *cobra.Command, picture string) {
	cmd.Flags().StringVar(&f.chart, "chart", "", "draw "+picture+" into `FILE`.svg or .png")
	f.bindForm(cmd)
}

// bindForm binds the flags that say how charts are drawn.
func (f *outputFlags) bindForm(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.Var((*sizeFlag)(&f.form), "size", "charts of `WxH` pixels at --dpi, such as 1600x1000; default: as the figures need")
	flags.IntVar(&f.form.DPI, "dpi", defaultForm.DPI, "`N` dots an inch of PNG charts, 36 to 1200")
	flags.IntVar(&f.form.Footnotes, "footnotes", defaultForm.Footnotes, "at most `N` lines of footnotes below a chart, 0 for all")
}

// defaultForm is how charts are drawn unless flags say otherwise.
var defaultForm = reports.Form{DPI: 144, Footnotes: 2}

// checkForm returns an error for a wrong form of charts, or for one without charts; by names the flags that draw.
func (f *outputFlags) checkForm(drawn bool, by string) error {
	if !drawn && f.form != defaultForm && f.form != (reports.Form{}) { // zero in a verb without such flags
		return fmt.Errorf("--size, --dpi and --footnotes are for charts: they belong to %s", by)
	}
	if f.form.DPI != 0 && (f.form.DPI < 36 || f.form.DPI > 1200) { // 0 in a verb that draws nothing
		return fmt.Errorf("--dpi %d: must be from 36 to 1200", f.form.DPI)
	}
	if f.form.Footnotes < 0 {
		return fmt.Errorf("--footnotes %d: must not be below 0", f.form.Footnotes)
	}
	return nil
}

// drawn returns a drawing in the requested form.
func (f *outputFlags) drawn(d reports.Drawing) reports.Drawing {
	if d.Form = f.form; d.Form.Footnotes == 0 {
		d.Form.Footnotes = -1
	}
	return d
}

// sizeFlag is the width and height of a form, written WxH.
type sizeFlag reports.Form

// String returns WxH, or "" for no size.
func (s *sizeFlag) String() string {
	if s == nil || s.Width == 0 {
		return ""
	}
	return fmt.Sprintf("%dx%d", s.Width, s.Height)
}

// Set takes WxH, both from 100 to 20000 pixels.
func (s *sizeFlag) Set(text string) error {
	w, h, _ := strings.Cut(text, "x")
	var errs [2]error
	s.Width, errs[0] = strconv.Atoi(w)
	s.Height, errs[1] = strconv.Atoi(h)
	if errs != [2]error{} || min(s.Width, s.Height) < 100 || max(s.Width, s.Height) > 20_000 {
		return errors.New("want a width and a height from 100 to 20000 pixels, such as 1600x1000")
	}
	return nil
}

// Type returns the word for the value in help.
func (s *sizeFlag) Type() string { return "WxH" }

// check returns what is wrong with the flags.
func (f *outputFlags) check() error {
	errs := []error{f.checkForm(f.chart != "" || f.out != "", "--chart or --out")}
	if f.chart != "" {
		_, err := reports.ChartFormat(f.chart)
		errs = append(errs, err, placeFor("--chart", f.chart))
	}
	if f.force && f.out == "" {
		errs = append(errs, errors.New("--force belongs to --out"))
	}
	return errors.Join(errs...)
}

// oneChart returns an error for a picture of several strategies.
func (f *outputFlags) oneChart(strategies int) error {
	if f.chart == "" || strategies < 2 {
		return nil
	}
	return fmt.Errorf("--chart %s: one strategy to a chart; --out draws one for each", f.chart)
}

// draw draws the requested picture. If there is nothing to draw, it warns.
func (f *outputFlags) draw(cmd *cobra.Command, d reports.Drawing) error {
	if f.chart == "" {
		return nil
	}
	format, err := reports.ChartFormat(f.chart)
	if err != nil {
		return usageError{err}
	}
	var b bytes.Buffer
	if err := f.drawn(d).Draw(&b, format); errors.Is(err, reports.ErrTooSmall) {
		return usageError{fmt.Errorf("--size: %w", err)}
	} else if err != nil {
		say(cmd.ErrOrStderr(), "warning: %s is not drawn: %v", f.chart, err)
		return nil
	}
	return files.Write(cmd.Context(), f.chart, func(w io.Writer) error { _, err := b.WriteTo(w); return err })
}

// placeFor returns an error if no file can be written under the name that a
// flag gives, before anything is computed.
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
	if info, err := os.Stat(file); err == nil && !info.Mode().IsRegular() {
		return nil // a device or a pipe is written to
	}
	if err := files.Writable(filepath.Dir(file)); err != nil {
		return fmt.Errorf("%s %s: %w", flag, file, err)
	}
	return nil
}

// because returns the cause of an error of a file, without the file's name.
func because(err error) error {
	var failed *fs.PathError
	if errors.As(err, &failed) {
		return failed.Err
	}
	return err
}

// isFolder reports whether there is a folder with a name.
func isFolder(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// sameFile reports whether two paths are or will be the same file.
func sameFile(a, b string) bool {
	one, errA := os.Stat(a)
	other, errB := os.Stat(b)
	if errA == nil && errB == nil {
		return os.SameFile(one, other)
	}
	return errA != nil && errB != nil && place(a) == place(b)
}

// place returns the path of a file that does not exist yet, with the links to
// its folder resolved, in lower case: some file systems ignore case.
func place(file string) string {
	dir := filepath.Dir(file)
	if full, err := filepath.Abs(dir); err == nil {
		dir = full
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	return strings.ToLower(filepath.Join(dir, filepath.Base(file)))
}

// isThere reports whether there is a file or folder with a name.
func isThere(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

// besideSummary are the files that a summary may name, except charts.
var besideSummary = []string{rowsFile, scenarioFile, profileFile, reportFile, chainsFile, ablationFile, liveFile, summariesFile,
	fleetYAMLFile, orgsFile, hoursFile}

// outFolder collects the files of a run, which are written together (files.WriteAll).
type outFolder struct {
	dir     string
	flags   *outputFlags
	ours    bool // it holds an earlier run, whose files are removed
	files   []files.Member
	summary files.Member // run.json or fleet.json, which lists the others
	warn    io.Writer    // for charts that cannot be drawn
}

// folder returns the output folder, nil without --out. It refuses a folder with
// files unless --force is set. what names the content; holds reports whether a
// folder has an earlier one.
func (f *outputFlags) folder(cmd *cobra.Command, what string, holds func(dir string) bool) (*outFolder, error) {
	if f.out == "" {
		return nil, nil
	}
	o := &outFolder{dir: filepath.Clean(f.out), flags: f, warn: cmd.ErrOrStderr()}
	entries, err := os.ReadDir(o.dir)
	entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return files.Ours(e.Name()) })
	missing := errors.Is(err, fs.ErrNotExist)
	switch {
	case err == nil || missing:
		if err := files.Writable(o.dir); err != nil {
			return nil, usageError{fmt.Errorf("--out %s: %w", o.dir, err)}
		}
		if missing {
			return o, nil
		}
	case isThere(o.dir) && !isFolder(o.dir):
		return nil, usageError{fmt.Errorf("--out %s: not a folder", o.dir)}
	case err != nil:
		return nil, usageError{fmt.Errorf("--out %s: %w", o.dir, because(err))}
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
	f, err := files.Open(filepath.Join(dir, documentFile))
	if err != nil {
		return false
	}
	defer f.Close()
	_, err = results.ReadDocument(documentFile, f)
	return err == nil
}

// add adds a file.
func (o *outFolder) add(name string, write func(io.Writer) error) {
	o.files = append(o.files, files.Member{Name: name, Write: write})
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

// setSummary sets the file that lists all others, the JSON of a report.
func (o *outFolder) setSummary(name string, r report) {
	o.summary = files.Member{Name: name, Write: func(w io.Writer) error { return r.Write(w, "json") }}
}

// addCharts adds the drawings in a subfolder, in each of the formats. One that
// cannot be drawn is left out with a warning.
func (o *outFolder) addCharts(dir string, drawings []reports.Drawing, formats ...string) {
	n := len(formats)
	texts, errs := make([]bytes.Buffer, n*len(drawings)), make([]error, n*len(drawings))
	parallel.Each(0, len(texts), func(i int) {
		errs[i] = o.flags.drawn(drawings[i/n]).Draw(&texts[i], formats[i%n])
	})
	for i := range texts {
		d := &drawings[i/n]
		if errs[i] == nil {
			o.addText(filepath.Join(dir, d.Name+"."+formats[i%n]), texts[i].Bytes())
		} else if i%n == 0 || errs[i-1] == nil {
			say(o.warn, "warning: the chart %s is not drawn: %v", d.Name, errs[i])
		}
	}
}

// save writes the files, all or none, and removes those of an earlier run. The
// summary lists them and is replaced last.
func (o *outFolder) save(ctx context.Context) error {
	var names []string
	for _, m := range o.files {
		names = append(names, filepath.ToSlash(m.Name))
	}
	old := slices.DeleteFunc(o.earlier(), func(name string) bool { return slices.Contains(names, filepath.ToSlash(name)) })
	summary := o.summary
	o.add(summary.Name, func(w io.Writer) error { return writeNaming(w, names, summary.Write) })
	return files.WriteAll(ctx, o.dir, o.files, old)
}

// writeNaming writes a JSON object with an additional last member files: the names of the files beside it.
func writeNaming(w io.Writer, names []string, write func(io.Writer) error) error {
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return err
	}
	list, err := json.Marshal(names)
	if err != nil {
		return err
	}
	text := bytes.TrimSpace(b.Bytes())
	_, err = fmt.Fprintf(w, "%s,\"files\":%s}\n", bytes.TrimSpace(bytes.TrimSuffix(text, []byte("}"))), list)
	return err
}

// earlier returns the files of an earlier run in the folder: those that its summary lists
// or, for an older version, the charts. Names that no run writes are not removed.
func (o *outFolder) earlier() []string {
	if !o.ours {
		return nil
	}
	var listed struct {
		Files []string `json:"files"`
	}
	text, err := files.Read(filepath.Join(o.dir, o.summary.Name))
	if err != nil || json.Unmarshal(text, &listed) != nil || listed.Files == nil {
		for _, format := range reports.ChartFormats() {
			names, _ := filepath.Glob(filepath.Join(o.dir, chartFolder, "*."+format)) // the pattern is well-formed
			for _, name := range names {
				listed.Files = append(listed.Files, chartFolder+"/"+filepath.Base(name))
			}
		}
	}
	return slices.DeleteFunc(listed.Files, func(name string) bool {
		dir, base := path.Split(name)
		chart := dir == chartFolder+"/" && slices.Contains(reports.ChartFormats(), strings.TrimPrefix(path.Ext(base), "."))
		return !chart && !slices.Contains(besideSummary, name)
	})
}

// writeOr writes to a file, or to standard output without one.
func writeOr(cmd *cobra.Command, file string, write func(io.Writer) error) error {
	if file == "" {
		return write(cmd.OutOrStdout())
	}
	return files.Write(cmd.Context(), file, write)
}
