package assembly

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
)

// Tree holds the entries of a file whose conversation can go back to an earlier
// entry and on from there. What does not lead to the last entry is a branch
// that was left.
type Tree struct {
	File             *File
	Version, Project string

	entries []entry
	room    []held // for the steps of entries
	row     int    // entries at the end that are input, each below the one before it
}

// entry is what one line or message adds to the entry above it.
type entry struct {
	parent int32 // index, -1 for none
	folded bool  // it stands for several; see Unanswered
	steps  []held
}

// IDs are entries, or whatever else is numbered, by id. Of an id 64 bits of its digest are kept, so that a file of millions of
// short lines takes some 25 bytes for each: two of two million ids have the same bits in one of ten million such files.
type IDs map[uint64]int32

// Get returns what has an id.
func (m IDs) Get(id string) (i int32, ok bool) {
	i, ok = m[prompt.DigestString(id).Lo]
	return i, ok
}

// Set gives something an id.
func (m IDs) Set(id string, i int32) { m[prompt.DigestString(id).Lo] = i }

// Len returns the number of entries.
func (t *Tree) Len() int32 { return int32(len(t.entries)) }

// Add adds an entry below another one, -1 for none, and returns its index: of the last entry, where that took the steps. See Unanswered.
func (t *Tree) Add(parent int32, steps []Step) int32 {
	if t.fold(parent, steps) {
		return t.Len() - 1
	}
	t.entries = append(t.entries, entry{parent: parent, steps: t.keep(steps)})
	return t.Len() - 1
}

// Set replaces the steps of an entry. One that stands for several keeps its own; see Unanswered.
func (t *Tree) Set(i int32, steps []Step) {
	if !t.entries[i].folded {
		t.entries[i].steps = t.keep(steps)
	}
}

// Steps returns the steps of an entry, which Set changes.
func (t *Tree) Steps(i int32) (list []Step) {
	for k := range t.entries[i].steps {
		list = append(list, t.entries[i].steps[k].step())
	}
	return list
}

// Parent returns the index of the entry above one, -1 for none.
func (t *Tree) Parent(i int32) int32 { return t.entries[i].parent }

// Threads divides the tree into the path to the last entry and the branches that
// were left, parents before children. session names it in the ids of calls that have none. The entries give up their steps, so
// that a file of millions of lines is not there twice.
func (t *Tree) Threads(session string) []*Thread {
	latest := make([]int32, len(t.entries)) // the last entry at or below each
	next := make([]int32, len(t.entries))   // the child that leads there, -1 for none
	for i := len(t.entries) - 1; i >= 0; i-- {
		latest[i] = max(latest[i], int32(i))
		if latest[i] == int32(i) {
			next[i] = -1
		}
		if p := t.entries[i].parent; p >= 0 && latest[i] > latest[p] {
			latest[p], next[p] = latest[i], int32(i)
		}
	}
	var list []*Rounds
	of := make([]int, len(t.entries))      // thread of each entry
	calls := make([]int32, len(t.entries)) // calls of the thread so far
	seen := IDs{}
	var st Step
	for i := range t.entries {
		e := &t.entries[i]
		if p := e.parent; p >= 0 && next[p] == int32(i) {
			of[i] = of[p]
		} else {
			of[i] = len(list)
			th := Main()
			if p >= 0 {
				th.Kind, th.Up, th.ParentRound = traces.ThreadBranch, list[of[p]].Thread, calls[p]-1
			} else if len(list) > 0 {
				th.Kind, th.Up = traces.ThreadBranch, list[0].Thread
			}
			r := NewRounds(th, t.File)
			r.Version, r.Project = t.Version, t.Project
			list = append(list, r)
		}
		r := list[of[i]]
		for k := range e.steps {
			if st = e.steps[k].step(); st.Kind == StepReply {
				if _, again := seen.Get(st.ID); again {
					st.ID = ""
				}
				seen.Set(st.ID, 0)
			}
			r.Add(&st)
		}
		e.steps = nil
		calls[i] = int32(len(r.Calls))
	}
	return t.finish(session, list)
}

// finish ends the threads. A branch is named after its first call.
func (t *Tree) finish(session string, list []*Rounds) []*Thread {
	var threads []*Thread
	for i, r := range list {
		id := session
		if i > 0 {
			id += "/" + strconv.Itoa(i)
		}
		loose := r.Done(id)
		if r.Kind == traces.ThreadBranch && len(r.Calls) > 0 {
			r.ID = r.Calls[0].ID
		}
		switch {
		case len(r.Calls) == 0:
			for k := range r.Happened {
				if ev := &r.Happened[k]; ev.summary != nil {
					t.File.Lacks(1, int(ev.Line), "no call follows a summary, or leads to it; its tokens are not in the bill")
				}
			}
		case i == 0:
			t.File.Loose(loose)
		}
		threads = append(threads, r.Thread)
	}
	return rooted(threads)
}

// rooted attaches branches of threads without calls to what those threads left,
// and makes the first thread without a parent the main one.
func rooted(threads []*Thread) []*Thread {
	var root *Thread
	for _, t := range threads {
		if len(t.Calls) == 0 {
			continue
		}
		for t.Up != nil && len(t.Up.Calls) == 0 {
			t.Up, t.ParentRound = t.Up.Up, t.Up.ParentRound
		}
		switch {
		case t.Up != nil:
		case root == nil:
			root = t
			t.Kind, t.ID, t.ParentRound = traces.ThreadMain, "main", -1
		default:
			t.Kind, t.Up, t.ParentRound = traces.ThreadBranch, root, -1
		}
	}
	slices.SortStableFunc(threads, func(a, b *Thread) int { return cmp.Compare(a.Kind, b.Kind) })
	return threads
}

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

// held is a step as a tree keeps it: of a file of millions of lines each has one, and most steps have few of the fields of a Step.
type held struct {
	at, first int64
	id, model string
	blocks    []Block
	count     *usage // nil where there is none
	whole     *Step  // of a step that has more than the fields here; nil for any other one
	line      int32
	kind      StepKind
	final     bool
}

// usage is what a step that counts a call has beside the fields of held.
type usage struct {
	Usage
	gateway string
}

// hold returns a step as a tree of the file keeps it.
func (f *File) hold(s *Step) held {
	if s.rare(f) {
		whole := *s
		return held{kind: s.Kind, whole: &whole}
	}
	h := held{at: s.At, first: s.First, id: s.ID, model: s.Model, blocks: s.Blocks, line: s.Line, kind: s.Kind, final: s.Final}
	if c := (usage{s.Usage, s.Gateway}); c != (usage{}) {
		h.count = &c
	}
	return h
}

// rare reports whether a step has what few steps of a file have.
func (s *Step) rare(f *File) bool {
	return s.Source != nil && s.Source != f || s.Signs != 0 || s.Verdict != 0 || s.Parted != 0 || s.Breakpoints != nil ||
		s.Summaries != nil || s.Cleared != nil || s.Dropped != nil || s.Calls != 0 || s.Tokens != 0 ||
		s.Manual || s.Gone || s.Uncalled || s.Aside
}

// step returns the step again.
func (h *held) step() Step {
	if h.whole != nil {
		return *h.whole
	}
	s := Step{Kind: h.kind, At: h.at, First: h.first, Line: h.line, ID: h.id, Model: h.model, Blocks: h.blocks, Final: h.final}
	if h.count != nil {
		s.Usage, s.Gateway = h.count.Usage, h.count.gateway
	}
	return s
}

// missing reports whether the log has no count of the call that the step counts.
func (h *held) missing() bool {
	if h.whole != nil {
		return h.whole.Usage.Missing
	}
	return h.count != nil && h.count.Missing
}

// join joins input with the step, if that is of the kind, and reports whether it is.
func (h *held) join(s *Step) bool {
	if h.kind != s.Kind {
		return false
	}
	at, blocks := &h.at, &h.blocks
	if h.whole != nil {
		at, blocks = &h.whole.At, &h.whole.Blocks
	}
	*at = max(*at, s.At)
	for k := range s.Blocks {
		if !foldLast(*blocks, &s.Blocks[k]) {
			*blocks = append(*blocks, s.Blocks[k])
		}
	}
	return true
}

// heldAtOnce is how many steps a tree makes room for at once.
const heldAtOnce = 64

// keep returns steps as the tree keeps them.
func (t *Tree) keep(steps []Step) []held {
	if len(steps) == 0 {
		return nil
	}
	if cap(t.room)-len(t.room) < len(steps) {
		t.room = make([]held, 0, max(heldAtOnce, len(steps)))
	}
	n := len(t.room)
	for i := range steps {
		t.room = append(t.room, t.File.hold(&steps[i]))
	}
	return t.room[n:len(t.room):len(t.room)]
}
