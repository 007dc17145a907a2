package needs

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/op"
	"github.com/compactsim/compactsim/sim/results/recall"
)

// State says whether a need is still at hand.
type State uint8

// The states of a need just before the action that uses it.
const (
	Verbatim    State = iota // in the context word for word
	Recoverable              // not in it, but can be fetched again unchanged: a file, a pointer
	Gone                     // neither: at best in a summary
)

// Survival is the share of needs that a modelled summary is expected to keep, by kind, 0…1.
type Survival [recall.NumNeedKinds]float64

// Published returns what a published measurement found for summaries of coding sessions: they repeat 82 % of strings
// word for word, and recall 7 % of facts, used here for contents of files (docs/fidelity.md).
func Published() (s Survival) {
	for k := range s {
		s[k] = 0.82
	}
	s[recall.NeedEdit], s[recall.NeedRead] = 0.07, 0.07
	return s
}

// Expected returns what modelled summaries keep of each kind: what a profile
// says, else what is published, which contents of files that were read always use.
func Expected(p *profile.Profile) Survival {
	keeps := Published()
	for k := range keeps {
		if e, ok := p.KeptOf(recall.NeedKind(k).String()); ok && recall.NeedKind(k) != recall.NeedRead {
			keeps[k] = e.Value
		}
	}
	return keeps
}

// sight is how the context shows a block: in its lower bits the form, above them the compaction, by the depth
// behind it, with which the block left. Work at a compaction so depends on the context alone and not on all that was ever
// said, which makes time proportional to the length of a session.
type sight uint32

// The forms, and the parts of a sight.
const (
	absent   sight = iota
	whole          // unchanged
	part           // its first bytes
	pointer        // a pointer to it
	cleared        // a placeholder
	formBits       = 3
	formMask       = 1<<formBits - 1
	// stood says, after a compaction and until the next, that a block which the context shows or omits was not absent before it.
	stood sight = 1 << 31
)

// maxBehind is up to how many summaries are told apart.
const maxBehind = 31

func (s sight) form() sight { return s & formMask }

// left returns the depth behind the compaction with which a block left, 0 for none.
func (s sight) left() int { return int(s &^ stood >> formBits) }

// lost returns the sight of a block that left with the compaction before a depth.
func lost(depth int) sight { return sight(depth) << formBits }

// Judge finds what a thread's context has of what its actions need. It keeps its storage between sessions.
type Judge struct {
	x      *Index
	blocks []prompt.Block
	thread int32
	main   bool
	keeps  Survival

	shown    sights  // by block of the session
	present  spans   // blocks that the context shows
	before   spans   // blocks that it showed before the last compaction
	omitted  []int32 // blocks that it has as omitted, since the last compaction
	aging    bool    // a compaction is looked at
	past     past    // of the blocks that left
	using    using   // needs by block
	restored []int32 // objects that the context has as restored files
	heard    []int32 // blocks with directives
	kept     []int32 // needs, by place in the thread, that a modelled summary has room for
	depth    int     // compactions before the context
	summaries
	edits uint32
	seen  int // entries looked at
	said  recall.Portion
	cuts  map[int32]int32 // remaining bytes of blocks that are shown in part
	files []uint8         // by object, what artifacts found; 0 between compactions
	met   []int32         // objects that artifacts found
}

// summaries is what the judge knows of the summaries in the context.
type summaries struct {
	modelled bool  // the context has a summary of which only the size is known
	words    Words // nil if no summary has words
	known    map[prompt.Digest]written
	here     []written // of the summaries in the context
	summary  int32     // id of the newest summary, -1 for none
}

// Reset makes j the judge of a thread of a session at its beginning. main says that
// people speak in the thread; keeps is what summaries without known words keep.
func (j *Judge) Reset(x *Index, blocks []prompt.Block, thread int32, main bool, keeps *Survival, words Words) {
	*j = Judge{
		x: x, blocks: blocks, thread: thread, main: main, keeps: *keeps, summaries: summaries{summary: -1, words: words},
		shown: j.shown, present: j.present[:0], before: j.before[:0], omitted: j.omitted[:0],
		past: j.past.empty(), using: j.using, restored: j.restored[:0],
		heard: j.heard[:0], kept: j.kept[:0], cuts: j.cuts, files: j.files, met: j.met[:0],
	}
	j.shown.reset(len(blocks))
	clear(j.cuts)
}

// Inherit makes j continue from the thread that its own branches off, and whose context its own has.
func (j *Judge) Inherit(from *Judge) {
	if j.x == nil || from.x != j.x {
		return
	}
	j.shown.copyFrom(&from.shown)
	j.present, j.omitted = append(j.present[:0], from.present...), append(j.omitted[:0], from.omitted...)
	j.past.become(&from.past)
	j.restored, j.heard = append(j.restored[:0], from.restored...), append(j.heard[:0], from.heard...)
	j.here, j.cuts = slices.Clone(from.here), maps.Clone(from.cuts)
	j.depth, j.modelled, j.summary = from.depth, from.modelled, from.summary
	j.said, j.seen, j.edits = from.said, from.seen, from.edits
	if j.main != from.main { // the directives of its prompts have not been heard
		j.edits = math.MaxUint32
	}
}

// Become makes j a copy of another judge, keeping j's storage.
func (j *Judge) Become(from *Judge) {
	c := *from
	c.shown = j.shown
	c.shown.copyFrom(&from.shown)
	c.present = append(j.present[:0], from.present...)
	c.before, c.omitted = append(j.before[:0], from.before...), append(j.omitted[:0], from.omitted...)
	c.past = j.past
	c.past.become(&from.past)
	c.using = j.using
	c.restored = append(j.restored[:0], from.restored...)
	c.heard, c.kept = append(j.heard[:0], from.heard...), append(j.kept[:0], from.kept...)
	c.here, c.cuts = slices.Clone(from.here), maps.Clone(from.cuts)
	c.files, c.met = j.files, j.met
	*j = c
}

// Look brings j up to date with a context. It must see new entries before a strategy
// edits them. It adds what a compaction left of artifacts to the figures.
func (j *Judge) Look(c *prompt.Context, round int32, to *recall.Needs) {
	if c.Edits() != j.edits || c.Len() < j.seen {
		j.again(c, round, to)
	}
	for i := j.seen; i < c.Len(); i++ {
		j.see(c, i)
	}
	j.seen, j.edits = c.Len(), c.Edits()
}

// again examines the whole context after an edit.
func (j *Judge) again(c *prompt.Context, round int32, to *recall.Needs) {
	newest := int32(-1)
	for i := range c.Len() {
		if e := c.At(i); e.Kind == prompt.KindSummary {
			newest = max(newest, e.ID)
		}
	}
	behind := newest > j.summary
	j.leave(behind)
	j.restored, j.here, j.modelled, j.said = j.restored[:0], j.here[:0], false, recall.Portion{recall.Whole: j.said[recall.Whole]}
	j.seen = 0
	var room int32
	for i := range c.Len() {
		j.see(c, i)
		if e := c.At(i); e.Kind == prompt.KindSummary && e.ID == newest {
			room = c.BlockAt(i).Bytes
		}
	}
	j.seen, j.aging = c.Len(), false
	j.retell()
	if !behind {
		return
	}
	j.summary = newest
	j.depth++
	j.fill(round, room)
	j.artifacts(to)
}

// leave takes all blocks out of the context, before it is looked at again: with a compaction they count as left.
func (j *Judge) leave(behind bool) {
	for _, b := range j.omitted {
		*j.shown.at(b) = absent
	}
	j.omitted, j.before, j.present = j.omitted[:0], j.present, j.before[:0]
	j.aging = behind
	for b := range j.before.blocks { // one that came back may be listed twice
		switch s := j.shown.at(b); {
		case !behind || s.form() == absent && s.left() <= j.depth:
			*s = absent
		case s.form() != absent:
			*s = lost(j.depth + 1)
			j.past.add(&j.blocks[b], 1)
		}
	}
}

// behind returns how many summaries there have been since a block left, 0 for one that the context has or never had.
func (j *Judge) behind(s sight) uint8 {
	left := s.left()
	if left == 0 {
		return 0
	}
	return uint8(min(j.depth-left+1, maxBehind))
}

// show sets how the context shows a block.
func (j *Judge) show(block int32, form sight) {
	s := j.shown.at(block)
	was := *s
	if was.left() > 0 {
		j.past.add(&j.blocks[block], -1)
	}
	if form != absent && was.form() == absent {
		j.present.add(block)
	}
	if *s = form; j.aging && (was.left() > 0 || was&stood != 0) {
		*s |= stood
	}
	if form == absent && was.form() == absent {
		j.omitted = append(j.omitted, block)
	}
}

// see records how an entry shows its block.
func (j *Judge) see(c *prompt.Context, i int) {
	e := c.At(i)
	if e.Block < 0 {
		j.seeMade(c, i, e)
		return
	}
	form := [...]sight{whole, part, pointer, cleared, absent}[e.Form]
	if form == whole && e.Had > 0 {
		form = cleared // the server omits its content
	}
	if j.show(int32(e.Block), form); form == part {
		if j.cuts == nil {
			j.cuts = map[int32]int32{}
		}
		b := c.BlockAt(i)
		j.cuts[int32(e.Block)] = int32(int64(b.Bytes) * int64(e.Tokens) / int64(max(1, b.Tokens)))
	}
	if j.main && e.Kind == prompt.KindPrompt {
		j.hear(int32(e.Block), form)
	}
}

// seeMade records what a block that is not in the recording shows: a restored file, or a summary.
func (j *Judge) seeMade(c *prompt.Context, i int, e *prompt.Entry) {
	b := c.BlockAt(i)
	switch {
	case b.Object >= 0 && (e.Kind == prompt.KindAttachment || e.Kind == prompt.KindToolResult && b.Op == op.Read):
		j.restored = append(j.restored, b.Object)
	case e.Kind == prompt.KindSummary:
		said := j.x.recorded(b.Digest)
		for k := said.From; k < said.To; k++ {
			j.show(k, whole)
		}
		if w := j.read(b); w != nil {
			j.here = append(j.here, w)
		} else {
			j.modelled = true
		}
	}
}

// hear counts the directives of a prompt.
func (j *Judge) hear(block int32, form sight) {
	n := float64(len(j.x.directivesOf(block)))
	if n == 0 {
		return
	}
	if !slices.Contains(j.heard, block) {
		j.heard = append(j.heard, block)
		j.said[recall.Whole] += n
	}
	if form == whole {
		j.said[recall.Part] += n
	}
}

// Has reports whether the context has a block unchanged.
func (j *Judge) Has(block int32) bool { return j.shown.of(block).form() == whole }

// Holds reports whether the context shows what a block shows: the block, one that it repeats, or its file, which came
// back or was fetched.
func (j *Judge) Holds(block int32) bool {
	for {
		if j.Has(block) || j.back(block) {
			return true
		}
		source, ok := j.x.sources[block]
		if !ok || source >= block {
			return false
		}
		block = source
	}
}

// back reports whether the file of a block came back or was fetched.
func (j *Judge) back(block int32) bool {
	o := j.blocks[block].Object
	return o >= 0 && slices.Contains(j.restored, o)
}

// Call adds to the figures what the request of a round has: of what its answer uses, and of what a person has said.
// tell, which may be nil, is called for each need with the share that summaries are expected to keep.
func (j *Judge) Call(round int32, to *recall.Needs, tell func(n *Need, state State, kept float64)) {
	list := j.x.Round(j.thread, round)
	for i := range list {
		n := &list[i]
		state, kept := j.look(n)
		t := to.Kind(n.Kind)
		w := float64(n.Weight)
		t[recall.Count]++
		t[recall.Weight] += w
		switch state {
		case Verbatim:
			t[recall.Verbatim] += w
		case Recoverable:
			t[recall.Recoverable] += w
		case Gone:
			t[recall.Summarized] += math.Round(w * kept)
			if kept > 0 && holds(j.kept, j.x.threads[j.thread].starts[round]+int32(i)) {
				t[recall.Most] += w
			}
		}
		if tell != nil {
			tell(n, state, kept)
		}
	}
	d := to.Portion(recall.Instructions, recall.Depth(j.depth))
	d[recall.Part] += j.said[recall.Part]
	d[recall.Whole] += j.said[recall.Whole]
	if j.modelled {
		to[recall.Directed] += j.said[recall.Whole] - j.said[recall.Part]
	}
}

// Foresee calls tell, as Call does, for each need of a coming round, as the context is now.
func (j *Judge) Foresee(round int32, tell func(n *Need, state State, kept float64)) {
	list := j.x.Round(j.thread, round)
	for i := range list {
		state, kept := j.look(&list[i])
		tell(&list[i], state, kept)
	}
}

// look returns the state of a need, and the share that summaries are expected to keep.
func (j *Judge) look(n *Need) (State, float64) {
	state, behind := j.state(n)
	if !j.modelled || behind == 0 {
		return state, 0
	}
	return state, math.Pow(j.keeps[n.Kind], float64(behind))
}

// state returns the state of a need and the least number of modelled summaries since it left the context.
func (j *Judge) state(n *Need) (State, uint8) {
	behind, points := uint8(maxBehind), false
	for _, p := range j.x.Places(n) {
		was := j.shown.of(p.Block)
		switch form := was.form(); {
		case form == part && p.To <= j.cuts[p.Block], form == whole, j.back(p.Block):
			return Verbatim, 0
		case form == part, form == pointer:
			points = true
		}
		behind = min(behind, j.behind(was))
	}
	switch {
	case n.Object >= 0 && n.Kind <= recall.NeedRead && slices.Contains(j.restored, n.Object):
		return Verbatim, 0
	case n.Fetch >= 0 && n.Kind == recall.NeedEdit && j.Holds(n.Fetch):
		return Verbatim, 0 // the file from which the edit was made
	case j.says(n.Term):
		return Verbatim, 0
	case points || n.Fetch >= 0:
		return Recoverable, behind
	}
	return Gone, behind
}

// fill chooses what fits a summary of a size in bytes, from what a compaction removed and later
// rounds use, most used first. What an earlier summary had no room for cannot be kept.
func (j *Judge) fill(round, room int32) {
	u := &j.x.threads[j.thread]
	had := slices.Clone(j.kept)
	j.kept = j.kept[:0]
	if int(round) >= len(u.starts) || !j.modelled {
		return
	}
	type choice struct{ at, later, size int32 }
	var list []choice
	for _, i := range j.using.of(j, had, u.starts[round]) {
		n := &u.list[i]
		places := j.x.Places(n)
		if k := j.shown.of(places[0].Block); k.left() == 0 && k&stood == 0 {
			continue // said later, or never to this thread
		}
		if state, behind := j.state(n); state == Gone && (behind == 1 || holds(had, i)) {
			list = append(list, choice{i, n.Later, places[0].To - places[0].From})
		}
	}
	slices.SortStableFunc(list, func(a, b choice) int {
		return cmp.Or(cmp.Compare(b.later, a.later), cmp.Compare(a.size, b.size))
	})
	written := map[uint64]bool{}
	for _, c := range list {
		if term := u.list[c.at].Term; !written[term] {
			if c.size > room {
				continue
			}
			room -= c.size
			written[term] = true
		}
		j.kept = append(j.kept, c.at)
	}
	slices.Sort(j.kept)
}

func holds(sorted []int32, v int32) bool {
	_, ok := slices.BinarySearch(sorted, v)
	return ok
}
