package promptcache

import "fmt"

// Anchors.
const (
	AnchorEnd   = anchorEnd
	AnchorStart = anchorStart
)

// Sweep drops what has expired by t now, not when the table is full.
func (a *Anthropic) Sweep(t int64) { a.sweep(t, 0) }

// Entries returns the number of entries stored, dead ones included.
func (a *Anthropic) Entries() int { return len(a.entries) }

// Lineages returns the number of lineages.
func (a *Anthropic) Lineages() int { return len(a.lineages) }

// Threads returns the number of conversations that there is a place for.
func (a *Anthropic) Threads() int { return len(a.threads) }

// CheckStructure verifies what the tree of entries promises to itself.
func (a *Anthropic) CheckStructure() error {
	for id := range a.entries {
		e := &a.entries[id]
		l := &a.lineages[e.lineage]
		switch {
		case e.parent >= int32(id):
			return fmt.Errorf("entry %d has the later parent %d", id, e.parent)
		case (e.parent == none || a.cfg.NoPrefixRefresh) && (e.depth != 0 || l.base != none):
			return fmt.Errorf("root %d has depth %d on a lineage with base %d", id, e.depth, l.base)
		case a.cfg.NoPrefixRefresh:
		case e.parent != none && a.entries[e.parent].depth != e.depth-1:
			return fmt.Errorf("entry %d of depth %d has a parent of depth %d", id, e.depth, a.entries[e.parent].depth)
		case e.parent != none && a.entries[e.parent].lineage != e.lineage && l.base != e.parent:
			return fmt.Errorf("entry %d begins a lineage with base %d, its parent is %d", id, l.base, e.parent)
		case a.entries[l.tip].lineage != e.lineage || a.entries[l.tip].depth < e.depth:
			return fmt.Errorf("entry %d stands behind the tip %d of its lineage", id, l.tip)
		}
	}
	if err := a.checkRoom(); err != nil {
		return err
	}
	for i := range a.lineages {
		for j := 1; j < len(a.lineages[i].uses); j++ {
			u, v := a.lineages[i].uses[j-1], a.lineages[i].uses[j]
			if u.depth <= v.depth || u.at > v.at {
				return fmt.Errorf("uses of lineage %d are out of order: %v before %v", i, u, v)
			}
		}
	}
	return nil
}

// checkRoom verifies that the figures of what is stored add up, that what is in
// the cache is stored on stored prefixes, that only what is stored is pinned, and
// that every leaf can be evicted.
func (a *Anthropic) checkRoom() error {
	m := a.room
	if m == nil {
		return nil
	}
	var used int64
	children, pins := make([]int32, len(m.places)), make([]int32, len(m.places))
	for i := range m.pins {
		for _, id := range m.pins[i] {
			if id != none {
				pins[id]++
			}
		}
	}
	for id := range m.places {
		p, e := &m.places[id], &a.entries[id]
		if e.state == stateLive && !p.stored {
			return fmt.Errorf("entry %d is in the cache and takes no room", id)
		}
		if !p.stored {
			continue
		}
		used += p.own
		if e.parent != none {
			children[e.parent]++
			if !m.places[e.parent].stored {
				return fmt.Errorf("entry %d stands on %d, which is not stored", id, e.parent)
			}
		}
	}
	if used != m.used || used > m.capacity {
		return fmt.Errorf("%d tokens are stored, counted as %d, of %d", used, m.used, m.capacity)
	}
	for id := range m.places {
		p := &m.places[id]
		switch leaf := p.stored && p.children == 0; {
		case p.children != children[id]:
			return fmt.Errorf("entry %d has %d children, counted as %d", id, children[id], p.children)
		case p.pins != pins[id] || p.pins > 0 && !p.stored:
			return fmt.Errorf("entry %d, stored %t, is pinned %d times, counted as %d", id, p.stored, pins[id], p.pins)
		case leaf && a.entries[id].state != stateLive:
			return fmt.Errorf("entry %d is lost and takes room", id)
		case leaf && p.pins == 0 && !p.queued:
			return fmt.Errorf("leaf %d cannot be evicted", id)
		}
	}
	return nil
}
