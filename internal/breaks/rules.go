package breaks

import "fmt"

// Thresholds and lifetimes of the client's detector (seed 000).
const (
	// MinDrop is the fall in tokens that a break must exceed.
	MinDrop = 2000
	// MinDropShare is the share of the tokens read before that it must exceed.
	MinDropShare = 0.05
)

// Rules are the parameters of a detector.
type Rules struct {
	MinDrop int64 // tokens by which the read must fall by more, from 0
	// MinShare is the share of the tokens read before by which it must fall by
	// more, 0…1.
	MinShare float64
	// DeletedBaseline says that the client keeps the server's count of deleted
	// tokens and so expects the fall that its deletions make. Without it that is
	// taken for a break (002:56).
	DeletedBaseline bool
}

// DefaultRules returns those of the client.
func DefaultRules() Rules {
	return Rules{MinDrop: MinDrop, MinShare: MinDropShare, DeletedBaseline: true}
}

// Validate returns everything that is wrong.
func (r *Rules) Validate() []error {
	var errs []error
	if r.MinDrop < 0 {
		errs = append(errs, fmt.Errorf("min_drop %d must not be negative", r.MinDrop))
	}
	if !(r.MinShare >= 0 && r.MinShare <= 1) {
		errs = append(errs, fmt.Errorf("min_share %g must lie in 0…1", r.MinShare))
	}
	return errs
}

// fell reports whether a read of fewer tokens than before is a break.
func (r *Rules) fell(before, now int64) bool {
	fall := before - now
	return fall > r.MinDrop && float64(fall) > r.MinShare*float64(before)
}
