package fleet

import "math"

// turn is a party of a clock that waits for everybody else to come to a time.
type turn struct {
	at    int64 // ns
	party int32 // index: of those that wait for one time the first goes on first
}

func (a turn) before(b turn) bool { return a.at < b.at || a.at == b.at && a.party < b.party }

// turns is a heap with the party that goes on next at its front.
type turns []turn

func (h *turns) push(v turn) {
	*h = append(*h, v)
	s := *h
	i := len(s) - 1
	for i > 0 {
		up := (i - 1) / 2
		if !v.before(s[up]) {
			break
		}
		s[i], i = s[up], up
	}
	s[i] = v
}

// pop takes the front out.
func (h *turns) pop() turn {
	s := *h
	front, n := s[0], len(s)-1
	v := s[n]
	s = s[:n]
	*h = s
	for i := 0; n > 0; {
		down := 2*i + 1
		if down+1 < n && s[down+1].before(s[down]) {
			down++
		}
		if down >= n || !s[down].before(v) {
			s[i] = v
			break
		}
		s[i], i = s[down], down
	}
	return front
}

// front returns the turn that comes first, one that never comes if there is none.
func (h turns) front() turn {
	if len(h) == 0 {
		return turn{at: math.MaxInt64}
	}
	return h[0]
}
