package scenarios

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync/atomic"

	"github.com/compactsim/compactsim/internal/profile"
	"github.com/compactsim/compactsim/internal/studies"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/traces"
)

// Search says what Plan.Tune looks for and how long.
type Search struct {
	Objectives []string // metrics; the first decides, all together make the front
	SubjectTo  []string // such as needed_recall>=0.95
	Budget     int      // in runs of one setting over all sessions
	Design     string   // one of Designs: how settings are chosen if there are too many
	Points     int      // points of a sensitivity analysis; 0 for none
}

// Check returns what is wrong with s, whatever is searched.
func (s *Search) Check() error {
	var errs []error
	if len(s.Objectives) == 0 {
		errs = append(errs, errors.New("--objective names no metric"))
	}
	if s.Budget < 1 {
		errs = append(errs, fmt.Errorf("--budget %d: want 1 or more", s.Budget))
	}
	if s.Points != 0 && (s.Points < leastPoints || s.Points > studies.MostPairs) {
		errs = append(errs, fmt.Errorf("--sensitivity %d: want %d to %d, or 0 for none", s.Points, leastPoints, studies.MostPairs))
	}
	return errors.Join(append(errs, (&tuner{search: *s}).read())...)
}

// ErrBudget is wrapped by the error of a budget too small for a search.
var ErrBudget = errors.New("less than one run for each")

// leastPoints is the least number of pairs of settings for sensitivity indices.
const leastPoints = 4

// Shares of the budget of a search.
const (
	tuneRungs   = 3 // how often two thirds of the settings are dropped
	tuneRefine  = 4 // 1/tuneRefine of the budget goes into refining
	tuneFinals  = 4 // 1/tuneFinals into the settings that are left
	tuneLeast   = 10
	learnedName = "learned" // the profile learned from all sessions, for runs over some of them
)

// tuner is a search under way.
type tuner struct {
	plan     Plan
	file     *File
	search   Search
	design   design
	corpus   *traces.Corpus
	sessions []*traces.Session // by start
	index    map[string]int    // of sessions, by id
	metrics  []results.Metric  // objectives, then limits
	limits   []studies.Limit
	regions  []region
	base     *Design
	recorded choice
	choices  []*choice
	work     float64
	done     int // simulations of finished runs, for Plan.Done
}

// choice is a setting that was simulated on all or some sessions.
type choice struct {
	region *region
	at     point
	cell   Cell
	// parts and bases are the figures by metric and session; the base of a sum is 1.
	parts, bases [][]float64
	cut          []bool // by session: it ended early
}

// Tune searches the values that the file sweeps for the best, by successive halving and refinement
// on one half of the sessions. The settings that are left run over all sessions.
func (p *Plan) Tune(ctx context.Context, file *File, corpus *traces.Corpus, search Search) (*studies.Tuning, error) {
	t := &tuner{plan: *p, file: file, search: search, corpus: corpus, sessions: withCalls(corpus), index: map[string]int{}}
	if err := t.prepare(ctx); err != nil {
		return nil, err
	}
	out := &studies.Tuning{Budget: search.Budget, Objectives: t.metrics[:len(search.Objectives)], Limits: t.limits}
	for i := range t.regions {
		out.Space = min(out.Space+t.regions[i].size(), math.MaxInt32)
	}
	finals, err := t.choose(ctx, out)
	if err != nil {
		return nil, err
	}
	if out.Run, err = t.final(ctx, finals); out.Run == nil {
		return nil, err
	}
	stopped := err
	if search.Points > 0 && stopped == nil {
		out.Pairs = search.Points
		if out.Indices, stopped = t.sensitivity(ctx); stopped != nil {
			return nil, stopped
		}
	}
	out.Tried, out.Work = len(t.choices), t.work
	t.judge(out, finals)
	return out, stopped
}

// choose returns the settings to run over all sessions: every setting, if the
// budget allows.
func (t *tuner) choose(ctx context.Context, out *studies.Tuning) ([]*choice, error) {
	n := len(t.sessions)
	if out.Space <= t.search.Budget {
		out.Judged = n
		return t.draw(out.Space)
	}
	if n < tuneLeast {
		return nil, fmt.Errorf("%d settings are more than the budget of %d, and dropping some takes %d sessions, not %d: "+
			"raise --budget or sweep fewer values", out.Space, t.search.Budget, tuneLeast, n)
	}
	out.Judged = n / 2
	out.Chosen = n - out.Judged
	list, err := t.halve(ctx)
	if err != nil {
		return nil, err
	}
	return t.refine(ctx, list)
}

// prepare reads the design and the metrics of the search and learns from the sessions.
func (t *tuner) prepare(ctx context.Context) error {
	if len(t.sessions) == 0 {
		return errNoCalls
	}
	for i, s := range t.sessions {
		t.index[s.ID] = i
	}
	if err := t.read(); err != nil {
		return err
	}
	var err error
	if t.regions, t.base, err = t.file.regions(); err != nil {
		return err
	}
	if len(t.regions) == 0 {
		return errors.New("nothing to search: the scenario has no strategy beside recorded")
	}
	if t.search.Budget < len(t.regions) {
		return fmt.Errorf("--budget %d is %w of %d strategies", t.search.Budget, ErrBudget, len(t.regions))
	}
	if t.plan.Design == nil {
		t.plan.Design = t.base
	}
	if err := t.plan.Prepare(ctx, t.corpus); err != nil {
		return err
	}
	fitted, err := t.plan.Profile()
	if err != nil || fitted == nil {
		return err
	}
	t.plan.Profiles = maps.Clone(t.plan.Profiles)
	if t.plan.Profiles == nil {
		t.plan.Profiles = map[string]*profile.Profile{}
	}
	t.plan.Profiles[learnedName] = fitted
	return nil
}

// draw returns about n settings, the same number for each strategy, fewer where a strategy has fewer.
func (t *tuner) draw(n int) ([]*choice, error) {
	var list []*choice
	err := drawn(t.regions, t.design, n, t.plan.Seed, func(r *region, at point) error {
		tried, err := t.try(r, at)
		if tried != nil {
			list = append(list, tried)
		}
		return err
	})
	return list, err
}

// try returns a new choice of a point, nil for one that was tried before.
func (t *tuner) try(r *region, at point) (*choice, error) {
	if slices.ContainsFunc(t.choices, func(x *choice) bool { return x.region == r && slices.Equal(x.at, at) }) {
		return nil, nil
	}
	cell, err := t.file.cellAt(r, at)
	if err != nil {
		return nil, err
	}
	tried := &choice{region: r, at: at, cell: *cell}
	t.choices = append(t.choices, tried)
	return tried, nil
}

// halve tries settings on ever more of the first half of the sessions, drops
// two thirds of the settings each time and returns those that are left.
func (t *tuner) halve(ctx context.Context) ([]*choice, error) {
	// A setting costs a ninth, a third and all of the half; each time a third as many settings run.
	list, err := t.draw(max(len(t.regions), 3*t.search.Budget))
	if err != nil {
		return nil, err
	}
	keep := max(len(t.regions), t.search.Budget/tuneFinals)
	for rung := range tuneRungs {
		step := 2 * int(math.Pow(3, float64(tuneRungs-1-rung)))
		for step > 2 && len(t.sessions)/step < 3 {
			step -= 2
		}
		on := func(session int) bool { return session%step == 0 }
		if err := t.simulate(ctx, list, on); err != nil {
			return nil, err
		}
		list = t.best(list, on, max(keep, len(list)/3))
	}
	return t.best(list, inFirst, keep), nil
}

// inFirst reports whether a session takes part in choosing: every second session in order of time does.
func inFirst(session int) bool { return session%2 == 0 }

// refine tries values between the tried ones, around the best setting.
func (t *tuner) refine(ctx context.Context, list []*choice) ([]*choice, error) {
	left := 2 * t.search.Budget / tuneRefine // half the sessions are half the work
	for left > 0 {
		best := t.best(list, inFirst, 1)[0]
		var tried []point
		for _, x := range t.choices {
			if x.region == best.region {
				tried = append(tried, x.at)
			}
		}
		var fresh []*choice
		for _, at := range best.region.around(best.at, tried) {
			if len(fresh) == left {
				break
			}
			if x, err := t.try(best.region, at); err != nil {
				return nil, err
			} else if x != nil {
				fresh = append(fresh, x)
			}
		}
		if len(fresh) == 0 {
			break
		}
		if err := t.simulate(ctx, fresh, inFirst); err != nil {
			return nil, err
		}
		left -= len(fresh)
		fresh = slices.DeleteFunc(fresh, func(x *choice) bool { // a setting without an effect is not worth a run over all sessions
			return slices.Equal(t.values(x, inFirst), t.values(best, inFirst))
		})
		list = t.best(append(list, fresh...), inFirst, len(list))
	}
	return list, nil
}

// simulate simulates settings on some sessions and fills in their figures.
func (t *tuner) simulate(ctx context.Context, list []*choice, on func(session int) bool) error {
	part := *t.corpus
	part.Sessions = nil
	for i, s := range t.sessions {
		if on(i) {
			part.Sessions = append(part.Sessions, s)
		}
	}
	t.work += float64(len(list)*len(part.Sessions)) / float64(len(t.sessions))
	run, err := t.run(ctx, list, &part, learnedName)
	if err != nil {
		return err
	}
	return t.note(run, list)
}

// run simulates settings and the recorded strategy under a profile, "" for that of the scenario.
func (t *tuner) run(ctx context.Context, list []*choice, corpus *traces.Corpus, fixed string) (*results.Run, error) {
	d := *t.base
	d.Cells = slices.Clone(t.base.Cells)
	for _, x := range list {
		d.Cells = append(d.Cells, x.cell)
	}
	if fixed != "" && t.plan.Profiles[fixed] != nil {
		for i := range d.Cells {
			s := *d.Cells[i].Scenario
			s.Profile, s.Bound = fixed, false
			d.Cells[i].Scenario = &s
		}
		d.Scenario.Profile, d.Scenario.Bound = fixed, false
	}
	plan := t.plan
	plan.Design = &d
	if told := plan.Done; told != nil { // the runs of a search count as one
		var most atomic.Int64
		before := t.done
		plan.Done = func(finished, total int) {
			most.Store(int64(total))
			told(before+finished, before+total)
		}
		defer func() { t.done += int(most.Load()) }()
	}
	return plan.Run(ctx, corpus)
}

// final runs the settings that are left over all sessions.
func (t *tuner) final(ctx context.Context, list []*choice) (*results.Run, error) {
	t.work += float64(len(list))
	run, err := t.run(ctx, list, t.corpus, "")
	if run == nil {
		return nil, err
	}
	return run, errors.Join(err, t.note(run, list))
}

// note copies the figures of settings from the rows of a run.
func (t *tuner) note(run *results.Run, list []*choice) error {
	for i := range run.Cells {
		c := &run.Cells[i]
		x := &t.recorded
		if c.Strategy != results.StrategyRecorded {
			at := slices.IndexFunc(list, func(x *choice) bool { return x.cell.Name == c.Cell })
			if at < 0 {
				continue
			}
			x = list[at]
		}
		x.make(len(t.metrics), len(t.sessions))
		if err := c.EachRow(func(r *results.Row) error {
			x.take(t.metrics, r, t.index[r.Session])
			return nil
		}); err != nil {
			return fmt.Errorf("figures of %s: %w", c.Cell, err)
		}
	}
	return nil
}

func (x *choice) make(metrics, sessions int) {
	if x.cut != nil {
		return
	}
	x.cut = make([]bool, sessions)
	for range metrics {
		x.parts, x.bases = append(x.parts, make([]float64, sessions)), append(x.bases, make([]float64, sessions))
	}
}

func (x *choice) take(metrics []results.Metric, r *results.Row, session int) {
	x.cut[session] = r.CutShort()
	for i, m := range metrics {
		if m.Kind == results.KindRatio {
			x.parts[i][session], x.bases[i][session] = m.Parts(r)
		} else {
			x.parts[i][session], _ = m.Value(r)
		}
	}
}
