package strategies

import (
	"fmt"
	"math"
	"time"

	"github.com/compactsim/compactsim/sim/prompt"
)

// TimeClearParams are the parameters of time-microcompact.
type TimeClearParams struct {
	Switch      `yaml:",inline"`
	GapMinutes  int64    `yaml:"gap_minutes" doc:"minutes since the last response from which on results are cleared"`
	ColdOnly    bool     `yaml:"cold_only" doc:"clear only when the lifetime of the cache has passed too; off, the gap alone decides"`
	Subagents   bool     `yaml:"subagents" doc:"sub-agents clear too; assumed"`
	Tools       []string `yaml:"tools" doc:"tools whose results may be cleared; those of MCP never are"`
	KeepRecent  int      `yaml:"keep_recent" doc:"newest results of these tools that stay; at least 1 does"`
	Placeholder int32    `yaml:"placeholder" doc:"tokens of the text in the place of a cleared result"`
	Pending     bool     `yaml:"count_pending_clears" doc:"a clearing lowers the client's count at once, not with the next response; assumed"`
}

// maxMinutes is the longest time that a count of nanoseconds holds, 292 years.
const maxMinutes = math.MaxInt64 / int64(time.Minute)

// Validate returns what is wrong with the parameters.
func (p *TimeClearParams) Validate() []error {
	errs := negatives(p)
	if p.GapMinutes == 0 {
		errs = append(errs, fmt.Errorf("gap_minutes 0 must be positive"))
	}
	if p.GapMinutes > maxMinutes {
		errs = append(errs, fmt.Errorf("gap_minutes %d must be at most %d", p.GapMinutes, maxMinutes))
	}
	if len(p.Tools) == 0 {
		errs = append(errs, fmt.Errorf("tools: none may be cleared"))
	}
	return errs
}

// trigger is the gap as a condition.
func (p *TimeClearParams) trigger() Trigger {
	return Trigger{Measure: MeasureIdle, Fixed: p.GapMinutes * int64(time.Minute)}
}

// TimeClearName is the registry's name of the layer.
const TimeClearName = "time-microcompact"

var timeClearDefinition = Define(TimeClearName,
	"clears the results of old tool calls in place after a gap in which the cache has grown cold",
	TimeClearParams{Switch: on, GapMinutes: 60, Subagents: true, Tools: compactable(), KeepRecent: 5, Placeholder: 12, Pending: true},
	func(p TimeClearParams) Layer {
		return &timeClear{params: p, gap: p.trigger(), results: newClearables(p.Tools)}
	})

// timeClear is the state of the layer on one thread: only storage, as what was
// cleared shows in the context.
type timeClear struct {
	params  TimeClearParams
	gap     Trigger
	results clearables
}

func (l *timeClear) Name() string { return TimeClearName }

func (l *timeClear) Clone() Layer {
	return &timeClear{params: l.params, gap: l.gap, results: newClearables(l.params.Tools)}
}

func (l *timeClear) Reset() { l.results.reset() }

func (l *timeClear) BeforeRequest(t *Turn) Outcome {
	switch {
	case t.Usage.Input() == 0:
		return Outcome{Declined, "no response so far"}
	case isAgent(t.Kind) && !l.params.Subagents:
		return Outcome{Declined, "sub-agents do not clear"}
	case !t.Check(TimeClearName, &l.gap):
		return Outcome{Declined, "the gap is too short"}
	case l.params.ColdOnly && t.Warm():
		return Outcome{Declined, "the cache is warm"}
	}
	l.results.relist(t)
	old := l.results.olderResults(max(1, l.params.KeepRecent))
	b := clearResults(t, old, prompt.FormCleared, l.params.Placeholder)
	if b.Cleared == 0 {
		return t.Refuse(TimeClearName, "nothing old enough to clear")
	}
	if !l.params.Pending {
		b.Uncounted = 0
	}
	t.Compacted(b)
	return Outcome{Verdict: Done}
}

// clearResults changes listed results, whose positions must hold, to another
// form, and returns what that did. A result that is smaller than the text in its
// place is cleared all the same, as the client does. One that was deleted from
// the cached prefix is not in the client's count; its deletion ends.
func clearResults(t *Turn, old []clearable, form prompt.Form, tokens int32) Boundary {
	c := t.Context
	b := Boundary{Kind: BoundaryMicro, Before: int64(c.Tokens())}
	for i := range old {
		r := &old[i]
		if r.id < 0 {
			continue
		}
		if t.IsDeleted(r.id) {
			t.Undelete(r.id)
		} else {
			b.Uncounted += r.estimate
		}
		c.SetForm(r.at, form, tokens, prompt.CauseEdit)
		b.Cleared++
	}
	b.After = int64(c.Tokens())
	return b
}
