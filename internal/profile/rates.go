package profile

import (
	"fmt"
	"math"
	"slices"

	"github.com/compactsim/compactsim/internal/spec"
)

// Losses are the shares of calls that lost their messages inside the lifetime
// for no visible reason, by what the call answers and by the time since the
// last response ended.
type Losses struct {
	Prompt     []GapShare `yaml:"after_prompt,omitempty" min:"0" max:"1"`
	ToolResult []GapShare `yaml:"after_tool_result,omitempty" min:"0" max:"1"`
}

// GapShare is a share among calls whose gap is at most a number of seconds, and
// more than that of the row ahead. The last row holds for all longer gaps. Rows
// that hold late in a thread stand ahead of the others.
type GapShare struct {
	After    int     `yaml:"after_calls,omitempty" min:"0"` // calls of the thread that must stand ahead
	Seconds  float64 `yaml:"to_seconds"`
	Estimate `yaml:",inline"`
}

// Case is a call that may lose what it would read.
type Case struct {
	Version, Model string // of Codex; its losses go by them
	// Prompt says that the call answers a person in a main conversation, not
	// the results of tools alone.
	Prompt bool
	// Gap is the time since the thread's last response ended, ns.
	Gap int64
	// Ordinal is the number of calls of the thread ahead of it.
	Ordinal int
}

// LossRate returns the probability, 0…1, that a call which reads messages loses
// them although nothing that a recording shows explains it. A profile without
// rates answers 0.
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

// Rules refuses rows out of order.
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
	// Beyond is what the context behind a compaction of a main conversation has
	// beyond OpeningShare of what the conversation opened with, tokens: of all
	// clients, and by epoch.
	Beyond  Estimate `yaml:"beyond_opening_tokens" min:"-1000000" max:"1000000"`
	ByEpoch []Beyond `yaml:"beyond_opening_tokens_by_epoch,omitempty" min:"-1000000" max:"1000000"`
}

// Beyond is Compaction.Beyond of the clients of an epoch.
type Beyond struct {
	From     string `yaml:"from"` // first version of the epoch
	Estimate `yaml:",inline"`
}

// OpeningShare is the share of what a conversation opens with (tools, system
// prompt, reminders) that counts for the size behind a compaction. Tools and
// system prompt stay and reminders come back in part; in 29 recorded compactions
// the size follows the opening by less than one to one, and not at all when a
// large opening is one of reminders. Of 0.3, 0.4, 0.5 and 0.6 this errs least when
// sessions are left out.
const OpeningShare = 0.4

const (
	// pooledCompactions is how many compactions of an epoch those of all epochs
	// count for.
	pooledCompactions = 10
	// leastCompactions is from how many compactions on their median is taken for
	// anything.
	leastCompactions = 10
)

// ContextBehind returns the size of the context behind a compaction of a main
// conversation, tokens, by the version of its client and what it opened with,
// tokens. It is 0 when the profile does not say: its switch is off, or it has
// seen too few compactions.
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
