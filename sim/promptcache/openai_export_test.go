package promptcache

import "fmt"

// Sweep drops what has expired by t now, not when the table is full.
func (o *OpenAI) Sweep(t int64) { o.sweep(t, 0) }

// Nodes returns the number of positions stored.
func (o *OpenAI) Nodes() int { return len(o.nodes) }

// Runs returns the number of runs stored.
func (o *OpenAI) Runs() int { return len(o.runs) }

// Threads returns the number of conversations that there is a place for.
func (o *OpenAI) Threads() int { return len(o.threads) }

// CheckStructure verifies what runs and nodes promise to each other.
func (o *OpenAI) CheckStructure() error {
	children := make([]int, len(o.runs))
	for i := range o.runs {
		ru := &o.runs[i]
		switch {
		case ru.parent >= int32(i):
			return fmt.Errorf("run %d has the later parent %d", i, ru.parent)
		case ru.end <= ru.at:
			return fmt.Errorf("run %d behind %d ends at %d", i, ru.at, ru.end)
		case ru.parent != none && (ru.at > o.runs[ru.parent].end || ru.at <= o.runs[ru.parent].at):
			return fmt.Errorf("run %d stands on position %d, which is not of its parent", i, ru.at)
		}
		for j := 1; j < len(ru.uses); j++ {
			if u, v := ru.uses[j-1], ru.uses[j]; u.pos <= v.pos || u.time > v.time {
				return fmt.Errorf("uses of run %d are out of order: %v before %v", i, u, v)
			}
		}
		for c := ru.child; c != none; c = o.runs[c].sibling {
			if o.runs[c].parent != int32(i) {
				return fmt.Errorf("run %d is listed under %d and stands on %d", c, i, o.runs[c].parent)
			}
			children[i]++
		}
	}
	for i := range o.runs {
		if p := o.runs[i].parent; p != none {
			children[p]--
		}
	}
	for i, n := range children {
		if n != 0 {
			return fmt.Errorf("run %d lists %d children too many", i, n)
		}
	}
	for i := range o.nodes {
		if nd := &o.nodes[i]; nd.pos <= o.runs[nd.run].at || nd.pos > o.runs[nd.run].end {
			return fmt.Errorf("node %d of position %d is not within its run", i, nd.pos)
		}
	}
	return nil
}
