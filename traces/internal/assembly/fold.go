package assembly

import (
	"math"

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

// fold joins an entry that only adds input, or nothing, with the last entry, where too many such entries stand in a row. It reports
// whether it did.
func (t *Tree) fold(parent int32, steps []Step) bool {
	last := t.Len() - 1
	if parent != last || !inputs(steps) || last < 0 || !inputs(t.entries[last].steps) {
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
		e.take(&steps[i])
	}
	return true
}

// inputs reports whether steps are input.
func inputs(steps []Step) bool {
	for i := range steps {
		if k := steps[i].Kind; k != StepInput && k != StepResult {
			return false
		}
	}
	return true
}

// take joins input with a step of its kind, if the entry has one.
func (e *entry) take(s *Step) {
	for i := range e.steps {
		to := &e.steps[i]
		if to.Kind != s.Kind {
			continue
		}
		to.At = max(to.At, s.At)
		for k := range s.Blocks {
			if !foldLast(to.Blocks, &s.Blocks[k]) {
				to.Blocks = append(to.Blocks, s.Blocks[k])
			}
		}
		return
	}
	e.steps = append(e.steps, *s)
}
