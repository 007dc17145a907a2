package strategies

import (
	"time"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
)

// timeClearParams are the parameters of time-microcompact.
type timeClearParams struct {
	Switch      `yaml:",inline"`
	GapMinutes  int64     `yaml:"gap_minutes" doc:"minutes since the last response after which results are cleared" min:"1" max:"153722867"`
	ColdOnly    bool      `yaml:"cold_only" doc:"clear only when the lifetime of the cache has passed too; off, the gap alone decides"`
	Subagents   bool      `yaml:"subagents" doc:"sub-agents clear too; assumed"`
	Tools       toolNames `yaml:"tools" doc:"tools whose results may be cleared, by name or operation, or all; tools of MCP never are"`
	KeepRecent  int       `yaml:"keep_recent" doc:"newest results of these tools that stay; at least 1 does" unit:"results" min:"0"`
	Placeholder int32     `yaml:"placeholder" doc:"tokens of the text in the place of a cleared result" unit:"tokens" min:"0"`
	Pending     bool      `yaml:"count_pending_clears" doc:"a clearing lowers the client's count at once, not with the next response; assumed"`
}

// Rules returns contradictions between the parameters.
func (p *timeClearParams) Rules() []error { return p.Tools.required("tools") }

// level is a longer gap as a condition.
func (p *timeClearParams) level() Trigger {
	return Trigger{Measure: MeasureIdle, Fixed: p.GapMinutes*int64(time.Minute) + 1} // 002:41: longer than the gap
}

// TimeClearName is the registry's name of the layer.
const TimeClearName = "time-microcompact"

var timeClearDefinition = Define(TimeClearName,
	"clears old tool results in place after a gap in which the cache went cold",
	timeClearParams{Switch: on, GapMinutes: 60, Subagents: true, Tools: compactable(), KeepRecent: 5, Placeholder: 12, Pending: true},
	func(p timeClearParams) Layer {
		return &timeClear{params: p, gap: p.level(), results: newClearables(p.Tools)}
	}).with(Traits{Clears: true, Polls: []string{"gap_minutes", "keep_recent"}})

// timeClear is the state of the layer on one thread: only storage, as what was
// cleared shows in the context.
type timeClear struct {
	params  timeClearParams
	gap     Trigger
	results clearables
	due     func(thread, round int32) bool // a schedule that replaces the gap; nil for none
}

var (
	_ BeforeRequest = (*timeClear)(nil)
	_ Choosy        = (*timeClear)(nil)
)

func (l *timeClear) Name() string { return TimeClearName }

func (l *timeClear) Clone() Layer {
	return &timeClear{params: l.params, gap: l.gap, results: newClearables(l.params.Tools), due: l.due}
}

func (l *timeClear) Copy() Layer { return l.Clone() }

func (l *timeClear) adopt(params any) {
	l.params = *params.(*timeClearParams)
	l.gap = l.params.level()
}

func (l *timeClear) Unfit(s *traces.Session) string { return l.params.Tools.unfit(s) }

func (l *timeClear) Reset() { l.results.reset() }

// old returns the listed calls whose results are cleared.
func (l *timeClear) old(p *timeClearParams) []clearable {
	return l.results.olderResults(max(1, p.KeepRecent))
}

func (l *timeClear) BeforeRequest(t *Turn) Outcome {
	if l.due != nil {
		return l.onSchedule(t)
	}
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
	old := l.old(&l.params)
	if t.Kin != nil {
		poll(t.Kin, TimeClearName, func(p *timeClearParams) int { return len(l.old(p)) })
	}
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
