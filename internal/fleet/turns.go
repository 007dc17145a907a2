package fleet

import (
	"container/heap"
	"math"
)

// turn is a party of a clock that waits for everybody else to come to a time. Parties
// are numbered as their users are: by organisation and, in each, by ordinal. That is
// the order of all that happens at one time, whatever the number of lanes: the clock
// of a cohort has it (sim.Loop.RunCohort), turns have it for requests, and the caches
// for first tokens (promptcache.Anthropic.Serve).
type turn struct {
	at    int64 // ns
	party int32 // index: of those that wait for one time the first goes on first
}

func (a turn) before(b turn) bool { return a.at < b.at || a.at == b.at && a.party < b.party }

// turns has the party that goes on next at its front.
type turns struct{ list turnHeap }

func (t *turns) push(v turn) { heap.Push(&t.list, v) }

// pop takes the front out.
func (t *turns) pop() turn { return heap.Pop(&t.list).(turn) }

func (t *turns) empty() bool { return len(t.list) == 0 }

// front returns the turn that comes first, one that never comes if there is none.
func (t *turns) front() turn {
	if t.empty() {
		return turn{at: math.MaxInt64}
	}
	return t.list[0]
}

type turnHeap []turn

func (h turnHeap) Len() int           { return len(h) }
func (h turnHeap) Less(i, j int) bool { return h[i].before(h[j]) }
func (h turnHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *turnHeap) Push(v any)        { *h = append(*h, v.(turn)) }

func (h *turnHeap) Pop() any {
	n := len(*h) - 1
	v := (*h)[n]
	*h = (*h)[:n]
	return v
}
