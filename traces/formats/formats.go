// Package formats reads recordings of any agent: it tells each file's format by
// its first lines and hands it to the reader of that format.
package formats

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/internal/agents/claudecode"
	"github.com/compactsim/compactsim/internal/agents/codex"
	"github.com/compactsim/compactsim/traces"
)

// Readable reports whether there is a reader for an agent's recordings, by the
// name in Session.Agent.
func Readable(agent string) bool { return agent == claudecode.Agent || agent == codex.Agent }

// Read reads the recordings under paths: files, folders and "-". A file whose
// format is not known goes to the reader of Claude Code, which tells what is
// wrong with it; one of a known format without a reader is a problem. The
// result does not depend on the order of paths or the number of workers. Bad
// lines and files are problems of the corpus and its sessions, or, with
// Options.Strict, the error that ends reading. It is an error, which wraps
// traces.ErrNoSessions, when no session is found; the corpus then still tells
// the problems met. The caller closes the corpus.
func Read(ctx context.Context, opts traces.Options, paths ...string) (*traces.Corpus, error) {
	inputs, err := traces.Find(opts, paths...)
	if err != nil {
		return nil, err
	}
	what := strings.Join(paths, ", ")
	by := divide(inputs.Files)
	if len(by.codex)+len(by.problems) == 0 {
		return claudecode.ReadInputs(ctx, opts, inputs, what)
	}
	m := merger{opts: opts.WithDefaults(), corpus: &traces.Corpus{Inputs: inputs, Unknown: map[string]int{}, Unsupported: by.without}}
	err = m.read(ctx, opts, by, what)
	switch {
	case err == nil:
		return m.corpus, nil
	case errors.Is(err, traces.ErrNoSessions):
		return m.corpus, err
	}
	inputs.Close()
	return nil, err
}

// divided are recordings by the reader they go to.
type divided struct {
	claude   []traces.Input
	codex    []traces.Input
	problems []traces.Problem // of files of formats without a reader
	without  map[string]int   // their number by agent
}

// divide tells the format of every file.
func divide(files []traces.Input) divided {
	by := divided{without: map[string]int{}}
	for _, in := range files {
		switch f := sniff(in); f {
		case formatCodex:
			by.codex = append(by.codex, in)
		case formatOpenCode, formatPi:
			by.without[fmt.Sprint(f)]++
			by.problems = append(by.problems, traces.Problem{
				File: in.Name, Text: fmt.Sprintf("recordings of %s are not supported", f),
			})
		default:
			by.claude = append(by.claude, in)
		}
	}
	return by
}

// merger adds up what several readers read.
type merger struct {
	opts   traces.Options
	corpus *traces.Corpus
}

// read reads every group and merges the corpora. That a group has no session is
// an error only when no other has one.
func (m *merger) read(ctx context.Context, opts traces.Options, by divided, what string) error {
	inputs := m.corpus.Inputs
	m.problems(append(slices.Clone(inputs.Problems), by.problems...))
	if all := m.corpus.Problems; opts.Strict && len(all) > 0 {
		return fmt.Errorf("reading recordings: %s", all[0])
	}
	var none error
	for _, group := range []struct {
		files []traces.Input
		read  func(context.Context, traces.Options, *traces.Inputs, string) (*traces.Corpus, error)
	}{{by.claude, claudecode.ReadInputs}, {by.codex, codex.ReadInputs}} {
		if len(group.files) == 0 {
			continue
		}
		c, err := group.read(ctx, opts, &traces.Inputs{Files: group.files}, what)
		if err != nil && !errors.Is(err, traces.ErrNoSessions) {
			return err
		}
		if none == nil {
			none = err
		}
		m.add(c)
	}
	c := m.corpus
	slices.SortStableFunc(c.Sessions, func(a, b *traces.Session) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), strings.Compare(a.ID, b.ID))
	})
	switch {
	case len(c.Sessions) > 0:
		return nil
	case none != nil:
		return none
	}
	return fmt.Errorf("%s: %w: %s", what, traces.ErrNoSessions, c.Problems[0])
}

func (m *merger) problems(list []traces.Problem) {
	m.corpus.NumProblems += len(list)
	m.keep(list)
}

// keep adds problems to those kept, up to the limit.
func (m *merger) keep(list []traces.Problem) {
	c := m.corpus
	c.Problems = append(c.Problems, list[:min(len(list), max(0, m.opts.MaxProblems-len(c.Problems)))]...)
}

func (m *merger) add(d *traces.Corpus) {
	c := m.corpus
	c.Sessions = append(c.Sessions, d.Sessions...)
	m.keep(d.Problems)
	c.NumProblems += d.NumProblems
	c.Lines += d.Lines
	c.BadLines += d.BadLines
	c.Bytes += d.Bytes
	c.Repeated += d.Repeated
	for t, n := range d.Unknown {
		c.Unknown[t] += n
	}
}
