package sim

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"math"
	"reflect"
	"slices"

	"github.com/compactsim/compactsim/sim/promptcache"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces"
)

// Cells whose strategies or lifetimes differ in values that have not mattered so far are one simulation. It runs
// under one cell, and its layers ask at each decision how the strategies of all other cells would
// have decided (strategies.Kin). Cells that would have decided differently are simulated later;
// the rest get the same rows, except for their names and for what a client shows of its own limit.
//
// Strategies that have nothing else in common but rest until a trigger fires are one simulation until then, which has no layers.

// group are cells, by index, that one simulation may stand for.
type group struct {
	cells []int
	rests bool // their strategies are of several kinds, and rest
}

// groupCells groups cells, by index, of which one simulation of a session may stand for several, in the order of the first of each.
func (r Runner) groupCells(cells []Config, sessions []*traces.Session) []group {
	type kind struct {
		around   any                  // Config.Around: equal for cells that differ in what can be shared alone
		layers   string               // what strategies have in common
		within   int64                // of one whose thresholds are counted from the whole window: wider than any
		own      any                  // lifetimes that leave some to the server
		strategy *strategies.Strategy // of one that has nothing in common with others
	}
	at := map[kind]int{}
	sessions = versionsOf(sessions)
	var groups []group
	for i := range cells {
		c := &cells[i]
		k := kind{around: c.Around, within: within(c)}
		if r.shares(c) {
			if k.layers = c.Strategy.Kind(sessions); k.layers == "" {
				k.strategy = c.Strategy
			} else if k.within < wholeWindow {
				k.within = 0 // one kind has all windows that clients are told: Kin.Within has each
			}
			if slices.Contains(c.Lifetimes[:], 0) {
				k.own = c.Lifetimes
			}
		}
		g, ok := at[k]
		if !ok || k == (kind{around: c.Around, within: k.within}) { // nothing else is set: the cell does not share, and has a group of its own
			g, groups = len(groups), append(groups, group{})
			at[k] = g
		}
		groups[g].cells = append(groups[g].cells, i)
	}
	return r.joinResting(cells, groups)
}

// wholeWindow is wider than any window, tokens.
const wholeWindow = math.MaxInt64

// within returns the most tokens that the client counts thresholds from, wholeWindow where it is not told.
func within(c *Config) int64 {
	if c.Assembly == nil {
		return wholeWindow
	}
	v := c.Assembly.Env.Variables()
	return v.AutoWindow(wholeWindow)
}

// versionsOf returns one of the sessions of each version of a client.
func versionsOf(sessions []*traces.Session) (list []*traces.Session) {
	seen := map[[3]string]bool{}
	for _, s := range sessions {
		if key := [3]string{s.Agent, s.Version(), s.Variant}; !seen[key] {
			seen[key] = true
			list = append(list, s)
		}
	}
	return list
}

// shares reports whether a simulation of other cells may stand for a cell: nobody looks at its calls.
func (r Runner) shares(c *Config) bool {
	return c.Around != nil && c.Record == nil && c.Observer == nil && c.Meter == nil && r.Observe == nil
}

// joinResting joins groups of one cell whose strategies rest at first, in the place of the first of them.
func (r Runner) joinResting(cells []Config, groups []group) (joined []group) {
	type kind struct {
		around any
		within int64
		client string
		life   promptcache.Lifetimes
		ends   bool
	}
	at := map[kind]int{}
	for _, g := range groups {
		c := &cells[g.cells[0]]
		client := ""
		if len(g.cells) == 1 && r.shares(c) {
			client = c.Strategy.Resting()
		}
		if client == "" {
			joined = append(joined, g)
			continue
		}
		k := kind{c.Around, within(c), client, c.Lifetimes, c.Overflow.ends(c.Strategy)}
		if i, ok := at[k]; ok {
			joined[i].cells, joined[i].rests = append(joined[i].cells, g.cells...), true
			continue
		}
		at[k] = len(joined)
		joined = append(joined, g)
	}
	return joined
}

// newGroupLoop returns a loop that simulates cells of one group.
func (b *batch) newGroupLoop(ctx context.Context, of group) *Loop {
	l := NewLoop(b.cells[of.cells[0]])
	l.ctx, l.recordings = ctx, b.recordings
	if len(of.cells) > 1 {
		l.related = map[int]related{}
	}
	return l
}

// related are the strategies of a group for sessions of one generation, and the copies of runs under them.
type related struct {
	kin   *strategies.Kin
	forks *forks
}

// relate finds the strategies of a group for the cohort of a loop. It returns false when its sessions are not of one
// generation.
func (b *batch) relate(l *Loop, of group) bool {
	first, at := b.cells[of.cells[0]].Strategy, -1
	for _, s := range l.group {
		i := slices.Index(first.Members(), first.For(s.Agent, s.Version(), s.Variant))
		if at >= 0 && i != at {
			return false
		}
		at = i
	}
	r, ok := l.related[at]
	if !ok {
		r.kin = &strategies.Kin{Mixed: of.rests}
		for _, cell := range of.cells {
			r.kin.All = append(r.kin.All, b.cells[cell].Strategy.Members()[at])
			r.kin.Within = append(r.kin.Within, within(&b.cells[cell]))
		}
		if slices.Min(r.kin.Within) == slices.Max(r.kin.Within) {
			r.kin.Within = nil
		} else if slices.ContainsFunc(r.kin.All[0].Layers(), readsWindow) {
			return false
		}
		if of.rests {
			r.kin.Rest()
		}
		if of.rests || !slices.ContainsFunc(r.kin.All[0].Layers(), func(l strategies.Layer) bool { _, ok := l.(copier); return !ok }) {
			r.forks = &forks{}
		}
		l.related[at] = r
	}
	l.turn.Kin, l.forks = r.kin, r.forks // before RunCohort, which prepares threads by them
	return true
}

// readsWindow reports whether a layer may act by the window without its kin being asked: no layer of package strategies does.
func readsWindow(l strategies.Layer) bool {
	return reflect.TypeOf(l).Elem().PkgPath() != reflect.TypeFor[strategies.Kin]().PkgPath()
}

// runGroup simulates a cohort under the cells of a group and hands out their rows.
func (b *batch) runGroup(ctx context.Context, l *Loop, of group, cohort []int) error {
	group := of.cells
	l.group = l.group[:0]
	for _, i := range cohort {
		l.group = append(l.group, b.sessions[i])
	}
	if !b.relate(l, of) {
		return b.runEach(ctx, group, cohort)
	}
	var rest []int // strategies of which there are no rows yet
	var failed error
	// Of the strategies that a loop stood for, Kin.Alike have its rows, and Kin.Parted would have acted otherwise at some point: these are simulated again.
	ended := func(f *Loop, err error) {
		if err == nil {
			f.turn.Kin.Part(func(k int) bool { return f.caches.StandFor(b.cells[group[k]].Lifetimes) }) // keeps those for which it holds
			if of.rests {
				err = b.runEach(ctx, pick(group, f.turn.Kin.Parted), cohort)
			} else {
				rest = append(rest, f.turn.Kin.Parted...)
			}
			b.keepKin(f, group, cohort)
		} else if errors.Is(err, ErrInvariant) {
			err = b.runEach(ctx, pick(group, slices.Concat(f.turn.Kin.Alike, f.turn.Kin.Parted)), cohort)
		}
		if failed == nil && err != nil {
			failed = err
			l.stop(l.group[0], err) // ends the run at its next event
		}
	}
	if l.forks != nil {
		l.forks.ended = ended
	}
	for k, cell := range group {
		if !b.countUnwanted(cell, cohort) {
			rest = append(rest, k)
		}
	}
	for len(rest) > 0 && failed == nil {
		rest = b.stand(l, group, rest)
		if _, err := l.RunCohort(l.group); failed == nil {
			ended(l, err)
		}
	}
	return failed
}

func pick(list, indices []int) (some []int) {
	for _, i := range indices {
		some = append(some, list[i])
	}
	return some
}

// stand makes a loop run under the longest lifetimes of the cells in rest, for the cells that live
// no longer, and returns the remaining cells.
func (b *batch) stand(l *Loop, group, rest []int) (others []int) {
	var longest promptcache.Lifetimes
	for _, k := range rest {
		if life := b.cells[group[k]].Lifetimes; slices.Compare(life[:], longest[:]) > 0 {
			longest = life
		}
	}
	var alike, shorter []int
	for _, k := range rest {
		switch life := b.cells[group[k]].Lifetimes; {
		case life == longest:
			alike = append(alike, k)
		case life.Within(longest):
			shorter = append(shorter, k)
		default:
			others = append(others, k)
		}
	}
	if w := l.turn.Kin.Within; w != nil { // the one that runs has the longest lifetimes, and no other has a wider window
		widest := slices.MaxFunc(alike, func(i, k int) int { return cmp.Compare(w[i], w[k]) })
		shorter = slices.DeleteFunc(shorter, func(k int) bool {
			if w[k] > w[widest] {
				others = append(others, k)
			}
			return w[k] > w[widest]
		})
	}
	l.turn.Kin.Stand(append(shorter, alike...))
	l.config.Strategy, l.config.Lifetimes = b.cells[group[l.turn.Kin.Runs]].Strategy, longest
	return others
}

// keepKin hands out the rows of a loop that has come to its end. In a loop for a group no session is loaded late, so that none has left its seat.
func (b *batch) keepKin(l *Loop, group, cohort []int) {
	for _, k := range l.turn.Kin.Alike {
		l.rows = slices.Grow(l.rows[:0], len(l.replays))[:len(l.replays)]
		for i, s := range l.replays {
			s.rowUnder(k, &l.rows[i])
			l.rows[i].Strategy = b.cells[group[k]].Strategy.Name
		}
		b.keep(l, group[k], cohort, l.rows)
		b.finish(len(cohort))
	}
}

// runEach simulates a cohort under cells one by one.
func (b *batch) runEach(ctx context.Context, cells, cohort []int) error {
	for _, cell := range cells {
		if err := b.runAlone(ctx, b.newGroupLoop(ctx, group{cells: []int{cell}}), cell, cohort); err != nil {
			return err
		}
	}
	return nil
}

// rowUnder sets the row of a session under one of the strategies that its simulation stood for.
func (s *replay) rowUnder(k int, row *results.Row) {
	*row = s.book.Row
	row.Reasons, row.Firings = maps.Clone(row.Reasons), maps.Clone(row.Firings)
	if kin := s.loop.turn.Kin; kin.Rests() {
		kin.Unfit(k, s.session, func(layer, reason string) {
			if row.Reasons == nil {
				row.Reasons = map[string]int{}
			}
			row.Reasons[layer+": "+reason]++
		})
	}
	s.gauge.Under(k, row)
}
