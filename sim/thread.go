package sim

import (
	"github.com/compactsim/compactsim/sim/client"
	"github.com/compactsim/compactsim/sim/internal/account"
	"github.com/compactsim/compactsim/sim/internal/course"
	"github.com/compactsim/compactsim/sim/internal/fetch"
	"github.com/compactsim/compactsim/sim/internal/head"
	"github.com/compactsim/compactsim/sim/internal/hidden"
	"github.com/compactsim/compactsim/sim/internal/verify"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/strategies/standard"
)

// thread is the running state of one conversation.
type thread struct {
	course.Course
	replay   *replay
	id       int32 // index into the loop's threads
	layers   []strategies.Layer
	strategy *strategies.Strategy // that the layers are of
	hooks    hooks
	family
	mail
	gap
	asking
	tally    client.Tally
	hidden   hidden.Thread
	head     head.Head
	told     told
	verified verify.Thread // with Verify
	balance  account.Thread
	carried  strategies.Carried // beside the messages
	fetch    fetch.Thread
	wait     wait
	called   string // source of the layer's call that the thread waits for
	overflow bool   // a request was answered beyond the window
	ended    bool   // after its last response
}

// family is what a thread knows of the threads that it starts.
type family struct {
	child   int32 // first child not yet started, index into replay.children
	running int32 // sub-agents at work
	unread  int32 // sub-agents that have ended in the background, and were not reported
	heard   int32 // rounds whose input has come
}

// mail are messages from other threads, tokens.
type mail struct {
	inbox   []int32 // for the next input
	mailbox []int32 // for the next prompt
}

// gap is the time between a response and the next input, and what timers do in it.
type gap struct {
	idle   bool    // it lasts
	held   bool    // a timer's call is under way; input waits for it
	late   bool    // input has come meanwhile
	heldAt int64   // when it came, ns on the cohort's clock
	wakes  []int64 // by timer: when it rings, 0 for never
}

// asking is what layers and the server have said of the request that is prepared. The zero value is a request that nobody
// was asked about.
type asking struct {
	retried  bool   // it was sent again after a refusal
	refusals int    // layers that were asked about refusals
	hinted   bool   // the server has hinted at it
	barred   uint64 // layers that are not asked before it, a bit each
}

// reset makes t the state of a thread that has not begun, keeping storage.
func (t *thread) reset(s *replay, i int32, layers []strategies.Layer) {
	*t = thread{
		Course: course.Course{Session: s.session, Trace: &s.session.Threads[i], Index: i, Context: t.Context, Scores: t.Scores, Deleted: t.Deleted},
		replay: s, id: s.base + i, layers: layers, strategy: s.strategy,
		hooks: t.hooks, family: family{child: -1}, mail: mail{t.inbox[:0], t.mailbox[:0]}, gap: gap{wakes: t.wakes[:0]},
		fetch: t.fetch, hidden: t.hidden,
	}
	t.fetch.Begin(&s.fetch, &t.Course, &t.tally)
	t.tally.Bind(&s.counter)
	t.Prepare(s.counter.Estimate)
	t.Deleted.Reset()
	t.hidden.Reset()
	t.hidden.Bind(&s.hidden, &t.Course)
	t.Context.Reset(s.session.Blocks, &s.arena)
	t.head.Begin(t.Trace, i)
	t.head.Bind(&s.heads, &t.Course)
}

// hooks are the layers of a thread by the hooks they implement, with their
// index, so that a call costs no type assertion.
type hooks struct {
	before   []hook[strategies.BeforeRequest]
	after    []hook[strategies.AfterResponse]
	tooLong  []hook[strategies.PromptTooLong]
	result   []strategies.IntentResult // by layer index; nil for a layer without one
	compact  []hook[strategies.AfterCompaction]
	starting []hook[strategies.ThreadStart]
	ending   []hook[strategies.ThreadEnd]
	loopEnd  []hook[strategies.EndOfLoop]
	timers   []hook[strategies.Timer]
	forks    []hook[strategies.Fork]
	hints    []hook[strategies.ServerHint]
	limits   []hook[strategies.AutoThreshold]
	// background is by layer index, nil for a layer without one.
	background []strategies.BackgroundResult
	keys       []uint8  // by layer index: identifies the layer in draws
	bars       []uint64 // by layer index: layers it bars when it is done
	// suggests says that a layer makes the calls which the profile would add at
	// the end of turns.
	suggests bool
	deletes  bool // a layer has results deleted from the cached prefix
}

// sleeper is a timer whose settings may keep it from ever being called.
type sleeper interface{ Sleeps() bool }

type hook[T any] struct {
	layer int
	do    T
}

// bind finds the hooks of the layers, keeping storage.
func (h *hooks) bind(layers []strategies.Layer, bars []uint64) {
	*h = hooks{
		keys: h.keys[:0], bars: bars,
		before: h.before[:0], after: h.after[:0], tooLong: h.tooLong[:0],
		result: h.result[:0], compact: h.compact[:0], starting: h.starting[:0], ending: h.ending[:0], loopEnd: h.loopEnd[:0],
		timers: h.timers[:0], forks: h.forks[:0], hints: h.hints[:0], limits: h.limits[:0], background: h.background[:0],
	}
	for i, l := range layers {
		h.before = implements(h.before, i, l)
		h.after = implements(h.after, i, l)
		h.tooLong = implements(h.tooLong, i, l)
		h.starting = implements(h.starting, i, l)
		h.ending = implements(h.ending, i, l)
		h.loopEnd = implements(h.loopEnd, i, l)
		h.suggests = h.suggests || l.Name() == standard.Suggestion
		h.deletes = h.deletes || l.Name() == standard.CachedClear
		if s, ok := l.(sleeper); !ok || !s.Sleeps() {
			h.timers = implements(h.timers, i, l)
		}
		h.forks = implements(h.forks, i, l)
		h.hints = implements(h.hints, i, l)
		h.limits = implements(h.limits, i, l)
		h.compact = implements(h.compact, i, l)
		r, _ := l.(strategies.IntentResult)
		h.result = append(h.result, r)
		b, _ := l.(strategies.BackgroundResult)
		h.background = append(h.background, b)
		h.keys = append(h.keys, client.DrawKey(l.Name()))
	}
}

// implements appends a layer to the list of those with a hook if it has the hook.
func implements[T any](list []hook[T], i int, l strategies.Layer) []hook[T] {
	if do, ok := l.(T); ok {
		list = append(list, hook[T]{i, do})
	}
	return list
}
