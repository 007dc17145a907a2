package strategies

import (
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/strategies/standard"
)

// truncateParams are the parameters of truncate-oldest.
type truncateParams struct {
	Switch  `yaml:",inline"`
	Trigger Trigger     `yaml:"trigger" doc:"starts a truncation, before any request"`
	When    when        `yaml:"when" doc:"further conditions"`
	Target  float64     `yaml:"target" doc:"share of the trigger's value to come down to, above 0 and at most 1, where keep names no newest messages and the trigger counts tokens" unit:"share" above:"0" max:"1"`
	Rounds  float64     `yaml:"rounds" doc:"come down further, so that as many rounds fit as the context has grown by since it was last cut, on average; 0 for the target alone" min:"0" max:"10000" off:"0"`
	Keep    KeepSet     `yaml:"keep" doc:"messages that stay; the first prompt does, unless first says how many messages"`
	Middle  bool        `yaml:"middle" doc:"drops from the middle of what may go, not from its front"`
	Single  bool        `yaml:"single" doc:"drops single messages around the middle, the first prompt too, and parts calls and results, which providers refuse: such requests are counted among the reasons" needs:"middle"`
	Opening bool        `yaml:"opening" doc:"the first prompt goes like any message"`
	Least   int         `yaml:"least" doc:"messages that go at the least where a prompt is refused and keep.at_prompt says where what stays begins; what is refused even so goes to all layers again" unit:"messages" min:"0" off:"0"`
	Persist persistence `yaml:"persist" doc:"always: what was dropped is gone; never: each request has a copy of its own, and the trigger measures the history whole; run: the same within a loop, whose last copy stays" off:"always"`
}

// Fires returns the trigger, nil where a refusal takes its place.
func (p *truncateParams) Fires() *Trigger { return p.When.trigger(&p.Trigger) }

// truncateName is the registry's name of the layer.
const truncateName = "truncate-oldest"

var truncateDefinition = Define(truncateName,
	"drops the oldest API rounds, results with their calls, when the context passes the trigger",
	truncateParams{Switch: on, When: unconditional, Target: 0.5},
	func(p truncateParams) Layer { return &truncate{params: p} }).with(Traits{Compacts: true})

// truncate is the state of the layer on one thread.
type truncate struct {
	params truncateParams
	left   int64 // size of the context after the last cut, tokens
	undo   undo  // of what was dropped for one request alone
}

var (
	_ BeforeRequest      = (*truncate)(nil)
	_ AfterResponse      = (*truncate)(nil)
	_ PromptTooLong      = (*truncate)(nil)
	_ EndOfLoop          = (*truncate)(nil)
	_ AutoThreshold      = (*truncate)(nil)
	_ standard.Parting   = (*truncate)(nil)
	_ standard.Insisting = (*truncate)(nil)
)

func (l *truncate) Parts() (pairs, opening bool) { return l.single(), l.params.Opening }

// single reports whether single messages go, as they do around the middle alone.
func (l *truncate) single() bool { return l.params.Single && l.params.Middle }

func (l *truncate) Name() string { return truncateName }
func (l *truncate) Clone() Layer { return &truncate{params: l.params, left: l.left} }
func (l *truncate) Copy() Layer  { c := *l; c.undo = l.undo.clone(); return &c }
func (l *truncate) Reset()       { l.left = 0; l.undo.forget() }

func (l *truncate) BeforeRequest(t *Turn) Outcome {
	l.undo.restore(t)
	if !l.params.When.fires(t, truncateName, &l.params.Trigger, false) {
		return Outcome{Declined, "below the trigger"}
	}
	limit, _ := t.value(&l.params.Trigger)
	if m := l.params.Trigger.Measure; !m.tokens() && m != measureSince {
		limit = t.window()
	}
	target := l.params.Target * float64(limit)
	if n := t.Reading.Values[MeasureRounds]; l.params.Rounds > 0 && n > 0 {
		grown := float64(int64(t.Context.Tokens())-l.left) / float64(n)
		target = min(target, float64(limit)-l.params.Rounds*grown)
	}
	return l.cut(t, l.size(t)-int64(target))
}

// size returns what the context comes to by the count that the target is a share of, tokens.
func (l *truncate) size(t *Turn) int64 {
	if l.params.Trigger.Measure == measureSince {
		return t.measured(&l.params.Trigger)
	}
	return int64(t.Context.Tokens())
}

// AfterResponse ends the request's own copy of the history. Where the last one stays, it does behind a response without calls.
func (l *truncate) AfterResponse(t *Turn) Outcome {
	if l.params.Persist == persistRun && callsOfResponse(t.Context) == 0 {
		l.undo.forget()
	}
	l.undo.restore(t)
	return Outcome{Declined, "a response"}
}

// EndOfLoop truncates where the conditions are looked at there.
func (l *truncate) EndOfLoop(t *Turn) Outcome {
	if l.params.When.At != atEnd || !l.params.When.fires(t, truncateName, &l.params.Trigger, true) {
		return Outcome{Declined, "below the trigger"}
	}
	return l.cut(t, l.overWindow(t))
}

func (l *truncate) PromptTooLong(t *Turn) Outcome {
	l.undo.restore(t)
	c, k := t.Context, &l.params.Keep
	if n := l.params.Least; n > 0 && k.AtPrompt != cutAnywhere {
		from := Body(c)
		at := max(k.limit(c, from, from, c.Len(), t.window()), skipMessages(c, from, c.Len(), n))
		return l.drop(t, from, k.AtPrompt.of(c, from, at, c.Len()))
	}
	return l.cut(t, l.overWindow(t))
}

func (l *truncate) Insists() bool { return l.params.Least > 0 }

// overWindow returns the tokens above the target's share of the window.
func (l *truncate) overWindow(t *Turn) int64 {
	return int64(t.Context.Tokens()) - int64(l.params.Target*float64(t.window()))
}

// cut drops whole rounds from the front until excess tokens are gone, or those before what is kept. The first user message
// stays, as the API demands one in front, and so does the newest round. Where it may go, all does before the newest messages that stay.
func (l *truncate) cut(t *Turn, excess int64) Outcome {
	c, k := t.Context, &l.params.Keep
	from := Body(c)
	switch {
	case k.AtPrompt != cutAnywhere, l.params.Opening && k.newest():
		return l.drop(t, from, k.cut(c, from, c.Len(), t.window()))
	case l.single():
		return l.dropSingle(t, from, excess)
	case k.First > 0:
		from = k.start(c, from, c.Len())
	}
	for !l.params.Opening && from < c.Len() && !c.At(from).Kind.Assistant() {
		from++
	}
	end := c.Len()
	if k.newest() {
		end, excess = k.cut(c, from, c.Len(), t.window()), int64(c.Tokens())
	}
	if l.params.Middle {
		from = middle(c, from, end, excess)
	}
	to := from
	for excess > 0 {
		next := nextRound(c, to)
		if next >= c.Len() || next > end {
			break
		}
		excess -= tokensBetween(c, to, next) + l.params.Trigger.PerMessage*int64(countMessages(c, to, next))
		to = next
	}
	return l.drop(t, from, to)
}

// dropSingle drops the message in the middle of those from a position on, and again of the rest, until excess tokens are gone: what goes is
// one piece around the middle. The newest message stays.
func (l *truncate) dropSingle(t *Turn, from int, excess int64) Outcome {
	c := t.Context
	ahead := countMessages(c, from, c.Len()) / 2 // that stay in front
	behind := countMessages(c, from, c.Len()) - ahead
	low := skipMessages(c, from, c.Len(), ahead)
	high := low
	for excess > 0 && behind > 1 {
		if (ahead+behind)/2 == ahead {
			next := skipMessages(c, high, c.Len(), 1)
			excess -= tokensBetween(c, high, next)
			high, behind = next, behind-1
			continue
		}
		before := startOfMessage(c, low-1, from)
		excess -= tokensBetween(c, before, low)
		low, ahead = before, ahead-1
	}
	if parts(c, low, high) {
		t.Refuse(truncateName, "a call and its result are parted: providers refuse the request")
	}
	return l.drop(t, low, high)
}

// parts reports whether a call or a result among the entries [from, to) has its counterpart outside.
func parts(c *prompt.Context, from, to int) bool {
	for i := from; i < to; i++ {
		switch e, b := c.At(i), c.BlockAt(i); {
		case b.Call == 0:
		case e.Kind == prompt.KindToolResult && callBefore(c, i, from) < 0, e.Kind == prompt.KindToolUse && resultBehind(c, i, to):
			return true
		}
	}
	return false
}

// resultBehind reports whether the result of the call at a position is at or behind another position.
func resultBehind(c *prompt.Context, call, from int) bool {
	for i := from; i < c.Len(); i++ {
		if c.At(i).Kind == prompt.KindToolResult && c.BlockAt(i).Call == c.BlockAt(call).Call {
			return true
		}
	}
	return false
}

// drop takes the entries [from, to) out.
func (l *truncate) drop(t *Turn, from, to int) Outcome {
	c := t.Context
	if to <= from {
		return Outcome{Declined, "nothing older than the newest round"}
	}
	total := int64(c.Tokens())
	copied := l.params.Persist != persistAlways && to < c.Len()
	if copied {
		l.undo.take(c, from, to)
	}
	c.Replace(from, to, nil, prompt.CauseEdit)
	if copied {
		if l.undo.mark(c, from, 0); t.InputAt >= to {
			t.InputAt -= to - from
		}
	}
	l.left = int64(c.Tokens())
	t.Compacted(Boundary{Before: total, After: l.left, Kind: boundaryTruncate})
	return Outcome{Verdict: Done}
}

// middle returns the round from which excess tokens go, so that as much stays before them as
// behind them.
func middle(c *prompt.Context, from, end int, excess int64) int {
	before := (tokensBetween(c, from, end) - excess) / 2
	for i := from; i < end; {
		next := nextRound(c, i)
		if before -= tokensBetween(c, i, next); before < 0 || next >= end {
			return i
		}
		i = next
	}
	return from
}

// AutoThreshold returns the level of the trigger: a client that drops messages
// by itself shows what is left until it does.
func (l *truncate) AutoThreshold(t *Turn) (int64, bool) {
	tr := &l.params.Trigger
	if !tr.Measure.tokens() {
		return 0, false
	}
	return t.value(tr)
}
