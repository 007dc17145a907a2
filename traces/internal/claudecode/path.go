package claudecode

import (
	"github.com/compactsim/compactsim/traces/internal/assembly"
)

// path is the nodes of one thread of a tree.
type path struct {
	anchor int32 // node of the parent path where it leaves; -1 for the start, or for the first path
	parent int32 // index of the path it leaves; -1 for the first path
	nodes  []int32
}

// paths divides a tree into its active path and the branches that rewinds left
// behind, the active one first, parents before children. Every call is on
// exactly one path.
func (t *tree) paths(rates rateFunc) []path {
	f := &forks{tree: t, rates: rates, cut: map[int32]verdict{}}
	f.measure()
	f.judge()
	list := []path{{anchor: -1, parent: -1}}
	for i := range t.nodes {
		n := &t.nodes[i]
		n.thread = 0
		if n.parent >= 0 {
			n.thread = t.nodes[n.parent].thread
		}
		switch f.cut[int32(i)] {
		case dropped:
			n.thread = -1
		case abandoned:
			if n.thread >= 0 {
				list = append(list, path{anchor: n.parent, parent: n.thread})
				n.thread = int32(len(list)) - 1
			}
		}
		if n.thread >= 0 {
			list[n.thread].nodes = append(list[n.thread].nodes, int32(i))
		}
	}
	return list
}

type verdict uint8

const (
	kept      verdict = iota
	abandoned         // starts a branch
	dropped           // was never sent
)

// forks finds the nodes where a branch leaves a path.
type forks struct {
	tree     *tree
	rates    rateFunc
	children []int32 // per node
	first    []int32 // per node, first call below or at it; -1 for none
	last     []int32 // per node, last call below or at it
	cut      map[int32]verdict
}

// measure counts children and calls below each node. Parents come before their
// children, so one pass from the end is enough.
func (f *forks) measure() {
	n := len(f.tree.nodes)
	f.children, f.first, f.last = make([]int32, n), make([]int32, n), make([]int32, n)
	for i := range n {
		f.first[i], f.last[i] = -1, -1
	}
	for i := n - 1; i >= 0; i-- {
		nd := &f.tree.nodes[i]
		if nd.call != nil {
			f.first[i] = int32(i)
			f.last[i] = max(f.last[i], int32(i))
		}
		if p := nd.parent; p >= 0 {
			f.children[p]++
			if f.first[i] >= 0 {
				f.last[p] = max(f.last[p], f.last[i])
				if f.first[p] < 0 || f.first[i] < f.first[p] {
					f.first[p] = f.first[i]
				}
			}
		}
	}
}

// anchor returns the node that a prompt answers: the nearest one above it that
// is neither a notice nor a meta line.
func (f *forks) anchor(i int32) int32 {
	for i = f.tree.nodes[i].parent; i >= 0 && f.tree.nodes[i].soft(); {
		i = f.tree.nodes[i].parent
	}
	return i
}

// judge decides at every node with several prompts below it. The prompt with the latest
// call is active. An earlier one with calls was abandoned; one without calls was taken
// back before it was sent, unless it is part of the same message.
func (f *forks) judge() {
	prompts := map[int32][]int32{}
	order := []int32{}
	for i := range f.tree.nodes {
		if f.tree.nodes[i].isPrompt() {
			a := f.anchor(int32(i))
			if len(prompts[a]) == 1 {
				order = append(order, a)
			}
			prompts[a] = append(prompts[a], int32(i))
		}
	}
	for _, a := range order {
		f.judgeSiblings(a, prompts[a])
	}
}

func (f *forks) judgeSiblings(anchor int32, siblings []int32) {
	active := int32(-1)
	for _, p := range siblings {
		if f.last[p] >= 0 && (active < 0 || f.last[p] > f.last[active]) {
			active = p
		}
	}
	if active < 0 {
		return
	}
	for k, p := range siblings {
		switch {
		case p == active:
		case f.last[p] < 0:
			if p < f.last[active] && !f.partOfMessage(p, siblings) {
				f.cut[p] = dropped
			}
		default:
			if f.rewound(anchor, p, f.next(siblings[k+1:], active)) {
				f.cut[f.top(p, anchor)] = abandoned
			}
		}
	}
}

// next returns the sibling whose calls follow: the first in order with calls,
// else the active one.
func (f *forks) next(later []int32, active int32) int32 {
	for _, p := range later {
		if f.last[p] >= 0 {
			return p
		}
	}
	return active
}

// partOfMessage reports whether a prompt was sent together with another one:
// a client may write one message as several lines at one instant.
func (f *forks) partOfMessage(p int32, siblings []int32) bool {
	at := f.tree.nodes[p].at
	for _, q := range siblings {
		if q != p && at != 0 && f.tree.nodes[q].at == at {
			return true
		}
	}
	return false
}

// top returns where a branch leaves the tree: at the prompt, or at the notices
// above it that have no other descendants.
func (f *forks) top(p, anchor int32) int32 {
	for up := f.tree.nodes[p].parent; up != anchor && up >= 0 && f.children[up] == 1; up = f.tree.nodes[up].parent {
		p = up
	}
	return p
}

// rewound decides by the recorded totals whether the conversation went back
// from prompt old to the anchor before prompt young was sent, or simply
// continued: prompts queued during a turn are siblings too. The guess closer to
// the total of young's first call wins; without totals the tree decides. Where old calls again behind that call, neither
// continues the other: two processes go on from the anchor, in turn.
func (f *forks) rewound(anchor, old, young int32) bool {
	nodes := f.tree.nodes
	begin, before := f.first[young], int32(-1)
	if f.last[old] > begin {
		return true
	}
	for i := begin - 1; i >= old; i-- {
		if nodes[i].kind == recordCompact {
			return true
		}
		if nodes[i].call != nil {
			before = i
			break
		}
	}
	if before < 0 || !nodes[begin].call.OK || !nodes[before].call.OK {
		return true
	}
	total := format.Context(&nodes[begin].call.Call)
	added := f.weight(young, begin)
	on := format.Context(&nodes[before].call.Call) + f.rates(nodes[before].call.Blocks) + added
	back := f.callAbove(anchor, old) + added
	return abs(total-back) <= abs(total-on)
}

// callAbove returns the total of a conversation at the anchor, reply included:
// from the nearest call above it, or else from the first call of the old branch
// below it, less that call's own input.
func (f *forks) callAbove(anchor, old int32) int64 {
	for i := anchor; i >= 0; i = f.tree.nodes[i].parent {
		if c := f.tree.nodes[i].call; c != nil && c.OK {
			return format.Context(&c.Call) + f.rates(c.Blocks) + f.weight(i+1, anchor+1)
		}
	}
	first := f.first[old]
	c := f.tree.nodes[first].call
	return format.Context(&c.Call) - f.weight(old, first)
}

// weight estimates the input lines from one node to another.
func (f *forks) weight(from, to int32) int64 {
	var n int64
	for i := from; i < to; i++ {
		if nd := &f.tree.nodes[i]; nd.call == nil {
			n += f.rates(blocksOf(nd.entry))
		}
	}
	return n
}

// rateFunc estimates the tokens of blocks.
type rateFunc func([]assembly.Block) int64

func abs(n int64) int64 { return max(n, -n) }
