package claudecode

import (
	"cmp"
	"slices"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
)

// starter is the tool call that may have started a sub-agent.
type starter struct {
	thread *thread
	round  int32
	task   *task
	typ    string
	taken  bool
}

// link finds the round each sub-agent was started by: the tool call its lines
// name, else the one whose prompt it begins with, else the latest round before
// it began. Without a main thread sub-agents are orphans.
func (b *builder) link() {
	byID := map[prompt.Digest]*starter{}
	byPrompt := map[prompt.Digest][]*starter{}
	for _, t := range b.threads {
		for r := range t.rounds {
			for i := range t.rounds[r].reply {
				bl := &t.rounds[r].reply[i]
				if bl.Kind != prompt.KindToolUse {
					continue
				}
				s := &starter{thread: t, round: int32(r), task: bl.task}
				byID[bl.id] = s
				if bl.task != nil {
					s.typ = bl.src.names.at(bl.task.agentType)
					byPrompt[bl.task.prompt] = append(byPrompt[bl.task.prompt], s)
				}
			}
		}
	}
	var root *thread
	if len(b.threads) > 0 && b.threads[0].Kind == traces.ThreadMain {
		root = b.threads[0]
	}
	for _, t := range b.threads {
		if t.Kind == traces.ThreadAgent && t.parent == nil {
			b.linkAgent(t, root, byID, byPrompt)
		}
	}
	b.breakRings(root)
}

func (b *builder) linkAgent(t, root *thread, byID map[prompt.Digest]*starter, byPrompt map[prompt.Digest][]*starter) {
	s := byID[t.stream.tool]
	if s == nil {
		for _, bl := range t.rounds[0].input {
			if s = firstFree(byPrompt[bl.Digest], t); s != nil {
				break
			}
		}
	}
	if s != nil && s.thread != t {
		s.taken = true
		t.agentType, t.parent, t.ParentRound = s.typ, s.thread, s.round
		return
	}
	if root == nil {
		t.Kind = traces.ThreadOrphan
		b.problem(t.rounds[0].call.entry, "sub-agent %s: the session that started it is not in the recording", t.ID)
		return
	}
	t.parent, t.ParentRound = root, latestBefore(root, t.start)
	b.problem(t.rounds[0].call.entry, "sub-agent %s: no tool call started it; the latest round before it taken instead", t.ID)
}

// firstFree returns the first starter that no other sub-agent has taken.
func firstFree(list []*starter, t *thread) *starter {
	for _, s := range list {
		if !s.taken && s.thread != t {
			return s
		}
	}
	return nil
}

// latestBefore returns the last round of t whose response had begun at a time,
// -1 for none.
func latestBefore(t *thread, at int64) int32 {
	found := int32(-1)
	for r := range t.rounds {
		if f := t.rounds[r].call.first; f != 0 && f <= at {
			found = int32(r)
		}
	}
	return found
}

// breakRings hangs threads that are their own ancestors on the main thread.
func (b *builder) breakRings(root *thread) {
	for _, t := range b.threads {
		depth := 0
		for up := t.parent; up != nil; up = up.parent {
			if depth++; depth > len(b.threads) {
				t.parent, t.ParentRound = root, -1
				if root == nil || t == root {
					t.parent, t.Kind = nil, traces.ThreadOrphan
				}
				break
			}
		}
	}
}

// sortThreads orders parents before children, the main thread and its branches
// first, and computes when each starts.
func (b *builder) sortThreads() {
	depth := func(t *thread) (d int) {
		for ; t.parent != nil; t = t.parent {
			d++
		}
		return d
	}
	rank := map[*thread]int{}
	for _, t := range b.threads {
		rank[t] = depth(t)
	}
	slices.SortStableFunc(b.threads, func(a, c *thread) int { return cmp.Compare(rank[a], rank[c]) })
}
