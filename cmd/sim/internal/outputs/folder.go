// Package outputs writes the files of a verb, charts with their data and the folder of a run, and reads such a folder again.
package outputs

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

	"github.com/compactsim/compactsim/cmd/sim/internal/console"
	"github.com/compactsim/compactsim/cmd/sim/internal/recordings"
	"github.com/compactsim/compactsim/internal/kit/files"
	"github.com/compactsim/compactsim/internal/kit/parallel"
	"github.com/compactsim/compactsim/reports/charts"
	"github.com/compactsim/compactsim/sim/results"
)

// Files of an output folder.
const (
	RowsFile     = "rows.jsonl"    // canonical rows
	SummaryFile  = "run.json"      // the published summary
	ProfileFile  = "profile.yaml"  // what recordings show, these sessions included
	ScenarioFile = "scenario.yaml" // the resolved scenario
	ReportFile   = "report.txt"    // the table
	ChainsFile   = "chains.csv"    // compactions of the recorded cell and the cheapest others
	AblationFile = "ablation.csv"  // differences of sim ablate
	LiveFile     = "live.json"     // what real calls took and returned
	chartFolder  = "charts"        // pictures and their data
)

// besideSummary are the files that a summary may name, except charts.
var besideSummary = []string{RowsFile, ScenarioFile, ProfileFile, ReportFile, ChainsFile, AblationFile, LiveFile}

// Folder collects the files of a run, which are written together (files.WriteAll).
type Folder struct {
	Dir     string
	ours    bool // it holds an earlier run, whose files are removed
	force   bool // what is there may be replaced
	files   []files.Member
	summary files.Member // run.json, which lists all other files
}

// OpenFolder returns a folder for the files of a run. It refuses a folder with files unless force is set.
func OpenFolder(dir string, force bool) (*Folder, error) {
	o := &Folder{Dir: filepath.Clean(dir), force: force}
	entries, err := os.ReadDir(o.Dir)
	entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return files.Ours(e.Name()) })
	missing := errors.Is(err, fs.ErrNotExist)
	switch {
	case err == nil || missing:
		if err := files.Writable(o.Dir); err != nil {
			return nil, console.Misuse(fmt.Errorf("--out %s: %w", o.Dir, err))
		}
		if missing {
			return o, nil
		}
	case IsThere(o.Dir) && !IsFolder(o.Dir):
		return nil, console.Misuse(fmt.Errorf("--out %s: not a folder", o.Dir))
	case err != nil:
		return nil, console.Misuse(fmt.Errorf("--out %s: %w", o.Dir, because(err)))
	}
	o.ours = HoldsRun(o.Dir)
	switch {
	case len(entries) == 0 || force:
		return o, nil
	case o.ours:
		return nil, console.Misuse(fmt.Errorf("--out %s: holds an earlier run; --force replaces it", o.Dir))
	}
	return nil, console.Misuse(fmt.Errorf("--out %s: not empty and not a run of sim; --force writes into it all the same", o.Dir))
}

// HoldsRun reports whether a folder holds the summary of a run.
func HoldsRun(dir string) bool {
	f, err := files.Open(filepath.Join(dir, SummaryFile))
	if err != nil {
		return false
	}
	defer f.Close()
	_, err = results.ReadDocument(SummaryFile, f)
	return err == nil
}

// Add adds a file.
func (o *Folder) Add(name string, write func(io.Writer) error) {
	o.files = append(o.files, files.Member{Name: name, Write: write})
}

// Report is a document or a table.
type Report interface {
	Write(w io.Writer, format string) error
}

// AddReport adds a report in a format.
func (o *Folder) AddReport(name string, r Report, format string) {
	o.Add(name, func(w io.Writer) error { return r.Write(w, format) })
}

// SetSummary sets the file that lists all other files, the JSON of a report.
func (o *Folder) SetSummary(r Report) {
	o.summary = files.Member{Name: SummaryFile, Write: func(w io.Writer) error { return r.Write(w, "json") }}
}

// AddCharts adds the drawings in a subfolder, each in a format with its data. One that cannot be drawn is left out with a warning.
func (o *Folder) AddCharts(drawings []charts.Drawing, form charts.Form, format string, warn io.Writer) {
	made, errs := make([][]files.Member, len(drawings)), make([]error, len(drawings))
	parallel.Each(0, len(drawings), func(i int) {
		made[i], errs[i] = drawMembers(drawings[i], form, drawings[i].Name+"."+format)
	})
	for i, list := range made {
		if errs[i] != nil {
			console.Say(warn, "warning: the chart %s is not drawn: %v", drawings[i].Name, errs[i])
		}
		for _, m := range list {
			o.Add(filepath.Join(chartFolder, m.Name), m.Write)
		}
	}
}

// Save writes the files, all or none, and removes the files of an earlier run. The
// summary lists them and is replaced last.
func (o *Folder) Save(ctx context.Context) error {
	var names []string
	for _, m := range o.files {
		names = append(names, filepath.ToSlash(m.Name))
	}
	old := slices.DeleteFunc(o.earlier(), func(name string) bool { return slices.Contains(names, filepath.ToSlash(name)) })
	summary := o.summary
	o.Add(summary.Name, func(w io.Writer) error { return writeNaming(w, names, summary.Write) })
	return files.WriteIf(ctx, o.Dir, o.files, old, func() error {
		if !o.force && HoldsRun(o.Dir) { // there was none when this run began
			return errors.New("another run has been written there meanwhile and stays; --force would have replaced it")
		}
		return nil
	})
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
func (o *Folder) earlier() []string {
	if !o.ours {
		return nil
	}
	var listed struct {
		Files []string `json:"files"`
	}
	if text, err := files.Read(filepath.Join(o.Dir, o.summary.Name)); err != nil || json.Unmarshal(text, &listed) != nil {
		return nil
	}
	return slices.DeleteFunc(listed.Files, func(name string) bool {
		dir, base := path.Split(name)
		chart := dir == chartFolder+"/" && (slices.Contains(charts.ChartFormats(), strings.TrimPrefix(path.Ext(base), ".")) ||
			strings.HasSuffix(base, dataEnd) || strings.HasSuffix(base, captionEnd))
		return !chart && !slices.Contains(besideSummary, name)
	})
}

// ReadRun reads the rows of a run from its output folder or from the file itself.
func ReadRun(ctx context.Context, path string) (*results.Run, error) {
	file, err := rowsOf(path)
	if err != nil {
		return nil, err
	}
	r, err := files.Open(file)
	if err != nil {
		return nil, fmt.Errorf("read a run: %w", err)
	}
	defer r.Close()
	run, err := results.ReadRows(file, &recordings.Interruptible{Ctx: ctx, Reader: r})
	if err != nil {
		return nil, fmt.Errorf("not the rows of a run: %w", err)
	}
	return run, nil
}

// SameRun reports whether two paths are of one run: its folder, its rows, and links to these.
func SameRun(a, b string) bool {
	var found [2]fs.FileInfo
	for i, path := range [...]string{a, b} {
		rows, err := rowsOf(path)
		if err == nil {
			found[i], err = os.Stat(files.Path(rows))
		}
		if err != nil {
			return false
		}
	}
	return os.SameFile(found[0], found[1])
}

// rowsOf returns the rows file for a path.
func rowsOf(path string) (string, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("%s: no run there; sim run --out makes one", path)
	case err != nil:
		return "", fmt.Errorf("read a run: %w", err)
	case filepath.Base(path) == SummaryFile:
		return "", fmt.Errorf("%s is a summary without sessions: give its folder or %s", path, RowsFile)
	case !info.IsDir():
		return path, nil
	}
	file := filepath.Join(path, RowsFile)
	if _, err := os.Stat(files.Path(file)); err != nil {
		return "", fmt.Errorf("%s holds no %s: not a folder of sim run --out", path, RowsFile)
	}
	return file, nil
}
