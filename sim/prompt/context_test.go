package prompt

import (
	"slices"
	"testing"
	"unsafe"

	"pgregory.net/rapid"
)

// Memory grows by these: 64 bytes a parsed block, 40 a live entry.
func TestSizes(t *testing.T) {
	if n := unsafe.Sizeof(Block{}); n > 64 {
		t.Errorf("a block takes %d bytes, at most 64 are allowed", n)
	}
	if n := unsafe.Sizeof(Entry{}); n > 40 {
		t.Errorf("an entry takes %d bytes, at most 40 are allowed", n)
	}
}

// blocks returns n message blocks of distinct content, block i weighing i+1
// tokens.
func blocks(n int) []Block {
	b := make([]Block, n)
	for i := range b {
		b[i] = Block{Kind: KindToolResult, Tokens: int32(i + 1), Digest: Digest{1, uint64(i)}}
	}
	return b
}

func chains(c *Context) []Digest {
	var d []Digest
	for _, e := range c.Seal() {
		d = append(d, e.Chain)
	}
	return d
}

func newContext(b []Block) *Context {
	c := new(Context)
	c.Reset(b, new(Arena))
	for i := range b {
		c.Append(Ref(i))
	}
	return c
}

func TestChainDependsOnAllBeforeIt(t *testing.T) {
	b := blocks(5)
	base := chains(newContext(b))
	c := newContext(b)
	c.Seal()
	c.SetForm(2, FormCleared, 1, CauseEdit)
	edited := chains(c)
	for i := range base {
		if same := base[i] == edited[i]; same != (i < 2) {
			t.Errorf("entry %d: chain equal = %v after an edit of entry 2", i, same)
		}
	}
	if got, want := c.Tokens(), 1+2+1+4+5; got != want {
		t.Errorf("tokens %d, want %d", got, want)
	}
}

// An appended context has the chain it would have had from the start: the
// cache of a conversation grows.
func TestAppendKeepsThePrefix(t *testing.T) {
	b := blocks(6)
	short := chains(newContext(b[:4]))
	c := newContext(b[:4])
	c.Seal()
	c.Reset(b, new(Arena))
	for i := range b {
		c.Append(Ref(i))
		c.Seal()
	}
	if got := chains(c)[:4]; !slices.Equal(got, short) {
		t.Errorf("chain of the first four entries changed:\n%v\n%v", got, short)
	}
}

func TestChangeIsTheFirstSentPosition(t *testing.T) {
	c := newContext(blocks(6))
	if ch := c.MarkSent(); ch != NoChange {
		t.Errorf("a fresh context reports %+v", ch)
	}
	c.SetForm(4, FormCleared, 1, CauseEdit)
	c.SetForm(2, FormCleared, 1, CauseEdit)
	c.SetForm(3, FormCleared, 1, CauseEdit)
	if ch := c.MarkSent(); ch != (Change{At: 2, Cause: CauseEdit}) {
		t.Errorf("change %+v, want at 2 by an edit", ch)
	}
	c.Add(Block{Kind: KindPrompt, Tokens: 7, Digest: Digest{9, 9}})
	c.SetForm(6, FormCleared, 1, CauseEdit)
	if ch := c.MarkSent(); ch != NoChange {
		t.Errorf("editing what was not sent reports %+v", ch)
	}
	c.Replace(1, 7, []Ref{0}, CauseCompaction)
	if ch := c.MarkSent(); ch != (Change{At: 1, Cause: CauseCompaction}) {
		t.Errorf("change %+v, want at 1 by a compaction", ch)
	}
	c.Truncate(1, CauseRewind)
	if ch := c.MarkSent(); ch != (Change{At: 1, Cause: CauseRewind}) {
		t.Errorf("change %+v, want at 1 by a rewind", ch)
	}
}

// A key belongs to a level: changing it changes that level and all later ones,
// no earlier one (provider's invalidation table).
func TestKeyChangesItsLevelAndLater(t *testing.T) {
	b := []Block{
		{Kind: KindTools, Tokens: 1, Digest: Digest{1, 1}},
		{Kind: KindSystem, Tokens: 1, Digest: Digest{1, 2}},
		{Kind: KindPrompt, Tokens: 1, Digest: Digest{1, 3}},
	}
	base := chains(newContext(b))
	for level, unchanged := range map[Level]int{LevelTools: 0, LevelSystem: 1, LevelMessages: 2} {
		c := newContext(b)
		c.Seal()
		c.SetKey(level, Digest{7, 7})
		got := chains(c)
		for i := range base {
			if same := got[i] == base[i]; same != (i < unchanged) {
				t.Errorf("key at level %d: entry %d equal = %v", level, i, same)
			}
		}
		c.SetKey(level, Digest{})
		if !slices.Equal(chains(c), base) {
			t.Errorf("key at level %d taken back: chain differs", level)
		}
	}
}

func TestCopyIsIndependent(t *testing.T) {
	c := newContext(blocks(4))
	want := chains(c)
	var d Context
	d.CopyFrom(c)
	d.SetForm(0, FormCleared, 1, CauseEdit)
	d.Truncate(2, CauseRewind)
	if !slices.Equal(chains(c), want) {
		t.Error("editing a copy changed the original")
	}
}

// What a server leaves out the client still has in its form so far; what the
// client itself has changed it has not. Entry 6 weighs 7 tokens.
func TestLeaveOut(t *testing.T) {
	leave := func(c *Context) { c.LeaveOut(6, 9) }
	shorten := func(c *Context) { c.SetForm(6, FormPointer, 4, CauseEdit) }
	clear := func(c *Context) { c.SetForm(6, FormCleared, 9, CauseEdit) }
	for _, tc := range []struct {
		what  string
		steps []func(*Context)
		had   int32
	}{
		{"left out", []func(*Context){leave}, 7},
		{"left out twice", []func(*Context){leave, leave}, 7},
		{"a preview left out", []func(*Context){shorten, leave}, 4},
		{"cleared by the client", []func(*Context){clear, leave}, 0},
		{"left out, then cleared by the client", []func(*Context){leave, clear}, 0},
	} {
		c := newContext(blocks(8))
		for _, step := range tc.steps {
			step(c)
		}
		if e := c.At(6); e.Had != tc.had || e.Form != FormCleared || e.Tokens != 9 {
			t.Errorf("%s: %+v, want what the client had to be %d", tc.what, e, tc.had)
		}
	}
}

// Whatever the edits, sealing step by step gives the chain of sealing once:
// the incremental chain is only an optimisation.
func TestSealIsIncremental(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		b := blocks(40)
		var stepped, once Context
		stepped.Reset(b, new(Arena))
		once.Reset(b, new(Arena))
		both := func(f func(c *Context)) { f(&stepped); f(&once); stepped.Seal() }
		next := 0
		for range rapid.IntRange(1, 60).Draw(rt, "edits") {
			n := stepped.Len()
			switch op := rapid.IntRange(0, 5).Draw(rt, "op"); {
			case op <= 2 && next < len(b) || n < 3:
				both(func(c *Context) { c.Append(Ref(next % len(b))) })
				next++
			case op == 3:
				i := rapid.IntRange(0, n-1).Draw(rt, "at")
				both(func(c *Context) { c.SetForm(i, FormCleared, int32(i), CauseEdit) })
			case op == 4:
				i := rapid.IntRange(0, n-1).Draw(rt, "from")
				j := rapid.IntRange(i, n).Draw(rt, "to")
				k := rapid.IntRange(0, 3).Draw(rt, "with")
				both(func(c *Context) { c.Replace(i, j, []Ref{0, 1, 2}[:k], CauseCompaction) })
			default:
				i := rapid.IntRange(0, n).Draw(rt, "keep")
				both(func(c *Context) { c.Truncate(i, CauseRewind) })
			}
		}
		if !slices.Equal(chains(&stepped), chains(&once)) || stepped.Tokens() != once.Tokens() {
			rt.Fatal("sealing step by step differs from sealing once")
		}
		seen := map[int32]bool{}
		var sum int32
		for i := range stepped.Len() {
			e := stepped.At(i)
			if seen[e.ID] {
				rt.Fatalf("id %d twice", e.ID)
			}
			seen[e.ID] = true
			if sum += e.Tokens; sum != e.Cum {
				rt.Fatalf("entry %d: cumulative %d, want %d", i, e.Cum, sum)
			}
			if stepped.Index(e.ID) != i {
				rt.Fatalf("entry %d not found by its id", i)
			}
		}
	})
}

func BenchmarkExtend(b *testing.B) {
	d := Digest{1, 2}
	for b.Loop() {
		d = d.Extend(Digest{3, 4})
	}
	if d.IsZero() {
		b.Fatal("the chain collapsed")
	}
}
