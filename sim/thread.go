package sim

import (
	"slices"

	"github.com/compactsim/compactsim/sim/client"
	"github.com/compactsim/compactsim/sim/internal/account"
	"github.com/compactsim/compactsim/sim/internal/course"
	"github.com/compactsim/compactsim/sim/internal/fetch"
	"github.com/compactsim/compactsim/sim/internal/head"
	"github.com/compactsim/compactsim/sim/internal/hidden"
	"github.com/compactsim/compactsim/sim/internal/verify"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/facts"
	"github.com/compactsim/compactsim/traces/signs"
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
	briefing briefing
	verified verify.Thread // with Verify
	balance  account.Thread
	carried  strategies.Carried // beside the messages
	fetch    fetch.Thread
	wait     wait
	lastKind facts.Cache // the kind of cache that its last call went to
	called   string      // source of the layer's call that the thread waits for
	overflow bool        // a request was answered beyond the window
	ended    bool        // after its last response
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

// asking is what the server and layers have said in a round. The zero value is a round in which nobody was asked.
type asking struct {
	hinted bool // the server has given its hint
	attempt
}

// attempt is what was said of the next request, which a round that no recording has begins anew.
type attempt struct {
	retried  bool   // it was sent again after a refusal
	refusals int    // layers that were asked about refusals
	barred   uint64 // layers that are not asked before it, a bit each
}

// prepare brings the thread at a place of a session to its initial state.
func (t *thread) prepare(s *replay, i int32) {
	layers := t.layers
	switch kin := s.loop.turn.Kin; {
	case kin != nil && kin.Rests():
		layers = nil // until one of them has something to do
		t.hooks.bind(nil, nil)
	case layers == nil || t.strategy != s.strategy:
		layers = s.strategy.Layers()
		t.hooks.bind(layers, s.strategy.Bars())
	}
	s.book.Layers(len(layers))
	for _, layer := range layers {
		layer.Reset()
		if l, ok := layer.(strategies.Choosy); ok && i == 0 {
			if why := l.Unfit(s.session); why != "" {
				s.Refuse(layer.Name(), why)
			}
		}
	}
	t.reset(s, i, layers)
}

// reset makes t the state of a thread that has not begun, keeping storage.
func (t *thread) reset(s *replay, i int32, layers []strategies.Layer) {
	*t = thread{
		Course: course.Course{Session: s.session, Trace: &s.session.Threads[i], Index: i, Context: t.Context, Scores: s.recorded.scores[i], Deleted: t.Deleted},
		replay: s, id: s.base + i, layers: layers, strategy: s.strategy,
		hooks: t.hooks, family: family{child: -1}, mail: mail{t.inbox[:0], t.mailbox[:0]}, gap: gap{wakes: t.wakes[:0]},
		fetch: t.fetch, hidden: t.hidden, carried: t.carried,
	}
	t.fetch.Begin(&s.fetch, &t.Course, &t.tally)
	t.tally.Bind(&s.counter)
	t.Deleted.Reset()
	t.hidden.Reset()
	t.carried.CopyFrom(&strategies.Carried{})
	t.hidden.Bind(&s.hidden, &t.Course)
	t.Context.Reset(s.session.Blocks, &s.arena)
	t.head.Begin(t.Trace, i)
	t.head.Bind(&s.heads, &t.Course)
}

// start begins a thread: its prefix, or its parent's context as it was at its
// branch or fork.
func (t *thread) start() {
	s, l := t.replay, t.replay.loop
	if !t.Forked && t.Trace.Kind != traces.ThreadBranch { // spawn has given forks and branches their context
		t.Context.AppendRange(prompt.Ref(t.Trace.Prefix.From), prompt.Ref(t.Trace.Prefix.To))
		t.TTL = t.head.LayOut()
	}
	if t.Trace.Kind != traces.ThreadBranch { // it goes on from its parent's last response
		t.LastEnd = l.clock.now
	}
	s.open++
	s.user.Live[s.ordinal] = true
	l.spawn(t, -1)
	if len(t.Trace.Rounds) == 0 {
		l.end(t)
		return
	}
	given := t.Context.Len()
	for _, h := range t.hooks.starting {
		l.refresh(t)
		l.takeFinal(t, h.layer, "thread_start", h.do.ThreadStart(&l.turn))
	}
	for i := given; i < t.Context.Len(); i++ {
		t.tally.Add(t.Context.BlockAt(i))
	}
	if t.Trace.Kind == traces.ThreadMain {
		t.head.ShowSections() // nothing was sent so far: the prompt is rendered as things are now
	}
	t.setTimers()
	l.clock.schedule(l.clock.now+t.Trace.Rounds[0].Wait, eventInput, t.id)
}

// spawn schedules the children that start from a round of their parent. A
// branch takes its parent's context and layer state as they are at that point,
// and so does a sub-agent that a layer forks.
func (l *Loop) spawn(t *thread, round int32) {
	s := t.replay
	for t.child >= 0 && s.session.Threads[t.child].ParentRound <= round {
		c := t.child
		t.child = s.children[c]
		child := &s.threads[c]
		switch {
		case child.Trace.Kind == traces.ThreadBranch:
			child.branch(t)
		case child.Agent():
			t.running++
			if child.forks(t) {
				child.branch(t)
				child.Forked = true
			}
		}
		s.due++
		l.clock.schedule(l.clock.now+child.Trace.Delay, eventStart, child.id)
	}
}

// forks reports whether a layer of a sub-agent wants it to have its parent's context.
func (t *thread) forks(parent *thread) bool {
	l := t.replay.loop
	return slices.ContainsFunc(t.hooks.forks, func(h hook[strategies.Fork]) bool {
		l.refresh(t)
		l.turn.Forked = parent.Forked
		return h.do.Fork(&l.turn)
	})
}

// branch makes t go on from its parent as the parent is: context, layers, and what the parent knows.
func (t *thread) branch(parent *thread) {
	t.Context.Branch(&parent.Context)
	for i, layer := range parent.layers {
		t.layers[i] = layer.Clone()
	}
	t.hooks.bind(t.layers, t.strategy.Bars())
	t.tally, t.Since = parent.tally, parent.Since
	t.TTL, t.Chain = parent.TTL, parent.Chain
	t.hidden.Inherit(&parent.hidden)
	t.head.Inherit(&parent.head)
	t.balance.Inherit(&parent.balance)
	t.fetch.Inherit(&parent.fetch)
	t.Deleted.Inherit(&parent.Deleted)
	t.Usage, t.Gone, t.LastEnd, t.idle = parent.Usage, parent.Gone, parent.LastEnd, parent.idle
	t.carried.CopyFrom(&parent.carried)
}

// hear appends a round's input.
func (t *thread) hear() {
	if t.heard++; t.unread > 0 && t.reports(t.Current()) {
		t.unread--
	}
	if t.Event < len(t.Trace.Events) {
		t.forget()
	}
	t.head.Part()
	t.inbox = append(t.inbox, t.head.Change(t.replay.now(t.replay.loop.clock.now))...)
	t.fetch.TakeInput()
	if len(t.inbox)+len(t.mailbox) > 0 {
		t.open()
	}
}

// outputTools are the tools that return what a sub-agent in the background has done.
var outputTools = []string{"TaskOutput", "AgentOutputTool"}

// reports reports whether the input of a round tells of a sub-agent that worked in the background:
// a notice from the sub-agent, or what it did.
func (t *thread) reports(r *traces.Round) bool {
	if r.Signs.Has(signs.Notice) {
		return true
	}
	s := t.replay.session
	return slices.ContainsFunc(s.Blocks[r.Input.From:r.Input.To], func(b prompt.Block) bool {
		return b.Kind == prompt.KindToolResult && int(b.Tool) < len(s.Tools) && slices.Contains(outputTools, s.Tools[b.Tool])
	})
}

// forget leaves out of the context what the provider leaves out by itself at
// this round: the reasoning of finished turns. As the agent has no part in it,
// it happens under every strategy, to the reasoning that is left.
func (t *thread) forget() {
	for i := t.Event; i < len(t.Trace.Events) && t.Trace.Events[i].Round <= t.Round; i++ {
		if ev := &t.Trace.Events[i]; ev.Kind == traces.EventForget {
			forgetBlocks(&t.Context, ev)
			t.hidden.MoveFound(ev)
		}
	}
}

// forgetBlocks takes the tokens of an event's blocks out of a context. When all the blocks are
// there and the recording lost more, the rest comes off what follows the first of them, as what lies ahead was read again: where
// only replies are counted, the size of their reasoning is an estimate. It comes off what no line shows first (results of tools the
// provider runs itself), else off any message, newest first.
func forgetBlocks(c *prompt.Context, ev *traces.Event) {
	left, found, at := ev.Saved, 0, c.Len()
	for i := c.Len() - 1; i >= 0 && found < len(ev.Cleared); i-- {
		e := c.At(i)
		if e.Block < 0 {
			continue
		}
		if _, ok := slices.BinarySearch(ev.Cleared, int32(e.Block)); ok {
			left -= e.Tokens
			c.SetForm(i, prompt.FormCleared, 0, prompt.CauseEdit)
			found, at = found+1, i
		}
	}
	if found < len(ev.Cleared) {
		return
	}
	for _, first := range []int{at, c.Messages()} {
		for _, unseen := range []bool{true, false} {
			for i := c.Len() - 1; i >= first && left > 0; i-- {
				e := c.At(i)
				if take := min(left, e.Tokens-1); take > 0 && (!unseen || e.Kind == prompt.KindUnseen) {
					c.SetForm(i, prompt.FormCleared, e.Tokens-take, prompt.CauseEdit)
					left -= take
				}
			}
		}
	}
}

// open delivers the messages that other threads have posted.
func (t *thread) open() {
	if t.Current().Trigger == traces.TriggerPrompt {
		t.inbox, t.mailbox = append(t.inbox, t.mailbox...), t.mailbox[:0]
	}
	for _, tokens := range t.inbox {
		b := client.Injected(prompt.KindAttachment, "message", tokens)
		b.Digest = b.Digest.ExtendInt(uint64(t.Index)<<32 | uint64(t.Round))
		t.Context.Add(b)
		t.tally.Add(&b)
		t.replay.book.Row.Figures[measures.AgentMessages]++
	}
	t.inbox = t.inbox[:0]
}

// end ends a thread after its last response.
func (l *Loop) end(t *thread) {
	for _, h := range t.hooks.ending {
		l.refresh(t)
		l.takeFinal(t, h.layer, "thread_end", h.do.ThreadEnd(&l.turn))
	}
	t.ended = true
	t.replay.due--
	if p := t.Trace.Parent; p >= 0 && t.Agent() {
		parent := &t.replay.threads[p]
		parent.running--
		if t.Trace.ParentRound < parent.heard-1 { // the input behind its launch has come without its result
			parent.unread++
		}
	}
	if t.replay.open--; t.replay.open == 0 {
		t.replay.user.Live[t.replay.ordinal] = false
	}
	if !l.sides.Of(t.id) {
		t.Context.Release() // for branches
	}
}

// cutOff ends a conversation before its request. A sub-agent's conversation ends alone:
// its parent goes on with the recorded results.
func (l *Loop) cutOff(t *thread) {
	t.noteLevels(false)
	t.replay.cut = true
	l.end(t)
}
