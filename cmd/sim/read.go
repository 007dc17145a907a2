package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/reports/charts"
	"github.com/compactsim/compactsim/scenarios"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
	"github.com/compactsim/compactsim/traces/store"
	"github.com/compactsim/compactsim/traces/synthetic"
)

// readFlags are the flags of every verb that reads recordings.
type readFlags struct {
	strict   bool
	estimate bool
	workers  int
	memory   int // MiB
	quiet    bool
	verbose  bool
	noStore  bool
	bare     bool // the output has no place for remarks

	choice   filterFlags
	discover discoverFlags
	generate scenarios.Generate                            // of the scenario: sessions without files
	draw     func(context.Context) (*traces.Corpus, error) // of a scenario with users: their sessions; nil without

	filter    traces.Filter
	filtered  bool // filter comes from a scenario
	selection traces.Selection
	origin    string   // where discovered sessions come from
	found     []string // paths of discovered sessions
	listener  traces.Listener
	lazy      bool         // bodies of sessions that the store has stay there until they are needed
	once      bool         // each body is needed once: little is in memory, and is collected seldom
	kept      *store.Store // where they were kept; nil for nowhere
	simulated *simulating  // by the plan of the verb
	sample    bool         // the samples were read because nobody named sessions
}

func (f *readFlags) bind(cmd *cobra.Command) {
	f.bindReading(cmd)
	f.choice.bind(cmd)
	flags := cmd.Flags()
	flags.BoolVar(&f.discover.discover, "discover", false,
		"read the sessions in the usual places of coding agents; asks first on a terminal")
	flags.BoolVarP(&f.discover.yes, "yes", "y", false,
		"answer yes: read what --discover finds")
}

// bindReading binds the flags about how any sessions are read.
func (f *readFlags) bindReading(cmd *cobra.Command) {
	cmd.Flags().IntVar(&f.workers, "workers", 0, "`N` files read and sessions simulated at once; 0 means one per core")
	cmd.Flags().BoolVarP(&f.quiet, "quiet", "q", false, "print the report alone")
	cmd.Flags().BoolVar(&f.strict, "strict", false, "stop at the first bad line, unreadable file or count, or model without a price")
	cmd.Flags().BoolVar(&f.estimate, "estimate", false, "also read sessions without token counts, sized by their text; their bill is unknown")
	cmd.Flags().IntVar(&f.memory, "max-memory", 1024, "use at most this much memory, in `MiB`, to read")
	cmd.Flags().BoolVar(&f.noStore, "no-store", false, "read recordings afresh and keep nothing for the next run")
	cmd.Flags().BoolVarP(&f.verbose, "verbose", "v", false, "list every problem found while reading")
	cmd.MarkFlagsMutuallyExclusive("quiet", "verbose")
}

// check returns what is wrong with the flags, and sets the filter unless a scenario has.
func (f *readFlags) check(cmd *cobra.Command) error {
	err := checkCounts(cmd)
	if !f.filtered {
		var wrong error
		f.filter, wrong = f.choice.parse(cmd)
		err = errors.Join(err, wrong)
	}
	if err != nil {
		return usageError{err}
	}
	return nil
}

// corpus reads the sessions under paths that pass the filter, and reports on
// standard error what was wrong with them. Without a path it reads those in the
// usual places if the flags ask for that, else the embedded samples.
func (f *readFlags) corpus(cmd *cobra.Command, paths []string) (c *traces.Corpus, err error) {
	if err := f.check(cmd); err != nil {
		return nil, err
	}
	if f.discover.wanted() {
		if len(paths) > 0 {
			return nil, usageError{errors.New("--discover and --yes are for runs without a path")}
		}
		if paths, f.origin, err = f.discover.choose(cmd, f.quiet); err != nil {
			return nil, err
		}
		f.found = paths
	}
	c, err = f.read(cmd, paths)
	if c != nil {
		f.selection = f.filter.Apply(c)
		f.tell(cmd, c)
		if err == nil {
			err = f.selection.Err()
		}
	}
	if err == nil {
		return c, nil
	}
	if c != nil {
		c.Close()
	}
	if errors.Is(err, traces.ErrNoSessions) || errors.Is(err, traces.ErrNothingLeft) || errors.Is(err, fs.ErrNotExist) {
		return nil, usageError{err}
	}
	return nil, err
}

// reading reads the sessions under paths, calls do with them, and closes them.
func (f *readFlags) reading(cmd *cobra.Command, paths []string, do func(*traces.Corpus) error) error {
	collect := 30
	if f.once {
		collect = 100
	}
	defer f.spare(cmd, collect)()
	corpus, err := f.corpus(cmd, paths)
	if err != nil {
		return err
	}
	defer corpus.Close()
	return do(corpus)
}

// spare has garbage collected at a growth of so many per cent, or of room where that is more, while bodies of sessions come
// and go. The caller calls the result when it needs no more bodies.
func (f *readFlags) spare(cmd *cobra.Command, percent int) (end func()) {
	if !f.lazy {
		return func() {}
	}
	was := debug.SetGCPercent(percent)
	return func() {
		debug.SetGCPercent(was)
		f.closeStore(cmd)
	}
}

// room is by how much the heap may grow between collections, whatever its size, bytes.
const room = 48 << 20

// roomy returns the growth in per cent at which garbage is collected: at least percent, and up to 100 while the heap is small.
func roomy(percent int) int {
	return max(percent, min(100, int(room*100/max(1, measure("/memory/classes/heap/objects:bytes")))))
}

// measure returns a metric of the runtime that is a number.
func measure(name string) uint64 {
	sample := []metrics.Sample{{Name: name}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// paced is up to what size the heap may grow between collections while recordings are read, bytes. A larger one grows by half.
const paced = 320 << 20

// cycle is larger than what the runtime keeps together with other small things, which would keep it alive.
type cycle [4]uint64

// pace has garbage collected at a growth of so many per cent, and at half of that and less where the heap would exceed paced
// by it. The caller calls the result when all is read: it sets the growth that was before.
func pace(percent int) (end func() (was int)) {
	was := debug.SetGCPercent(percent)
	var mu sync.Mutex
	ended := false
	var look func(*cycle)
	look = func(c *cycle) { // after each collection, since nothing else holds c
		mu.Lock()
		defer mu.Unlock()
		if ended {
			return
		}
		now := percent
		for live := int(measure("/gc/heap/live:bytes")); now > 50 && live+live/100*now > paced; {
			now = max(50, now/2)
		}
		if now != percent {
			percent = now
			debug.SetGCPercent(now)
		}
		runtime.SetFinalizer(c, look)
	}
	runtime.SetFinalizer(new(cycle), look)
	return func() int {
		mu.Lock()
		defer mu.Unlock()
		ended = true
		return was
	}
}

// read reads what is under paths, or the samples, and shows progress.
func (f *readFlags) read(cmd *cobra.Command, paths []string) (c *traces.Corpus, err error) {
	if f.draw != nil {
		return f.drawSessions(cmd)
	}
	ctx := cmd.Context()
	var so reading
	opts := traces.Options{
		Strict: f.strict, Estimate: f.estimate, Workers: f.workers, Stdin: &interruptible{ctx: ctx, r: cmd.InOrStdin()}, Progress: so.add,
		Found:     func(files int) { so.all.Store(int64(files)) },
		MaxMemory: int64(f.memory) << 20, Listener: f.listener, Lazy: f.lazy,
	}
	if opts.MaxMemory > 0 {
		defer debug.SetMemoryLimit(debug.SetMemoryLimit(opts.MaxMemory / 4 * 3)) // for the collector, until all is read
		collect := 100                                                           // 400 takes a tenth less time and twice the memory
		if f.lazy && !f.once {
			collect = 50
		}
		paced := pace(collect)
		defer func() {
			was := paced()
			if f.lazy {
				was = roomy(was)
			}
			debug.SetGCPercent(was)
		}()
	}
	stop := f.watch(cmd, so.text)
	if len(paths) == 0 && f.generate.Profile != "" {
		gen := genFlags{profile: f.generate.Profile, sessions: f.generate.Sessions, seed: f.generate.Seed, workers: f.workers}
		c, err = gen.corpus(ctx)
	} else if len(paths) == 0 {
		f.sample = true
		c, err = agents.ReadFS(ctx, opts, synthetic.Samples())
	} else {
		if f.kept = f.openStore(cmd); f.kept != nil {
			opts.Store = f.kept
		}
		var inputs *traces.Inputs
		if inputs, err = traces.Find(ctx, opts, paths...); err == nil {
			c, err = agents.ReadInputs(ctx, opts, inputs, strings.Join(paths, ", "))
		}
		if !f.lazy {
			defer f.closeStore(cmd)
		} else if c != nil {
			c.Keep(opts.Store, paths)
		}
	}
	stop()
	if err == nil && f.strict {
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

// drawSessions draws the sessions of users. What is wrong then are their settings.
func (f *readFlags) drawSessions(cmd *cobra.Command) (*traces.Corpus, error) {
	stop := f.watch(cmd, func(time.Duration) string { return "drawing users and their sessions" })
	defer stop()
	ctx := cmd.Context()
	c, err := f.draw(ctx)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, fmt.Errorf("interrupted while drawing users and their sessions: %w", context.Cause(ctx))
	case err != nil:
		return nil, usageError{err}
	}
	return c, nil
}

// tell writes every problem of a corpus to standard error with -v. remarks says
// above the figures what the problems take out; where there are no
// remarks, as in CSV, tell prints their number.
func (f *readFlags) tell(cmd *cobra.Command, c *traces.Corpus) {
	w := cmd.ErrOrStderr()
	if !f.verbose {
		format := cmd.Flags().Lookup("format")
		bare := f.bare || format != nil && strings.HasPrefix(format.Value.String(), "csv")
		if bare && !f.quiet && c.NumProblems > 0 {
			say(w, "%s while reading; -v lists them", document.Count(c.NumProblems, "problem"))
		}
		return
	}
	shown := 0
	list := func(problems []traces.Problem) {
		for _, p := range problems {
			say(w, "%s", p.String())
		}
		shown += len(problems)
	}
	list(c.Problems)
	for _, s := range c.Sessions {
		list(s.Problems)
	}
	if left := c.NumProblems - shown; left > 0 {
		say(w, "and %s more", document.Count(left, "problem"))
	}
}

// warnUnpriced names the models whose calls are counted as free, or some of whose tokens have no price of their own.
func (f *readFlags) warnUnpriced(cmd *cobra.Command, plan *scenarios.Plan, sessions []*traces.Session) {
	if f.quiet {
		return
	}
	for _, line := range plan.PriceGaps(sessions) {
		say(cmd.ErrOrStderr(), "warning: %s", line)
	}
}

// warnUnmet names the settings that change nothing.
func (f *readFlags) warnUnmet(cmd *cobra.Command, plan *scenarios.Plan) {
	if f.quiet {
		return
	}
	for _, text := range plan.Design.Unmet() {
		say(cmd.ErrOrStderr(), "warning: %s", text)
	}
}

// remark puts above the figures of a verb what was read and what was lost.
func (f *readFlags) remark(cmd *cobra.Command, w *results.Workload, c *traces.Corpus) {
	w.Remarks = append(w.Remarks, f.source(cmd)...)
	charts.Remark(w, c, &f.selection)
}

// source says whether the sessions are the samples or where they were discovered; nothing for named paths.
func (f *readFlags) source(cmd *cobra.Command) []string {
	var list []string
	if f.sample {
		list = append(list, fmt.Sprintf("These are the samples that come with sim. For your own sessions: %s ~/.claude/projects",
			cmd.CommandPath()))
	}
	if f.origin != "" {
		list = append(list, f.origin)
	}
	return list
}

// remarks says which sessions these are, which of them passed the filter, and what could not be read.
func (f *readFlags) remarks(cmd *cobra.Command, c *traces.Corpus) []string {
	return append(f.source(cmd), charts.Reading(c, &f.selection)...)
}

// useGenerated replaces recordings with the sessions that the plan generates.
func (f *readFlags) useGenerated(plan *scenarios.Plan) {
	f.generate = plan.Design.Scenario.Sessions.Generate
	if plan.Design.Scenario.Users.Any() {
		f.draw = plan.Draw
	}
}

// sessions reads or generates what a plan replays, records in the plan where it
// was found, and warns of models without a price. The caller closes the corpus.
func (f *runFlags) sessions(
	cmd *cobra.Command, plan *scenarios.Plan, args []string,
) (corpus *traces.Corpus, err error) {
	s := &plan.Design.Scenario.Sessions
	f.read.useGenerated(plan)
	if !f.dryRun {
		f.read.listener = plan.Listener()
	}
	if corpus, err = f.read.corpus(cmd, s.Paths); err != nil {
		return nil, hintScenario(err, args)
	}
	if f.read.found != nil {
		s.Paths = f.read.found
	}
	if !f.read.strict {
		f.read.warnUnpriced(cmd, plan, corpus.Sessions)
	}
	f.read.warnUnmet(cmd, plan)
	return corpus, nil
}

// filterFlags select among the sessions that are read.
type filterFlags struct {
	text   traces.FilterText
	tz     string
	zone   *time.Location // that tz names
	byCall bool           // --since and --until select calls
}

func (f *filterFlags) bind(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.text.Since, "since", "",
		"sessions since `WHEN`: a date, an RFC 3339 time or an age such as 7d or 36h")
	flags.StringVar(&f.text.Until, "until", "", "sessions up to `WHEN`")
	flags.StringVar(&f.tz, "tz", "Local", "time zone `ZONE` of days, such as UTC or Europe/Berlin")
	flags.StringArrayVar(&f.text.Projects, "project", nil,
		"sessions whose project contains or matches `TEXT` (*, ?, [a-z]); repeatable")
	flags.StringArrayVar(&f.text.Models, "model", nil, "sessions with calls of a model that matches `PATTERN`; repeatable")
	flags.StringArrayVar(&f.text.Agents, "agent", nil, "sessions of the agent `NAME`, such as claude-code; repeatable")
}

// parse returns the filter, or all that is wrong with the flags.
func (f *filterFlags) parse(cmd *cobra.Command) (filter traces.Filter, err error) {
	if f.zone, err = time.LoadLocation(f.tz); err != nil {
		return filter, fmt.Errorf("--tz %s: no such time zone; known are names such as UTC and Europe/Berlin", f.tz)
	}
	filter, err = f.text.Parse(time.Now(), f.zone)
	filter.ByCall = f.byCall
	return filter, errors.Join(append(f.empty(cmd), err)...)
}

// of returns the filter of a scenario that has the flags, or all that is wrong with it.
func (f *filterFlags) of(cmd *cobra.Command, s *scenarios.Sessions) (traces.Filter, error) {
	if _, err := f.parse(cmd); err != nil {
		return traces.Filter{}, err
	}
	zone := f.zone
	if flag := cmd.Flags().Lookup("tz"); flag == nil || !flag.Changed {
		zone = nil
	}
	return s.Select(time.Now(), zone)
}

// empty returns an error for every flag that needs a time and has none.
func (f *filterFlags) empty(cmd *cobra.Command) []error {
	var errs []error
	for _, name := range []string{"since", "until"} {
		if flag := cmd.Flags().Lookup(name); flag != nil && flag.Changed && flag.Value.String() == "" {
			errs = append(errs, fmt.Errorf("--%s: no time given", name))
		}
	}
	return errs
}
