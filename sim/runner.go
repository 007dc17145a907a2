package sim

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/internal/kit/parallel"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/studies"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces"
)

// Runner simulates sessions under cells on several workers.
type Runner struct {
	// Workers is the number of sessions simulated at once; 0 means one per
	// core. Results do not depend on it.
	Workers int
	// Done, when not nil, is called after every session with the number
	// finished so far. It must be safe for concurrent use.
	Done func(finished int)
	// Cohorts are the sessions that share a clock, by index; each session stands in one cohort.
	// Without cohorts, every session is alone.
	Cohorts [][]int
	// Keep, when not nil, is given each row when it is complete, in place of the result of Run. It must
	// be safe for concurrent use.
	Keep func(cell int, row *results.Row)
	// Skip, when not nil, reports that a row is not wanted: it is another machine's. A cohort
	// is simulated under a cell as long as one of its rows is wanted.
	Skip func(cell, session int) bool
	// Observe, when not nil, returns the observer of a cell over a cohort, in
	// place of the cell's own. It must be safe for concurrent use.
	Observe func(cell int, cohort []*traces.Session) Observer
}

// partCalls is how many calls of sessions that are not in memory are loaded at once, if cohorts allow: some 4 MB.
const partCalls = 8192

// Broken is the error of a run in which sessions broke an invariant under a cell. The remaining
// sessions of their cohorts are simulated without them.
type Broken struct {
	Cells   []map[int]error // by cell, then by index of the session; each wraps ErrInvariant
	Stopped error           // what ended the run early, nil for nothing
}

// Error names the sessions, in their order.
func (b *Broken) Error() string { return errors.Join(b.Unwrap()...).Error() }

// Unwrap returns the error of each session under the first cell that it broke, in the order of
// sessions, and what ended the run.
func (b *Broken) Unwrap() (list []error) {
	first := map[int]error{}
	for _, sessions := range slices.Backward(b.Cells) {
		maps.Copy(first, sessions)
	}
	for _, i := range slices.Sorted(maps.Keys(first)) {
		list = append(list, first[i])
	}
	if b.Stopped != nil {
		list = append(list, b.Stopped)
	}
	return list
}

// Run returns the rows by cell, in the order of sessions. On an error or a
// cancelled context it returns what is complete: rows of sessions not
// simulated have no Strategy. The error is a *Broken when sessions broke an
// invariant.
func (r Runner) Run(ctx context.Context, sessions []*traces.Session, cells []Config) ([][]results.Row, error) {
	cohorts, err := r.cohorts(sessions)
	if err != nil {
		return nil, err
	}
	// A group are cells that one simulation may stand for (sharing.go).
	b := batch{Runner: r, all: sessions, cells: cells, groups: r.groupCells(cells, sessions), sessions: make([]*traces.Session, len(sessions))}
	// What reads the replays at the end needs all sessions in their seats: keepKin of a group, copies at forks, observers, and what
	// keep tells Config.Ended. A session that is loaded late leaves its seat when it is over.
	b.late = r.Observe == nil && !slices.ContainsFunc(b.groups, func(g group) bool {
		first := &cells[g.cells[0]]
		return len(g.cells) > 1 || first.Observer != nil || first.Ended != nil
	})
	for range cells {
		b.broken = append(b.broken, map[int]error{})
		b.rows = append(b.rows, nil)
		if r.Keep == nil {
			b.rows[len(b.rows)-1] = make([]results.Row, len(sessions))
		}
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	for len(cohorts) > 0 && ctx.Err() == nil {
		n := b.part(cohorts)
		b.run(ctx, stop, cohorts[:n])
		cohorts = cohorts[n:]
	}
	var stopped error
	finished, total := b.finished.Load(), int64(len(cells)*len(sessions))
	if err := context.Cause(ctx); err != nil && finished < total {
		stopped = err
		if errors.Is(err, context.Canceled) {
			stopped = fmt.Errorf("interrupted after %s of %s sessions × strategies: %w", document.Whole(finished), document.Whole(total), err)
		}
	}
	return b.rows, brokenIn(b.broken, stopped)
}

// batch is what the workers of a run share. A job is a cohort under the cells of a group.
type batch struct {
	Runner
	all        []*traces.Session
	cells      []Config
	groups     []group
	sessions   []*traces.Session // as all, but only the sessions of the part that is simulated
	late       bool              // sessions of a cohort are loaded when they begin
	cohorts    [][]int           // of the part
	rows       [][]results.Row   // by cell, without Keep
	recordings *recordings       // of the part; nil where each is simulated once
	noting     sync.Mutex
	broken     []map[int]error // by cell
	next       atomic.Int64    // job
	finished   atomic.Int64    // sessions
}

// part returns how many cohorts are loaded together: all whose sessions are in memory.
func (b *batch) part(cohorts [][]int) int {
	calls := 0
	for n, cohort := range cohorts {
		for _, i := range cohort {
			if s := b.all[i]; len(s.Threads) == 0 {
				calls += s.NumCalls()
			}
		}
		if n > 0 && calls > partCalls {
			return n
		}
	}
	return len(cohorts)
}

// run simulates a part of the cohorts under all cells. The first error stops the workers.
func (b *batch) run(ctx context.Context, stop context.CancelCauseFunc, cohorts [][]int) {
	if b.cohorts = cohorts; len(b.cells) > 1 {
		b.recordings = &recordings{} // one cell reads each recording once, and has nobody to share it with
	}
	b.next.Store(0)
	err := parallel.Do(ctx, b.Workers, len(cohorts), func(i int) (err error) {
		if b.Skip != nil && !slices.ContainsFunc(b.groups, func(g group) bool { return b.wantsAny(g.cells, cohorts[i]) }) {
			return nil
		}
		late := b.late && len(cohorts[i]) > 1
		for _, at := range cohorts[i] {
			if b.sessions[at] = b.all[at]; late {
				continue
			}
			if b.sessions[at], err = b.all[at].Load(); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		stop(err)
		return
	}
	parallel.Each(b.Workers, parallel.Workers(b.Workers, len(b.groups)*len(cohorts)), func(int) {
		if err := b.work(ctx); err != nil {
			stop(err)
		}
	})
	clear(b.sessions)
}

// work does jobs until none is left or the context has ended. They come group by group, so a
// worker keeps one loop at a time and memory does not grow with the number of cells.
func (b *batch) work(ctx context.Context) error {
	var loop *Loop
	at := -1
	for ctx.Err() == nil {
		job := int(b.next.Add(1) - 1)
		if job >= len(b.groups)*len(b.cohorts) {
			break
		}
		g, cohort := job/len(b.cohorts), b.cohorts[job%len(b.cohorts)]
		of := b.groups[g]
		if !b.wantsAny(of.cells, cohort) {
			b.finish(len(of.cells) * len(cohort))
			continue
		}
		if at != g {
			loop, at = b.newGroupLoop(ctx, of), g
		}
		run := b.runAlone
		if len(of.cells) > 1 {
			run = func(ctx context.Context, l *Loop, _ int, cohort []int) error {
				return b.runGroup(ctx, l, of, cohort)
			}
		}
		if err := run(ctx, loop, of.cells[0], cohort); err != nil {
			return err
		}
	}
	return nil
}

// wanted reports whether a row of a cohort under a cell is wanted.
func (b *batch) wanted(cell int, cohort []int) bool {
	return b.Skip == nil || slices.ContainsFunc(cohort, func(i int) bool { return !b.Skip(cell, i) })
}

// wantsAny reports whether a row of a cohort under any of some cells is wanted.
func (b *batch) wantsAny(cells, cohort []int) bool {
	return slices.ContainsFunc(cells, func(cell int) bool { return b.wanted(cell, cohort) })
}

// countUnwanted counts a cohort under a cell as finished if none of its rows is wanted, and reports whether it did.
func (b *batch) countUnwanted(cell int, cohort []int) bool {
	if b.wanted(cell, cohort) {
		return false
	}
	b.finish(len(cohort))
	return true
}

// runAlone simulates a cohort under one cell and hands out its rows.
func (b *batch) runAlone(ctx context.Context, l *Loop, cell int, cohort []int) error {
	if b.countUnwanted(cell, cohort) {
		return nil
	}
	if b.Observe != nil {
		l.group = l.group[:0]
		for _, i := range cohort {
			l.group = append(l.group, b.sessions[i])
		}
		l.config.Observer = b.Observe(cell, l.group)
	}
	broken, err := b.runSound(l, cell, cohort)
	if err != nil {
		return err
	}
	b.noting.Lock()
	maps.Copy(b.broken[cell], broken)
	b.noting.Unlock()
	b.finish(len(cohort))
	return nil
}

// runSound simulates a cohort under one cell and hands out its rows. Sessions that break an invariant are left out, the cohort
// simulated again without them, and returned by index.
func (b *batch) runSound(l *Loop, cell int, cohort []int) (map[int]error, error) {
	broken := map[int]error{}
	for {
		l.group = l.group[:0]
		for _, i := range cohort {
			l.group = append(l.group, b.sessions[i])
		}
		rows, err := l.RunCohort(l.group)
		if err == nil {
			b.keep(l, cell, cohort, rows)
			return broken, nil
		}
		at := slices.IndexFunc(l.replays, func(s *replay) bool { return s != nil && s.session == l.failing })
		if !errors.Is(err, ErrInvariant) || at < 0 {
			return broken, err
		}
		broken[cohort[at]] = err
		if cohort = slices.Delete(slices.Clone(cohort), at, at+1); len(cohort) == 0 {
			return broken, nil
		}
	}
}

// keep hands out the rows of a cohort that a loop has simulated under a cell.
func (b *batch) keep(l *Loop, cell int, cohort []int, rows []results.Row) {
	for i, session := range cohort {
		if b.Skip != nil && b.Skip(cell, session) {
			continue
		}
		if ended := b.cells[cell].Ended; ended != nil { // then no session was loaded late: each has its seat still (Run)
			ended(&rows[i], l.replays[i].book.Spent)
		}
		if b.Keep == nil {
			b.rows[cell][session] = rows[i]
		} else {
			b.Keep(cell, &rows[i])
		}
	}
}

// finish counts sessions under cells that are done.
func (b *batch) finish(n int) {
	if n := b.finished.Add(int64(n)); b.Done != nil {
		b.Done(int(n))
	}
}

// brokenIn returns the error of a run given what broke in each cell and what
// stopped it.
func brokenIn(cells []map[int]error, stopped error) error {
	if slices.ContainsFunc(cells, func(sessions map[int]error) bool { return len(sessions) > 0 }) {
		return &Broken{Cells: cells, Stopped: stopped}
	}
	return stopped
}

// cohorts returns the cohorts to simulate. Each session must stand in exactly
// one.
func (r Runner) cohorts(sessions []*traces.Session) ([][]int, error) {
	list := r.Cohorts
	if list == nil {
		for i := range sessions {
			list = append(list, []int{i})
		}
		return list, nil
	}
	seen := make([]bool, len(sessions))
	n := 0
	for _, cohort := range list {
		for _, i := range cohort {
			if i < 0 || i >= len(sessions) || seen[i] {
				return nil, fmt.Errorf("cohorts: session %d of %d is not there or stands twice", i, len(sessions))
			}
			seen[i] = true
			n++
		}
	}
	if n != len(sessions) {
		return nil, fmt.Errorf("cohorts: %d of %d sessions stand in none", len(sessions)-n, len(sessions))
	}
	return list, nil
}

// Point names where on a thread something happens.
type Point struct {
	Session       int32 // index in the cohort
	Thread, Round int32 // indices into the session
	Now           int64 // ns on the session's clock
	Idle          int64 // ns since the thread's last response ended
}

// Observer sees what a loop does and why, in order. What it is given is only
// valid during the call.
type Observer interface {
	// Checked is told every trigger evaluation.
	Checked(Point, strategies.Check)
	// Answered is told what a layer's hook answered.
	Answered(p Point, layer, hook string, out strategies.Outcome)
	// Changed is told what a layer did to the context.
	Changed(Point, string, strategies.Boundary)
	// Served is told every request and how the server served it; layer is
	// empty for the conversation's own.
	Served(p Point, layer string, r *exchange.Request, out *exchange.Outcome)
}

// PaybackObserver is an Observer that is also told at the end of a session what became of
// each of its compactions. They count from 0 in the order in which Changed reported them.
type PaybackObserver interface {
	Observer
	Paid(session, compaction int, p *studies.Payback)
}

// breakObserver is an Observer that is also told what the client's break detector
// says of a call whose cache broke, before the call's record.
type breakObserver interface {
	Observer
	Broke(p Point, says string)
}

// point returns where a thread is now.
func (t *thread) point(now int64) Point {
	return Point{Session: t.replay.index, Thread: t.Index, Round: t.Round, Now: t.replay.now(now), Idle: now - t.LastEnd}
}

// tellAnswer tells the observer, if there is one, what a hook answered now, ns on the cohort's clock.
func (t *thread) tellAnswer(now int64, layer int, hook string, out strategies.Outcome) {
	if o := t.replay.loop.config.Observer; o != nil {
		o.Answered(t.point(now), t.layers[layer].Name(), hook, out)
	}
}

// tellServed tells the observer of a request; layer is −1 for the conversation's.
func (t *thread) tellServed(now int64, layer int, q *exchange.Request, out *exchange.Outcome) {
	o := t.replay.loop.config.Observer
	if o == nil {
		return
	}
	name := ""
	if layer >= 0 {
		name = t.layers[layer].Name()
	}
	o.Served(t.point(now), name, q, out)
}

// watch makes a turn report trigger evaluations to the observer, if there is one.
func (t *thread) watch(u *strategies.Turn, c *clock) {
	o := t.replay.loop.config.Observer
	if o == nil {
		u.Watch(nil)
		return
	}
	u.Watch(func(check strategies.Check) { o.Checked(t.point(c.now), check) })
}
