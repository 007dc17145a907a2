package fleet

import "math"

// turn is a party of a clock that waits for everybody else to come to a time.
type turn struct {
	at    int64 // ns
	party int32 // index: of those that wait for one time the first goes on first
	lent  bool  // it waits for nobody, but others had to come to a time
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

// replace puts v in the place of the front.
func (h turns) replace(v turn) {
	i := 0
	for {
		down := 2*i + 1
		if down >= len(h) {
			break
		}
		if down+1 < len(h) && h[down+1].before(h[down]) {
			down++
		}
		if !h[down].before(v) {
			break
		}
		h[i], i = h[down], down
	}
	h[i] = v
}

// pop drops the front.
func (h *turns) pop() {
	n := len(*h) - 1
	last := (*h)[n]
	*h = (*h)[:n]
	if n > 0 {
		h.replace(last)
	}
}

// second returns the turn behind the front, one that never comes if there is none.
func (h turns) second() turn {
	v := turn{at: math.MaxInt64}
	for _, i := range [...]int{1, 2} {
		if i < len(h) && h[i].before(v) {
			v = h[i]
		}
	}
	return v
}

// first reports whether v goes on ahead of all that wait behind the front.
func (h turns) first(v turn) bool {
	for _, i := range [...]int{1, 2} {
		if i < len(h) && h[i].before(v) {
			return false
		}
	}
	return true
}
