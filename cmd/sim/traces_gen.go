package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/compactsim/compactsim/reports"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/synthetic"
)

// Formats in which generated sessions are written.
const (
	genJSONL = "jsonl"
	genGzip  = "jsonl.gz"
)

// genFlags are the flags of the verbs that generate sessions.
type genFlags struct {
	profile  string
	sessions int
	seed     uint64
	workers  int
	format   string
	out      string
	list     bool
}

func (f *genFlags) bind(cmd *cobra.Command, sessions int) {
	flags := cmd.Flags()
	flags.IntVar(&f.sessions, "sessions", sessions, "sessions to generate")
	flags.Uint64Var(&f.seed, "seed", 1, "the same profile, seed and number give the same sessions")
}

func newTracesGen() *cobra.Command {
	var f genFlags
	cmd := &cobra.Command{
		Use:   "gen --profile NAME|FILE -o DIR",
		Short: "Generate sessions from a profile, as transcripts of Claude Code",
		Long: `Generates sessions that behave as a profile says and writes them as Claude Code's
JSONL, which every verb reads. --list names the profiles that come with the
program; --profile NAME without -o prints the profile as a start for one of your own.
sim traces fit writes a profile from recordings, and sim run takes generated sessions
without files: sessions.generate in a scenario. A profile of sim calibrate is
another kind: what the simulation itself reckons with.`,
		Example: `  sim traces gen --list
  sim traces gen --profile chat --sessions 50 --seed 7 -o sessions
  sim traces compare sessions ~/.claude/projects --chart compared.svg`,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	f.bind(cmd, 20)
	flags := cmd.Flags()
	flags.StringVar(&f.profile, "profile", "", "`NAME` of a profile, or a file that ends in .yaml or .yml")
	flags.StringVar(&f.format, "format", genJSONL, "jsonl or jsonl.gz")
	flags.StringVarP(&f.out, "output", "o", "", "write the sessions into this empty or new `DIR`")
	flags.IntVar(&f.workers, "workers", 0, "sessions generated at once; 0 for one per core")
	flags.BoolVar(&f.list, "list", false, "name the profiles and what they stress")
	return cmd
}

func (f *genFlags) run(cmd *cobra.Command, args []string) error {
	if err := f.check(cmd, args); err != nil {
		return usageError{err}
	}
	if f.list {
		return listWorkloads(cmd.OutOrStdout())
	}
	if f.out == "" {
		return showWorkload(cmd.OutOrStdout(), f.profile)
	}
	if err := freeFolder(f.out); err != nil {
		return usageError{err}
	}
	w, g, err := f.generator(f.profile)
	if err != nil {
		return err
	}
	return f.write(cmd, w, g)
}

// check returns all that is wrong with the flags by themselves.
func (f *genFlags) check(cmd *cobra.Command, args []string) error {
	var errs []error
	if len(args) > 0 {
		errs = append(errs, fmt.Errorf("unexpected %q: a profile is named by --profile %s", args[0], args[0]))
	}
	if f.list {
		return errors.Join(append(errs, changing(cmd, "is for sessions, and --list only names the profiles", "profile", "sessions", "seed", "format", "output", "workers"))...)
	}
	if f.profile == "" && len(args) == 0 {
		errs = append(errs, fmt.Errorf("which profile? --profile takes %s, or a file that ends in .yaml or .yml", strings.Join(synthetic.WorkloadNames(), ", ")))
	}
	if f.out == "" {
		errs = append(errs, changing(cmd, "is for sessions: name a folder for them with -o, else the profile is printed", "sessions", "seed", "format", "workers"))
	}
	if f.workers < 0 {
		errs = append(errs, fmt.Errorf("--workers %d must not be negative", f.workers))
	}
	return errors.Join(append(errs, checkFormat(f.format, []string{genJSONL, genGzip}))...)
}

// generator returns what draws the sessions of a profile.
func (f *genFlags) generator(profile string) (*synthetic.Workload, *synthetic.Generator, error) {
	w, err := synthetic.LoadWorkload(profile)
	if err != nil {
		return nil, nil, usageError{err}
	}
	if f.sessions < 1 || f.sessions > synthetic.MaxSessions {
		return nil, nil, usageError{fmt.Errorf("--sessions %d is out of range: want 1 to %d", f.sessions, synthetic.MaxSessions)}
	}
	g, err := synthetic.NewGenerator(w)
	if err != nil {
		return nil, nil, usageError{err}
	}
	return w, g, nil
}

// corpus generates the sessions of a profile into memory.
func (f *genFlags) corpus(ctx context.Context, profile string) (*synthetic.Workload, *traces.Corpus, error) {
	w, g, err := f.generator(profile)
	if err != nil {
		return nil, nil, err
	}
	c, err := g.Corpus(ctx, f.sessions, f.seed, f.workers)
	if errors.Is(err, synthetic.ErrSize) {
		err = usageError{err}
	}
	return w, c, err
}

// listWorkloads names the profiles that come with the program.
func listWorkloads(w io.Writer) error {
	s := &reports.Sheet{
		Fitted:  true,
		Columns: []reports.SheetColumn{{Name: "name", Title: "NAME"}, {Name: "doc", Title: "WHAT"}},
		Notes:   []string{"sim traces gen --profile NAME prints one; with -o DIR it writes sessions there."},
	}
	for _, name := range synthetic.WorkloadNames() {
		load, err := synthetic.LoadWorkload(name)
		if err != nil {
			return err
		}
		s.Rows = append(s.Rows, []any{name, strings.TrimSpace(load.Doc)})
	}
	return s.Write(w, "table")
}

// showWorkload prints a profile once it has been found good.
func showWorkload(w io.Writer, name string) error {
	if _, err := synthetic.LoadWorkload(name); err != nil {
		return usageError{err}
	}
	text, err := synthetic.WorkloadText(name)
	if err != nil {
		return err
	}
	_, err = w.Write(text)
	return err
}

// freeFolder makes sure that nothing stands in a folder.
func freeFolder(dir string) error {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("-o: %w", err)
	case len(entries) > 0:
		return fmt.Errorf("-o %s: the folder is not empty", dir)
	}
	return nil
}
