package sim

import (
	"fmt"

	"github.com/compactsim/compactsim/sim/client"
	"github.com/compactsim/compactsim/sim/draws"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces"
)

// Loop simulates one session at a time under one configuration. It keeps its
// storage between sessions, so that a steady run allocates nothing. A Loop is
// not safe for concurrent use.
type Loop struct {
	config   Config
	server   Server
	clock    clock
	session  *traces.Session
	servers  []agentServer
	client   Client
	count    client.Counting // the client's
	draws    draws.Source
	threads  []thread
	flights  []flight
	free     []int32 // flights not in use
	arena    prompt.Arena
	turn     strategies.Turn
	request  prompt.Request
	markers  []prompt.Marker
	side     prompt.Context // context of a layer's own call
	children []int32        // threads by parent and parent round
	models   models
	row      results.Row
	record   results.CallRecord
	asked    int32  // calls the summariser was asked about
	sides    uint32 // calls that layers made
	ordinal  uint8  // of the layer's call being made
	err      error  // first violated invariant, or contract a layer broke

	// answered are the calls that have a result; filled under Verify only.
	answered map[int32]bool
}

// flight is one call between its request and the end of its response.
type flight struct {
	thread  int32
	layer   int32 // the layer whose intent it is, -1 for the conversation's own call
	ticket  int32
	model   int32
	start   int64
	answer  prompt.Answer
	outcome prompt.Outcome
	context int64
	first   bool
	refused bool // the server gave no answer; ticket and outcome mean nothing
	hidden  bool // a call that no log shows
}

// NewLoop returns a loop for one configuration.
func NewLoop(c Config) *Loop {
	l := &Loop{config: c}
	l.models.prices, l.models.at = c.Prices, c.PricesAt
	return l
}

// Run simulates a session and returns its row. The error wraps ErrInvariant
// when Verify found a violation.
func (l *Loop) Run(s *traces.Session) (results.Row, error) {
	if err := l.reset(s); err != nil {
		return results.Row{}, fmt.Errorf("session %s: %w", s.ID, err)
	}
	for i := range l.threads {
		if s.Threads[i].Parent < 0 {
			l.clock.schedule(s.Threads[i].Delay, eventStart, int32(i))
		}
	}
	for l.err == nil {
		e, ok := l.clock.next()
		if !ok {
			break
		}
		l.happen(e)
	}
	if l.err == nil {
		l.finish()
	}
	if l.err != nil {
		return results.Row{}, fmt.Errorf("session %s under %s: %w", s.ID, l.config.Strategy.Name, l.err)
	}
	return l.row, nil
}

// Window returns the context window of the session's first model, tokens.
func (l *Loop) Window() int64 {
	if len(l.models.list) == 0 {
		return 0
	}
	return l.models.of(0).window
}

func (l *Loop) happen(e event) {
	switch e.kind {
	case eventStart:
		l.start(e.of)
	case eventInput:
		l.input(&l.threads[e.of])
	case eventFirst:
		l.server.FirstToken(l.clock.now, l.flights[e.of].ticket)
	case eventEnd:
		l.land(e.of)
	}
}

// reset makes the loop ready for a session.
func (l *Loop) reset(s *traces.Session) error {
	l.session = s
	l.client = l.config.Client
	if l.client == nil {
		l.client = clientOf(s)
	}
	l.count = l.client.Counting()
	l.clock.reset()
	l.server = l.serverOf(s.Agent)
	l.server.Reset()
	l.arena.Reset()
	l.flights, l.free = l.flights[:0], l.free[:0]
	l.err, l.asked, l.sides = nil, 0, 0
	l.draws = draws.Source{Seed: l.config.Seed, Session: prompt.DigestString(s.ID).Lo}
	l.row = results.Row{Strategy: l.config.Strategy.Name, Session: s.ID, Sessions: 1}
	l.models.reset(s)
	l.nameModels()
	for i := range l.models.list {
		l.models.list[i].window = l.config.window(l.client, s, l.models.list[i].name)
	}
	for len(l.threads) < len(s.Threads) {
		l.threads = append(l.threads, thread{})
	}
	l.threads = l.threads[:len(s.Threads)]
	for i := range l.threads {
		if err := l.prepare(int32(i)); err != nil {
			return err
		}
	}
	l.orderChildren()
	if l.config.Verify {
		l.findAnswered()
	}
	return nil
}

// prepare brings one thread to its initial state.
func (l *Loop) prepare(i int32) error {
	t := &l.threads[i]
	layers := t.layers
	if layers == nil {
		var err error
		if layers, err = l.config.Strategy.Layers(); err != nil {
			return err
		}
		t.hooks.bind(layers, l.config.Strategy.Bars())
	}
	for _, layer := range layers {
		layer.Reset()
	}
	*t = thread{trace: &l.session.Threads[i], index: i, context: t.context, layers: layers, hooks: t.hooks, child: -1}
	t.context.Reset(l.session.Blocks, &l.arena)
	return nil
}

// orderChildren links every thread to its children in the order of the rounds
// they start from. Readers put parents before children.
func (l *Loop) orderChildren() {
	l.children = l.children[:0]
	for range l.threads {
		l.children = append(l.children, -1)
	}
	for i := len(l.threads) - 1; i >= 0; i-- {
		p := l.session.Threads[i].Parent
		if p < 0 {
			continue
		}
		at := &l.threads[p].child
		for *at >= 0 && l.session.Threads[*at].ParentRound < l.session.Threads[i].ParentRound {
			at = &l.children[*at]
		}
		l.children[i] = *at
		*at = int32(i)
	}
}

// start begins a thread: its prefix, or its parent's context as it is now.
func (l *Loop) start(i int32) {
	t := &l.threads[i]
	for b := t.trace.Prefix.From; b < t.trace.Prefix.To; b++ {
		t.context.Append(prompt.Ref(b))
	}
	t.lastEnd = l.clock.now
	l.spawn(t, -1)
	if len(t.trace.Rounds) == 0 {
		return
	}
	for _, h := range t.hooks.starting {
		l.refresh(t)
		l.final(t, h.layer, "thread_start", h.do.ThreadStart(&l.turn))
	}
	l.clock.schedule(l.clock.now+t.trace.Rounds[0].Wait, eventInput, i)
}

// spawn schedules the children that start from a round of their parent. A
// branch takes its parent's context and layer state as they are at that point.
func (l *Loop) spawn(t *thread, round int32) {
	for t.child >= 0 && l.session.Threads[t.child].ParentRound <= round {
		c := t.child
		t.child = l.children[c]
		child := &l.threads[c]
		if child.trace.Kind == traces.ThreadBranch {
			l.branch(t, child)
		}
		l.clock.schedule(l.clock.now+child.trace.Delay, eventStart, c)
	}
}

func (l *Loop) branch(parent, child *thread) {
	child.context.CopyFrom(&parent.context)
	for i, layer := range parent.layers {
		child.layers[i] = layer.Clone()
	}
	child.hooks.bind(child.layers, l.config.Strategy.Bars())
	child.counted, child.trailing, child.rounds = parent.counted, parent.trailing, parent.rounds
	child.ttl, child.chain, child.unlogged = parent.ttl, parent.chain, parent.unlogged
}

// input appends a round's input and asks the layers.
func (l *Loop) input(t *thread) {
	r := t.current()
	if t.event < len(t.trace.Events) {
		l.forget(t)
	}
	t.inputAt = t.context.Len()
	for b := r.Input.From; b < r.Input.To; b++ {
		t.context.Append(prompt.Ref(b))
		t.trailing += l.count.Block(&l.session.Blocks[b])
	}
	t.hear(l.session.Blocks[r.Input.From:r.Input.To])
	t.inputEnd, t.retried, t.barred = l.clock.now, false, 0
	l.ask(t, 0)
}

// ask calls the layers' BeforeRequest hooks from one on and sends the request
// when none is waiting for a call.
func (l *Loop) ask(t *thread, from int) {
	for i := from; i < len(t.hooks.before); i++ {
		h := t.hooks.before[i]
		if t.barred>>h.layer&1 != 0 && !l.manual(t) {
			continue
		}
		l.refresh(t)
		out := h.do.BeforeRequest(&l.turn)
		l.tellAnswer(t, h.layer, "before_request", out)
		l.settle(t, h.layer)
		if out.Verdict == strategies.Pending {
			l.launch(t, h.layer)
			return
		}
		l.conclude(t, h.layer, out)
	}
	l.send(t)
}

// final takes the answer of a hook that cannot wait for a call.
func (l *Loop) final(t *thread, layer int, hook string, out strategies.Outcome) {
	l.tellAnswer(t, layer, hook, out)
	l.settle(t, layer)
	if out.Verdict == strategies.Pending {
		l.fail(t, layer, hook+" cannot wait for a call: only BeforeRequest, PromptTooLong and IntentResult can")
	}
}

// fail ends the run over a layer that breaks its contract.
func (l *Loop) fail(t *thread, layer int, what string) {
	if l.err == nil {
		l.err = fmt.Errorf("thread %d round %d: layer %s %s", t.index, t.round, t.layers[layer].Name(), what)
	}
}

// manual reports whether a person asked for a compaction ahead of the round: no
// layer is barred from carrying that out.
func (l *Loop) manual(t *thread) bool {
	for i := t.event; i < l.dueEvents(t); i++ {
		if e := &t.trace.Events[i]; e.Manual && e.Kind == traces.EventCompact {
			return true
		}
	}
	return false
}

// conclude takes the final answer of a layer ahead of a request: a failure
// counts, and what was done bars the layers it excludes until the next one.
func (l *Loop) conclude(t *thread, layer int, out strategies.Outcome) {
	switch out.Verdict {
	case strategies.Failed:
		l.row.FailedCompaction++
	case strategies.Done:
		t.barred |= t.hooks.bars[layer]
	}
}

// send assembles the round's request and hands it to the server, or asks the
// layers what to do about one that does not fit the window.
func (l *Loop) send(t *thread) {
	t.event = l.dueEvents(t)
	entries := t.context.Seal()
	r := t.current()
	total := int64(t.context.Tokens()) + int64(r.Tail)
	if window := l.models.of(int32(r.Model)).window; total > window {
		if !t.retried {
			l.row.Overflows++
		}
		if l.refused(t, total-window) {
			return
		}
		entries = t.context.Seal()
		t.overflow = true
	}
	l.keepTTL(t, r)
	l.fly(t, -1, entries, client.Marks{TTL: t.ttl}, r.Tail, t.context.Sent(), prompt.Answer{
		Output: int32(r.Usage.Output), First: r.First, Total: r.Stream,
	}, int32(r.Model))
}

// refused asks the layers about a prompt that is too long, once a round. It
// reports whether one of them took over. Without one the request goes out all
// the same: the recording did have an answer.
func (l *Loop) refused(t *thread, excess int64) bool {
	if t.retried {
		return false
	}
	t.retried = true
	for _, h := range t.hooks.tooLong {
		l.refresh(t)
		l.turn.Excess = excess
		out := h.do.PromptTooLong(&l.turn)
		l.tellAnswer(t, h.layer, "prompt_too_long", out)
		l.settle(t, h.layer)
		switch out.Verdict {
		case strategies.Pending:
			l.launch(t, h.layer)
			return true
		case strategies.Done:
			l.send(t)
			return true
		case strategies.Failed:
			l.row.FailedCompaction++
		}
	}
	return false
}

// keepTTL takes the lifetime the recorded client asked for at this call: its
// eligibility, not what the server made of it. A call that wrote nothing keeps
// the lifetime of the one before.
func (l *Loop) keepTTL(t *thread, r *traces.Round) {
	switch {
	case r.Usage.Write1h > 0:
		t.ttl = prompt.TTL1h
	case r.Usage.Write5m > 0:
		t.ttl = prompt.TTL5m
	}
}

// finish completes the row. Every recorded call has been simulated: Verify
// checks it.
func (l *Loop) finish() {
	for i := range l.threads {
		if l.threads[i].overflow {
			l.row.OverWindow = 1
		}
	}
	l.row.Unpriced = l.models.unpriced
	if l.config.Verify {
		l.verifyRow()
	}
}
