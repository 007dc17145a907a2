package needs

// pageSize is how many blocks a page of sights covers: copies share pages, so it is the least that a change copies.
const pageSize = 256

// sights is how a context shows each block of a session. Copies share the pages that neither has changed since, so that the
// many branches of a long session take little each. Copies belong to one goroutine.
type sights struct {
	pages []*page // nil where no block has ever been shown
	owner *owner  // of the pages that no copy shares
	spare []*page
}

// page has the sights of pageSize blocks. Its owner alone may change it.
type page struct {
	owner  *owner
	sights [pageSize]sight
}

// owner is who may change a page: its address counts.
type owner struct{ _ byte }

// reset makes s the sights of n blocks that a context does not show, keeping its storage.
func (s *sights) reset(n int) {
	s.free()
	pages := (n + pageSize - 1) / pageSize
	for len(s.pages) < pages {
		s.pages = append(s.pages, nil)
	}
	s.pages = s.pages[:pages]
}

// free empties s, keeping the pages of its own.
func (s *sights) free() {
	for i, p := range s.pages {
		if p != nil && p.owner == s.owner {
			s.spare = append(s.spare, p)
		}
		s.pages[i] = nil
	}
	s.pages = s.pages[:0]
}

// copyFrom makes s a copy of another, keeping s's storage. The pages belong to neither from then on.
func (s *sights) copyFrom(o *sights) {
	s.free()
	s.pages = append(s.pages, o.pages...)
	s.owner, o.owner = nil, nil
}

// of returns how the context shows a block.
func (s *sights) of(block int32) sight {
	if p := s.pages[block/pageSize]; p != nil {
		return p.sights[block%pageSize]
	}
	return absent
}

// at returns where s has a block, to be changed, until the next copy.
func (s *sights) at(block int32) *sight {
	p := s.pages[block/pageSize]
	if p == nil || p.owner != s.owner {
		p = s.own(block / pageSize)
	}
	return &p.sights[block%pageSize]
}

// own makes a page one that s may change.
func (s *sights) own(i int32) *page {
	if s.owner == nil {
		s.owner = new(owner)
	}
	p := new(page)
	if n := len(s.spare); n > 0 {
		p, s.spare = s.spare[n-1], s.spare[:n-1]
	}
	p.owner = s.owner
	if was := s.pages[i]; was != nil {
		p.sights = was.sights
	} else {
		clear(p.sights[:])
	}
	s.pages[i] = p
	return p
}
