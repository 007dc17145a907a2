package profile

import "slices"

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
// large opening is one of reminders. Half errs least when sessions are left out.
const OpeningShare = 0.5

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
