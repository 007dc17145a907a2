package assembly

import (
	"cmp"
	"math"
	"slices"

	"github.com/compactsim/compactsim/sim/prompt"
)

// Unanswered is how many messages, or blocks of one answer, a log may have in a row ahead of the next counts. Later ones are read
// as one, and told: a conversation is answered long before, while a log that is damaged or made to harm may have millions of lines.
const Unanswered = 50_000

// FoldedNote tells of messages that are read as one.
const FoldedNote = "more than 50000 messages or blocks stand in a row without an answer that is counted; from here on they are read as one"

// Fold joins a block with an earlier one and reports whether it could: of its kind, whose tokens the bytes give.
func Fold(into, b *prompt.Block) bool {
	if into.Kind != b.Kind || into.Kind == prompt.KindImage || into.Kind == prompt.KindDocument || (into.Flags|b.Flags)&prompt.FlagImage != 0 {
		return false
	}
	into.Bytes = int32(min(int64(into.Bytes)+int64(b.Bytes), math.MaxInt32))
	into.Digest = into.Digest.Extend(b.Digest)
	return true
}

// foldLast joins a block with one of the last blocks of a list, if one is of its kind.
func foldLast(list []Block, b *Block) bool {
	for i := len(list) - 1; i >= max(0, len(list)-prompt.NumKinds); i-- {
		if Fold(&list[i].Block, &b.Block) {
			return true
		}
	}
	return false
}

// gather appends blocks to what stands ahead of the next counts, within bounds; see Unanswered.
func (t *Rounds) gather(list, more []Block) []Block {
	if len(list)+len(more) <= Unanswered {
		return append(list, more...)
	}
	for i := range more {
		b := &more[i]
		if len(list) < Unanswered || !foldLast(list, b) {
			list = append(list, *b)
			continue
		}
		if !t.folded {
			t.folded = true
			b.Source.Problems.Add(b.Source.Name, int(b.Line), FoldedNote)
		}
	}
	return list
}

// Gather appends a step of the call under way to others, which no count has ended, within bounds; see Unanswered.
func (f *File) Gather(list []Step, s Step) []Step {
	n := len(list)
	if n <= Unanswered {
		if n == Unanswered {
			f.Problems.Add(f.Name, int(s.Line), FoldedNote)
		}
		return append(list, s)
	}
	last := &list[n-1]
	for i := range s.Blocks {
		if !foldLast(last.Blocks, &s.Blocks[i]) {
			last.Blocks = append(last.Blocks, s.Blocks[i])
		}
	}
	return list
}

// fold joins an entry that only adds input, or nothing, with the last entry, where too many such entries stand in a row. It reports
// whether it did.
func (t *Tree) fold(parent int32, steps []Step) bool {
	last := t.Len() - 1
	if parent != last || last < 0 || !inputs(steps, func(s *Step) StepKind { return s.Kind }) ||
		!inputs(t.entries[last].steps, func(h *held) StepKind { return h.kind }) {
		t.row = 0
		return false
	}
	if t.row++; t.row < Unanswered {
		return false
	}
	e := &t.entries[last]
	e.folded = true
	for i := range steps {
		if t.row == Unanswered {
			t.row++
			t.File.Problems.Add(t.File.Name, int(steps[i].Line), FoldedNote)
		}
		e.join(t.File, &steps[i])
	}
	return true
}

// inputs reports whether steps are input.
func inputs[S any](steps []S, kind func(*S) StepKind) bool {
	for i := range steps {
		if k := kind(&steps[i]); k != StepInput && k != StepResult {
			return false
		}
	}
	return true
}

// join joins input with a step of its kind, if the entry has one.
func (e *entry) join(f *File, s *Step) {
	for i := range e.steps {
		if e.steps[i].join(s) {
			return
		}
	}
	e.steps = append(e.steps, f.hold(s))
}

// inOrder divides requests, which are sorted by their times, into conversations. Where a clock was set back, later requests precede
// earlier ones: if more of them go on from each other in the order of the log, that order counts, and times are moved forward.
func inOrder(list []*Request) []*history {
	all, logged := histories(list), asLogged(list)
	if logged == nil {
		return all
	}
	as := histories(logged)
	if beginnings(as) >= beginnings(all) {
		return all
	}
	forward(logged)
	return as
}

// asLogged returns requests in the order of the log if a request there had ended before the preceding one began, as where a clock
// was set back; nil otherwise. A log that lists the latest requests first has such requests too.
func asLogged(list []*Request) []*Request {
	logged := slices.Clone(list)
	slices.SortStableFunc(logged, func(a, b *Request) int { return cmp.Compare(a.Nth, b.Nth) })
	for i := 1; i < len(logged); i++ {
		if logged[i].before(logged[i-1]) {
			return logged
		}
	}
	return nil
}

// before reports whether r had ended when o began.
func (r *Request) before(o *Request) bool { return r.End != 0 && r.End < o.Start }

// forward moves requests that are older than the request before them in the log to its end, and all later requests by as much: how
// long the pause was is not known.
func forward(logged []*Request) {
	moved := int64(0)
	for i, r := range logged {
		r.move(moved)
		if i == 0 || !r.before(logged[i-1]) {
			continue
		}
		more := logged[i-1].End - r.Start
		r.move(more)
		moved += more
		r.Source.Problems.Add(r.Source.Name, int(r.Line), "time runs back: the request is older than the one before it; "+
			"it is taken to follow that one at once, and later times move with it")
	}
}

// move adds a duration, ns, to the times that are known.
func (r *Request) move(by int64) {
	for _, at := range []*int64{&r.Start, &r.First, &r.End} {
		if *at != 0 {
			*at += by
		}
	}
}

// beginnings returns how many calls do not go on from the call before them: the first of each history, one that begins a branch, and
// one that shows no messages and is smaller than the call before it.
func beginnings(all []*history) int {
	n := len(all)
	for _, h := range all {
		for i := 1; i < len(h.calls); i++ {
			if c := &h.calls[i]; int(c.parent) < i-1 || c.Messages == nil && c.Usage.Input() < h.calls[i-1].Usage.Input() {
				n++
			}
		}
	}
	return n
}
