package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/compactsim/compactsim/cmd/sim/internal/console"
	"github.com/compactsim/compactsim/cmd/sim/internal/outputs"
	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/internal/kit/files"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/synthetic"
)

// genFlags say which sessions to generate, as the flags of sim traces gen.
type genFlags struct {
	profile  string
	sessions int
	seed     uint64
	workers  int
	out      string
	list     bool
}

func newTracesGen() *cobra.Command {
	var f genFlags
	cmd := &cobra.Command{
		Use:   "gen --profile NAME|FILE -o DIR",
		Short: "Generate sessions from a profile, as recordings",
		Long: `Generates sessions from a profile and writes them as Claude Code's JSONL, which every
command reads. --list names the built-in profiles; --profile NAME without -o prints one
for you to edit.
sim traces fit writes a profile from recordings, and sim run takes generated sessions
without files: sessions.generate in a scenario. The profile of sim calibrate is another
kind: the numbers of the simulation itself.`,
		Example: `  sim traces gen --list
  sim traces gen --profile chat --sessions 50 --seed 7 -o sessions
  sim traces ls sessions`,
		RunE: f.run,
	}
	flags := cmd.Flags()
	flags.IntVar(&f.sessions, "sessions", 20, "`N` sessions to generate")
	flags.Uint64Var(&f.seed, "seed", 1, "the same profile, seed `N` and number give the same sessions")
	flags.StringVar(&f.profile, "profile", "", "`NAME` of a profile, or a file that ends in .yaml or .yml")
	flags.StringVarP(&f.out, "output", "o", "", "write the sessions into an empty or new `DIR`")
	flags.IntVar(&f.workers, "workers", 0, "`N` sessions generated at once; 0 for one per core")
	flags.BoolVar(&f.list, "list", false, "list the profiles and what each stresses")
	return cmd
}

func (f *genFlags) run(cmd *cobra.Command, args []string) error {
	if err := errors.Join(f.check(args), checkCounts(cmd)); err != nil {
		return console.Misuse(err)
	}
	if f.list {
		return listWorkloads(cmd.OutOrStdout())
	}
	w, g, err := f.generator()
	if err != nil {
		return err
	}
	if f.out == "" {
		text, err := synthetic.WorkloadText(f.profile)
		if err != nil {
			return err
		}
		_, err = cmd.OutOrStdout().Write(text)
		return err
	}
	return f.write(cmd, w, g)
}

// check returns everything that is wrong with the flags alone.
func (f *genFlags) check(args []string) error {
	var errs []error
	if len(args) > 0 {
		errs = append(errs, fmt.Errorf("unexpected %q: a profile is named by --profile %s", args[0], args[0]))
	}
	if f.list {
		return errors.Join(errs...)
	}
	if f.profile == "" && len(args) == 0 {
		errs = append(errs, fmt.Errorf("which profile? --profile takes %s, or a file that ends in .yaml or .yml",
			strings.Join(synthetic.WorkloadNames(), ", ")))
	}
	if f.out != "" {
		errs = append(errs, freeFolder(f.out))
	}
	return errors.Join(errs...)
}

// freeFolder returns an error for a folder that is not empty.
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

// generator returns the profile and the generator of its sessions.
func (f *genFlags) generator() (*synthetic.Workload, *synthetic.Generator, error) {
	w, err := synthetic.LoadWorkload(f.profile)
	if err != nil {
		return nil, nil, console.Misuse(err)
	}
	if f.sessions < 1 || f.sessions > synthetic.MaxSessions {
		err := fmt.Errorf("--sessions %d is out of range: want 1 to %d", f.sessions, synthetic.MaxSessions)
		return nil, nil, console.Misuse(err)
	}
	g, err := synthetic.NewGenerator(w)
	if err != nil {
		return nil, nil, console.Misuse(err)
	}
	return w, g, nil
}

// corpus generates the sessions of the profile into memory.
func (f *genFlags) corpus(ctx context.Context) (*traces.Corpus, error) {
	_, g, err := f.generator()
	if err != nil {
		return nil, err
	}
	c, err := g.Corpus(ctx, f.sessions, f.seed, f.workers)
	if errors.Is(err, synthetic.ErrSize) {
		err = console.Misuse(err)
	}
	return c, err
}

// listWorkloads names the profiles that come with the program.
func listWorkloads(w io.Writer) error {
	s := &document.Table{
		Fitted:  true,
		Columns: []document.Column{{Name: "name", Title: "NAME"}, {Name: "doc", Title: "WHAT"}},
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

// tally counts what is written: complete sessions, their calls, and files.
type tally struct{ sessions, calls, files int }

// write writes the sessions as they are generated, so that a corpus of any size
// takes little memory. An error says how many are complete.
func (f *genFlags) write(cmd *cobra.Command, w *synthetic.Workload, g *synthetic.Generator) error {
	ctx := cmd.Context()
	var mu sync.Mutex
	var sum tally
	err := g.Each(ctx, f.sessions, f.seed, f.workers, func(s *traces.Session) error {
		list := w.Transcripts(s)
		for _, t := range list {
			name := filepath.Join(f.out, filepath.FromSlash(t.Name))
			if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
				return fmt.Errorf("make the folder of a session: %w", err)
			}
			if err := files.New(files.Unsynced(ctx), name, 0, t.Write); err != nil {
				return err
			}
		}
		mu.Lock()
		defer mu.Unlock()
		sum = tally{sum.sessions + 1, sum.calls + s.NumCalls(), sum.files + len(list)}
		return nil
	})
	complete := fmt.Sprintf("%s of %s are complete in %s", document.Whole(sum.sessions), document.Count(f.sessions, "session"), f.out)
	switch {
	case ctx.Err() != nil && err != nil:
		return fmt.Errorf("interrupted: %s, which -o takes again once it is empty: %w", complete, context.Cause(ctx))
	case err != nil:
		return fmt.Errorf("%s: %w", complete, err)
	}
	console.Tell(cmd.OutOrStdout(), fmt.Sprintf("%s, %s in %s of %s", document.Count(sum.sessions, "session"), document.Count(sum.calls, "call"),
		document.Count(sum.files, "file"), f.out))
	return nil
}

// fitFlags are the flags of sim traces fit.
type fitFlags struct {
	read readFlags
	out  string
	base string
}

func newTracesFit() *cobra.Command {
	var f fitFlags
	cmd := &cobra.Command{
		Use:   "fit PATH… [-o FILE]",
		Short: "Fit a profile for sim traces gen from recorded sessions",
		Long: `Writes a profile with the sizes, times, mix and shares of the sessions under PATH:
only quantiles and numbers, no text. What recordings do not show, such as
the client's version, comes from the base profile.

Sessions are generated from this profile. The profile of sim calibrate is another: the
numbers of the simulation itself.`,
		Example: `  sim traces fit ~/.claude/projects -o fitted.yaml
  sim traces gen --profile fitted.yaml -o fitted`,
		RunE: f.run,
	}
	f.read.bind(cmd)
	cmd.Flags().StringVarP(&f.out, "output", "o", "", "write the profile into `FILE` instead of standard output")
	cmd.Flags().StringVar(&f.base, "base", "short-fix", "`PROFILE` that supplies what recordings do not show")
	return cmd
}

func (f *fitFlags) run(cmd *cobra.Command, args []string) error {
	base, err := synthetic.LoadWorkload(f.base)
	errs := []error{f.read.check(cmd), outputs.PlaceFor("-o", f.out), err}
	if len(args) == 0 && !f.read.Discovery.Wanted() {
		errs = append(errs, errors.New("which recordings? Give files or folders, or --discover"))
	}
	if err := errors.Join(errs...); err != nil {
		return console.Misuse(err)
	}
	corpus, err := f.read.open(cmd, args)
	if err != nil {
		return err
	}
	defer corpus.Close()
	fitted := synthetic.FitWorkload(base, corpus.Sessions)
	if errs := fitted.Validate(); len(errs) > 0 {
		return fmt.Errorf("no profile can be fitted on these sessions (of Claude Code?): %w", errors.Join(errs...))
	}
	return writeOr(cmd, f.out, fitted.Write)
}
