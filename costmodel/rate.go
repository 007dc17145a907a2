package costmodel

import (
	"errors"
	"fmt"

	"github.com/compactsim/compactsim/sim/prompt"
)

// The token classes that are billed at prices of their own, in the order of
// every array of NumClasses elements in this package. It is also the order of
// the classes in result rows.
const (
	Uncached   = iota // input neither read from nor written to the cache
	Read              // input read from the cache
	Write5m           // input written with a 5-minute lifetime
	Write1h           // input written with a 1-hour lifetime
	WriteOther        // input written with another or an unstated lifetime
	Output            // output, thinking included
	NumClasses
)

// perMillion is the number of tokens a listed price is for.
const perMillion = 1e6

// Rate is the price of one model at one time under fixed modifiers, ready for
// a hot loop: resolve it once per model and price period with [Price.Standard]
// or [Price.With]. The zero Rate bills nothing.
type Rate struct {
	base  [NumClasses]float64 // USD per token
	tiers []rateTier          // ascending by above; shared, never written after construction
}

type rateTier struct {
	above    int64 // prompt tokens
	perToken [NumClasses]float64
}

// Cost returns what one call costs, USD by class. The tier is chosen by all
// input tokens of the call — uncached, read and written — and applies to the
// whole call, output included; so u must be one call, not a sum of calls,
// unless the model has no tiers. It does not allocate.
func (r *Rate) Cost(u prompt.Usage) [NumClasses]float64 {
	p := r.perToken(u.Input())
	return [NumClasses]float64{
		Uncached:   float64(u.Uncached) * p[Uncached],
		Read:       float64(u.Read) * p[Read],
		Write5m:    float64(u.Write5m) * p[Write5m],
		Write1h:    float64(u.Write1h) * p[Write1h],
		WriteOther: float64(u.WriteOther) * p[WriteOther],
		Output:     float64(u.Output) * p[Output],
	}
}

// PerMTok returns the prices of a call with the given number of input tokens,
// USD per million tokens by class.
func (r *Rate) PerMTok(input int64) [NumClasses]float64 {
	p := *r.perToken(input)
	for i := range p {
		p[i] *= perMillion
	}
	return p
}

// Thresholds returns the numbers of input tokens above which another tier
// begins, ascending; empty for a flat price.
func (r *Rate) Thresholds() []int64 {
	var at []int64
	for i := range r.tiers {
		at = append(at, r.tiers[i].above)
	}
	return at
}

// Scale returns r with every price multiplied by k.
func (r *Rate) Scale(k float64) Rate {
	out := Rate{base: scaled(&r.base, k)}
	for i := range r.tiers {
		t := &r.tiers[i]
		out.tiers = append(out.tiers, rateTier{t.above, scaled(&t.perToken, k)})
	}
	return out
}

func (r *Rate) perToken(input int64) *[NumClasses]float64 {
	for i := len(r.tiers) - 1; i >= 0; i-- {
		if input > r.tiers[i].above {
			return &r.tiers[i].perToken
		}
	}
	return &r.base
}

func scaled(p *[NumClasses]float64, k float64) [NumClasses]float64 {
	out := *p
	for i := range out {
		out[i] *= k
	}
	return out
}

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
