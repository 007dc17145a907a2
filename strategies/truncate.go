package strategies

import "github.com/compactsim/compactsim/sim/prompt"

// truncateParams are the parameters of truncate-oldest.
type truncateParams struct {
	Switch  `yaml:",inline"`
	Trigger Trigger `yaml:"trigger" doc:"starts a truncation, ahead of any request"`
	Target  float64 `yaml:"target" doc:"share of the trigger's value to come down to, between 0 and 1" unit:"share" above:"0" below:"1"`
}

// Fires returns the trigger.
func (p *truncateParams) Fires() *Trigger { return &p.Trigger }

// truncateName is the registry's name of the layer.
const truncateName = "truncate-oldest"

var truncateDefinition = Define(truncateName,
	"drops the oldest API rounds, results with their calls, when the context passes the trigger",
	truncateParams{Switch: on, Target: 0.5},
	func(p truncateParams) Layer { return &truncate{params: p} }).with(Traits{Compacts: true})

type truncate struct{ params truncateParams }

func (l *truncate) Name() string { return truncateName }
func (l *truncate) Clone() Layer { c := *l; return &c }
func (l *truncate) Copy() Layer  { return l.Clone() }
func (l *truncate) Reset()       {}

func (l *truncate) BeforeRequest(t *Turn) Outcome {
	if !t.Check(truncateName, &l.params.Trigger) {
		return Outcome{Declined, "below the trigger"}
	}
	limit, _ := l.params.Trigger.Value(&t.Reading)
	return l.cut(t, int64(l.params.Target*float64(limit)))
}

func (l *truncate) PromptTooLong(t *Turn) Outcome {
	return l.cut(t, int64(l.params.Target*float64(t.Reading.Window)))
}

// cut drops whole rounds from the front until the context holds at most target
// tokens. The first user message stays, as the API demands one in front, and
// so does the newest round.
func (l *truncate) cut(t *Turn, target int64) Outcome {
	c := t.Context
	total := int64(c.Tokens())
	from := Body(c)
	for from < c.Len() && !c.At(from).Kind.Assistant() {
		from++
	}
	to, left := from, total
	for left > target {
		next := nextRound(c, to)
		if next >= c.Len() {
			break
		}
		left -= tokensBetween(c, to, next)
		to = next
	}
	if to == from {
		return Outcome{Declined, "nothing older than the newest round"}
	}
	before := total
	c.Replace(from, to, nil, prompt.CauseEdit)
	t.Compacted(Boundary{Before: before, After: int64(c.Tokens()), Kind: boundaryTruncate})
	return Outcome{Verdict: Done}
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
