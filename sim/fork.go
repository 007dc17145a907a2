package sim

import (
	"slices"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/strategies"
)

// forks are the loops that go on from where strategies part.
type forks struct {
	spare []*Loop
	// ended is given each loop that was forked when it has come to its end, with its error.
	ended func(*Loop, error)
	kept  map[int]*layerSets // of strategies that rested, by index
}

// layerSets are layers of a strategy for as many threads as have needed any.
type layerSets struct {
	bars []uint64
	sets [][]strategies.Layer
}

// fresh returns the layers of a strategy for a number of threads, as they are at the beginning of a thread. They are valid until the next call for
// the strategy.
func (f *forks) fresh(k int, s *strategies.Strategy, threads int) *layerSets {
	kept := f.kept[k]
	if kept == nil {
		if f.kept == nil {
			f.kept = map[int]*layerSets{}
		}
		kept = &layerSets{bars: s.Bars()}
		f.kept[k] = kept
	}
	for _, set := range kept.sets[:min(threads, len(kept.sets))] {
		for _, layer := range set {
			layer.Reset()
		}
	}
	for len(kept.sets) < threads {
		kept.sets = append(kept.sets, s.Layers())
	}
	return kept
}

// take returns a loop for a copy of l.
func (f *forks) take(l *Loop) (c *Loop) {
	if n := len(f.spare); n > 0 {
		c, f.spare = f.spare[n-1], f.spare[:n-1]
		return c
	}
	c = NewLoop(l.config)
	c.turn.Kin = &strategies.Kin{All: l.turn.Kin.All, Within: l.turn.Kin.Within, Mixed: l.turn.Kin.Mixed}
	return c
}

// finish plays a copy of a run to its end, beginning with what begin does.
func (f *forks) finish(c *Loop, begin func()) {
	_, err := c.play(begin)
	f.ended(c, err)
	f.leave(c)
	f.spare = append(f.spare, c)
}

// copier is a layer whose copy can go on from the same state.
type copier interface{ Copy() strategies.Layer }

// partWays simulates the run to its end under the strategies that answer differently at a hook
// before a request, if there are any, and leaves all other strategies to the run itself.
func (l *Loop) partWays(t *thread, hook int) {
	others := l.turn.Kin.Differ(t.layers[t.hooks.before[hook].layer].Name(), &l.turn.Reading)
	if len(others) == 0 || !l.caches.Copyable() {
		return
	}
	l.turn.Kin.Leave(others)
	f := l.forks.take(l)
	f.copyFrom(l)
	f.turn.Kin.Stand(others)
	for _, t := range f.threads {
		f.turn.Kin.Adopt(t.layers)
	}
	l.forks.finish(f, func() { f.ask(f.threads[t.id], hook) })
}

// rouse simulates the run, which has no layers, to its end under each strategy that has something to do before the request of a
// thread. It reports whether the run stands for any other strategy.
func (t *thread) rouse() bool {
	l := t.replay.loop
	kin := l.turn.Kin
	l.refresh(t)
	refused := t.requestTokens(l.clock.now)+int64(t.Current().Tail) > t.replay.book.Models.Of(t.head.Model()).Room()
	full := func(int) bool { return false }
	if t.mayBlock() {
		v := t.view()
		full = t.replay.gauge.Full(t.Index, &v, (*shown)(t))
	}
	due := kin.Due(&l.turn, refused, full)
	if len(due) > 0 && !l.caches.Copyable() {
		kin.Part(func(i int) bool { return !slices.Contains(due, i) })
	} else if len(due) > 0 {
		kin.Leave(due)
		for _, k := range due {
			l.forks.wake(l, k, t.id)
		}
	}
	return len(kin.Alike) > 0
}

// wake simulates a run to its end under a strategy that rested until the request of a thread.
func (f *forks) wake(l *Loop, k int, thread int32) {
	c, s := f.take(l), l.turn.Kin.All[k]
	c.copyFrom(l)
	c.turn.Kin.Stand([]int{k})
	c.config.Strategy = s
	layers := f.fresh(k, s, len(c.threads))
	for _, r := range c.replays {
		r.strategy = s
		l.turn.Kin.Unfit(k, r.session, r.Refuse)
	}
	for i, t := range c.threads {
		t.strategy, t.layers = s, layers.sets[i]
		t.hooks.bind(t.layers, layers.bars)
		t.replay.book.Layers(len(t.layers))
	}
	f.finish(c, func() { c.ask(c.threads[thread], 0) })
}

// leave gives up what the copy l of a run shares with other runs, which then change it in place again.
func (*forks) leave(l *Loop) {
	for _, t := range l.threads {
		t.Context.Leave()
	}
	l.sides.Leave()
}

// copyFrom makes l an independent copy of a run under way, keeping l's storage: a checkpoint, from which l goes on by
// play. Both share contexts, and what judges know of them, until one changes them, so both belong to one goroutine.
func (l *Loop) copyFrom(o *Loop) {
	l.config, l.assembly, l.models, l.ctx, l.forks = o.config, o.assembly, o.models, o.ctx, o.forks
	l.verdict, l.host.thread = o.verdict, nil
	heap := append(l.clock.heap[:0], o.clock.heap...)
	l.clock = o.clock
	l.clock.heap = heap
	l.flights.copyFrom(&o.flights)
	l.breaks.copyFrom(&o.breaks)
	l.users.copyFrom(o.users)
	l.caches.CopyFrom(&o.caches)
	l.open(o.cohort)
	for i, s := range o.replays {
		r := l.seat(i)
		r.copyFrom(s, l)
		l.hold(r, len(s.threads))
		for i := range s.threads {
			r.threads[i].copyFrom(&s.threads[i], r)
		}
	}
	l.turn.TakeBackground()
	l.sides.CopyFrom(&o.sides, func(thread int32) *prompt.Arena { return &l.threads[thread].replay.arena })
}

// copyFrom makes s the copy of a session under way, for a loop that has users and servers already.
func (s *replay) copyFrom(o *replay, l *Loop) {
	arena, book := s.arena, s.book
	gauge, detector, hidden, threads := s.gauge, s.detector, s.hidden, s.threads
	*s = *o
	hidden.CopyFrom(&o.hidden)
	s.hidden = hidden
	arena.Become(&o.arena)
	book.CopyFrom(&o.book)
	s.arena, s.book = arena, book
	gauge.CopyFrom(&o.gauge)
	gauge.Kin, gauge.Row = l.turn.Kin, &s.book.Row
	s.gauge = gauge
	detector.Become(&o.detector.Detector)
	detector.said = o.detector.said
	s.detector, s.user = detector, l.users[s.heads.User]
	s.loop, s.threads = l, threads
	s.fetch.Bind(&s.book.Row, &s.arena)
	s.heads.Bind(&s.arena, &s.book.Row, s)
	s.server = l.caches.Of(s.session.Agent, s.heads.Assembly.Provider, s.cache)
}

// copyFrom makes t the copy of a thread, in the copy of its session.
func (t *thread) copyFrom(o *thread, s *replay) {
	context, layers, hooks, deleted, fetch := t.Context, t.layers, t.hooks, t.Deleted, t.fetch
	hidden, inbox, mailbox, wakes, carried := t.hidden, t.inbox, t.mailbox, t.wakes, t.carried
	*t = *o // scores are shared: nobody changes them
	t.replay = s
	context.Become(&o.Context, &t.replay.arena)
	layers = layers[:0]
	for _, layer := range o.layers {
		layers = append(layers, layer.(copier).Copy())
	}
	hooks.bind(layers, o.hooks.bars)
	deleted.CopyFrom(&o.Deleted)
	carried.CopyFrom(&o.carried)
	fetch.CopyFrom(&o.fetch, &t.replay.fetch, &t.Course, &t.tally)
	t.Context, t.layers, t.hooks, t.Deleted, t.fetch = context, layers, hooks, deleted, fetch
	t.inbox, t.mailbox = append(inbox[:0], o.inbox...), append(mailbox[:0], o.mailbox...)
	t.wakes, t.carried = append(wakes[:0], o.wakes...), carried
	t.tally.Bind(&t.replay.counter)
	t.head.Bind(&t.replay.heads, &t.Course)
	hidden.CopyFrom(&o.hidden)
	t.hidden = hidden
	t.hidden.Bind(&t.replay.hidden, &t.Course)
	t.verified.Part()
}
