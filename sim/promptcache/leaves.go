package promptcache

// leaf is a stored entry that nothing stored stands on, and a time at or before
// its last use.
type leaf struct {
	at int64 // ns
	id int32
}

// before orders leaves by their last use, those of one time as they were
// written.
func (l leaf) before(m leaf) bool { return l.at < m.at || l.at == m.at && l.id < m.id }

// leafHeap has the least recently used leaf at its front. Times in it may lag
// behind: a use costs nothing, and whoever takes the front brings it up to date.
type leafHeap []leaf

func (h *leafHeap) push(l leaf) {
	*h = append(*h, l)
	s := *h
	i := len(s) - 1
	for i > 0 {
		up := (i - 1) / 2
		if !s[i].before(s[up]) {
			return
		}
		s[i], s[up] = s[up], s[i]
		i = up
	}
}

// pop drops the front.
func (h *leafHeap) pop() {
	s := *h
	n := len(s) - 1
	s[0] = s[n]
	*h = s[:n]
	h.sink()
}

// sink moves the front to its place.
func (h *leafHeap) sink() {
	s := *h
	for i := 0; ; {
		least := i
		for _, down := range [...]int{2*i + 1, 2*i + 2} {
			if down < len(s) && s[down].before(s[least]) {
				least = down
			}
		}
		if least == i {
			return
		}
		s[i], s[least] = s[least], s[i]
		i = least
	}
}
