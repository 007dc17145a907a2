package assembly

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

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

// Read reads recordings. The result depends neither on their order nor on the
// number of workers. what names them in errors. The corpus owns the inputs; on
// an error without a corpus they are closed.
func (r *Reader[S]) Read(
	ctx context.Context, opts traces.Options, inputs *traces.Inputs, what string,
) (*traces.Corpus, error) {
	opts = opts.WithDefaults()
	found := Problems{Limit: opts.MaxProblems}
	for _, p := range inputs.Problems {
		if opts.Strict {
			inputs.Close()
			return nil, fmt.Errorf("%s: %w", r.Name, p)
		}
		found.Add(p.File, p.Line, "%s", p.Text)
	}
	all := newReading(r, opts, inputs.Files)
	if err := all.read(ctx); err != nil {
		inputs.Close()
		return nil, err
	}
	c := all.corpus(inputs, &found)
	if len(c.Sessions) == 0 {
		why := ""
		if len(c.Problems) > 0 {
			why = "; first problem: " + c.Problems[0].String()
		}
		return c, fmt.Errorf("%s: %w with API calls (files: %d, lines: %d)%s",
			what, traces.ErrNoSessions, len(inputs.Files), c.Lines, why)
	}
	return c, nil
}

// Sort orders sessions by start, then id.
func Sort(list []*traces.Session) {
	slices.SortStableFunc(list, func(a, b *traces.Session) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), strings.Compare(a.ID, b.ID))
	})
}

// UniqueID returns id, followed by a number if an earlier session has it, and
// adds it to taken.
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

// own decides which of several sessions owns a call: the one that began first,
// and among those the one that ended first, since a continuation outlives what
// it continues.
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
