package claudecode

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/internal/reading"
	"github.com/compactsim/compactsim/traces"
)

// Read reads the Claude Code transcripts under paths: files, folders and "-".
// The result does not depend on the order of paths or the number of workers.
// Bad lines and files are problems of the corpus and its sessions, or, with
// Options.Strict, the error that ends reading. It is an error, which wraps
// traces.ErrNoSessions, when no session is found; the corpus then still tells
// the problems met. The caller closes the corpus.
func Read(ctx context.Context, opts traces.Options, paths ...string) (*traces.Corpus, error) {
	inputs, err := traces.Find(opts, paths...)
	if err != nil {
		return nil, err
	}
	return ReadInputs(ctx, opts, inputs, strings.Join(paths, ", "))
}

// ReadFS is Read for the transcripts in a file system.
func ReadFS(ctx context.Context, opts traces.Options, fsys fs.FS) (*traces.Corpus, error) {
	inputs, err := traces.FindFS(fsys)
	if err != nil {
		return nil, err
	}
	return ReadInputs(ctx, opts, inputs, "files")
}

// ReadInputs is Read for recordings that were found already; what names them in
// errors. The corpus takes the inputs over; on an error without a corpus they
// are closed.
func ReadInputs(ctx context.Context, opts traces.Options, inputs *traces.Inputs, what string) (*traces.Corpus, error) {
	opts = opts.WithDefaults()
	found := problems{limit: opts.MaxProblems}
	for _, p := range inputs.Problems {
		if opts.Strict {
			inputs.Close()
			return nil, fmt.Errorf("claudecode: %s", p)
		}
		found.add(p.File, int32(p.Line), "%s", p.Text)
	}
	sources, err := scanAll(ctx, opts, inputs.Files)
	if err != nil {
		inputs.Close()
		return nil, err
	}
	c := &traces.Corpus{Inputs: inputs, Unknown: map[string]int{}}
	assemble(opts, sources, c, &found)
	c.Problems, c.NumProblems = found.list, c.NumProblems+found.total
	if len(c.Sessions) == 0 {
		return c, noSessions(what, sources, c)
	}
	return c, nil
}

func noSessions(what string, sources []*source, c *traces.Corpus) error {
	why := ""
	if len(c.Problems) > 0 {
		why = "; first problem: " + c.Problems[0].String()
	}
	return fmt.Errorf("claudecode: %s: %w with API calls (files: %d, lines: %d)%s",
		what, traces.ErrNoSessions, len(sources), c.Lines, why)
}

// scanAll scans files in parallel. Sources keep the order of files, and of
// several errors the first in that order is returned.
func scanAll(ctx context.Context, opts traces.Options, files []traces.Input) ([]*source, error) {
	sources := make([]*source, len(files))
	errs := make([]error, len(files))
	reading.Parallel(opts.Workers, len(files), func(i int) {
		sources[i], errs[i] = scan(ctx, opts, files[i])
		if opts.Progress != nil {
			opts.Progress(0, 1)
		}
	})
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return sources, nil
}

// assemble turns sources into the sessions of c.
func assemble(opts traces.Options, sources []*source, c *traces.Corpus, found *problems) {
	for _, s := range sources {
		c.Lines += s.lines
		c.BadLines += s.bad
		c.Bytes += s.bytes
		for t, n := range s.unknown {
			c.Unknown[t] += n
		}
	}
	recordings := group(sources)
	own(recordings)
	sessions := make([]*traces.Session, len(recordings))
	left := make([]problems, len(recordings))
	reading.Parallel(opts.Workers, len(recordings), func(i int) {
		b := newBuilder(&opts, recordings[i])
		sessions[i] = b.build()
		left[i] = b.problems
	})
	claimed := map[*source]bool{}
	for i, s := range sessions {
		c.Repeated += s.Quality.Repeated
		if len(s.Threads) == 0 {
			found.join(left[i])
			found.add(recordings[i].entries[0].src.name, 0, "session %s has no API calls of its own", s.ID)
		} else {
			c.Sessions = append(c.Sessions, s)
			c.NumProblems += left[i].total
		}
		for _, src := range recordings[i].sources {
			claimed[src] = claimed[src] || recordings[i].keeps(src)
		}
	}
	for _, src := range sources {
		if !claimed[src] {
			found.join(src.problems)
		}
	}
	slices.SortFunc(c.Sessions, func(a, b *traces.Session) int {
		if a.Start != b.Start {
			if a.Start < b.Start {
				return -1
			}
			return 1
		}
		return strings.Compare(a.ID, b.ID)
	})
}
