package promptcache

import (
	"slices"

	"github.com/compactsim/compactsim/sim/prompt"
)

// gathering is what the deletions of one thread's last request come to. A client
// declares all that are in force with every request, so the next list is this
// one and a few more: only those are looked at.
type gathering struct {
	cuts  []cut
	chain prompt.Digest // of the prefix through the last cut
	cum   int32         // tokens of that prefix
}

// gather notes the deletions of r that take part in a.cuts.
func (a *Anthropic) gather(r *prompt.Request, th *thread) {
	g := &a.once
	if th.cuts == 0 && th.applied > 0 {
		th.cuts = a.newGathering()
	}
	if th.cuts > 0 {
		g = &a.gatherings[th.cuts-1]
		g.cuts = g.cuts[:g.same(r)]
	} else {
		g.cuts = g.cuts[:0]
	}
	g.add(r)
	a.cuts = g.cuts
}

// newGathering returns 1 + the index of an empty gathering, with the storage of
// one from ahead of a Reset if there is any.
func (a *Anthropic) newGathering() int32 {
	n := len(a.gatherings)
	if n < cap(a.gatherings) {
		a.gatherings = a.gatherings[:n+1]
	} else {
		a.gatherings = append(a.gatherings, gathering{})
	}
	a.gatherings[n].cuts = a.gatherings[n].cuts[:0]
	return int32(n + 1)
}

// same returns how many cuts of the last request lead the deletions of r
// unchanged. The prefix they stand in must be the same for that.
func (g *gathering) same(r *prompt.Request) int {
	n := len(g.cuts)
	if n == 0 {
		return 0
	}
	last := int(g.cuts[n-1].position)
	if last >= len(r.Entries) || r.Entries[last].Chain != g.chain || r.Entries[last].Cum != g.cum {
		return 0
	}
	for i := range min(n, len(r.Deletions)) {
		if d, c := &r.Deletions[i], &g.cuts[i]; d.Position != c.position || d.Tokens != c.declared {
			return i
		}
	}
	return min(n, len(r.Deletions))
}

// add appends the deletions of r behind those that lead it. A deletion takes out
// no more than its entry holds, and only the first of one position, or in order,
// counts.
func (g *gathering) add(r *prompt.Request) {
	last, sum := int32(-1), int64(0)
	if n := len(g.cuts); n > 0 {
		last, sum = g.cuts[n-1].position, g.cuts[n-1].through
	}
	for i := len(g.cuts); i < len(r.Deletions); i++ {
		d := &r.Deletions[i]
		if d.Position <= last || int(d.Position) >= len(r.Entries) {
			continue
		}
		last = d.Position
		sum += int64(max(0, min(d.Tokens, r.Entries[last].Tokens)))
		g.cuts = append(g.cuts, cut{last, d.Tokens, sum})
	}
	if last >= 0 {
		g.chain, g.cum = r.Entries[last].Chain, r.Entries[last].Cum
	}
}

// cloneGatherings returns an independent copy.
func cloneGatherings(list []gathering) []gathering {
	list = slices.Clone(list)
	for i := range list {
		list[i].cuts = slices.Clone(list[i].cuts)
	}
	return list
}
