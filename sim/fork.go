package sim

import (
	"maps"
	"slices"

	"github.com/compactsim/compactsim/sim/promptcache"
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

// copyable reports whether the caches of the run can be copied.
func (l *Loop) copyable() bool {
	return !slices.ContainsFunc(l.servers, func(s agentServer) bool {
		switch s.Server.(type) {
		case *promptcache.Anthropic, *promptcache.OpenAI:
			return false
		}
		return true
	})
}

// partWays simulates the run to its end under the strategies that answer differently at a hook
// before a request, if there are any, and leaves all other strategies to the run itself.
func (l *Loop) partWays(t *thread, hook int) {
	others := l.turn.Kin.Differ(t.layers[t.hooks.before[hook].layer].Name(), &l.turn.Reading)
	if len(others) == 0 || !l.copyable() {
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
	l.sides, l.states, l.err, l.failing, l.host.thread = o.sides, o.states, o.err, o.failing, nil
	heap := append(l.clock.heap[:0], o.clock.heap...)
	l.clock = o.clock
	l.clock.heap = heap
	l.flights, l.free = append(l.flights[:0], o.flights...), append(l.free[:0], o.free...)
	l.told = append(l.told[:0], o.told...)
	l.users = l.users[:0]
	for i := range o.users {
		l.usersThrough(int32(i))
		u, v := &l.users[i], &o.users[i]
		ends, live := append(u.Ends, v.Ends...), append(u.Live, v.Live...)
		*u = *v
		u.Ends, u.Live = ends, live
	}
	l.copyServers(o)
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
	l.copyBackgrounds(o)
}

// copyServers copies the caches.
func (l *Loop) copyServers(o *Loop) {
	for i := range o.servers {
		if i == len(l.servers) {
			l.servers = append(l.servers, agentServer{Server: o.config.Server(o.servers[i].cache)})
		}
		to, from := &l.servers[i], &o.servers[i]
		to.agent, to.provider, to.cache = from.agent, from.provider, from.cache
		switch server := from.Server.(type) {
		case *promptcache.Anthropic:
			to.Server.(*promptcache.Anthropic).CopyFrom(server)
		case *promptcache.OpenAI:
			to.Server.(*promptcache.OpenAI).CopyFrom(server)
		}
	}
}

func (l *Loop) copyBackgrounds(o *Loop) {
	for len(l.backgrounds) < len(o.backgrounds) {
		l.backgrounds = append(l.backgrounds, &background{})
	}
	l.endBackgrounds()
	for i, from := range o.backgrounds {
		b := l.backgrounds[i]
		context, deleted := b.context, b.deleted
		if *b = *from; from.running {
			context.Become(&from.context, &l.threads[b.thread].replay.arena)
			deleted.copyFrom(&from.deleted)
			deleted.edits = from.deleted.edits
		}
		b.context, b.deleted = context, deleted
	}
}

// copyFrom makes s the copy of a session under way, for a loop that has users and servers already.
func (s *replay) copyFrom(o *replay, l *Loop) {
	arena, book := s.arena, s.book
	sights, limits, detector := s.sights, s.limits, s.detector
	*s = *o
	arena.Become(&o.arena)
	book.CopyFrom(&o.book)
	s.arena, s.book = arena, book
	s.sights, s.limits = append(sights[:0], o.sights...), append(limits[:0], o.limits...)
	detector.Become(&o.detector.Detector)
	detector.said = o.detector.said
	s.detector, s.user = detector, &l.users[s.heads.User]
	s.config = &l.config
	s.heads.Bind(&s.arena, s)
	s.server = l.serverOf(s.session, s.heads.Assembly.Provider)
}

// copyFrom makes t the copy of a thread, for a loop that has its session already.
func (t *thread) copyFrom(o *thread, l *Loop) {
	context, layers, hooks, deleted, judge := t.Context, t.layers, t.hooks, t.deleted, t.judge
	hidden, inbox, mailbox, wakes, missing, carried := t.hidden, t.inbox, t.mailbox, t.wakes, t.missing, t.carried
	fetched, left := t.fetched, t.left
	*t = *o // scores are shared: nobody changes them
	t.replay = l.replays[o.replay.index]
	context.Become(&o.Context, &t.replay.arena)
	layers = layers[:0]
	for _, layer := range o.layers {
		layers = append(layers, layer.(copier).Copy())
	}
	hooks.bind(layers, o.hooks.bars)
	deleted.copyFrom(&o.deleted)
	deleted.edits = o.deleted.edits
	if t.replay.needs != nil {
		judge.Become(&o.judge)
	}
	carried.CopyFrom(&o.carried)
	t.Context, t.layers, t.hooks, t.deleted, t.judge = context, layers, hooks, deleted, judge
	t.inbox, t.mailbox = append(inbox[:0], o.inbox...), append(mailbox[:0], o.mailbox...)
	t.wakes, t.missing, t.carried = append(wakes[:0], o.wakes...), append(missing[:0], o.missing...), carried
	t.fetched, t.left = append(fetched[:0], o.fetched...), append(left[:0], o.left...)
	t.head.Bind(&t.replay.heads, &t.Context, (*behind)(t))
	hidden.CopyFrom(&o.hidden)
	t.hidden = hidden
	t.hidden.Bind(&t.replay.hidden, &t.Course)
	t.verified.pending = maps.Clone(o.verified.pending)
}
