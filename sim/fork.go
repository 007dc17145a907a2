package sim

import (
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/strategies"
)

// forks are the loops that go on from where strategies part.
type forks struct {
	spare []*Loop
	// ended is given each loop that was forked when it has come to its end, with its error.
	ended func(*Loop, error)
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
	var f *Loop
	if n := len(l.forks.spare); n > 0 {
		f, l.forks.spare = l.forks.spare[n-1], l.forks.spare[:n-1]
	} else {
		f = NewLoop(l.config)
		f.turn.Kin = &strategies.Kin{All: l.turn.Kin.All}
	}
	f.copyFrom(l)
	f.turn.Kin.Stand(others)
	for i := range f.threads {
		f.turn.Kin.Adopt(f.threads[i].layers)
	}
	f.ask(&f.threads[t.id], hook)
	_, err := f.play()
	l.forks.ended(f, err)
	l.forks.spare = append(l.forks.spare, f)
}

// copyFrom makes l an independent copy of a run under way, keeping l's storage.
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
	for len(l.pool) < len(o.replays) {
		l.pool = append(l.pool, &replay{})
	}
	l.replays = l.pool[:len(o.replays)]
	for i, s := range o.replays {
		l.replays[i].copyFrom(s, l)
	}
	l.threads = l.threads[:cap(l.threads)]
	for len(l.threads) < len(o.threads) {
		l.threads = append(l.threads, thread{})
	}
	l.threads = l.threads[:len(o.threads)]
	for i := range o.threads {
		l.threads[i].copyFrom(&o.threads[i], l)
	}
	l.turn.TakeBackground()
	l.sides.CopyFrom(&o.sides, func(thread int32) *prompt.Arena { return &l.threads[thread].replay.arena })
}

// copyFrom makes s the copy of a session under way, for a loop that has users and servers already.
func (s *replay) copyFrom(o *replay, l *Loop) {
	arena, book := s.arena, s.book
	gauge, detector := s.gauge, s.detector
	*s = *o
	arena.Become(&o.arena)
	book.CopyFrom(&o.book)
	s.arena, s.book = arena, book
	gauge.CopyFrom(&o.gauge)
	gauge.Kin, gauge.Row = l.turn.Kin, &s.book.Row
	s.gauge = gauge
	detector.Become(&o.detector.Detector)
	detector.said = o.detector.said
	s.detector, s.user = detector, &l.users[s.heads.User]
	s.loop = l
	s.fetch.Bind(&s.book.Row, &s.arena)
	s.heads.Bind(&s.arena, s)
	s.server = l.caches.Of(s.session.Agent, s.heads.Assembly.Provider, l.config.cache(s.session))
}

// copyFrom makes t the copy of a thread, for a loop that has its session already.
func (t *thread) copyFrom(o *thread, l *Loop) {
	context, layers, hooks, deleted, fetch := t.Context, t.layers, t.hooks, t.Deleted, t.fetch
	hidden, inbox, mailbox, wakes, carried := t.hidden, t.inbox, t.mailbox, t.wakes, t.carried
	*t = *o // scores are shared: nobody changes them
	t.replay = l.replays[o.replay.index]
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
	t.head.Bind(&t.replay.heads, &t.Context, (*behind)(t))
	hidden.CopyFrom(&o.hidden)
	t.hidden = hidden
	t.hidden.Bind(&t.replay.hidden, &t.Course)
	t.verified.Part()
}
