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

	"github.com/compactsim/compactsim/internal/document"
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
	bindFormat(cmd, &f.format, genJSONL, genGzip)
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
	w, g, err := f.generator(f.profile)
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

// check returns all that is wrong with the flags by themselves.
func (f *genFlags) check(cmd *cobra.Command, args []string) error {
	var errs []error
	if len(args) > 0 {
		errs = append(errs, fmt.Errorf("unexpected %q: a profile is named by --profile %s", args[0], args[0]))
	}
	if f.list {
		return errors.Join(append(errs, changing(cmd, "is for sessions, and --list only names the profiles",
			"profile", "sessions", "seed", "format", "output", "workers"))...)
	}
	if f.profile == "" && len(args) == 0 {
		errs = append(errs, fmt.Errorf("which profile? --profile takes %s, or a file that ends in .yaml or .yml",
			strings.Join(synthetic.WorkloadNames(), ", ")))
	}
	if f.out == "" {
		errs = append(errs, changing(cmd, "is for sessions: name a folder for them with -o, else the profile is printed",
			"sessions", "seed", "format", "workers"))
	} else {
		errs = append(errs, freeFolder(f.out))
	}
	if f.workers < 0 {
		errs = append(errs, fmt.Errorf("--workers %d must not be negative", f.workers))
	}
	return errors.Join(errs...)
}

// freeFolder returns an error when a folder holds anything.
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

// generator returns what draws the sessions of a profile.
func (f *genFlags) generator(profile string) (*synthetic.Workload, *synthetic.Generator, error) {
	w, err := synthetic.LoadWorkload(profile)
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

// corpus generates the sessions of a profile into memory.
func (f *genFlags) corpus(ctx context.Context, profile string) (*traces.Corpus, error) {
	_, g, err := f.generator(profile)
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

// largeCorpus is the size that is announced before it is written, bytes.
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
	fmt.Fprintf(cmd.OutOrStdout(), "%s, %s in %s of %s: %.1f MB\n", plural(t.sessions, "session"), plural(t.calls, "call"),
		plural(t.files, "file"), f.out, float64(t.bytes)/1e6)
	return nil
}

// expected returns the bytes that the sessions will take on disk, estimated from
// the first of them.
func (f *genFlags) expected(w *synthetic.Workload, g *synthetic.Generator) (float64, error) {
	sample := min(f.sessions/64+1, 8)
	var size counter
	for i := range sample {
		for _, t := range w.Transcripts(g.Session(f.seed, i)) {
			if err := encodeTranscript(&size, f.format, t); err != nil {
				return 0, err
			}
		}
	}
	return float64(size) * float64(f.sessions) / float64(sample), nil
}

// tally counts what has been written: whole sessions, and files.
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
		files := w.Transcripts(s)
		var size counter
		for _, t := range files {
			if err := writeTranscript(f.out, f.format, t, &size); err != nil {
				return err
			}
		}
		mu.Lock()
		defer mu.Unlock()
		sum = tally{sum.sessions + 1, sum.calls + s.NumCalls(), sum.files + len(files), sum.bytes + int64(size)}
		return nil
	})
	complete := fmt.Sprintf("%d of %s are complete in %s", sum.sessions, plural(f.sessions, "session"), f.out)
	switch {
	case err == nil:
		return sum, nil
	case ctx.Err() != nil:
		return sum, fmt.Errorf("interrupted: %s, which -o takes again once it is empty: %w", complete, context.Cause(ctx))
	}
	return sum, fmt.Errorf("%s: %w", complete, err)
}

// writeTranscript writes one file and adds its size.
func writeTranscript(dir, format string, t synthetic.Transcript, size *counter) error {
	name := filepath.Join(dir, filepath.FromSlash(strings.TrimSuffix(t.Name, ".jsonl")+"."+format))
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return fmt.Errorf("make the folder of a session: %w", err)
	}
	return writeFile(name, func(w io.Writer) error { return encodeTranscript(io.MultiWriter(w, size), format, t) })
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
