package sim

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// Events come out by time, and at one time in the order they were scheduled.
func TestClockOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var c clock
		type want struct {
			at int64
			of int32
		}
		var all []want
		for i := range int32(rng.IntN(300)) {
			at := rng.Int64N(40)
			c.schedule(at, eventInput, i)
			all = append(all, want{at, i})
		}
		slices.SortStableFunc(all, func(a, b want) int { return int(a.at - b.at) })
		for i, w := range all {
			e, ok := c.next()
			if !ok || e.at != w.at || e.of != w.of {
				t.Fatalf("event %d: got (%d, %d, %v), want (%d, %d)", i, e.at, e.of, ok, w.at, w.of)
			}
		}
		if _, ok := c.next(); ok {
			t.Fatal("an event is left")
		}
	}
}

// At one time the events of the user with the lowest number come first, also when
// others have scheduled theirs before; each user's come in the order of scheduling. Who
// handles an event schedules for its user.
func TestClockOrderOfUsers(t *testing.T) {
	var c clock
	for of, user := range []uint64{7, 0, 3, 0} {
		c.user = user
		c.schedule(10, eventInput, int32(of))
	}
	c.user = 3
	c.schedule(5, eventInput, 4)
	var got []int32
	for e, ok := c.next(); ok; e, ok = c.next() {
		if got = append(got, e.of); e.of == 4 {
			c.schedule(10, eventInput, 5) // of user 3, behind what 3 and ahead of what 7 had scheduled
		}
	}
	if want := []int32{4, 1, 3, 2, 5, 0}; !slices.Equal(got, want) {
		t.Errorf("events come as %v, want %v", got, want)
	}
}

func TestClockNeverRunsBack(t *testing.T) {
	var c clock
	c.schedule(10, eventInput, 0)
	c.next()
	c.schedule(3, eventInput, 1)
	if e, _ := c.next(); e.at != 10 || c.now != 10 {
		t.Errorf("event in the past happened at %d, clock %d; want 10", e.at, c.now)
	}
}

// closureHeap is the textbook engine the clock is measured against: pointers,
// container/heap and a closure per event.
type closureHeap []*closureEvent

type closureEvent struct {
	at  int64
	seq uint64
	do  func()
}

func (h closureHeap) Len() int { return len(h) }
func (h closureHeap) Less(i, j int) bool {
	return h[i].at < h[j].at || h[i].at == h[j].at && h[i].seq < h[j].seq
}
func (h closureHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *closureHeap) Push(x any)   { *h = append(*h, x.(*closureEvent)) }
func (h *closureHeap) Pop() any {
	old := *h
	e := old[len(old)-1]
	*h = old[:len(old)-1]
	return e
}

// BenchmarkClock holds a number of pending events and replaces the earliest
// one over and over.
func BenchmarkClock(b *testing.B) {
	for _, depth := range []int{16, 1024} {
		b.Run(fmt.Sprintf("typed/depth=%d", depth), func(b *testing.B) {
			rng := rand.New(rand.NewPCG(1, 2))
			var c clock
			for i := range depth {
				c.schedule(rng.Int64N(1000), eventInput, int32(i))
			}
			b.ReportAllocs()
			for b.Loop() {
				e, _ := c.next()
				c.schedule(e.at+int64(rng.Uint32N(1000)), e.kind, e.of)
			}
		})
		b.Run(fmt.Sprintf("closures/depth=%d", depth), func(b *testing.B) {
			rng := rand.New(rand.NewPCG(1, 2))
			var h closureHeap
			var seq uint64
			var fired int32
			for i := range depth {
				seq++
				heap.Push(&h, &closureEvent{rng.Int64N(1000), seq, func() { fired += int32(i) }})
			}
			b.ReportAllocs()
			for b.Loop() {
				e := heap.Pop(&h).(*closureEvent)
				e.do()
				seq++
				n := seq
				heap.Push(&h, &closureEvent{e.at + int64(rng.Uint32N(1000)), seq, func() { fired += int32(n) }})
			}
		})
	}
}
