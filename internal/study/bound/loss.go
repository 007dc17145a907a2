package bound

import (
	"github.com/compactsim/compactsim/internal/results/recall"
	"github.com/compactsim/compactsim/internal/serving/needs"
	"github.com/compactsim/compactsim/traces"
)

// loss is a need of a call that is lost once the path has compacted before a call
// at or after a place: that of the last block that answers the need.
type loss struct {
	from   int
	weight float64 // 1 for a need found in one block, less what a first summary is expected to keep
}

// standing is the place on its path where a block enters the context, by block.
type standing []int

// Places of blocks that no compaction removes, and of blocks in no request.
const (
	stays  = -1
	absent = -2
)

// losses records what the calls of a session lose to a compaction. What a file has, or
// may return with a restored one, is not lost. Of the rest only what one summary drops is
// lost, however many follow each other, so that no schedule loses less.
func (x *solver) losses(index *needs.Index, s *traces.Session, keeps needs.Survival, restores bool) {
	at := standingOf(s)
	x.lost = make([][][]loss, len(s.Threads))
	for i := range s.Threads {
		x.lost[i] = make([][]loss, len(s.Threads[i].Rounds))
		for r := range x.lost[i] {
			list := index.Round(int32(i), int32(r))
			for k := range list {
				n := &list[k]
				if n.Fetch >= 0 || restores && n.Object >= 0 && n.Kind <= recall.NeedRead {
					continue
				}
				if from, ok := at.last(index.Places(n)); ok {
					x.lost[i][r] = append(x.lost[i][r], loss{from, float64(n.Weight) / 1000 * (1 - keeps[n.Kind])})
				}
			}
		}
	}
}

// last returns the place of the last of some blocks; false if one is never
// removed, or none was there.
func (at standing) last(places []needs.Place) (int, bool) {
	from := absent
	for _, p := range places {
		switch where := at[p.Block]; where {
		case stays:
			return 0, false
		default:
			from = max(from, where)
		}
	}
	return from, from >= 0
}

// standingOf returns the places of the blocks of a session: the input of a
// round enters with its call, its answer with the next one.
func standingOf(s *traces.Session) standing {
	at := make(standing, len(s.Blocks))
	for b := range at {
		at[b] = absent
	}
	put := func(span traces.Span, place int) {
		for b := span.From; b < span.To; b++ {
			at[b] = place
		}
	}
	bases := make([]int, len(s.Threads))
	for i := range s.Threads {
		t := &s.Threads[i]
		if t.Kind == traces.ThreadBranch && t.Parent >= 0 {
			bases[i] = bases[t.Parent] + int(t.ParentRound) + 1
		}
		put(t.Prefix, stays)
		for r := range t.Rounds {
			put(t.Rounds[r].Input, bases[i]+r)
			put(t.Rounds[r].Reply, bases[i]+r+1)
		}
	}
	return at
}

// goneAt returns the weight that call k of a path loses, by the state in which
// it is made: in state j + 1, what came before or with call j. It is valid
// until the next call of goneAt.
func (x *solver) goneAt(thread, base, k int) []float64 {
	if cap(x.gone) < k+2 {
		x.gone = make([]float64, 2*k+2)
	}
	gone := x.gone[:k+2]
	clear(gone)
	if x.lost == nil {
		return gone
	}
	for _, l := range x.lost[thread][k-base] {
		if l.from <= k {
			gone[l.from+1] += l.weight
		}
	}
	for s := 1; s < len(gone); s++ {
		gone[s] += gone[s-1]
	}
	return gone
}
