package sim

import (
	"context"
	"slices"

	"github.com/compactsim/compactsim/sim/client"
	"github.com/compactsim/compactsim/sim/internal/account"
	"github.com/compactsim/compactsim/sim/internal/caches"
	"github.com/compactsim/compactsim/sim/internal/fetch"
	"github.com/compactsim/compactsim/sim/internal/side"
	"github.com/compactsim/compactsim/sim/internal/verify"
	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/strategies/standard"
	"github.com/compactsim/compactsim/traces"
)

// Loop simulates one cohort of sessions at a time under one configuration. It
// keeps its storage between cohorts, so that a steady run allocates nothing. A
// Loop is not safe for concurrent use.
type Loop struct {
	desk       // turn and host, which layers see (turn.go)
	verdict    // err and failing, which end the run (verdict.go)
	config     Config
	assembly   *Assembly // of sessions whose person has none
	clock      clock
	seats      // cohort, replays and threads (cohort.go)
	wire       // flights, and the request that is sent (flight.go)
	breaks     detection
	sides      side.Calls
	caches     caches.Set
	models     account.Numbers
	users      users
	rows       []results.Row
	alone      [1]*traces.Session
	group      []*traces.Session // the cohort under way
	ctx        context.Context   // ends a simulation and what it waits for; nil for never
	composer   Composer          // the summariser, when it wants to see calls
	forks      *forks            // what goes on where strategies part; nil for a run that cannot be copied
	related    map[int]related   // by generation, of the cells of a group
	recordings *recordings       // of the batch; nil for a loop by itself
	written    verify.Cohort     // by requests of the cohort; with Verify
}

// NewLoop returns a loop for one configuration.
func NewLoop(c Config) *Loop {
	l := &Loop{config: c, assembly: assemblyOf(&c), models: account.Numbers{}}
	l.composer, _ = c.Summarizer.(Composer)
	l.caches.New = c.Server
	l.turn.Host = &l.host
	return l
}

// Seed has the sessions simulated from now on draw under another seed.
func (l *Loop) Seed(seed uint64) { l.config.Seed = seed }

// Window returns the context window of a model of the first session simulated last, tokens: of its first model for "" and for one that it
// does not have.
func (l *Loop) Window(model string) int64 {
	if len(l.replays) == 0 || l.replays[0] == nil || len(l.replays[0].book.Models.List) == 0 {
		return 0
	}
	list := l.replays[0].book.Models.List
	return list[max(0, slices.IndexFunc(list, func(m account.Model) bool { return m.Name == model }))].Window
}

func (l *Loop) happen(e event) {
	if e.kind == eventBegin {
		e.begin(l)
		return
	}
	of := e.of
	if e.kind == eventFirst || e.kind == eventEnd {
		of = l.flights.list[of].thread
	}
	t := l.threads[of]
	if t == nil {
		return // a timer of a session that is over
	}
	switch s := t.replay; e.kind {
	case eventStart:
		t.start()
	case eventInput:
		l.input(t)
	case eventFirst:
		f := &l.flights.list[e.of]
		s.serve(f.Model) // another thread may have called another model since the call began
		s.server.FirstToken(l.clock.now, f.ticket)
	case eventEnd:
		l.land(e.of)
	case eventTimer:
		l.ring(t, int(e.arg), e.at)
	case eventAwait:
		if t.wait.ends(e.at) {
			l.wake(t)
		}
	}
	if s := t.replay; s.loadedLate && s.due == 0 && l.err == nil {
		s.letGo(l)
	}
}

// input appends a round's input and asks the layers.
func (l *Loop) input(t *thread) {
	if t.held { // a call that a timer made is under way
		t.late, t.heldAt = true, l.clock.now
		return
	}
	t.idle, t.late = false, false
	t.InputAt = t.Context.Len()
	t.hear()
	for t.fetch.Passes() {
		l.spawn(t, t.Round)
		t.fetch.Pass() // raises t.Round: the round goes without a call
		t.hear()
	}
	if b, ok := t.head.Notice(); ok {
		t.Context.Add(b)
		t.tally.Add(&b)
	}
	t.hidden.ApplyUnseen() // what the client changed and no line shows
	t.asking = asking{}
	t.replay.gauge.BeginRound(t.Index)
	t.fetch.BeginRound() // the judge sees the input before a layer edits it
	l.ask(t, 0)
}

// ask calls the layers' BeforeRequest hooks from one on and sends the request
// when none is waiting for a call.
func (l *Loop) ask(t *thread, from int) {
	if kin := l.turn.Kin; kin != nil && kin.Rests() && !t.rouse() { // relate has set the kin, if the run stands for several cells
		return
	}
	for i := from; i < len(t.hooks.before); i++ {
		h := t.hooks.before[i]
		if t.barred>>h.layer&1 != 0 && !t.Manual() {
			continue
		}
		l.refresh(t)
		if l.forks != nil {
			l.partWays(t, i)
		}
		out := h.do.BeforeRequest(&l.turn)
		l.takeOutcome(t, h.layer, "before_request", out)
		l.settle(t, h.layer)
		switch out.Verdict {
		case strategies.Pending:
			l.launch(t, h.layer)
			return
		case strategies.Waiting:
			t.await(i, h.layer)
			return
		}
		t.conclude(h.layer, out)
	}
	if !l.block(t) {
		l.send(t)
	}
}

// takeOutcome takes what a hook answered: it tells the observer, notes it in the row, and launches the calls that the hook asked for in the
// background. What the outcome means for the request is the caller's.
func (l *Loop) takeOutcome(t *thread, layer int, hook string, out strategies.Outcome) {
	t.tellAnswer(l.clock.now, layer, hook, out)
	t.replay.book.Answered(layer, t.layers[layer].Name(), out)
	l.launchBackground(t, layer)
}

// takeFinal takes the answer of a hook that cannot wait for a call.
func (l *Loop) takeFinal(t *thread, layer int, hook string, out strategies.Outcome) {
	l.takeOutcome(t, layer, hook, out)
	l.settle(t, layer)
	if out.Verdict == strategies.Pending || out.Verdict == strategies.Waiting {
		l.breach(t, layer, hook+" cannot wait for a call: only BeforeRequest, PromptTooLong, IntentResult and Timer can")
	}
}

// conclude takes the final answer of a layer before a request: a failure counts, and a
// layer that acted bars those that it excludes until the next request.
func (t *thread) conclude(layer int, out strategies.Outcome) {
	switch out.Verdict {
	case strategies.Failed:
		t.replay.book.Row.Figures[measures.FailedCompactions]++
	case strategies.Done:
		t.barred |= t.hooks.bars[layer]
	}
}

// send assembles the round's request and hands it to the server, or asks the
// layers what to do about one that does not fit the window.
func (l *Loop) send(t *thread) {
	t.Event = t.DueEvents()
	t.head.VaryByRequest() // before the request is weighed
	if !t.hinted && l.hints(t) {
		return
	}
	r, s := t.Current(), t.replay
	// The tail is sent behind the last breakpoint and is no part of the context.
	if excess := t.requestTokens(l.clock.now) + int64(r.Tail) - s.book.Models.Of(t.head.Model()).Room(); excess > 0 {
		if kin := l.turn.Kin; kin != nil && kin.Rests() {
			kin.Part(func(i int) bool { return !kin.Answers(i) }) // ask (rouse) made this test too, but the request has grown by due events: who would answer a refusal goes on alone
		}
		if !t.retried {
			s.book.Row.Figures[measures.Overflows]++
		}
		if l.refused(t, excess) {
			return
		}
		t.overflow = true
		if s.ends {
			l.cutOff(t)
			return
		}
		s.book.Row.Figures[measures.AnsweredOverWindow]++
	}
	t.fetch.Judge() // keeps what the round needs and the context has lost: extend fetches it
	if l.extend(t) {
		return
	}
	output := t.fetch.PlanReply()
	t.TTL = t.head.Renew(r)
	t.noteLevels(true)
	l.fly(t, &call{
		entries: t.Context.Seal(), deletions: t.Deleted.Resolve(&t.Context),
		marks: client.Marks{TTL: t.TTL}, tail: r.Tail, change: t.Context.MarkSent(), model: t.head.Model(), // later edits are changes to what was sent
		answer: prompt.Answer{Output: output, First: r.First, Total: r.Stream},
	})
}

// requestTokens returns what the client expects its next request to weigh,
// tokens: what it has deleted from the cached prefix is left out as long as the
// cache is warm.
func (t *thread) requestTokens(now int64) int64 {
	n := int64(t.Context.Tokens())
	if t.Deleted.Any() && t.Usage.Input() > 0 && now-t.LastEnd <= profile.Life(t.TTL) {
		t.Deleted.Resolve(&t.Context) // Tokens below counts entries that are still there
		n -= t.Deleted.Tokens()
	}
	return n
}

// hints lets the server refuse a request with the hint to clear, if it does so at this
// size and a layer takes hints, and sends it again after the layers' answer. It reports
// whether it did.
func (l *Loop) hints(t *thread) bool {
	at := l.config.HintAt
	if at <= 0 || len(t.hooks.hints) == 0 || t.requestTokens(l.clock.now) < at {
		return false
	}
	t.hinted = true
	t.replay.book.Row.Figures[measures.ServerHints]++
	for _, h := range t.hooks.hints {
		l.refresh(t)
		l.takeFinal(t, h.layer, "server_hint", h.do.ServerHint(&l.turn))
	}
	if l.err == nil {
		l.send(t)
	}
	return true
}

// refused asks the layers about a prompt that is too long, each once a round: a prompt that is still too long goes to the
// layers behind the one that shortened it, or to all layers again if that layer insists. It reports whether a layer took over.
func (l *Loop) refused(t *thread, excess int64) bool {
	t.retried = true
	for t.refusals < len(t.hooks.tooLong) {
		h := t.hooks.tooLong[t.refusals]
		t.refusals++
		l.refresh(t)
		l.turn.Excess = excess
		out := h.do.PromptTooLong(&l.turn)
		l.takeOutcome(t, h.layer, "prompt_too_long", out)
		l.settle(t, h.layer)
		switch out.Verdict {
		case strategies.Pending:
			l.launch(t, h.layer)
			return true
		case strategies.Done:
			if i, ok := h.do.(standard.Insisting); ok && i.Insists() {
				t.refusals = 0
			}
			l.send(t)
			return true
		case strategies.Failed:
			t.replay.book.Row.Figures[measures.FailedCompactions]++
		}
	}
	return false
}

// extend makes a round of its own before the request, if there is something to fetch or the agent takes longer. It
// reports whether it did.
func (l *Loop) extend(t *thread) bool {
	x := t.fetch.Extend()
	if x == (fetch.Extra{}) {
		return false
	}
	t.TTL = t.head.Renew(t.Current())
	l.fly(t, &call{
		extra: x, entries: t.Context.Seal(), deletions: t.Deleted.Resolve(&t.Context),
		marks: client.Marks{TTL: t.TTL}, tail: t.Current().Tail, change: t.Context.MarkSent(), model: t.head.Model(),
		answer: prompt.Answer{Output: x.Output},
	})
	return true
}
