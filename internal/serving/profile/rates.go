package profile

import (
	"fmt"
	"math"
	"slices"

	"github.com/compactsim/compactsim/internal/kit/spec"
)

// Losses are the shares of calls that lost their messages within the lifetime
// for no visible reason, by what the call answers and by the time since the
// last response ended.
type Losses struct {
	Prompt     []GapShare `yaml:"after_prompt,omitempty" min:"0" max:"1"`
	ToolResult []GapShare `yaml:"after_tool_result,omitempty" min:"0" max:"1"`
	Agent      []GapShare `yaml:"in_sub_agent,omitempty" min:"0" max:"1"` // without rows those of ToolResult
}

// GapShare is a share among calls with a gap of at most so many seconds, and
// more than that of the previous row. The last row applies to all longer gaps.
// Rows for late calls of a thread come before the others.
type GapShare struct {
	After    int     `yaml:"after_calls,omitempty" min:"0"` // number of calls of the thread before the call, at least
	Seconds  float64 `yaml:"to_seconds"`
	Estimate `yaml:",inline"`
}

// Case is a call that may lose its read.
type Case struct {
	Version, Model string // of Codex, whose losses depend on them
	// Prompt says that the call answers a person in a main conversation, not only
	// tool results.
	Prompt bool
	// Agent says that it is a call of a sub-agent.
	Agent bool
	// Gap is the time since the thread's last response ended, ns.
	Gap int64
	// Ordinal is the number of earlier calls of the thread.
	Ordinal int
}

// LossRate returns the probability, 0…1, that a call loses the messages it
// would read for no reason that a recording shows. Without rates it is 0.
func (p *Profile) LossRate(c *Case) float64 {
	rows := p.Losses.ToolResult
	switch {
	case c.Prompt:
		rows = p.Losses.Prompt
	case c.Agent && len(p.Losses.Agent) > 0:
		rows = p.Losses.Agent
	}
	seconds := float64(c.Gap) / 1e9
	for i := range rows {
		if c.Ordinal >= rows[i].After && seconds <= rows[i].Seconds {
			return rows[i].Value
		}
	}
	if n := len(rows); n > 0 {
		return rows[n-1].Value
	}
	return 0
}

// Rules returns an error for rows out of order.
func (l *Losses) Rules() []error {
	var errs []error
	for _, list := range []struct {
		key  string
		rows []GapShare
	}{{"after_prompt", l.Prompt}, {"after_tool_result", l.ToolResult}, {"in_sub_agent", l.Agent}} {
		last := math.Inf(-1)
		for i, g := range list.rows {
			if i > 0 && list.rows[i-1].After > g.After {
				last = math.Inf(-1)
			}
			if !(g.Seconds > last) {
				errs = append(errs, spec.Wrong(fmt.Sprintf("%s[%d]", list.key, i), "ends at %g s: gaps must ascend", g.Seconds))
			}
			last = g.Seconds
		}
	}
	return errs
}

// Compaction is what recorded compactions of main conversations left beside the head,
// the summary and what the client is known to restore.
type Compaction struct {
	N int `yaml:"samples" min:"0"`
	// Remainder are quantiles, evenly spaced from the least to the most, of the tokens
	// beyond, for all clients and by epoch.
	Remainder []float64   `yaml:"remainder_tokens,flow,omitempty" min:"0" max:"1000000"`
	ByEpoch   []Remainder `yaml:"remainder_tokens_by_epoch,omitempty"`
}

// Remainder is Compaction.Remainder for the clients of an epoch.
type Remainder struct {
	From   string    `yaml:"from"` // first version of the epoch
	Tokens []float64 `yaml:"tokens,flow" min:"0" max:"1000000"`
	N      int       `yaml:"samples" min:"0"`
}

const (
	// leastCompactions is the least number of compactions that say anything.
	leastCompactions = 10
	// LeastOfEpoch is the least number of compactions for a remainder of an epoch's own.
	LeastOfEpoch = 3
)

// BehindCompaction returns what the context of a main conversation has behind a
// compaction beyond the parts that the client is known to restore, tokens, given the
// version of its client and a draw of 0…1. It is 0 if the switch is off or the profile has
// too few compactions.
func (p *Profile) BehindCompaction(version string, draw float64) int64 {
	c := &p.Compact
	if !p.Switches.Behind || c.N < leastCompactions {
		return 0
	}
	tokens, epoch := c.Remainder, p.Epoch(version)
	if i := slices.IndexFunc(c.ByEpoch, func(r Remainder) bool { return r.From == epoch }); i >= 0 && c.ByEpoch[i].N >= LeastOfEpoch {
		tokens = c.ByEpoch[i].Tokens
	}
	return int64(At(tokens, draw))
}

// Middling returns the compactions with each remainder at its median, for a prediction of sizes.
func (c Compaction) Middling() Compaction {
	c.ByEpoch = slices.Clone(c.ByEpoch)
	c.Remainder = []float64{At(c.Remainder, 0.5)}
	for i := range c.ByEpoch {
		c.ByEpoch[i].Tokens = []float64{At(c.ByEpoch[i].Tokens, 0.5)}
	}
	return c
}
