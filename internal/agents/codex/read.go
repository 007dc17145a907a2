package codex

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/compactsim/compactsim/internal/reading"
	"github.com/compactsim/compactsim/traces"
)

// Read reads the Codex rollouts under paths: files, folders and "-". The result
// does not depend on the order of paths or the number of workers. Bad lines and
// files are problems of the corpus and its sessions, or, with Options.Strict,
// the error that ends reading. It is an error, which wraps traces.ErrNoSessions,
// when no session is found; the corpus then still tells the problems met. The
// caller closes the corpus.
func Read(ctx context.Context, opts traces.Options, paths ...string) (*traces.Corpus, error) {
	inputs, err := traces.Find(opts, paths...)
	if err != nil {
		return nil, err
	}
	return ReadInputs(ctx, opts, inputs, strings.Join(paths, ", "))
}

// ReadInputs is Read for recordings that were found already; what names them in
// errors. The corpus takes the inputs over; on an error without a corpus they
// are closed.
func ReadInputs(ctx context.Context, opts traces.Options, inputs *traces.Inputs, what string) (*traces.Corpus, error) {
	if opts.Rates == (traces.Rates{}) {
		opts.Rates = DefaultRates()
	}
	opts = opts.WithDefaults()
	found := reading.Problems{Limit: opts.MaxProblems}
	for _, p := range inputs.Problems {
		if opts.Strict {
			inputs.Close()
			return nil, fmt.Errorf("%s: %s", Agent, p)
		}
		found.Add(p.File, p.Line, "%s", p.Text)
	}
	rollouts, err := scanAll(ctx, opts, inputs.Files)
	if err != nil {
		inputs.Close()
		return nil, err
	}
	c := &traces.Corpus{Inputs: inputs, Unknown: map[string]int{}}
	assemble(opts, rollouts, c, &found)
	c.Problems = found.List
	c.NumProblems += found.Total
	if len(c.Sessions) == 0 {
		why := ""
		if len(c.Problems) > 0 {
			why = "; first problem: " + c.Problems[0].String()
		}
		return c, fmt.Errorf("%s: %s: %w with API calls (files: %d, lines: %d)%s", Agent, what, traces.ErrNoSessions, len(rollouts), c.Lines, why)
	}
	return c, nil
}

// scanAll scans files in parallel, in the order of files; of several errors the
// first in that order is returned.
func scanAll(ctx context.Context, opts traces.Options, files []traces.Input) ([]*rollout, error) {
	list := make([]*rollout, len(files))
	errs := make([]error, len(files))
	reading.Parallel(opts.Workers, len(files), func(i int) {
		list[i], errs[i] = scan(ctx, opts, files[i])
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

// assemble turns rollouts into the sessions of c, ordered by start, then name of
// the file: a call belongs to the first session that has it.
func assemble(opts traces.Options, rollouts []*rollout, c *traces.Corpus, found *reading.Problems) {
	for _, ro := range rollouts {
		c.Lines += ro.Lines
		c.BadLines += ro.Bad
		c.Bytes += ro.Bytes
		for t, n := range ro.unknown {
			c.Unknown[t] += n
		}
	}
	slices.SortStableFunc(rollouts, func(a, b *rollout) int {
		return cmp.Or(cmp.Compare(a.start, b.start), strings.Compare(a.Name, b.Name))
	})
	named := map[string]int{}
	owned := map[string]bool{}
	threads := make([]*thread, len(rollouts))
	for i, ro := range rollouts {
		ro.name(named)
		threads[i] = newThread(ro)
		threads[i].disown(owned)
	}
	sessions := make([]*traces.Session, len(threads))
	reading.Parallel(opts.Workers, len(threads), func(i int) {
		if len(threads[i].rounds) > 0 {
			threads[i].fit(&opts.Rates)
			sessions[i] = threads[i].finish()
		}
	})
	for i, s := range sessions {
		c.Repeated += threads[i].repeated
		if s != nil {
			c.Sessions = append(c.Sessions, s)
			c.NumProblems += s.Quality.Problems
			continue
		}
		ro := threads[i].ro
		if ro.Lines > 0 {
			ro.Problems.Add(ro.Name, 0, "session %s has no API calls of its own", ro.id)
		}
		found.Join(ro.Problems)
	}
}

// name makes the id of a rollout one that no earlier session has.
func (ro *rollout) name(named map[string]int) {
	if ro.id == "" {
		ro.id, _, _ = strings.Cut(path.Base(ro.Name), ".")
		if ro.Lines > 0 {
			ro.Problems.Add(ro.Name, 0, "no session_meta line; the session is named by its file")
		}
	}
	named[ro.id]++
	if n := named[ro.id]; n > 1 {
		ro.id += "-" + strconv.Itoa(n)
	}
}

// finish makes the session, having noted what of the rollout is not in it.
func (t *thread) finish() *traces.Session {
	ro := t.ro
	if t.loose > 0 {
		ro.Problems.Add(ro.Name, int(t.looseLine), "%d blocks behind the last counted call belong to no call", t.loose)
	}
	return emit(t)
}
