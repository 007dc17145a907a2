package stats

import (
	"context"

	"github.com/compactsim/compactsim/internal/kit/parallel"
)

// Units are groups of sessions that are sampled in the place of single sessions, such as the sessions of a
// project or of a person, which are alike.
type Units struct {
	Name string // such as "project"
	Of   []int  // the unit of each session, 0…n−1
}

// UnitsBy returns the units of sessions that have the same key.
func UnitsBy(name string, keys []string) Units {
	u, known := Units{name, make([]int, len(keys))}, map[string]int{}
	for i, key := range keys {
		at, ok := known[key]
		if !ok {
			at = len(known)
			known[key] = at
		}
		u.Of[i] = at
	}
	return u
}

// count returns how many units there are.
func (u *Units) count() int {
	n := 0
	for _, at := range u.Of {
		n = max(n, at+1)
	}
	return n
}

// joined returns a sum or a ratio by units.
func (f *Figure) joined(u *Units) Figure {
	n := u.count()
	add := func(column []float64) []float64 {
		if column == nil {
			return nil
		}
		out := make([]float64, n)
		for i, v := range column {
			out[u.Of[i]] += v
		}
		return out
	}
	return Figure{Part: add(f.Part), Base: add(f.Base)}
}

// widest replaces estimates by the least sure of the estimates over other units. Where fewer units than PairsNeeded
// differ they could show nothing whatever the data, and sessions stay; as many units as sessions are the sessions.
func (e Estimator) widest(ctx context.Context, pairs []Pair, out []Estimate) error {
	return parallel.Do(ctx, e.Workers, len(pairs), func(i int) error {
		p := &pairs[i]
		for k := range p.Units {
			u := &p.Units[k]
			if p.Base.Tops != nil || u.count() >= len(p.Base.Part) {
				continue
			}
			by := *p
			by.Base, by.Other = p.Base.joined(u), p.Other.joined(u)
			alone := e
			alone.Workers = 1
			list, err := alone.sampled(ctx, []Pair{by})
			if err != nil {
				return err
			}
			if list[0].Pairs >= PairsNeeded(e.Level) && list[0].noticed() > out[i].noticed() {
				list[0].Units = u.Name
				out[i] = list[0]
			}
		}
		return nil
	})
}
