package assembly

import (
	"cmp"
	"slices"
)

// inOrder divides requests, which are sorted by their times, into conversations. Where a clock was set back, later requests precede
// earlier ones: if more of them go on from each other in the order of the log, that order counts, and times are moved forward.
func inOrder(list []*Request) []*history {
	all, logged := histories(list), asLogged(list)
	if logged == nil {
		return all
	}
	as := histories(logged)
	if beginnings(as) >= beginnings(all) {
		return all
	}
	forward(logged)
	return as
}

// asLogged returns requests in the order of the log if a request there had ended before the preceding one began, as where a clock
// was set back; nil otherwise. A log that lists the latest requests first has such requests too.
func asLogged(list []*Request) []*Request {
	logged := slices.Clone(list)
	slices.SortStableFunc(logged, func(a, b *Request) int { return cmp.Compare(a.Nth, b.Nth) })
	for i := 1; i < len(logged); i++ {
		if logged[i].before(logged[i-1]) {
			return logged
		}
	}
	return nil
}

// before reports whether r had ended when o began.
func (r *Request) before(o *Request) bool { return r.End != 0 && r.End < o.Start }

// forward moves requests that are older than the request before them in the log to its end, and all later requests by as much: how
// long the pause was is not known.
func forward(logged []*Request) {
	moved := int64(0)
	for i, r := range logged {
		r.move(moved)
		if i == 0 || !r.before(logged[i-1]) {
			continue
		}
		more := logged[i-1].End - r.Start
		r.move(more)
		moved += more
		r.Source.Problems.Add(r.Source.Name, int(r.Line), "time runs back: the request is older than the one before it; "+
			"it is taken to follow that one at once, and later times move with it")
	}
}

// move adds a duration, ns, to the times that are known.
func (r *Request) move(by int64) {
	for _, at := range []*int64{&r.Start, &r.First, &r.End} {
		if *at != 0 {
			*at += by
		}
	}
}

// beginnings returns how many calls do not go on from the call before them: the first of each history, one that begins a branch, and
// one that shows no messages and is smaller than the call before it.
func beginnings(all []*history) int {
	n := len(all)
	for _, h := range all {
		for i := 1; i < len(h.calls); i++ {
			if c := &h.calls[i]; int(c.parent) < i-1 || c.Messages == nil && c.Usage.Input() < h.calls[i-1].Usage.Input() {
				n++
			}
		}
	}
	return n
}
