package assembly

import (
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
)

// Of 50,500 messages that no answer follows 50,000 stay as they are, and no byte is lost: as steps of a thread, with answers that
// nobody counted between them, and as entries of a tree, whose further messages hang on the last entry.
func TestUnanswered(t *testing.T) {
	const messages, bytes = 50_500, 7
	said := func(k prompt.Kind, i int) []Block {
		return []Block{{Block: prompt.Block{Kind: k, Bytes: bytes, Digest: prompt.DigestString("a").ExtendInt(uint64(i))}}}
	}
	f := NewFile("f", traces.Options{MaxProblems: 9})
	r, tree := NewRounds(Main(), f), &Tree{File: f}
	for i := range messages {
		if i%2 == 0 {
			r.Add(&Step{Kind: StepReply, Line: int32(i + 1), Blocks: said(prompt.KindText, i)})
		}
		r.Add(&Step{Kind: StepInput, Line: int32(i + 1), Blocks: said(prompt.KindPrompt, i)})
		tree.Add(tree.Len()-1, []Step{{Kind: StepInput, Line: int32(i + 1), Blocks: said(prompt.KindPrompt, i)}})
	}
	if n := tree.Len(); n != Unanswered {
		t.Errorf("%d entries, want %d", n, Unanswered)
	}
	tree.Set(tree.Len()-1, nil) // a later copy of a message that the last entry stands for
	reply := []Step{{Kind: StepReply, Line: 1}, {Kind: StepCount, Line: 1, ID: "c", Usage: Usage{OK: true}}}
	if at := tree.Add(tree.Len()-1, reply); at != tree.Len()-1 || at != Unanswered {
		t.Errorf("the answer is entry %d", at)
	}
	for i := range reply {
		r.Add(&reply[i])
	}
	sum := func(list []Block) (n int) {
		for i := range list {
			n += int(list[i].Bytes)
		}
		return n
	}
	if in := r.Calls[0].Before; len(in) > Unanswered+1 || sum(in) != (messages+messages/2)*bytes {
		t.Errorf("steps: %d blocks of %d bytes", len(in), sum(in))
	}
	if in := tree.Threads("s")[0].Calls[0].Before; len(in) > Unanswered+1 || sum(in) != messages*bytes {
		t.Errorf("entries: %d blocks of %d bytes", len(in), sum(in))
	}
	if f.Problems.Total != 2 || f.Problems.List[0].Text != FoldedNote || f.Problems.List[1].Text != FoldedNote {
		t.Errorf("problems %v", f.Problems)
	}
}
