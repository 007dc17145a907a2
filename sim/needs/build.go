package needs

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/op"
	"github.com/compactsim/compactsim/sim/results/recall"
	"github.com/compactsim/compactsim/traces"
)

// Limits of the index. Assumed.
const (
	maxPlaces = 10  // the latest places of a need, and the first
	maxWalk   = 256 // posts of a term that are examined
	maxUses   = 24  // needs of a round: those whose strings are in the fewest blocks
	// maxCandidates is the largest number of strings of a round that become needs before the rarest are chosen.
	maxCandidates = 512
	// minWeight is the least weight of a need, thousandths: a string in more than
	// N^0.8 of N blocks is everywhere, and no need.
	minWeight = 200
)

// compile returns the index of a session, given what was heard of each of its blocks.
func compile(s *traces.Session, heard []any) *Index {
	b := builder{
		s: s, texts: heard, table: newTable(heard), failed: map[int32]bool{},
		threadOf: make([]int32, len(s.Blocks)), roundOf: make([]int32, len(s.Blocks)),
		changed: make([]int32, len(s.Objects)), shown: make([]int32, len(s.Objects)),
		held: make([]bool, len(s.Blocks)), results: map[int32]int32{}, lineEdits: lineEdits{edited: map[uint64]int32{}},
		branches: branchesOf(s), kept: make([]standing, len(s.Threads)),
		x: &Index{threads: make([]uses, len(s.Threads)), sources: map[int32]int32{}},
	}
	for i := range s.Blocks {
		if bl := &s.Blocks[i]; bl.Kind == prompt.KindToolResult {
			b.results[bl.Call] = int32(i)
			if bl.Flags&prompt.FlagError != 0 {
				b.failed[bl.Call] = true
			}
		}
	}
	for i := range s.Threads {
		b.thread(int32(i))
	}
	b.elsewhere = make([]bool, len(s.Objects))
	for k := range s.Blocks {
		if bl := &s.Blocks[k]; b.known(bl.Object) && changes(bl) && !b.inMain(int32(k)) {
			b.elsewhere[bl.Object] = true
		}
	}
	b.chance()
	b.finish()
	b.x.lookBehind(s)
	b.x.findUses()
	return b.x
}

// builder makes an index.
type builder struct {
	s        *traces.Session
	texts    []any // what was heard, by block: *utterance, nil for nothing
	x        *Index
	table    *table
	failed   map[int32]bool // calls whose result is an error
	threadOf []int32
	roundOf  []int32
	changed  []int32          // by object: 1 + the last block that changed it
	shown    []int32          // by object: 1 + the last block that shows it whole or in part
	held     []bool           // by block: the recorded context has it
	holds    []int32          // blocks among which are all that it has
	results  map[int32]int32  // blocks by call
	same     map[uint64]int32 // by what a call of the thread asks for: 1 + its last result
	lineEdits
	brought []int32 // attachments since the last compaction
	things
	branches [][]int32  // by thread: branches that start from it, in the order of their rounds
	kept     []standing // by thread: of a branch whose parent has been passed
	blocks   int        // with text
	at       uses
	round    int32
	rounds   int32 // so far, of all threads
	within   int32
	walked   []post
	// elsewhere says, by object, that another conversation than a main one changes it.
	elsewhere []bool
}

// thread finds what the rounds of a thread used.
func (b *builder) thread(i int32) {
	t := &b.s.Threads[i]
	b.begin(i)
	b.within, b.at = i, uses{}
	b.post(i, -1, t.Prefix)
	b.enter(t.Prefix)
	b.part(i, -1)
	event := 0
	for r := range t.Rounds {
		b.round, b.rounds = int32(r), b.rounds+1
		b.at.starts = append(b.at.starts, int32(len(b.at.list)))
		round := &t.Rounds[r]
		own := round.Input
		if event < len(t.Events) && t.Events[event].Round <= b.round {
			maps.DeleteFunc(b.moving, func(block int32, _ bool) bool { return !b.count(block, b.round) })
		}
		for ; event < len(t.Events) && t.Events[event].Round <= b.round; event++ {
			b.summary(i, &t.Events[event])
			own.From = b.happen(t, &t.Events[event])
		}
		b.post(i, b.round, round.Input)
		b.enter(own)
		for k := round.Reply.From; k < round.Reply.To; k++ {
			b.threadOf[k], b.roundOf[k] = i, b.round
			b.uses(k)
			b.repeats(k)
		}
		b.heaviest()
		b.post(i, b.round, round.Reply)
		b.enter(round.Reply)
		b.part(i, b.round)
	}
	b.round = int32(len(t.Rounds))
	for block := range b.watched {
		b.count(block, b.round)
	}
	b.part(i, math.MaxInt32)
	b.at.starts = append(b.at.starts, int32(len(b.at.list)))
	b.x.threads[i] = b.at
}

// touch records what a block does to its object.
func (b *builder) touch(k int32) {
	bl := &b.s.Blocks[k]
	switch {
	case bl.Kind == prompt.KindAttachment:
		b.brought = append(b.brought, k)
		if b.wasShown(bl.Object) {
			shown := b.shown[bl.Object] - 1
			b.count(shown, b.round)
			if _, watched := b.watched[shown]; watched {
				b.moving[shown] = true
			}
		}
	case bl.Kind == prompt.KindToolUse && (bl.Op == op.Edit || bl.Op == op.Write):
		b.edit(k)
	}
	if bl.Object < 0 || int(bl.Object) >= len(b.changed) {
		return
	}
	switch {
	case bl.Kind == prompt.KindToolUse && (bl.Op == op.Edit || bl.Op == op.Write) && !b.failed[bl.Call]:
		b.changed[bl.Object] = k + 1
		if bl.Op == op.Write {
			b.watch(b.shown[bl.Object]-1, k, b.round+1)
			b.shown[bl.Object] = k + 1
		}
	case bl.Kind == prompt.KindToolResult && bl.Op == op.Read && bl.Flags&prompt.FlagError == 0:
		b.watch(b.shown[bl.Object]-1, k, b.round)
		b.shown[bl.Object] = k + 1
	}
}

// wasShown reports whether a block has shown an object; of no object, -1, none has.
func (b *builder) wasShown(object int32) bool {
	return object >= 0 && b.shown[object] > 0
}

// summary posts the terms of a recorded summary, so that a replay that has it can find them.
func (b *builder) summary(i int32, e *traces.Event) {
	if e.Kind != traces.EventCompact || e.Summary.Len() == 0 {
		return
	}
	var d prompt.Digest
	for k := e.Summary.From; k < e.Summary.To; k++ {
		d = d.Extend(b.s.Blocks[k].Digest)
	}
	b.x.summaries = append(b.x.summaries, summary{d, e.Summary})
	b.post(i, b.round, e.Summary)
}

// utteranceOf returns what was heard of a block, nil for nothing.
func (b *builder) utteranceOf(k int32) *utterance {
	bl := &b.s.Blocks[k]
	if !says(bl.Kind) || bl.Line <= 0 {
		return nil
	}
	h, _ := b.texts[k].(*utterance)
	return h
}

// post records the terms, lines and directives of the blocks of a span.
func (b *builder) post(thread, round int32, span traces.Span) {
	for k := span.From; k < span.To; k++ {
		b.threadOf[k], b.roundOf[k] = thread, round
		b.touch(k)
		h := b.utteranceOf(k)
		if h == nil {
			continue
		}
		bl := &b.s.Blocks[k]
		own := bl.Kind == prompt.KindToolUse
		for _, m := range h.marks {
			b.table.add(k, m, false)
		}
		for i := range h.values {
			for _, f := range h.values[i].all {
				b.table.add(k, f, true)
			}
		}
		if own {
			continue
		}
		b.blocks++
		person := bl.Kind == prompt.KindPrompt && bl.Flags&prompt.FlagMeta == 0 && !agent(b.s.Threads[thread].Kind)
		if person || bl.Kind == prompt.KindSummary {
			for _, term := range h.directives {
				b.x.directives = append(b.x.directives, directive{k, term})
			}
		}
	}
}

func agent(k traces.ThreadKind) bool { return k == traces.ThreadAgent || k == traces.ThreadOrphan }

// uses finds what a block of an answer used if it is a tool call.
func (b *builder) uses(k int32) {
	bl := &b.s.Blocks[k]
	h := b.utteranceOf(k)
	if bl.Kind != prompt.KindToolUse || h == nil {
		return
	}
	if bl.Op == op.Read && bl.Object >= 0 {
		b.again(k, bl)
	}
	for i := range h.values {
		b.value(k, bl, &h.values[i])
	}
}

// again adds the need of a file that is read again unchanged.
func (b *builder) again(k int32, bl *prompt.Block) {
	last := b.shown[bl.Object] - 1
	if last < 0 || b.changed[bl.Object]-1 > last {
		return
	}
	was := &b.s.Blocks[last]
	if was.RangeFrom > 0 && (was.RangeFrom != bl.RangeFrom || was.RangeLen != bl.RangeLen) {
		return
	}
	n := b.need(recall.NeedRead, k, uint64(bl.Object)<<1|1)
	n.Weight, n.Fetch, n.Found = 1000, last, last
	n.from, n.count = int32(len(b.x.places)), 1
	b.x.places = append(b.x.places, Place{Block: last, To: was.Bytes})
	b.at.list = append(b.at.list, n)
}

func (b *builder) need(kind recall.NeedKind, k int32, term uint64) Need {
	return Need{Kind: kind, Round: b.round, Object: b.s.Blocks[k].Object, Fetch: -1, Found: -1, Term: term}
}

// value adds what a string of an argument used.
func (b *builder) value(k int32, bl *prompt.Block, v *argument) {
	writes := bl.Op == op.Edit || bl.Op == op.Write
	switch {
	case v.role == roleOld || v.role == rolePatch:
		b.addReplaced(k, v)
		return
	case v.role == roleTask:
		for _, f := range v.lines() {
			b.add(recall.NeedTask, k, f.key, func(p *prompt.Block) bool { return p.Kind == prompt.KindToolUse })
		}
		return
	case v.role == rolePath && (writes || bl.Op == op.Read && b.wasShown(bl.Object)):
		for _, f := range slices.Backward(v.terms()) { // the longest first
			if f.kind == recall.NeedPath && b.add(recall.NeedPath, k, f.key, anything) {
				return
			}
		}
		return
	}
	for _, f := range v.lines() {
		b.add(recall.NeedError, k, f.key, func(p *prompt.Block) bool { return p.Flags&prompt.FlagError != 0 })
	}
	path := int32(-1) // end of a path that was found; its last component is no separate need
	for _, f := range slices.Backward(v.terms()) {
		if f.kind == recall.NeedPath && f.from+int32(f.size) == path {
			continue
		}
		if b.add(f.kind, k, f.key, given) && f.kind == recall.NeedPath {
			path = f.from + int32(f.size)
		}
	}
}

func anything(*prompt.Block) bool { return true }

// given reports whether a block is not an action of the model.
func given(b *prompt.Block) bool { return b.Kind != prompt.KindToolUse }

// addReplaced adds the need of the text that an edit replaces: the rarest of its whole
// lines, else the rarest of its identifiers. A text that is found nowhere adds none.
func (b *builder) addReplaced(k int32, v *argument) {
	shown := func(p *prompt.Block) bool {
		return p.Kind == prompt.KindToolResult || p.Kind == prompt.KindToolUse || p.Kind == prompt.KindAttachment
	}
	for _, list := range [...][]mark{v.lines(), v.terms()} {
		best, blocks := -1, int32(math.MaxInt32)
		for i, f := range list {
			if v.role == rolePatch && !f.removed {
				continue
			}
			if x := b.table.find(f.key); x != nil && x.blocks < blocks {
				best, blocks = i, x.blocks
			}
		}
		if best >= 0 && b.add(recall.NeedEdit, k, list[best].key, shown) {
			return
		}
	}
}

// add adds a need if the thread has been told a string before, and first in a block that
// origin accepts. It reports whether the string is a need of the round, new or not.
func (b *builder) add(kind recall.NeedKind, k int32, key uint64, origin func(*prompt.Block) bool) bool {
	key |= 1
	if len(b.at.list)-int(b.at.starts[b.round]) >= maxCandidates {
		return false
	}
	x := b.table.find(key)
	if x == nil || x.round == b.rounds {
		return x != nil
	}
	b.walked = b.walked[:0]
	var first post
	n, had := 0, false
	for at, steps := x.head, 0; at != end && steps < maxWalk; at, steps = b.table.posts[at].next, steps+1 {
		p := b.table.posts[at]
		if !b.heard(p.block) {
			continue
		}
		had = had || b.held[p.block]
		if first = p; len(b.walked) < maxPlaces {
			b.walked = append(b.walked, p)
		}
		n++
	}
	// What a recorded summary was the first to say belongs to this recording alone.
	if n == 0 || b.s.Blocks[first.block].Kind == prompt.KindSummary || !origin(&b.s.Blocks[first.block]) {
		return false
	}
	if n > len(b.walked) {
		b.walked = append(b.walked, first)
	}
	need := b.need(kind, k, key)
	need.Weight = x.blocks // a number of blocks until the index is finished
	need.from, need.count = int32(len(b.x.places)), int32(len(b.walked))
	for _, p := range b.walked {
		b.x.places = append(b.x.places, Place{p.block, p.from, p.to})
		b.source(&need, p.block)
	}
	if o := need.Object; kind == recall.NeedEdit && o >= 0 && !b.failed[b.s.Blocks[k].Call] && b.shown[o] > 0 {
		need.Fetch = b.shown[o] - 1 // the edit succeeded, so the file had the text
		had = had || b.held[need.Fetch]
	}
	need.Had = had
	b.at.list = append(b.at.list, need)
	x.round = b.rounds
	return true
}

// source records whether a block can be fetched again, and whether a search finds it.
func (b *builder) source(n *Need, k int32) {
	bl := &b.s.Blocks[k]
	reads := bl.Kind == prompt.KindToolResult && bl.Op == op.Read
	writes := bl.Kind == prompt.KindToolUse && bl.Op == op.Write
	if n.Fetch < 0 && (reads || writes) && bl.Object >= 0 && b.changed[bl.Object]-1 <= k {
		n.Fetch = k
	}
	if bl.Kind == prompt.KindToolResult {
		n.Found = k
	}
}

// heard reports whether the thread has been told a block.
func (b *builder) heard(k int32) bool {
	for i, round := b.within, int32(math.MaxInt32); ; {
		if b.threadOf[k] == i && b.roundOf[k] <= round {
			return true
		}
		t := &b.s.Threads[i]
		if t.Kind != traces.ThreadBranch || t.Parent < 0 {
			return false
		}
		i, round = t.Parent, t.ParentRound
	}
}

// heaviest keeps the rarest needs of a round.
func (b *builder) heaviest() {
	list := b.at.list[b.at.starts[b.round]:]
	slices.SortStableFunc(list, func(x, y Need) int { return cmp.Compare(x.blocksOf(), y.blocksOf()) })
	if len(list) > maxUses {
		b.at.list = b.at.list[:int(b.at.starts[b.round])+maxUses]
	}
}

// blocksOf returns the number of blocks with a need's string while the index is made.
func (n *Need) blocksOf() int32 {
	if n.Kind == recall.NeedRead {
		return 0
	}
	return n.Weight
}

// finish turns numbers of blocks, without the model's own actions, into
// weights, and drops needs whose string is everywhere.
func (b *builder) finish() {
	slices.SortStableFunc(b.x.directives, func(x, y directive) int { return cmp.Compare(x.block, y.block) })
	all := math.Log(float64(max(2, b.blocks)))
	var places []Place
	for i := range b.x.threads {
		u := &b.x.threads[i]
		kept := u.list[:0]
		round := 0
		for j := range u.list {
			n := u.list[j]
			for round <= int(n.Round) {
				u.starts[round] = int32(len(kept))
				round++
			}
			if n.Kind != recall.NeedRead {
				blocks := max(1, b.table.find(n.Term).blocks)
				n.Weight = int32(math.Round(1000 * (1 - math.Log(float64(blocks))/all)))
			}
			if n.Weight < minWeight {
				continue
			}
			at := b.x.places[n.from : n.from+n.count]
			n.from = int32(len(places))
			places = append(places, at...)
			kept = append(kept, n)
		}
		for ; round < len(u.starts); round++ {
			u.starts[round] = int32(len(kept))
		}
		u.list = slices.Clip(kept)
		later := map[uint64]int32{}
		for j := len(u.list) - 1; j >= 0; j-- {
			later[u.list[j].Term]++
			u.list[j].Later = later[u.list[j].Term]
		}
	}
	b.x.places = slices.Clip(places)
}
