// Package recordings opens the sessions of a verb: it finds and reads them, or generates them, keeps what the filter passes, shows
// progress, and says what was wrong with them.
package recordings

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/compactsim/compactsim/cmd/sim/internal/console"
	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/reports/charts"
	"github.com/compactsim/compactsim/sim/needs"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
	"github.com/compactsim/compactsim/traces/store"
	"github.com/compactsim/compactsim/traces/synthetic"
)

// Options say which sessions are opened, how they are read, and what a person sees of reading.
type Options struct {
	In      io.Reader // standard input, for the path - and answers
	Err     io.Writer // for problems, progress and questions
	Command string    // that reads other sessions
	Filter  traces.Filter

	Discovery Discovery
	Generate  func(context.Context) (*traces.Corpus, error) // in place of the samples; may be nil
	Draw      func(context.Context) (*traces.Corpus, error) // in place of all recordings, by the plan of a verb; may be nil

	Strict   bool
	Estimate bool
	Workers  int
	Memory   int // MiB
	NoStore  bool
	Listener traces.Listener // of the plan of a verb, which hears the texts that are read; may be nil
	Lazy     bool            // bodies of sessions that the store has stay there until they are needed
	Once     bool            // each body is needed once: little is in memory, and is collected seldom
	Rows     bool            // the rows of a run stay, and are most of what is allocated

	Quiet   bool
	Verbose bool
	Bare    bool   // the output has no place for remarks
	List    string // the flag, or the command with it, that lists problems; "" for -v
}

// Opened are sessions that were opened.
type Opened struct {
	*traces.Corpus
	Found  []string // paths of discovered sessions
	Sample bool     // the samples were read because nobody named sessions

	options   *Options
	selection traces.Selection
	origin    string       // where discovered sessions come from
	kept      *store.Store // where bodies are until Close; nil for nowhere
	ends      []func()     // give the collection of garbage back, in Close
}

// Open opens the sessions under paths that pass the filter, and reports what was wrong with them. Without a path it reads those in
// the usual places if the options ask for that, else the embedded samples. The caller closes them.
func Open(ctx context.Context, paths []string, o Options) (_ *Opened, err error) {
	s := &Opened{options: &o}
	if slices.Contains(paths, "") { // of a variable that is not set: the folder of the process is another thing
		return nil, console.Misuse(errors.New("a path is empty; . is the folder that this runs in"))
	}
	if o.Discovery.Wanted() {
		if len(paths) > 0 {
			return nil, console.Misuse(errors.New("--discover and --yes are for runs without a path"))
		}
		if paths, s.origin, err = o.Discovery.choose(ctx, o.In, o.Err, o.Quiet); err != nil {
			return nil, err
		}
		s.Found = paths
	}
	if o.Lazy {
		percent := debug.SetGCPercent(o.collect())
		s.ends = append(s.ends, func() { debug.SetGCPercent(percent) })
	}
	if o.Draw != nil {
		paced := pace(drawnPercent, mostHeap)
		s.ends = append(s.ends, func() { paced() })
		s.Corpus, err = o.drawSessions(ctx)
	} else {
		s.Corpus, err = s.read(ctx, paths)
	}
	if s.Corpus != nil {
		s.selection = o.Filter.Apply(s.Corpus)
		s.tell()
		if err == nil {
			err = s.selection.Err()
		}
	}
	if err == nil {
		return s, nil
	}
	_ = s.Close()
	if errors.Is(err, traces.ErrNoSessions) || errors.Is(err, traces.ErrNothingLeft) || errors.Is(err, fs.ErrNotExist) {
		return nil, console.Misuse(err)
	}
	return nil, err
}

// collect returns the growth in per cent at which garbage is collected while bodies of sessions are loaded and released.
func (o *Options) collect() int {
	switch {
	case o.Rows:
		return 50
	case o.Once:
		return 100
	}
	return 30
}

// Close closes the recordings and the store.
func (s *Opened) Close() (err error) {
	if s.Corpus != nil {
		err = s.Corpus.Close()
	}
	for _, end := range slices.Backward(s.ends) {
		end()
	}
	if s.options.Lazy {
		closeStore(s.options.Err, s.kept)
	}
	return err
}

// read reads what is under paths, or the samples, and shows progress.
func (s *Opened) read(ctx context.Context, paths []string) (c *traces.Corpus, err error) {
	o := s.options
	var so reading
	opts := traces.Options{
		Strict: o.Strict, Estimate: o.Estimate, Workers: o.Workers, Stdin: &Interruptible{Ctx: ctx, Reader: o.In}, Progress: so.add,
		Found:     func(files int) { so.all.Store(int64(files)) },
		MaxMemory: int64(o.Memory) << 20, Listener: o.Listener, Lazy: o.Lazy,
	}
	stop := o.Watch(so.text)
	inputs, err := s.find(ctx, &opts, paths)
	if opts.MaxMemory > 0 {
		defer o.limit(opts.MaxMemory, heapFor(inputs))()
	}
	switch {
	case err != nil:
	case len(paths) == 0 && o.Generate != nil:
		c, err = o.Generate(ctx)
	case len(paths) == 0:
		s.Sample = true
		c, err = agents.ReadFS(ctx, opts, synthetic.Samples())
	default:
		c, err = s.readKept(ctx, opts, inputs, paths)
	}
	stop()
	if err == nil && o.Strict {
		if _, text, first := charts.Uncounted(c); first != nil {
			err = errors.Join(traces.Problem{File: first.Files[0], Text: fmt.Sprintf("session %s: %s", first.ID, text)}, c.Close())
		}
	}
	if errors.Is(err, traces.ErrMemory) {
		err = fmt.Errorf("%w; --max-memory allows more, --since and --project read less", err)
	}
	if errors.Is(err, context.Canceled) {
		err = fmt.Errorf("interrupted while reading, after %s: %w", document.Count(int(so.files.Load()), "file"), context.Cause(ctx))
	}
	return c, err
}

// limit limits memory, bytes, and has garbage collected at a heap of so many bytes while recordings are read. The caller calls
// the result when all is read.
func (o *Options) limit(memory int64, heap int) (end func()) {
	was := debug.SetMemoryLimit(memory / 4 * 3)
	growth := 100
	if o.Lazy && !o.Once {
		growth = 50
	}
	paced := pace(growth, heap)
	return func() {
		percent := paced() // what held before: for Lazy sessions, what Open has set
		if o.Lazy {
			percent = roomy(percent)
		}
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(was)
	}
}

// find lists the recordings under paths, nil for no path, and opens the store for what has not changed since the last time.
func (s *Opened) find(ctx context.Context, opts *traces.Options, paths []string) (*traces.Inputs, error) {
	if len(paths) == 0 {
		return nil, nil
	}
	if !s.options.NoStore {
		s.kept = openStore(s.options.Err)
	}
	if s.kept != nil {
		opts.Store = s.kept
	}
	return traces.Find(ctx, *opts, paths...) //nolint:wrapcheck // it names the path
}

// readKept reads the recordings found under paths, and from the store what has not changed since the last time.
func (s *Opened) readKept(ctx context.Context, opts traces.Options, inputs *traces.Inputs, paths []string) (*traces.Corpus, error) {
	c, err := agents.ReadInputs(ctx, opts, inputs, strings.Join(paths, ", "))
	if !opts.Lazy {
		closeStore(s.options.Err, s.kept)
	} else if c != nil {
		c.Keep(opts.Store, paths)
	}
	return c, err
}

// drawSessions draws the sessions of users. What is wrong then are their settings.
func (o *Options) drawSessions(ctx context.Context) (*traces.Corpus, error) {
	stop := o.Watch(func(time.Duration) string { return "drawing users and their sessions" })
	defer stop()
	c, err := o.Draw(ctx)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, fmt.Errorf("interrupted while drawing users and their sessions: %w", context.Cause(ctx))
	case err != nil:
		return nil, console.Misuse(err)
	}
	return c, nil
}

// Watch shows text until stop is called, unless the person wants quiet.
func (o *Options) Watch(text func(elapsed time.Duration) string) (stop func()) {
	if o.Quiet {
		return func() {}
	}
	return console.Watch(o.Err, text)
}

// Warn writes warnings, unless the person wants quiet.
func (o *Options) Warn(warnings []string) {
	if o.Quiet {
		return
	}
	for _, text := range warnings {
		console.Say(o.Err, "warning: %s", text)
	}
}

// tell writes every problem to standard error if asked to. Remarks say above the figures what the problems take out; where there are
// no remarks, as in CSV, tell prints the number of problems.
func (s *Opened) tell() {
	w := s.options.Err
	if !s.options.Verbose {
		if s.options.Bare && !s.options.Quiet && s.NumProblems > 0 {
			console.Say(w, "%s while reading; -v lists them", document.Count(s.NumProblems, "problem"))
		}
		return
	}
	shown := 0
	list := func(problems []traces.Problem) {
		for _, p := range problems {
			console.Say(w, "%s", p.String())
		}
		shown += len(problems)
	}
	list(s.Problems)
	for _, session := range s.Sessions {
		list(session.Problems)
	}
	if left := s.NumProblems - shown; left > 0 {
		console.Say(w, "and %s", document.Count(left, "more problem"))
	}
}

// Source says whether the sessions are the samples or where they were discovered; nothing for named paths.
func (s *Opened) Source() (list []string) {
	if s.Sample {
		list = append(list, fmt.Sprintf("These are the samples that come with sim. For your own sessions: %s ~/.claude/projects", s.options.Command))
	}
	if s.origin != "" {
		list = append(list, s.origin)
	}
	if text := Ahead(s.Sessions, time.Now()); text != "" && s.Inputs != nil {
		list = append(list, text)
	}
	return list
}

// mostAhead is how far clocks of other machines and zones may be ahead of this one.
const mostAhead = 24 * time.Hour

// Ahead says which recorded sessions end in the future, "" for none: a clock was wrong, here or there, and a pause up to such a call, what
// expired in it and the prices of its date are not real. Times before 2020 are left out by readers, which tell the lines.
func Ahead(sessions []*traces.Session, now time.Time) string {
	n, last := 0, now
	for _, session := range sessions {
		if end := session.EndTime(); end.After(now.Add(mostAhead)) {
			n++
			last = slices.MaxFunc([]time.Time{last, end}, time.Time.Compare)
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%s with calls in the future, up to %s: a clock was wrong, and pauses and prices by date there are not to be trusted",
		document.Count(n, "session"), last.UTC().Format(time.DateOnly))
}

// Reading says where the sessions come from, which sessions passed the filter, and what could not be read.
func (s *Opened) Reading() []string {
	return append(s.Source(), charts.Reading(s.Corpus, &s.selection, cmp.Or(s.options.List, "-v"))...)
}

// Remark puts above the figures of a verb what was read and what was lost.
func (s *Opened) Remark(w *results.Workload) {
	w.Remarks = append(w.Remarks, s.Source()...)
	charts.Remark(w, s.Corpus, &s.selection, cmp.Or(s.options.List, "-v"))
}

// Remarks returns what was read and what was lost.
func (s *Opened) Remarks() []string {
	var w results.Workload
	s.Remark(&w)
	return w.Remarks
}

// StoreFolder returns the folder of parsed sessions.
func StoreFolder() (string, error) {
	dir, err := os.UserCacheDir()
	return filepath.Join(dir, "compactsim", "sessions"), err
}

// openStore returns the store of parsed sessions; nil, with a warning, for a user without a cache folder.
func openStore(w io.Writer) *store.Store {
	dir, err := StoreFolder()
	if err == nil {
		var s *store.Store
		if s, err = store.Open(dir, new(needs.Index)); err == nil {
			return s
		}
	}
	warnUnkept(w, err)
	return nil
}

// warnUnkept says, even with -q, that the next run will be as slow as this one.
func warnUnkept(w io.Writer, err error) {
	console.Say(w, "warning: parsed sessions are not kept: %v; --no-store does not try", err)
}

// closeStore reports what could not be stored; s may be nil.
func closeStore(w io.Writer, s *store.Store) {
	if s == nil {
		return
	}
	if err := s.Close(); err != nil {
		warnUnkept(w, err)
	}
}
