package validate

import (
	"maps"
	"math"
	"slices"

	"github.com/compactsim/compactsim/internal/profile"
	"github.com/compactsim/compactsim/internal/stats"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func share(k float64, n int) *float64 {
	if n == 0 {
		return nil
	}
	return ratio(k, float64(n))
}

func ratio(a, b float64) *float64 { r := a / b; return &r }

// wilson returns a share with its 95 % interval (Wilson 1927).
func wilson(k, n int) profile.Estimate {
	if n == 0 {
		return profile.Estimate{High: 1}
	}
	e := proportion(float64(k), float64(n))
	e.N = n
	return e
}

// proportion is wilson of counts that need not be whole; n must be positive.
func proportion(k, n float64) profile.Estimate {
	const z = 1.96
	p := k / n
	mid := (p + z*z/(2*n)) / (1 + z*z/n)
	d := z / (1 + z*z/n) * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	return profile.Estimate{Value: round(p, 4), Low: round(max(0, mid-d), 4), High: round(min(1, mid+d), 4)}
}

// median returns the type-7 median with the 95 % interval of order statistics:
// ranks n/2 ∓ 1.96·√n/2.
func median(x []float64) profile.Estimate {
	if len(x) == 0 {
		return profile.Estimate{}
	}
	x = slices.Clone(x)
	slices.Sort(x)
	n := float64(len(x))
	d := 0.98 * math.Sqrt(n)
	low, high := int(math.Floor(n/2-d)), int(math.Ceil(n/2+d))
	return profile.Estimate{
		Value: round(stats.Quantile(x, 0.5), 3), Low: round(x[max(0, low)], 3), High: round(x[min(len(x)-1, high)], 3), N: len(x),
	}
}

func round(x float64, decimals int) float64 {
	f := math.Pow10(decimals)
	return math.Round(x*f)/f + 0 // never −0
}
