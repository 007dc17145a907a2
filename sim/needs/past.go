package needs

import (
	"math/bits"
	"slices"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/op"
	"github.com/compactsim/compactsim/traces"
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
	case b.Kind == prompt.KindToolUse && b.Op == op.Exec:
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

func edits(b *prompt.Block) bool { return b.Op == op.Edit || b.Op == op.Write }

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

// spans is a list of blocks, with what follows each other in one span.
type spans []traces.Span

// add adds a block to the list.
func (s *spans) add(block int32) {
	if n := len(*s); n > 0 && (*s)[n-1].To == block {
		(*s)[n-1].To++
		return
	}
	*s = append(*s, traces.Span{From: block, To: block + 1})
}

// blocks calls yield for the blocks of the list, in the order in which they were added.
func (s spans) blocks(yield func(int32) bool) {
	for _, span := range s {
		for b := span.From; b < span.To; b++ {
			if !yield(b) {
				return
			}
		}
	}
}

// using lists the needs of a thread by the blocks of their places. It is made at the first compaction that asks, and takes
// as much as the thread has needs: a session may have many short branches.
type using struct {
	index  *Index
	thread int32
	list   []uint64 // block << 32 | place of the need in the thread, sorted
	found  []int32
	marks  []uint64 // of the needs that are found, a bit each
	spare  []uint64
}

// bind lists the needs of a judge's thread by block, unless they are listed.
func (u *using) bind(j *Judge) {
	if u.index == j.x && u.thread == j.thread {
		return
	}
	u.index, u.thread, u.list = j.x, j.thread, u.list[:0]
	list := j.x.threads[j.thread].list
	for i := range list {
		for _, p := range j.x.Places(&list[i]) {
			u.list = append(u.list, uint64(p.Block)<<32|uint64(i))
		}
	}
	u.sort()
}

// fewNeeds are so few that comparing them is as fast as counting their blocks.
const fewNeeds = 256

// sort sorts the list, which is in order of needs, by block: eleven bits of the block's number at a time.
func (u *using) sort() {
	if len(u.list) < fewNeeds {
		slices.Sort(u.list)
		return
	}
	const digit, low = 11, 1<<11 - 1
	all := uint64(0)
	for _, v := range u.list {
		all |= v
	}
	u.spare = slices.Grow(u.spare[:0], len(u.list))[:len(u.list)]
	for shift := 32; all>>shift > 0; shift += digit {
		var ends [low + 2]int32
		for _, v := range u.list {
			ends[v>>shift&low+1]++
		}
		for i := range low {
			ends[i+1] += ends[i]
		}
		for _, v := range u.list {
			at := &ends[v>>shift&low]
			u.spare[*at] = v
			*at++
		}
		u.list, u.spare = u.spare, u.list
	}
}

// of returns the needs of a judge's thread from a place on, in order, that have a place in a block which left with the last
// compaction, and those among had.
func (u *using) of(j *Judge, had []int32, from int32) []int32 {
	u.bind(j)
	n := len(j.x.threads[j.thread].list)/64 + 1
	u.marks = slices.Grow(u.marks[:0], n)[:n]
	clear(u.marks)
	for _, i := range had {
		if i >= from {
			u.marks[i/64] |= 1 << (i % 64)
		}
	}
	for _, span := range j.before {
		at, _ := slices.BinarySearch(u.list, uint64(span.From)<<32)
		for ; at < len(u.list) && int32(u.list[at]>>32) < span.To; at++ {
			i := int32(u.list[at])
			if i >= from && j.shown.of(int32(u.list[at]>>32)).left() == j.depth { // else it stayed
				u.marks[i/64] |= 1 << (i % 64)
			}
		}
	}
	u.found = u.found[:0]
	for at, marks := range u.marks {
		for ; marks != 0; marks &= marks - 1 {
			u.found = append(u.found, int32(64*at+bits.TrailingZeros64(marks)))
		}
	}
	return u.found
}
