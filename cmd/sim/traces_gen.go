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
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/spf13/cobra"

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
without files: sessions.generate in a scenario.`,
		Example: `  sim traces gen --list
  sim traces gen --profile chat --sessions 50 --seed 7 -o sessions
  sim traces compare sessions ~/.claude/projects --chart compared.svg`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	f.bind(cmd, 20)
	flags := cmd.Flags()
	flags.StringVar(&f.profile, "profile", "", "`NAME` of a profile, or a file that ends in .yaml")
	flags.StringVar(&f.format, "format", genJSONL, "jsonl or jsonl.gz")
	flags.StringVarP(&f.out, "output", "o", "", "write the sessions into this empty or new `DIR`")
	flags.IntVar(&f.workers, "workers", 0, "sessions generated at once; 0 for one per core")
	flags.BoolVar(&f.list, "list", false, "name the profiles and what they stress")
	return cmd
}

func (f *genFlags) run(cmd *cobra.Command) error {
	if f.list {
		return listWorkloads(cmd.OutOrStdout())
	}
	if f.profile == "" {
		return usageError{fmt.Errorf("which profile? --profile takes %s, or a file that ends in .yaml", strings.Join(synthetic.WorkloadNames(), ", "))}
	}
	if err := checkFormat(f.format, []string{genJSONL, genGzip}); err != nil {
		return usageError{err}
	}
	if f.out == "" {
		return showWorkload(cmd.OutOrStdout(), f.profile)
	}
	if err := freeFolder(f.out); err != nil {
		return usageError{err}
	}
	w, c, err := f.corpus(cmd.Context(), f.profile)
	if err != nil {
		return err
	}
	size, files, err := writeSessions(cmd.Context(), f.out, f.format, w, c.Sessions, f.workers)
	if err != nil {
		return err
	}
	calls := 0
	for _, s := range c.Sessions {
		calls += s.NumCalls()
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s, %s in %s of %s: %.1f MB\n", plural(len(c.Sessions), "session"), plural(calls, "call"), plural(files, "file"), f.out, float64(size)/1e6)
	return nil
}

// corpus generates the sessions of a profile.
func (f *genFlags) corpus(ctx context.Context, profile string) (*synthetic.Workload, *traces.Corpus, error) {
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
	c, err := g.Corpus(ctx, f.sessions, f.seed, f.workers)
	return w, c, err
}

// listWorkloads names the profiles that come with the program.
func listWorkloads(w io.Writer) error {
	for _, name := range synthetic.WorkloadNames() {
		load, err := synthetic.LoadWorkload(name)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%-14s %s\n", name, strings.TrimSpace(load.Doc))
	}
	return nil
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

// writeSessions writes sessions as transcripts and returns how many bytes and
// files that took.
func writeSessions(ctx context.Context, dir, format string, w *synthetic.Workload, sessions []*traces.Session, workers int) (size int64, files int, err error) {
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	next := make(chan *traces.Session)
	for range workers {
		wg.Go(func() {
			for s := range next {
				for _, t := range w.Transcripts(s) {
					n, e := writeTranscript(dir, format, t)
					mu.Lock()
					size, files, err = size+n, files+1, errors.Join(err, e)
					mu.Unlock()
				}
			}
		})
	}
	for _, s := range sessions {
		mu.Lock()
		stop := err != nil || ctx.Err() != nil
		mu.Unlock()
		if stop {
			break
		}
		next <- s
	}
	close(next)
	wg.Wait()
	if err == nil && ctx.Err() != nil {
		err = fmt.Errorf("interrupted while writing sessions: %w", context.Cause(ctx))
	}
	return size, files, err
}

// writeTranscript writes one file and returns its size.
func writeTranscript(dir, format string, t synthetic.Transcript) (int64, error) {
	name := filepath.Join(dir, filepath.FromSlash(t.Name))
	if format == genGzip {
		name += ".gz"
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return 0, fmt.Errorf("make the folder of a session: %w", err)
	}
	err := writeFile(name, func(w io.Writer) error {
		if format == genJSONL {
			return t.Write(w)
		}
		gz := gzip.NewWriter(w)
		if err := t.Write(gz); err != nil {
			return err
		}
		return gz.Close()
	})
	if err != nil {
		return 0, err
	}
	info, err := os.Stat(name)
	if err != nil {
		return 0, fmt.Errorf("write %s: %w", name, err)
	}
	return info.Size(), nil
}
