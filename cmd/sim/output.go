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
	"strings"

	"github.com/spf13/cobra"

	"github.com/compactsim/compactsim/cmd/sim/internal/console"
	"github.com/compactsim/compactsim/internal/kit/files"
	"github.com/compactsim/compactsim/internal/kit/parallel"
	"github.com/compactsim/compactsim/reports/charts"
	"github.com/compactsim/compactsim/sim/results"
)

// Files of an output folder.
const (
	rowsFile     = "rows.jsonl"    // canonical rows
	documentFile = "run.json"      // the published summary
	profileFile  = "profile.yaml"  // what recordings show, these sessions included
	scenarioFile = "scenario.yaml" // the resolved scenario
	reportFile   = "report.txt"    // the table
	chainsFile   = "chains.csv"    // compactions of the recorded cell and the cheapest others
	ablationFile = "ablation.csv"  // differences of sim ablate
	liveFile     = "live.json"     // what real calls took and returned
	chartFolder  = "charts"        // pictures and their data
)

// outputFlags say where to write pictures and files.
type outputFlags struct {
	chartFlags
	force bool
}

// bind binds the flags. what names the content of the folder, kinds what --chart draws.
func (f *outputFlags) bind(cmd *cobra.Command, what string, kinds ...string) {
	flags := cmd.Flags()
	f.chartFlags.bind(cmd, kinds...)
	flags.StringVar(&f.out, "out", "", "write figures, the resolved "+what+", the report and the main chart into `DIR`; --chart KIND adds a chart")
	flags.BoolVar(&f.force, "force", false, "with --out: replace an earlier "+what+" in DIR; keep other files")
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
var besideSummary = []string{rowsFile, scenarioFile, profileFile, reportFile, chainsFile, ablationFile, liveFile}

// outFolder collects the files of a run, which are written together (files.WriteAll).
type outFolder struct {
	dir     string
	flags   *outputFlags
	ours    bool // it holds an earlier run, whose files are removed
	files   []files.Member
	summary files.Member // run.json, which lists all other files
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
			return nil, console.Misuse(fmt.Errorf("--out %s: %w", o.dir, err))
		}
		if missing {
			return o, nil
		}
	case isThere(o.dir) && !isFolder(o.dir):
		return nil, console.Misuse(fmt.Errorf("--out %s: not a folder", o.dir))
	case err != nil:
		return nil, console.Misuse(fmt.Errorf("--out %s: %w", o.dir, because(err)))
	}
	o.ours = holds(o.dir)
	switch {
	case len(entries) == 0 || f.force:
		return o, nil
	case o.ours:
		return nil, console.Misuse(fmt.Errorf("--out %s: holds an earlier %s; --force replaces it", o.dir, what))
	}
	err = fmt.Errorf("--out %s: not empty and not a %s of sim; --force writes into it all the same", o.dir, what)
	return nil, console.Misuse(err)
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

// addCharts adds the drawings in a subfolder, each with its data. One that cannot be drawn is left out with a warning.
func (o *outFolder) addCharts(drawings []charts.Drawing) {
	made, errs := make([][]files.Member, len(drawings)), make([]error, len(drawings))
	parallel.Each(0, len(drawings), func(i int) {
		made[i], errs[i] = o.flags.drawMembers(drawings[i], drawings[i].Name+"."+o.flags.format())
	})
	for i, list := range made {
		if errs[i] != nil {
			console.Say(o.warn, "warning: the chart %s is not drawn: %v", drawings[i].Name, errs[i])
		}
		for _, m := range list {
			o.add(filepath.Join(chartFolder, m.Name), m.Write)
		}
	}
}

// save writes the files, all or none, and removes the files of an earlier run. The
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

// earlier returns the files of an earlier run in the folder, which its summary lists. Names that no run writes are not
// removed.
func (o *outFolder) earlier() []string {
	if !o.ours {
		return nil
	}
	var listed struct {
		Files []string `json:"files"`
	}
	if text, err := files.Read(filepath.Join(o.dir, o.summary.Name)); err != nil || json.Unmarshal(text, &listed) != nil {
		return nil
	}
	return slices.DeleteFunc(listed.Files, func(name string) bool {
		dir, base := path.Split(name)
		chart := dir == chartFolder+"/" && (slices.Contains(charts.ChartFormats(), strings.TrimPrefix(path.Ext(base), ".")) ||
			strings.HasSuffix(base, dataEnd) || strings.HasSuffix(base, captionEnd))
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
