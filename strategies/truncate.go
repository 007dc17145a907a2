package strategies

import "github.com/compactsim/compactsim/sim/prompt"

// truncateParams are the parameters of truncate-oldest.
type truncateParams struct {
	Switch  `yaml:",inline"`
	Trigger Trigger `yaml:"trigger" doc:"starts a truncation, before any request"`
	When    when    `yaml:"when" doc:"further conditions"`
	Target  float64 `yaml:"target" doc:"share of the trigger's value to come down to, between 0 and 1, where keep names no newest messages and the trigger counts tokens" unit:"share" above:"0" below:"1"`
	Rounds  float64 `yaml:"rounds" doc:"come down further, so that as many rounds fit as the context has grown by since it was last cut, on average; 0 for the target alone" min:"0" max:"10000" off:"0"`
	Keep    KeepSet `yaml:"keep" doc:"messages that stay; the first prompt does, unless first says how many messages"`
	Middle  bool    `yaml:"middle" doc:"drops from the middle of what may go, not from its front"`
}

// Fires returns the trigger.
func (p *truncateParams) Fires() *Trigger { return &p.Trigger }

// truncateName is the registry's name of the layer.
const truncateName = "truncate-oldest"

var truncateDefinition = Define(truncateName,
	"drops the oldest API rounds, results with their calls, when the context passes the trigger",
	truncateParams{Switch: on, When: unconditional, Target: 0.5},
	func(p truncateParams) Layer { return &truncate{params: p} }).with(Traits{Compacts: true})

// truncate is the state of the layer on one thread: its size after the last cut, tokens.
type truncate struct {
	params truncateParams
	left   int64
}

var (
	_ BeforeRequest = (*truncate)(nil)
	_ PromptTooLong = (*truncate)(nil)
	_ EndOfLoop     = (*truncate)(nil)
	_ AutoThreshold = (*truncate)(nil)
)

func (l *truncate) Name() string { return truncateName }
func (l *truncate) Clone() Layer { c := *l; return &c }
func (l *truncate) Copy() Layer  { return l.Clone() }
func (l *truncate) Reset()       { l.left = 0 }

func (l *truncate) BeforeRequest(t *Turn) Outcome {
	if !l.params.When.fires(t, truncateName, &l.params.Trigger, false) {
		return Outcome{Declined, "below the trigger"}
	}
	limit, _ := l.params.Trigger.Value(&t.Reading)
	if !l.params.Trigger.Measure.tokens() {
		limit = t.Reading.Window
	}
	target := l.params.Target * float64(limit)
	if n := t.Reading.Values[MeasureRounds]; l.params.Rounds > 0 && n > 0 {
		grown := float64(int64(t.Context.Tokens())-l.left) / float64(n)
		target = min(target, float64(limit)-l.params.Rounds*grown)
	}
	return l.cut(t, int64(target))
}

// EndOfLoop truncates where the conditions are looked at there.
func (l *truncate) EndOfLoop(t *Turn) Outcome {
	if l.params.When.At != atEnd || !l.params.When.fires(t, truncateName, &l.params.Trigger, true) {
		return Outcome{Declined, "below the trigger"}
	}
	return l.cut(t, int64(l.params.Target*float64(t.Reading.Window)))
}

func (l *truncate) PromptTooLong(t *Turn) Outcome {
	return l.cut(t, int64(l.params.Target*float64(t.Reading.Window)))
}

// cut drops whole rounds from the front until the context holds at most target
// tokens, or those before what is kept. The first user message stays, as the API demands one in front, and
// so does the newest round.
func (l *truncate) cut(t *Turn, target int64) Outcome {
	c, k := t.Context, &l.params.Keep
	total := int64(c.Tokens())
	from := Body(c)
	if k.AtPrompt != cutAnywhere {
		return l.drop(t, from, k.cut(c, from, c.Len(), t.Reading.Window))
	}
	if k.First > 0 {
		from = k.start(c, from, c.Len())
	}
	for from < c.Len() && !c.At(from).Kind.Assistant() {
		from++
	}
	end := c.Len()
	if k.newest() {
		end, target = k.cut(c, from, c.Len(), t.Reading.Window), 0
	}
	if l.params.Middle {
		from = middle(c, from, end, total-target)
	}
	to, left := from, total
	for left > target {
		next := nextRound(c, to)
		if next >= c.Len() || next > end {
			break
		}
		left -= tokensBetween(c, to, next)
		to = next
	}
	return l.drop(t, from, to)
}

// drop takes the entries [from, to) out.
func (l *truncate) drop(t *Turn, from, to int) Outcome {
	if to == from {
		return Outcome{Declined, "nothing older than the newest round"}
	}
	c := t.Context
	total := int64(c.Tokens())
	c.Replace(from, to, nil, prompt.CauseEdit)
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
	return tr.Value(&t.Reading)
}
