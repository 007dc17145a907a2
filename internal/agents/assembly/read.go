package assembly

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/compactsim/compactsim/internal/parallel"
	"github.com/compactsim/compactsim/traces"
)

// Reader reads the recordings of an agent. S is what a file is scanned into; it
// embeds *File.
type Reader[S interface{ Base() *File }] struct {
	Name string // in front of errors
	// Scan reads one file.
	Scan func(ctx context.Context, opts traces.Options, in traces.Input) (S, error)
	// Sessions divides files, in the order of their names, into sessions.
	Sessions func(opts *traces.Options, files []S) []*Session
}

// Read reads recordings. The result does not depend on their order or the number
// of workers. what names them in errors. The corpus takes the inputs over; on
// an error without a corpus they are closed.
func (r *Reader[S]) Read(
	ctx context.Context, opts traces.Options, inputs *traces.Inputs, what string,
) (*traces.Corpus, error) {
	opts = opts.WithDefaults()
	found := Problems{Limit: opts.MaxProblems}
	for _, p := range inputs.Problems {
		if opts.Strict {
			inputs.Close()
			return nil, fmt.Errorf("%s: %s", r.Name, p)
		}
		found.Add(p.File, p.Line, "%s", p.Text)
	}
	files, err := r.scanAll(ctx, opts, inputs.Files)
	if err != nil {
		inputs.Close()
		return nil, err
	}
	c := &traces.Corpus{Inputs: inputs, Unknown: map[string]int{}}
	gather(c, &opts, files, r.Sessions(&opts, files), &found)
	c.Problems, c.NumProblems = found.List, c.NumProblems+found.Total
	if len(c.Sessions) == 0 {
		why := ""
		if len(c.Problems) > 0 {
			why = "; first problem: " + c.Problems[0].String()
		}
		return c, fmt.Errorf("%s: %s: %w with API calls (files: %d, lines: %d)%s",
			r.Name, what, traces.ErrNoSessions, len(files), c.Lines, why)
	}
	return c, nil
}

// scanAll scans files in parallel, in the order of files; of several errors it
// returns the first in that order.
func (r *Reader[S]) scanAll(ctx context.Context, opts traces.Options, files []traces.Input) ([]S, error) {
	list := make([]S, len(files))
	errs := make([]error, len(files))
	parallel.Each(opts.Workers, len(files), func(i int) {
		list[i], errs[i] = r.Scan(ctx, opts, files[i])
		if opts.Progress != nil {
			opts.Progress(0, 1)
		}
	})
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}

// gather adds files and the sessions made of them to c.
func gather[S interface{ Base() *File }](
	c *traces.Corpus, opts *traces.Options, files []S, drafts []*Session, found *Problems,
) {
	for _, s := range files {
		f := s.Base()
		c.Lines += f.Lines
		c.BadLines += f.Bad
		c.Bytes += f.Bytes
		for t, n := range f.Unknown {
			c.Unknown[t] += n
		}
	}
	own(drafts)
	sessions := make([]*traces.Session, len(drafts))
	unsound := make([]error, len(drafts))
	parallel.Each(opts.Workers, len(drafts), func(i int) {
		sessions[i] = drafts[i].assemble()
		unsound[i] = sessions[i].Check()
	})
	claimed := map[*File]bool{}
	for i, s := range sessions {
		d := drafts[i]
		c.Repeated += s.Quality.Repeated
		switch {
		case len(s.Threads) == 0:
			found.Join(d.Problems)
			found.Add(d.Files[0].Name, 0, "session %s has no API calls of its own", s.ID)
		case unsound[i] != nil:
			found.Join(d.Problems)
			found.Add(d.Files[0].Name, 0, "%s; the session is left out", unsound[i])
		default:
			c.Sessions = append(c.Sessions, s)
			c.NumProblems += d.Problems.Total
		}
		for _, f := range d.Owned {
			claimed[f] = true
		}
	}
	for _, s := range files {
		if f := s.Base(); !claimed[f] {
			found.Join(f.Problems)
		}
	}
	Sort(c.Sessions)
}

// Sort orders sessions by start, then id.
func Sort(list []*traces.Session) {
	slices.SortStableFunc(list, func(a, b *traces.Session) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), strings.Compare(a.ID, b.ID))
	})
}

// UniqueID returns id, with a number behind it where an earlier session has it,
// and notes it in taken.
func UniqueID(taken map[string]int, id string) string {
	name := id
	for n := max(1, taken[id]); taken[name] > 0; {
		n++
		name = id + "-" + strconv.Itoa(n)
		taken[id] = n
	}
	taken[name] = 1
	return name
}

// own decides which session a call belongs to that several have: the one that
// began first, and of those the one that ended first, since a continuation
// outlives what it continues.
func own(sessions []*Session) {
	order := slices.Clone(sessions)
	slices.SortStableFunc(order, func(a, b *Session) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End), strings.Compare(a.ID, b.ID))
	})
	owner := map[string]*Session{}
	for _, s := range order {
		for _, t := range s.Threads {
			for r := range t.Calls {
				id := t.Calls[r].ID
				if first := owner[id]; first == nil {
					owner[id] = s
				} else if first != s {
					if s.foreign == nil {
						s.foreign = map[string]bool{}
					}
					s.foreign[id] = true
				}
			}
		}
	}
}
