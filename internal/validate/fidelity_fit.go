package validate

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/compactsim/compactsim/internal/profile"
	"github.com/compactsim/compactsim/internal/recall"
)

// kindFate is how often agents fetch what they lost before they use it, by kind.
type kindFate struct {
	Kind    string           `json:"kind"`
	Uses    int              `json:"uses"`
	Lost    int              `json:"lost"`       // of which nothing that remained has the string
	Summary profile.Estimate `json:"in_summary"` // of those that nothing else has, the share in the summary
	Fetched profile.Estimate `json:"fetched"`    // of the lost ones
	// Predicted is the mean prediction from the other sessions, for each lost string.
	Predicted float64 `json:"predicted"`
	// Without is the share that a result showed again where nothing was lost.
	Without profile.Estimate `json:"without_loss"`
}

// ranked are rank correlations (Spearman) between what was lost and how much more often
// the agent looked for something than at matched points: of the share of lost uses, and
// of their number per 100 rounds. 0 for fewer than three different compactions.
type ranked struct {
	N      int     `json:"n"`
	Share  float64 `json:"share"`
	Number float64 `json:"number"`
}

// Limits of matching. Assumed.
const (
	alike     = 0.25 // largest distance of the logarithms of the requests' sizes
	matches   = 5    // points for each compaction
	perThread = 2    // of one session
)

// match gives every compaction and clearing the points without one that are closest to it in size.
func (f *Fidelity) match(free []moment) {
	used := map[int]bool{}
	for _, list := range [...][]moment{f.Compactions, f.Clearings} {
		for i := range list {
			list[i].match(free, used)
		}
	}
	f.Matched = len(used)
	for w := range windows {
		f.Rank[w] = f.rank(w)
	}
}

// match sets how often agents looked for something at points like m, and records those points in used.
func (m *moment) match(free []moment, used map[int]bool) {
	distance := func(k int) float64 { return math.Abs(math.Log(float64(free[k].Tokens+1) / float64(m.Tokens+1))) }
	var order []int
	for k := range free {
		if distance(k) <= alike {
			order = append(order, k)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(distance(a), distance(b)) })
	taken := map[string]int{}
	for _, k := range order {
		if m.Points == matches || taken[free[k].Session] == perThread {
			continue
		}
		taken[free[k].Session]++
		used[k] = true
		m.Points++
		for w := range windows {
			m.Matched[w] += free[k].Windows[w].looked()
		}
	}
	for w := range windows {
		m.Matched[w] /= float64(max(1, m.Points))
	}
}

// counts are uses of strings by kind: all, those that only the summary has, the lost, and of these the fetched.
type counts [recall.NumNeedKinds]count

type count struct{ uses, summary, lost, fetched int }

func (c *counts) add(uses []use) {
	for _, u := range uses {
		k := &c[u.kind]
		k.uses++
		if u.summary && !u.stayed {
			k.summary++
		}
		if u.lost() {
			k.lost++
			if u.fetched {
				k.fetched++
			}
		}
	}
}

// sum returns the counts of all kinds.
func (c *counts) sum() (all count) {
	for _, k := range c {
		all.uses, all.summary = all.uses+k.uses, all.summary+k.summary
		all.lost, all.fetched = all.lost+k.lost, all.fetched+k.fetched
	}
	return all
}

// fate returns the figures of the strings of a kind.
func (c *count) fate(kind string) kindFate {
	return kindFate{
		Kind: kind, Uses: c.uses, Lost: c.lost,
		Summary: wilson(c.summary, c.summary+c.lost), Fetched: wilson(c.fetched, c.lost),
	}
}

// fit sets how often lost strings are fetched, by kind, and how well other sessions predict that.
func (f *Fidelity) fit(free []moment) {
	var all, cleared, without counts
	by := map[string]*counts{}
	for i := range f.Compactions {
		m := &f.Compactions[i]
		if by[m.Session] == nil {
			by[m.Session] = &counts{}
		}
		all.add(m.uses)
		by[m.Session].add(m.uses)
	}
	for i := range f.Clearings {
		cleared.add(f.Clearings[i].uses)
	}
	for i := range free {
		without.add(free[i].uses)
	}
	behind, clearings, anyway := all.sum(), cleared.sum(), without.sum()
	f.Cleared, f.All = clearings.fate("all"), behind.fate("all")
	f.All.Without = wilson(anyway.fetched, anyway.uses)
	predicted := f.predict(&all, by)
	for k := range recall.NeedKind(recall.NumNeedKinds) {
		if a := &all[k]; a.uses > 0 {
			fate := a.fate(k.String())
			fate.Predicted = predicted[k] / float64(max(1, a.lost))
			fate.Without = wilson(without[k].fetched, without[k].uses)
			f.Kinds = append(f.Kinds, fate)
		}
	}
}

// predict predicts for every lost string, from the other sessions, whether it
// is fetched. It returns the sums of the predictions by kind.
func (f *Fidelity) predict(all *counts, by map[string]*counts) (predicted [recall.NumNeedKinds]float64) {
	sum := all.sum()
	for i := range f.Compactions {
		m := &f.Compactions[i]
		own := by[m.Session]
		ownSum := own.sum()
		flat := half(sum.fetched-ownSum.fetched, sum.lost-ownSum.lost)
		for _, u := range m.uses {
			if !u.lost() {
				continue
			}
			p := half(all[u.kind].fetched-own[u.kind].fetched, all[u.kind].lost-own[u.kind].lost)
			predicted[u.kind] += p
			got := 0.0
			if u.fetched {
				got = 1
			}
			f.Brier += (got - p) * (got - p) / float64(sum.lost)
			f.BrierOne += (got - flat) * (got - flat) / float64(sum.lost)
		}
	}
	return predicted
}

// half is a share with half an observation added on each side, so that none is 0 or 1.
func half(yes, n int) float64 { return (float64(yes) + 0.5) / (float64(n) + 1) }

// enough is the least number of lost strings of a kind with its own share. Assumed.
const enough = 15

// Refetch returns how often agents fetch what they lost, by kind, for a profile: without
// what results would have shown again anyway. Nil without evidence.
func (f *Fidelity) Refetch() map[string]profile.Estimate {
	return f.shares(func(k *kindFate) profile.Estimate { return excess(k.Fetched, k.Without.Value) })
}

// Kept returns, by kind, the share of strings used after compactions that the summary
// has, of those that nothing else has, for a profile. Nil without evidence.
func (f *Fidelity) Kept() map[string]profile.Estimate {
	return f.shares(func(k *kindFate) profile.Estimate { return k.Summary })
}

// shares returns the share of every kind with enough observations, and that of all kinds.
func (f *Fidelity) shares(of func(*kindFate) profile.Estimate) map[string]profile.Estimate {
	all := of(&f.All)
	if all.N == 0 {
		return nil
	}
	list := map[string]profile.Estimate{f.All.Kind: all}
	for i := range f.Kinds {
		if e := of(&f.Kinds[i]); e.N >= enough {
			list[f.Kinds[i].Kind] = e
		}
	}
	return list
}

// excess returns a share without what would have happened anyway.
func excess(e profile.Estimate, anyway float64) profile.Estimate {
	rest := func(v float64) float64 { return math.Round(1e4*max(0, v-anyway)/(1-min(anyway, 0.99))) / 1e4 }
	return profile.Estimate{Value: rest(e.Value), Low: rest(e.Low), High: rest(e.High), N: e.N}
}

// rank correlates, over compactions, what was lost with how much more often
// than at matched points the agent looked for something.
func (f *Fidelity) rank(w int) ranked {
	var share, number, looked []float64
	for i := range f.Compactions {
		m := &f.Compactions[i]
		if b := &m.Windows[w]; b.Uses > 0 && m.Points > 0 {
			share = append(share, float64(b.Lost)/float64(b.Uses))
			number = append(number, float64(b.Lost)/float64(max(1, b.Rounds)))
			looked = append(looked, b.looked()-m.Matched[w])
		}
	}
	return ranked{N: len(looked), Share: spearman(share, looked), Number: spearman(number, looked)}
}

// leastRanked is the least number of values for a rank correlation.
const leastRanked = 3

// spearman returns the rank correlation of two lists, 0 where it is undefined.
func spearman(a, b []float64) float64 {
	if r := stat.Correlation(ranks(a), ranks(b), nil); len(a) >= leastRanked && !math.IsNaN(r) {
		return r
	}
	return 0
}

// ranks returns the ranks of values from 1; equal values get their mean rank.
func ranks(values []float64) []float64 {
	list := make([]float64, len(values))
	for i, v := range values {
		less, same := 0, 0
		for _, w := range values {
			if w < v {
				less++
			} else if w == v {
				same++
			}
		}
		list[i] = float64(less) + float64(same+1)/2
	}
	return list
}
