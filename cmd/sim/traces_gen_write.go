package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/spf13/cobra"

	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/synthetic"
)

// write writes the sessions as they are generated, so that a corpus of any size
// takes little memory, and says what there is.
func (f *genFlags) write(cmd *cobra.Command, w *synthetic.Workload, g *synthetic.Generator) error {
	if size, err := f.expected(w, g); err != nil {
		return err
	} else if size >= largeCorpus {
		fmt.Fprintf(cmd.ErrOrStderr(), "about %.0f GB of transcripts are to be written; an interrupt leaves those that are complete\n", size/1e9)
	}
	t, err := f.writeSessions(cmd.Context(), w, g)
	if err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s, %s in %s of %s: %.1f MB\n", plural(t.sessions, "session"), plural(t.calls, "call"), plural(t.files, "file"), f.out, float64(t.bytes)/1e6)
	return nil
}

// largeCorpus is the size from which a person is told before the disk is full,
// bytes.
const largeCorpus = 1e9

// expected returns the bytes the sessions will take on disk, as the first of them
// tell.
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

// counter counts the bytes written to it.
type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

// tally is what has been written: whole sessions, and files.
type tally struct {
	sessions, calls, files int
	bytes                  int64
}

// writeSessions writes the sessions into the folder. An error says what stands
// there.
func (f *genFlags) writeSessions(ctx context.Context, w *synthetic.Workload, g *synthetic.Generator) (tally, error) {
	var mu sync.Mutex
	var sum tally
	err := g.Each(ctx, f.sessions, f.seed, f.workers, func(s *traces.Session) error {
		one := tally{sessions: 1, calls: s.NumCalls()}
		for _, t := range w.Transcripts(s) {
			n, err := writeTranscript(f.out, f.format, t)
			if err != nil {
				return err
			}
			one.files, one.bytes = one.files+1, one.bytes+n
		}
		mu.Lock()
		defer mu.Unlock()
		sum = tally{sum.sessions + one.sessions, sum.calls + one.calls, sum.files + one.files, sum.bytes + one.bytes}
		return nil
	})
	switch {
	case err == nil:
	case ctx.Err() != nil:
		err = fmt.Errorf("interrupted: %d of %s are complete in %s, which -o takes again once it is empty: %w", sum.sessions, plural(f.sessions, "session"), f.out, context.Cause(ctx))
	default:
		err = fmt.Errorf("%d of %s are complete in %s: %w", sum.sessions, plural(f.sessions, "session"), f.out, err)
	}
	return sum, err
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
	var size counter
	err := writeFile(name, func(w io.Writer) error { return encodeTranscript(io.MultiWriter(w, &size), format, t) })
	return int64(size), err
}

// encodeTranscript writes one file in a format.
func encodeTranscript(w io.Writer, format string, t synthetic.Transcript) error {
	if format == genJSONL {
		return t.Write(w)
	}
	gz := gzip.NewWriter(w)
	if err := t.Write(gz); err != nil {
		return err
	}
	return gz.Close()
}
