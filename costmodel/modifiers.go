package costmodel

import (
	"errors"
	"fmt"
)

// ErrNotOffered is wrapped by the error of [Price.With] for a modifier the
// model does not have, or modifiers that exclude each other: the provider
// refuses such a request.
var ErrNotOffered = errors.New("not offered")

// Modifiers are the conditions of a request that multiply its whole price.
// They stack (platform.claude.com, pricing).
type Modifiers struct {
	Batch bool // batch processing
	Fast  bool // fast mode; not together with Batch
	GeoUS bool // inference_geo "us"
	// Regional is a regional or multi-region endpoint of a cloud platform, or
	// regional processing at OpenAI; not together with GeoUS.
	Regional bool
}

// With returns the rate under the given modifiers. The error wraps
// [ErrNotOffered]. Regional costs nothing extra on models without a surcharge;
// the other modifiers are refused by models that do not have them.
func (p *Price) With(m Modifiers) (Rate, error) {
	switch {
	case m.Fast && m.Batch:
		return Rate{}, p.refuse("fast mode in a batch")
	case m.GeoUS && m.Regional:
		return Rate{}, p.refuse("inference_geo at a regional endpoint")
	case m.Batch && p.Model.Batch == 0:
		return Rate{}, p.refuse("batch processing")
	case m.Fast && p.Fast == 0:
		return Rate{}, p.refuse("fast mode")
	case m.GeoUS && p.Model.GeoUS == 0:
		return Rate{}, p.refuse("inference_geo us")
	}
	k := 1.0
	if m.Batch {
		k *= p.Model.Batch
	}
	if m.Fast {
		k *= p.Fast
	}
	if m.GeoUS {
		k *= p.Model.GeoUS
	}
	if m.Regional && p.Model.Regional != 0 {
		k *= p.Model.Regional
	}
	if k == 1 {
		return p.rate, nil
	}
	return p.rate.Scale(k), nil
}

func (p *Price) refuse(what string) error {
	return fmt.Errorf("price of %s: %s: %w", p.Model.Name, what, ErrNotOffered)
}
