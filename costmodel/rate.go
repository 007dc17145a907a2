package costmodel

import "github.com/compactsim/compactsim/sim/prompt"

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
