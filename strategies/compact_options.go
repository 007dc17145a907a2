package strategies

import (
	"fmt"

	"gopkg.in/yaml.v3"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
)

// ServerParams are the parameters of the provider's compaction on demand
// (compact-2026-09-04): the request is that of the conversation, the answer one
// block that stands first from then on, billed as a call of its own.
type ServerParams struct {
	Instructions int32 `yaml:"instructions" doc:"tokens of instructions of the client's own; 0 for the provider's"`
	KeepTurns    int   `yaml:"keep_turns" doc:"newest API rounds that stay as they are, behind the block" off:"0"`
	Beside       bool  `yaml:"beside" doc:"automatic ones run beside the conversation, which goes on; their block takes its place ahead of the next request"`
}

// Partial says which messages a compaction summarises. It holds for those a
// person asks for: the client offers it there.
type Partial struct {
	Direction Direction `yaml:"direction" doc:"none for all messages, up_to for those ahead of the pivot, from for those behind it" off:"none"`
	Pivot     float64   `yaml:"pivot" doc:"place of the pivot, as a share of the messages, 0…1; it moves back to where no pair is parted"`
	Auto      bool      `yaml:"auto" doc:"holds for automatic compactions too: no client does that"`
}

// Validate returns what is wrong with the parameters.
func (p *Partial) Validate() []error {
	if !(p.Pivot >= 0 && p.Pivot <= 1) {
		return []error{fmt.Errorf("partial.pivot %g must lie in 0…1", p.Pivot)}
	}
	return nil
}

// Direction is the side of the pivot that a compaction summarises.
type Direction uint8

// The directions of a compaction.
const (
	PartialNone Direction = iota // all messages
	PartialUpTo                  // those ahead of the pivot: the prefix changes
	PartialFrom                  // those from the pivot on: the prefix stays
)

// part returns what a summary in the direction stands for.
func (d Direction) part() prompt.Part {
	switch d {
	case PartialUpTo:
		return prompt.PartUpTo
	case PartialFrom:
		return prompt.PartFrom
	}
	return prompt.PartWhole
}

var directionNames = []string{"none", "up_to", "from"}

// MarshalYAML writes the name.
func (d Direction) MarshalYAML() (any, error) { return nameOf(directionNames, int(d)), nil }

// UnmarshalYAML reads a direction by name.
func (d *Direction) UnmarshalYAML(n *yaml.Node) error {
	i, err := readName(n, "direction", directionNames)
	*d = Direction(i)
	return err
}

// Idle are the parameters of compactions in a gap. The values are those
// observed from 2.1.286 on.
type Idle struct {
	Enabled   bool    `yaml:"enabled" doc:"compact in gaps of the main conversation, where its entries live one hour"`
	Share     float64 `yaml:"share" doc:"share of that lifetime after which it happens, between 0 and 1"`
	MinTokens int64   `yaml:"min_tokens" doc:"client's count below which it does not (CLAUDE_CODE_IDLE_COMPACT_MIN_TOKENS)"`
	Floor     int64   `yaml:"floor" doc:"least value that min_tokens can take"`
}

// Validate returns what is wrong with the parameters.
func (p *Idle) Validate() []error {
	if !(p.Share > 0 && p.Share < 1) {
		return []error{fmt.Errorf("idle.share %g must lie between 0 and 1", p.Share)}
	}
	return nil
}

// due returns when a conversation that stays idle is to be compacted, ns on the
// session's clock; 0 for never.
func (p *Idle) due(t *Turn) int64 {
	small := t.Reading.Values[MeasureClientTokens] < max(p.MinTokens, p.Floor)
	if !p.Enabled || small || isAgent(t.Kind) || t.TTL != prompt.TTL1h || t.Usage.Input() == 0 {
		return 0
	}
	return t.Now - t.Idle + int64(p.Share*float64(t.Life))
}

// Wake asks to be called shortly before the cache expires.
func (l *compact) Wake(t *Turn) int64 {
	if at := l.params.Idle.due(t); at > t.Now {
		return at
	}
	return 0
}

// Timer compacts an idle conversation while its cache is warm.
func (l *compact) Timer(t *Turn) Outcome {
	n := t.Context.Len()
	switch {
	case n == 0 || !t.Context.At(n-1).Kind.Assistant():
		return Outcome{Declined, "a request is under way"}
	case l.stopped():
		return Outcome{Declined, "stopped by the breaker"}
	case !t.Warm():
		return t.Refuse(CompactName, "the cache is cold")
	}
	return l.start(t, n, startedByIdleness)
}

// Refill are the parameters of the breaker for contexts that fill up again as
// soon as they were compacted (2.1.89: 3 times within 3 turns each).
type Refill struct {
	Times  int   `yaml:"times" doc:"refills in a row that stop automatic compaction on a thread, with an explanation; 0 for never" off:"0"`
	Within int64 `yaml:"within" doc:"requests behind a compaction within which reaching the trigger again is a refill"`
}

// refills are the refills of a thread in a row.
type refills struct {
	count   int
	fresh   bool // a compaction that no trigger has followed yet
	stopped bool
}

// trips takes a trigger that has fired and reports whether it is one too many.
func (p *Refill) trips(t *Turn, r *refills) bool {
	switch {
	case !r.fresh:
	case t.Reading.Values[MeasureRounds] <= p.Within:
		r.count++
	default:
		r.count = 0
	}
	r.fresh = false
	if p.Times == 0 || r.count < p.Times {
		return false
	}
	r.stopped = true
	t.Count(results.CountBreakerTrips, 1)
	return true
}
