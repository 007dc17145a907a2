package sim

import (
	"slices"
	"testing"

	"github.com/compactsim/compactsim/traces"
)

// Children stand in the order of the rounds they start from, children of one round as they are in
// the session, each behind its own parent.
func TestChildrenInOrder(t *testing.T) {
	s := &replay{session: &traces.Session{Threads: []traces.Thread{
		{Parent: -1}, {Parent: 0, ParentRound: 5}, {Parent: 0, ParentRound: 2}, {Parent: 0, ParentRound: 5},
		{Parent: 2, ParentRound: 1}, {Parent: 0, ParentRound: 0}, {Parent: 2, ParentRound: 0}, {Parent: -1},
	}}}
	new(seats).hold(s, len(s.session.Threads))
	threads := s.threads
	for i := range threads {
		threads[i].child = -1
	}
	s.orderChildren()
	for parent, want := range map[int][]int32{0: {5, 2, 1, 3}, 2: {6, 4}, 1: nil, 7: nil} {
		var got []int32
		for at := threads[parent].child; at >= 0; at = s.children[at] {
			got = append(got, at)
		}
		if !slices.Equal(got, want) {
			t.Errorf("children of thread %d: %v, want %v", parent, got, want)
		}
	}
}
