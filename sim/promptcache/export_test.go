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
