package assembly

import (
	"cmp"
	"slices"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
)

// starter is a tool call that may have started a sub-agent.
type starter struct {
	thread *Thread
	round  int32
	typ    string
	taken  bool
}

// link finds the round that started each sub-agent: the round of the tool call its
// lines name, else of the call whose prompt it begins with, else the latest
// round before it began. Without a main thread sub-agents are orphans.
func (s *Session) link() {
	byID := map[prompt.Digest]*starter{}
	byPrompt := map[prompt.Digest][]*starter{}
	for _, t := range s.Threads {
		for r := range t.Calls {
			for i := range t.Calls[r].Reply {
				bl := &t.Calls[r].Reply[i]
				if bl.Kind != prompt.KindToolUse {
					continue
				}
				by := &starter{thread: t, round: int32(r)}
				byID[bl.ID] = by
				if bl.Task != nil {
					by.typ = bl.Task.AgentType
					byPrompt[bl.Task.Prompt] = append(byPrompt[bl.Task.Prompt], by)
				}
			}
		}
	}
	var root *Thread
	if len(s.Threads) > 0 && s.Threads[0].Kind == traces.ThreadMain {
		root = s.Threads[0]
	}
	for _, t := range s.Threads {
		if t.Kind == traces.ThreadAgent && t.Up == nil {
			s.linkAgent(t, root, byID, byPrompt)
		}
	}
	s.breakRings(root)
	s.sortThreads()
}

func (s *Session) linkAgent(t, root *Thread, byID map[prompt.Digest]*starter, byPrompt map[prompt.Digest][]*starter) {
	by := byID[t.Starter]
	if by == nil {
		for _, bl := range t.Calls[0].Before {
			if by = firstFree(byPrompt[bl.Digest], t); by != nil {
				break
			}
		}
	}
	if by != nil && by.thread != t {
		by.taken = true
		t.AgentType, t.Up, t.ParentRound = by.typ, by.thread, by.round
		return
	}
	if root == nil {
		t.Kind = traces.ThreadOrphan
		s.Problem(t.Calls[0].Place, "sub-agent %s: the session that started it is not in the recording", t.ID)
		return
	}
	t.Up, t.ParentRound = root, latestBefore(root, t.Began)
	s.Problem(t.Calls[0].Place, "sub-agent %s: no tool call started it; the latest round before it taken instead", t.ID)
}

// firstFree returns the first starter that no other sub-agent has taken.
func firstFree(list []*starter, t *Thread) *starter {
	for _, s := range list {
		if !s.taken && s.thread != t {
			return s
		}
	}
	return nil
}

// latestBefore returns the last round of t whose response had begun at a time,
// -1 for none.
func latestBefore(t *Thread, at int64) int32 {
	found := int32(-1)
	for r := range t.Calls {
		if f := t.Calls[r].First; f != 0 && f <= at {
			found = int32(r)
		}
	}
	return found
}

// breakRings attaches threads that are their own ancestors to the main thread.
func (s *Session) breakRings(root *Thread) {
	for _, t := range s.Threads {
		depth := 0
		for up := t.Up; up != nil; up = up.Up {
			if depth++; depth > len(s.Threads) {
				t.Up, t.ParentRound = root, -1
				if root == nil || t == root {
					t.Up, t.Kind = nil, traces.ThreadOrphan
				}
				break
			}
		}
	}
}

// sortThreads orders parents before children, the main thread and its branches
// first.
func (s *Session) sortThreads() {
	depth := map[*Thread]int{}
	for _, t := range s.Threads {
		for up := t.Up; up != nil; up = up.Up {
			depth[t]++
		}
	}
	slices.SortStableFunc(s.Threads, func(a, c *Thread) int { return cmp.Compare(depth[a], depth[c]) })
}

// dropEmpty removes threads without calls. A path that was left for another has
// calls, and so has the other.
func (s *Session) dropEmpty() {
	s.Threads = slices.DeleteFunc(s.Threads, func(t *Thread) bool { return len(t.Calls) == 0 })
}
