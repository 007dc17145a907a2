package needs

import (
	"slices"

	"github.com/compactsim/compactsim/sim/prompt"
)

// past counts the artifacts among the blocks that left a context with a compaction.
type past struct {
	commands, failures int
	files              []ofFile // by object
	read, edited       int      // objects with blocks that left, by whether one of these edits
}

// ofFile counts the blocks of an object that left, and the edits among them.
type ofFile struct{ blocks, edits int32 }

// artifact says whether a block that is of no file is a command or a failure.
func artifact(b *prompt.Block) (command, failure bool) {
	switch {
	case b.Object >= 0:
	case b.Kind == prompt.KindToolUse && b.Op == prompt.OpExec:
		return true, false
	case b.Kind == prompt.KindToolResult && b.Flags&prompt.FlagError != 0:
		return false, true
	}
	return false, false
}

// add counts a block that left, or with −1 one that came back.
func (p *past) add(b *prompt.Block, by int32) {
	if b.Kind != prompt.KindToolUse && b.Kind != prompt.KindToolResult {
		return
	}
	if b.Object < 0 {
		switch command, failure := artifact(b); {
		case command:
			p.commands += int(by)
		case failure:
			p.failures += int(by)
		}
		return
	}
	if n := int(b.Object) + 1; n > len(p.files) {
		p.files = append(p.files, make([]ofFile, n-len(p.files))...)
	}
	f := &p.files[b.Object]
	p.count(f, -1)
	f.blocks += by
	if edits(b) {
		f.edits += by
	}
	p.count(f, 1)
}

// count adds an object to the sums, or takes it out of them.
func (p *past) count(f *ofFile, by int) {
	switch {
	case f.edits > 0:
		p.edited += by
	case f.blocks > 0:
		p.read += by
	}
}

func edits(b *prompt.Block) bool { return b.Op == prompt.OpEdit || b.Op == prompt.OpWrite }

// of returns what left of an object.
func (p *past) of(object int32) ofFile {
	if int(object) < len(p.files) {
		return p.files[object]
	}
	return ofFile{}
}

// empty returns p without counts, with its storage.
func (p *past) empty() past {
	clear(p.files)
	return past{files: p.files[:0]}
}

// become makes p a copy of another, keeping its storage.
func (p *past) become(from *past) {
	files := append(p.files[:0], from.files...)
	*p = *from
	p.files = files
}

// using lists the needs of a thread by the blocks of their places. It is made at the first compaction that asks.
type using struct {
	index  *Index
	thread int32
	from   []int32 // by block, where its needs begin in byBlock
	to     []int32 // by block, where they end
	needs  []int32 // by block, places of needs in the thread, in order
	found  []int32
}

// list makes u the list of a judge's thread, by counting.
func (u *using) list(j *Judge) {
	n := len(j.blocks)
	*u = using{index: j.x, thread: j.thread, from: slices.Grow(u.from[:0], n)[:n], to: u.to, needs: u.needs, found: u.found}
	clear(u.from)
	list := j.x.threads[j.thread].list
	sum := int32(0)
	for i := range list {
		for _, p := range j.x.Places(&list[i]) {
			u.from[p.Block]++
			sum++
		}
	}
	u.needs = slices.Grow(u.needs[:0], int(sum))[:sum]
	for b := n - 1; b >= 0; b-- {
		sum -= u.from[b]
		u.from[b] = sum
	}
	u.to = append(u.to[:0], u.from...)
	for i := range list {
		for _, p := range j.x.Places(&list[i]) {
			u.needs[u.to[p.Block]] = int32(i)
			u.to[p.Block]++
		}
	}
}

// of returns the needs of a judge's thread from a place on, in order, that have a place in a block which left with the last
// compaction, and those among had.
func (u *using) of(j *Judge, had []int32, from int32) []int32 {
	if u.index != j.x || u.thread != j.thread {
		u.list(j)
	}
	u.found = u.found[:0]
	for _, i := range had {
		if i >= from {
			u.found = append(u.found, i)
		}
	}
	for _, b := range j.before {
		if j.shown[b].left() != j.depth {
			continue // it stayed
		}
		here := u.needs[u.from[b]:u.to[b]]
		at, _ := slices.BinarySearch(here, from)
		u.found = append(u.found, here[at:]...)
	}
	slices.Sort(u.found)
	u.found = slices.Compact(u.found)
	return u.found
}
