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
	Lost    int              `json:"lost"`       // of which nothing that was left has the string
	Summary profile.Estimate `json:"in_summary"` // of those that nothing else has, what the summary has
	Fetched profile.Estimate `json:"fetched"`    // of those lost
	// Predicted is the mean of what the other sessions say, for each lost string.
	Predicted float64 `json:"predicted"`
	// Without is the share that a result showed again where nothing was lost.
	Without profile.Estimate `json:"without_loss"`
}

// ranked are rank correlations (Spearman) of what was lost with how much more often the agent looked for something than
// at matched points: of the share of uses that was lost, and of how many were by 100 rounds. 0 without three
// compactions that differ.
type ranked struct {
	N      int     `json:"n"`
	Share  float64 `json:"share"`
	Number float64 `json:"number"`
}

// Limits of matched points. Assumed.
const (
	alike     = 0.25 // distance of the logarithms of the requests' sizes, at most
	matches   = 5    // points for each compaction
	perThread = 2    // of one session
)

// match gives every compaction and clearing the points without one that are the most like it in size.
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

// match fills in how often agents looked for something at points like m, and notes which they are.
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

// counts are uses of strings by kind: all, those that the summary alone has, those lost, and of these the fetched.
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

// fate returns what became of the strings of a kind.
func (c *count) fate(kind string) kindFate {
	return kindFate{
		Kind: kind, Uses: c.uses, Lost: c.lost,
		Summary: wilson(c.summary, c.summary+c.lost), Fetched: wilson(c.fetched, c.lost),
	}
}

// fit fills in how often lost strings are fetched, by kind, and how well other sessions predict that.
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

// predict predicts of every lost string from the other sessions whether it is fetched. It returns the sums of the
// predictions by kind.
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

// half is a share with half an observation on each side, so that none is certain.
func half(yes, n int) float64 { return (float64(yes) + 0.5) / (float64(n) + 1) }

// enough is how many lost strings a kind needs for a share of its own. Assumed.
const enough = 15

// Refetch returns how often agents fetch what they lost, by kind, as a profile has it: without what results would have
// shown them again in any case. Nil without evidence.
func (f *Fidelity) Refetch() map[string]profile.Estimate {
	return f.shares(func(k *kindFate) profile.Estimate { return excess(k.Fetched, k.Without.Value) })
}

// Kept returns the share of strings used behind compactions that the summary has, of those that nothing else has, by
// kind, as a profile has it. Nil without evidence.
func (f *Fidelity) Kept() map[string]profile.Estimate {
	return f.shares(func(k *kindFate) profile.Estimate { return k.Summary })
}

// shares returns a share of every kind with enough observations, and of all kinds.
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

// excess is a share of what would not have happened in any case.
func excess(e profile.Estimate, anyway float64) profile.Estimate {
	rest := func(v float64) float64 { return math.Round(1e4*max(0, v-anyway)/(1-min(anyway, 0.99))) / 1e4 }
	return profile.Estimate{Value: rest(e.Value), Low: rest(e.Low), High: rest(e.High), N: e.N}
}

// rank correlates, over compactions, what was lost with how much more often than at matched points the agent looked for
// something.
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

// leastRanked is how many values a rank correlation takes.
const leastRanked = 3

// spearman returns the rank correlation of two lists, 0 where it is not defined.
func spearman(a, b []float64) float64 {
	if r := stat.Correlation(ranks(a), ranks(b), nil); len(a) >= leastRanked && !math.IsNaN(r) {
		return r
	}
	return 0
}

// ranks returns the ranks of values from 1, the mean of those that are equal.
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
