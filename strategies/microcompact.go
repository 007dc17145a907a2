package strategies

import (
	"fmt"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/strategies/standard"
	"github.com/compactsim/compactsim/traces"
)

// microcompactParams are the parameters of microcompact. Sizes are tokens.
type microcompactParams struct {
	Switch      `yaml:",inline"`
	Trigger     Trigger   `yaml:"trigger" doc:"level from which tool results are looked at, before any request"`
	Subagents   bool      `yaml:"subagents" doc:"sub-agents clear too"`
	Tools       toolNames `yaml:"tools" doc:"tools whose results may be cleared, by name or operation, or all; tools of MCP never are"`
	KeepLast    int       `yaml:"keep_last" doc:"newest calls of these tools whose results stay" unit:"calls" min:"0"`
	Threshold   int64     `yaml:"threshold" doc:"tokens of such results to come down to" unit:"tokens" min:"1"`
	From        int64     `yaml:"from" doc:"tokens of such results that must be exceeded before any is cleared" unit:"tokens" min:"0" off:"0"`
	MinSaved    int64     `yaml:"min_saved" doc:"tokens below which a clearing is not worth it" unit:"tokens" min:"0"`
	Count       countWay  `yaml:"count" doc:"how a result's tokens are counted: estimate (a quarter of its bytes, not padded) or true"`
	Placeholder int32     `yaml:"placeholder" doc:"tokens of the text in the place of a cleared result" unit:"tokens" min:"0"`
	Pending     bool      `yaml:"count_pending_clears" doc:"a clearing lowers the client's count at once, not with the next response"`
	Persist     bool      `yaml:"persist" doc:"the original is saved, so that it can be read again"`
	Memory      bool      `yaml:"clear_memory" doc:"a clearing takes attached memory files before the kept results with it"`
}

// countWay is how a client counts the tokens of a tool result.
type countWay bool

// The two counts.
const (
	countEstimate countWay = false
	countTrue     countWay = true
)

// Names returns the names used in YAML, by value.
func (countWay) Names() []string { return []string{"estimate", "true"} }

// Rules returns contradictions between the parameters.
func (p *microcompactParams) Rules() []error { return p.Tools.required("tools") }

// ValidateFor returns what is wrong with the parameters at a window.
func (p *microcompactParams) ValidateFor(r *Reading) []error {
	var errs []error
	if p.Threshold >= r.Window {
		errs = append(errs, fmt.Errorf("threshold %d is not below the window of %d", p.Threshold, r.Window))
	}
	if p.MinSaved >= r.Window {
		errs = append(errs, fmt.Errorf("min_saved %d is not below the window of %d", p.MinSaved, r.Window))
	}
	return errs
}

// Fires returns the trigger.
func (p *microcompactParams) Fires() *Trigger { return &p.Trigger }

func (p *microcompactParams) level() Trigger { return p.Trigger }

var microcompactDefinition = Define(standard.Microcompact,
	"clears the results of old tool calls in place, without a model call",
	microcompactParams{
		Switch: on, Subagents: true, KeepLast: 3, Threshold: 40000, MinSaved: 20000, Placeholder: 12, Pending: true,
		Tools: compactable(),
	},
	func(p microcompactParams) Layer {
		return &microcompact{params: p, results: newClearables(p.Tools)}
	}).with(Traits{Clears: true, Polls: []string{"trigger", "keep_last", "threshold", "min_saved"}})

// microcompact is the state of the layer on one thread: the calls looked at so far whose results
// are not cleared, and storage.
type microcompact struct {
	params  microcompactParams
	results clearables
	marked  []clearable
}

var (
	_ BeforeRequest = (*microcompact)(nil)
	_ Choosy        = (*microcompact)(nil)
)

func (l *microcompact) Name() string { return standard.Microcompact }

func (l *microcompact) Clone() Layer {
	return &microcompact{params: l.params, results: l.results.clone()}
}

func (l *microcompact) Copy() Layer { return l.Clone() }

func (l *microcompact) adopt(params any) { l.params = *params.(*microcompactParams) }

func (l *microcompact) Unfit(s *traces.Session) string { return l.params.Tools.unfit(s) }

func (l *microcompact) Reset() { l.results.reset() }

func (l *microcompact) BeforeRequest(t *Turn) Outcome {
	switch {
	case isAgent(t.Kind) && !l.params.Subagents:
		return Outcome{Declined, "sub-agents do not clear"}
	case !t.Check(standard.Microcompact, &l.params.Trigger):
		return Outcome{Declined, "below the trigger"}
	}
	l.results.update(t)
	if out := l.mark(t); out.Reason != "" {
		return out
	}
	l.results.refresh(t) // for what others have cleared
	if out := l.mark(t); out.Reason != "" {
		return out
	}
	l.clear(t)
	return Outcome{Verdict: Done}
}

// count returns the tokens of a result as the layer counts them.
func (l *microcompact) count(r *clearable) int64 {
	if l.params.Count == countTrue {
		return int64(r.tokens)
	}
	return r.estimate
}

// mark walks the calls oldest first, the newest kept aside, and marks the
// results to clear, or says why none are. The test precedes each addition
// (001:914-941), and kept results count in the total.
func (l *microcompact) mark(t *Turn) Outcome {
	if t.Kin != nil {
		type answer struct {
			Outcome
			marked int
		}
		poll(t.Kin, standard.Microcompact, func(p *microcompactParams) answer { return answer{l.markUnder(p), len(l.marked)} })
	}
	return l.markUnder(&l.params)
}

// markUnder is mark under given parameters.
func (l *microcompact) markUnder(p *microcompactParams) Outcome {
	total, saved := l.results.estimate, int64(0)
	if l.params.Count == countTrue {
		total = l.results.tokens
	}
	l.marked = l.marked[:0]
	if total <= p.From {
		return Outcome{Declined, belowThreshold}
	}
	for _, r := range l.results.older(p.KeepLast) {
		if total-saved <= p.Threshold {
			break
		}
		if r.id >= 0 {
			l.marked = append(l.marked, r)
			saved += l.count(&r)
		}
	}
	switch {
	case len(l.marked) == 0:
		return Outcome{Declined, belowThreshold}
	case saved < p.MinSaved:
		return Outcome{Declined, "too little to save"}
	}
	return Outcome{}
}

const belowThreshold = "tool results below the threshold"

// clear replaces the marked results by the placeholder.
func (l *microcompact) clear(t *Turn) {
	c := t.Context
	b := Boundary{Kind: BoundaryMicro, Before: int64(c.Tokens()), Cleared: len(l.marked)}
	form := prompt.FormCleared
	if l.params.Persist {
		form = prompt.FormPointer
	}
	for _, r := range l.marked {
		c.SetForm(r.at, form, l.params.Placeholder, prompt.CauseEdit)
		if l.params.Pending {
			b.Uncounted += l.count(&r)
		}
	}
	if l.params.Memory {
		l.clearMemory(c, l.marked[len(l.marked)-1].at)
	}
	b.After = int64(c.Tokens())
	t.Compacted(b)
	l.results.forget()
}

// clearMemory empties the memory files attached before position to.
func (l *microcompact) clearMemory(c *prompt.Context, to int) {
	for i := Body(c); i < to; i++ {
		if e := c.At(i); e.Form == prompt.FormVerbatim && c.Block(e.Block).Flags&prompt.FlagMemory != 0 {
			c.SetForm(i, prompt.FormCleared, l.params.Placeholder, prompt.CauseEdit)
		}
	}
}
