package assembly

import (
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
)

// parted returns a thread whose second and third call got results of 10,000 bytes, one of 5,000 tokens and one of the 3,300 that
// rates give it, and that was compacted before the fourth. The fourth has a result of the second file from before the
// compaction and one of a third file from behind it, of 2,000 bytes and so 660 tokens each.
func parted() (*fitter, *Thread) {
	id := func(n uint64) prompt.Digest { return prompt.Digest{Hi: n} }
	use := func(n uint64, object string) []Block {
		return []Block{{ID: id(n), Object: object, Block: prompt.Block{Kind: prompt.KindToolUse}}}
	}
	result := func(n uint64, bytes, tokens int32) Block {
		return Block{ID: id(n), Block: prompt.Block{Kind: prompt.KindToolResult, Bytes: bytes, Tokens: tokens}}
	}
	call := func(read int64) *Call {
		return &Call{Usage: Usage{OK: true, Usage: prompt.Usage{Read: read, Write5m: 30_000 - read}}}
	}
	t := Main()
	t.Calls = []Round{
		{Call: call(0), Before: []Block{{Block: prompt.Block{Kind: prompt.KindPrompt, Tokens: 1000}}}, Reply: use(1, "a"), total: 30_000},
		{Call: call(29_000), Before: []Block{result(1, 10_000, 3300), {Block: prompt.Block{Kind: prompt.KindUnseen, Tokens: 1700}}}, Reply: use(2, "b")},
		{Call: call(29_000), Before: []Block{result(2, 10_000, 3300)}, Reply: append(use(3, "b"), use(4, "c")...)},
		{Call: call(20_000), Before: []Block{result(3, 2000, 660), result(4, 2000, 660)}},
	}
	t.Happened = []Event{{Event: traces.Event{Kind: traces.EventCompact, Round: 3, Absorbed: 1, Kept: 1000}, Text: []Block{{Block: prompt.Block{Tokens: 100}}}}}
	return &fitter{s: &Session{Format: &Format{Rates: traces.DefaultRates()}}, t: t}, t
}

// A result at a compaction has the density of its file, 1 here, else of all: 8,300 tokens for 6,600, so 830 for 660. What is
// more behind the compaction was among the 1,000 kept tokens.
func TestDensify(t *testing.T) {
	f, th := parted()
	f.densify()
	at := th.Calls[3].Before
	if at[0].Tokens != 660 || at[1].Tokens != 830 || th.Happened[0].Kept != 830 {
		t.Errorf("results of %d and %d tokens, %d kept, want 660, 830 and 830", at[0].Tokens, at[1].Tokens, th.Happened[0].Kept)
	}
}

// Where the first call read nothing, the static prefix is what the call behind the compaction read, 20,000 of 30,000; what is
// left beside the prompt are reminders, but for what the prompt has at the density of results: 1,000 × 1,700 / 6,600 = 257.
func TestColdOpening(t *testing.T) {
	f, th := parted()
	f.s.layPrefix(th, nil)
	if got := static(th); got != 20_000 {
		t.Errorf("static prefix of %d tokens, want 20,000", got)
	}
	f.densify()
	if got := Tokens(th.Ahead); got != 20_000+9000-257 {
		t.Errorf("%d tokens ahead of the first call, want 28,743", got)
	}
	if got := Tokens(th.Calls[0].Before); got != 1257 {
		t.Errorf("%d tokens in the first call, want 1,257", got)
	}
}

// A branch begins with its parent's head of 100 tokens and with the 20 that came to it by the round where it leaves, not
// with the 3 that a later round brings.
func TestBranchKeepsAGrownHead(t *testing.T) {
	head := func(tokens int32) []Block {
		return []Block{{Block: prompt.Block{Kind: prompt.KindSystem, Tokens: tokens}}}
	}
	p := Main()
	p.Ahead, p.headGrows = head(100), true
	p.Calls = []Round{{}, {Before: head(20)}, {Before: head(3)}}
	b := &Thread{Thread: traces.Thread{Kind: traces.ThreadBranch, ParentRound: 1}, Up: p}
	if got := static(b); got != 120 {
		t.Errorf("the branch begins with a head of %d tokens, want 120", got)
	}
}
