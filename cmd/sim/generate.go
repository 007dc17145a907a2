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

	"github.com/klauspost/compress/gzip"
	"github.com/spf13/cobra"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/internal/kit/files"
	"github.com/compactsim/compactsim/internal/reading/synthetic"
	"github.com/compactsim/compactsim/traces"
)

// Formats of generated sessions.
const (
	genJSONL = "jsonl"
	genGzip  = "jsonl.gz"
)

// genFlags say which sessions to generate, as the flags of sim traces gen.
type genFlags struct {
	profile  string
	sessions int
	seed     uint64
	workers  int
	format   string
	as       string
	out      string
	list     bool
}

func newTracesGen() *cobra.Command {
	var f genFlags
	cmd := &cobra.Command{
		Use:   "gen --profile NAME|FILE -o DIR",
		Short: "Generate sessions from a profile, as recordings",
		Long: `Generates sessions that behave as a profile says and writes them as Claude Code's
JSONL, which every verb reads, or with --as as OpenTelemetry spans or lines of requests and
responses, in which every call shows all that it sent: files are many times as large. --list names the profiles that come with the
program; --profile NAME without -o prints the profile as a start for one of your own.
sim traces fit writes a profile from recordings, and sim run takes generated sessions
without files: sessions.generate in a scenario. The profile of sim calibrate is another
kind: the numbers of the simulation itself.`,
		Example: `  sim traces gen --list
  sim traces gen --profile chat --sessions 50 --seed 7 -o sessions
  sim traces gen --profile chat --sessions 5 --as otel -o spans
  sim traces ls sessions`,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	flags := cmd.Flags()
	flags.IntVar(&f.sessions, "sessions", 20, "`N` sessions to generate")
	flags.Uint64Var(&f.seed, "seed", 1, "the same profile, seed `N` and number give the same sessions")
	flags.StringVar(&f.profile, "profile", "", "`NAME` of a profile, or a file that ends in .yaml or .yml")
	bindFormat(cmd, &f.format, genJSONL, genGzip)
	f.as = synthetic.FormClaude
	bindChoice(cmd, &f.as, "as", "write recordings of `AGENT`: "+strings.Join(synthetic.Forms(), ", "), synthetic.Forms())
	flags.StringVarP(&f.out, "output", "o", "", "write the sessions into an empty or new `DIR`")
	flags.IntVar(&f.workers, "workers", 0, "`N` sessions generated at once; 0 for one per core")
	flags.BoolVar(&f.list, "list", false, "name the profiles and what they stress")
	return cmd
}

func (f *genFlags) run(cmd *cobra.Command, args []string) error {
	if err := errors.Join(f.check(args), counted(cmd)); err != nil {
		return usageError{err}
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
		return nil, nil, usageError{err}
	}
	if f.sessions < 1 || f.sessions > synthetic.MaxSessions {
		err := fmt.Errorf("--sessions %d is out of range: want 1 to %d", f.sessions, synthetic.MaxSessions)
		return nil, nil, usageError{err}
	}
	g, err := synthetic.NewGenerator(w)
	if err != nil {
		return nil, nil, usageError{err}
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
		err = usageError{err}
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

// largeCorpus is the size above which sim warns before writing, bytes.
const largeCorpus = 1e9

// write writes the sessions as they are generated, so that a corpus of any size
// takes little memory.
func (f *genFlags) write(cmd *cobra.Command, w *synthetic.Workload, g *synthetic.Generator) error {
	size, err := f.expected(w, g)
	if err != nil {
		return err
	}
	if size >= largeCorpus {
		fmt.Fprintf(cmd.ErrOrStderr(), "about %.0f GB of transcripts are to be written; "+
			"an interrupt leaves those that are complete\n", size/1e9)
	}
	t, err := f.writeSessions(cmd.Context(), w, g)
	if err != nil {
		return err
	}
	tell(cmd.OutOrStdout(), fmt.Sprintf("%s, %s in %s of %s: %.1f MB", document.Count(t.sessions, "session"), document.Count(t.calls, "call"),
		document.Count(t.files, "file"), f.out, float64(t.bytes)/1e6))
	return nil
}

// expected returns the size of the sessions on disk, bytes, estimated from the
// first of them.
func (f *genFlags) expected(w *synthetic.Workload, g *synthetic.Generator) (float64, error) {
	sample := min(f.sessions/64+1, 8)
	var size counter
	for i := range sample {
		for _, t := range w.Recording(g.Session(f.seed, i), f.as) {
			if err := encodeTranscript(&size, f.format, t); err != nil {
				return 0, err
			}
		}
	}
	return float64(size) * float64(f.sessions) / float64(sample), nil
}

// tally counts what is written: complete sessions, and files.
type tally struct {
	sessions, calls, files int
	bytes                  int64
}

// writeSessions writes the sessions into the folder. An error says how many are
// complete.
func (f *genFlags) writeSessions(ctx context.Context, w *synthetic.Workload, g *synthetic.Generator) (tally, error) {
	var mu sync.Mutex
	var sum tally
	err := g.Each(ctx, f.sessions, f.seed, f.workers, func(s *traces.Session) error {
		files := w.Recording(s, f.as)
		var size counter
		for _, t := range files {
			if err := writeTranscript(ctx, f.out, f.format, t, &size); err != nil {
				return err
			}
		}
		mu.Lock()
		defer mu.Unlock()
		sum = tally{sum.sessions + 1, sum.calls + s.NumCalls(), sum.files + len(files), sum.bytes + int64(size)}
		return nil
	})
	complete := fmt.Sprintf("%s of %s are complete in %s", document.Whole(sum.sessions), document.Count(f.sessions, "session"), f.out)
	switch {
	case err == nil:
		return sum, nil
	case ctx.Err() != nil:
		return sum, fmt.Errorf("interrupted: %s, which -o takes again once it is empty: %w", complete, context.Cause(ctx))
	}
	return sum, fmt.Errorf("%s: %w", complete, err)
}

// writeTranscript writes one file and adds its size.
func writeTranscript(ctx context.Context, dir, format string, t synthetic.Transcript, size *counter) error {
	name := filepath.Join(dir, filepath.FromSlash(strings.TrimSuffix(t.Name, ".jsonl")+"."+format))
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return fmt.Errorf("make the folder of a session: %w", err)
	}
	return files.New(files.Unsynced(ctx), name, 0, func(w io.Writer) error { return encodeTranscript(io.MultiWriter(w, size), format, t) })
}

// encodeTranscript writes one file in a format.
func encodeTranscript(w io.Writer, format string, t synthetic.Transcript) error {
	if format == genJSONL {
		return t.Write(w)
	}
	gz := gzip.NewWriter(w)
	return errors.Join(t.Write(gz), gz.Close())
}

// counter counts the bytes written to it.
type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
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
quantiles and numbers, nothing of what was said. What recordings do not show, such as
the client's version, comes from the base profile.

Sessions are generated from this profile. The profile of sim calibrate is another: the
numbers of the simulation itself.`,
		Example: `  sim traces fit ~/.claude/projects -o mine.yaml
  sim traces gen --profile mine.yaml -o sessions`,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	f.read.bind(cmd)
	cmd.Flags().StringVarP(&f.out, "output", "o", "", "write the profile into `FILE`, not to standard output")
	cmd.Flags().StringVar(&f.base, "base", "short-fix", "`PROFILE` with what recordings do not show")
	return cmd
}

func (f *fitFlags) run(cmd *cobra.Command, args []string) error {
	base, err := synthetic.LoadWorkload(f.base)
	errs := []error{f.read.check(cmd), placeFor("-o", f.out), err}
	if len(args) == 0 && !f.read.discover.wanted() {
		errs = append(errs, errors.New("which recordings? Give files or folders, or --discover"))
	}
	if err := errors.Join(errs...); err != nil {
		return usageError{err}
	}
	return f.read.reading(cmd, args, func(corpus *traces.Corpus) error {
		fitted := synthetic.FitWorkload(base, corpus.Sessions)
		if errs := fitted.Validate(); len(errs) > 0 {
			return fmt.Errorf("no profile can be fitted on these sessions (of Claude Code?): %w", errors.Join(errs...))
		}
		return writeOr(cmd, f.out, fitted.Write)
	})
}
