package promptcache

import (
	"fmt"

	"github.com/compactsim/compactsim/sim/prompt"
)

// Validate reports the first thing in a request that the provider would refuse:
// too many markers, markers out of range or order, a marker on a thinking
// block, a 1h marker behind a 5m one, deletions out of range or order or larger
// than their entry. Entries must be sealed.
func (a *Anthropic) Validate(r *prompt.Request) error {
	if n := len(r.Markers); n > a.cfg.MaxMarkers {
		return fmt.Errorf("promptcache: request of thread %d has %d markers, at most %d are allowed", r.Thread, n, a.cfg.MaxMarkers)
	}
	if err := validateMarkers(r); err != nil {
		return fmt.Errorf("promptcache: request of thread %d: %w", r.Thread, err)
	}
	if err := validateDeletions(r); err != nil {
		return fmt.Errorf("promptcache: request of thread %d: %w", r.Thread, err)
	}
	return nil
}

func validateMarkers(r *prompt.Request) error {
	last, short := int32(-1), false
	for i, m := range r.Markers {
		switch {
		case m.Position < 0 || int(m.Position) >= len(r.Entries):
			return fmt.Errorf("marker %d at position %d, the request has %d entries", i, m.Position, len(r.Entries))
		case m.Position <= last:
			return fmt.Errorf("marker %d at position %d is not behind the one at %d", i, m.Position, last)
		case r.Entries[m.Position].Kind == prompt.KindThinking:
			return fmt.Errorf("marker %d at position %d is on a thinking block", i, m.Position)
		case m.TTL == prompt.TTL1h && short:
			return fmt.Errorf("marker %d at position %d: 1h behind a 5m marker", i, m.Position)
		}
		last, short = m.Position, short || m.TTL == prompt.TTL5m
	}
	return nil
}

func validateDeletions(r *prompt.Request) error {
	last := int32(-1)
	for i, d := range r.Deletions {
		switch {
		case d.Position < 0 || int(d.Position) >= len(r.Entries):
			return fmt.Errorf("deletion %d at position %d, the request has %d entries", i, d.Position, len(r.Entries))
		case d.Position <= last:
			return fmt.Errorf("deletion %d at position %d is not behind the one at %d", i, d.Position, last)
		case d.Tokens < 0 || d.Tokens > r.Entries[d.Position].Tokens:
			return fmt.Errorf("deletion %d at position %d takes %d tokens of %d", i, d.Position, d.Tokens, r.Entries[d.Position].Tokens)
		}
		last = d.Position
	}
	return nil
}
