package profile

import "slices"

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

// Announced are the sizes of what clients of an epoch tell the model when a conversation
// opens: for each kind quantiles, evenly spaced from the least to the most, tokens. An epoch
// whose recordings show none has no row.
type Announced struct {
	From    string    `yaml:"from"` // first version of the epoch
	Tools   []float64 `yaml:"tools,flow" min:"0" max:"1000000"`
	Agents  []float64 `yaml:"agents,flow" min:"0" max:"1000000"`
	Servers []float64 `yaml:"servers,flow" min:"0" max:"1000000"`
	Hooks   []float64 `yaml:"hooks,flow" min:"0" max:"1000000"`
	N       int       `yaml:"samples" min:"0"`
}

// AnnouncedBy returns what clients of a version announce, nil for nothing.
func (p *Profile) AnnouncedBy(version string) *Announced {
	epoch := p.Epoch(version)
	if i := slices.IndexFunc(p.Announced, func(a Announced) bool { return a.From == epoch }); i >= 0 {
		return &p.Announced[i]
	}
	return nil
}
