package validate

import (
	"cmp"
	"math"
	"slices"

	"github.com/compactsim/compactsim/internal/serving/profile"
	"github.com/compactsim/compactsim/internal/serving/promptcache"
	"github.com/compactsim/compactsim/sim/prompt"
)

// ages are the upper edges of the ages that survival is counted by, seconds.
var ages = [...]float64{10, 60, 120, 240, 300, 360, 600, 1800, 3500, 3700, 14_400, math.Inf(1)}

// Survival is how often the calls of a provider still read what was left in its cache, by its age.
type Survival struct {
	Provider string
	TTL      prompt.TTL // that was asked for; that of an automatic cache is none
	Points   []SurvivalPoint
	Calls    int
}

// SurvivalPoint is the share of calls, of those after a pause, that read nine tenths or more of what the call before had left.
type SurvivalPoint struct {
	Seconds          float64 // mean age, logarithmic
	profile.Estimate         // of the share, with its 95 % interval
}

// leastSurvival is the smallest number of calls that a curve, or a point of it, is drawn for.
const leastSurvival = 5

// survivalKey is what the calls of a curve have in common.
type survivalKey struct {
	provider string
	ttl      prompt.TTL
}

// ageBin counts the calls of an age.
type ageBin struct {
	read, n int
	logs    float64 // sum of the logarithms of their ages, s
}

// aged reports whether a call tells how long the cache keeps what the call before had left.
func (c *Call) aged() bool {
	switch c.Class {
	case ClassToolResult, ClassPrompt, ClassSubAgent, ClassOther, ClassExpiry:
		return !c.Spread && !c.changed() && c.Left > 0 && c.Gap > 0
	}
	return false
}

// Survival returns the curves of all providers with calls whose age is known and whose request continues the last one of
// its thread: no compaction, clearing, rewind or change of the model or the head lies between.
func (r *Report) Survival() []Survival {
	bins := map[survivalKey]*[len(ages)]ageBin{}
	for i := range r.calls {
		c := &r.calls[i]
		if !c.aged() {
			continue
		}
		k := survivalKey{cmp.Or(promptcache.ProviderOf(c.Model), "another provider"), 0}
		if c.TierKnown {
			k.ttl = c.TTL
		}
		if bins[k] == nil {
			bins[k] = &[len(ages)]ageBin{}
		}
		age := float64(c.Gap) / 1e9
		at, _ := slices.BinarySearch(ages[:], age)
		b := &bins[k][at]
		if b.n++; float64(c.Actual.Read) >= collapseShare*float64(c.Left) {
			b.read++
		}
		b.logs += math.Log(age)
	}
	var list []Survival
	for k, of := range bins {
		s := Survival{Provider: k.provider, TTL: k.ttl}
		for _, b := range of {
			if b.n >= leastSurvival {
				s.Points = append(s.Points, SurvivalPoint{Seconds: math.Exp(b.logs / float64(b.n)), Estimate: profile.Share(b.read, b.n)})
				s.Calls += b.n
			}
		}
		if len(s.Points) > 1 {
			list = append(list, s)
		}
	}
	slices.SortFunc(list, func(a, b Survival) int {
		return cmp.Or(cmp.Compare(a.Provider, b.Provider), cmp.Compare(a.TTL, b.TTL))
	})
	return list
}
