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
	// Gap is the time since the thread's last response ended, ns.
	Gap int64
	// Ordinal is the number of earlier calls of the thread.
	Ordinal int
}

// LossRate returns the probability, 0…1, that a call loses the messages it
// would read for no reason that a recording shows. Without rates it is 0.
func (p *Profile) LossRate(c *Case) float64 {
	rows := p.Losses.ToolResult
	if c.Prompt {
		rows = p.Losses.Prompt
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
	}{{"after_prompt", l.Prompt}, {"after_tool_result", l.ToolResult}} {
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

// Compaction is what recorded compactions left: medians.
type Compaction struct {
	// Beyond is how much larger the context after a compaction of a main
	// conversation is than OpeningShare of what the conversation opened with,
	// tokens: for all clients, and by epoch.
	Beyond  Estimate `yaml:"beyond_opening_tokens" min:"-1000000" max:"1000000"`
	ByEpoch []Beyond `yaml:"beyond_opening_tokens_by_epoch,omitempty" min:"-1000000" max:"1000000"`
}

// Beyond is Compaction.Beyond for the clients of an epoch.
type Beyond struct {
	From     string `yaml:"from"` // first version of the epoch
	Estimate `yaml:",inline"`
}

// OpeningShare is the share of what a conversation opens with (tools, system
// prompt, reminders) in the context after a compaction. Tools and system prompt
// stay and reminders return in part; in 29 recorded compactions the size grows
// less than the opening does, and not at all when a large opening is one of
// reminders. Of 0.3, 0.4, 0.5 and 0.6 this value errs least when sessions are
// left out.
const OpeningShare = 0.4

const (
	// pooledCompactions is how many compactions of an epoch those of all epochs
	// count for.
	pooledCompactions = 10
	// leastCompactions is the least number of compactions for a median.
	leastCompactions = 10
)

// ContextBehind returns the size of the context after a compaction of a main
// conversation, tokens, given the version of its client and what it opened
// with, tokens. It is 0 if the switch is off or the profile has too few
// compactions.
func (p *Profile) ContextBehind(version string, opening int64) int64 {
	c := &p.Compact
	if !p.Switches.Behind || c.Beyond.N < leastCompactions {
		return 0
	}
	beyond, epoch := c.Beyond.Value, p.Epoch(version)
	if i := slices.IndexFunc(c.ByEpoch, func(b Beyond) bool { return b.From == epoch }); i >= 0 {
		own, n := c.ByEpoch[i].Value, float64(c.ByEpoch[i].N)
		beyond = (pooledCompactions*beyond + n*own) / (pooledCompactions + n)
	}
	return max(0, int64(OpeningShare*float64(opening)+beyond))
}
