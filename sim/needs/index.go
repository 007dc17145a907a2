// Package needs finds, in the texts of a recorded session, what every action used of what
// had been said before it, and how much of that a simulated context still has.
//
// A need is found by comparing strings, without a model: the text that an edit replaces;
// a path, an identifier, a number or an address that first appears in a result, a prompt
// or an answer and later in an argument; a file that is read again unchanged; an item of
// a plan that is taken up. What a model uses without repeating it is not found.
package needs

import (
	"slices"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results/recall"
	"github.com/compactsim/compactsim/traces"
)

// Need is one use of something said before.
type Need struct {
	Kind   recall.NeedKind
	Weight int32 // thousandths: rarity of what matched
	Round  int32 // of the thread; its answer uses the need
	Object int32 // of the tool call that uses it, -1 for none
	// Fetch is the block that a fetch would bring back unchanged: a file not edited since. -1 for none.
	Fetch int32
	// Found is the first result that showed it, which a search finds; -1 if no tool showed it.
	Found int32
	Had   bool   // the recorded context had it word for word
	Later int32  // uses of the same string in the thread from here on, this one included
	Term  uint64 // digest of what matched
	from  int32  // first of its places
	count int32
}

// Place is where the string of a need is: a span of the text of a block, bytes.
// In a tool call it is a span of one of the string values.
type Place struct{ Block, From, To int32 }

// summary is what a recorded compaction left: its blocks, and their joint digest.
type summary struct {
	digest prompt.Digest
	blocks traces.Span
}

// Index has what the actions of a session used. It does not change with use.
type Index struct {
	threads    []uses
	places     []Place
	sources    map[int32]int32 // of the results of repeats, by block
	behind     Fates           // of what the recorded compactions removed
	directives []directive     // by block, of people and of recorded summaries
	summaries  []summary
	// Names that the agent used before a file showed them, and how many would be by chance.
	ahead, byChance float64
	habit           habit
}

// uses are the needs of a thread by round.
type uses struct {
	list    []Need
	starts  []int32 // by round, and the length
	repeats []Repeat
}

// Round returns the needs of a round of a thread, heaviest first.
func (x *Index) Round(thread, round int32) []Need {
	u := &x.threads[thread]
	if int(round)+1 >= len(u.starts) {
		return nil
	}
	return u.list[u.starts[round]:u.starts[round+1]]
}

// Thread returns the needs of a thread in the order of rounds.
func (x *Index) Thread(thread int32) []Need { return x.threads[thread].list }

// Places returns the places of a need before its use: the latest, newest first, and then the first one.
func (x *Index) Places(n *Need) []Place { return x.places[n.from : n.from+n.count] }

// Len returns the number of needs.
func (x *Index) Len() int {
	n := 0
	for i := range x.threads {
		n += len(x.threads[i].list)
	}
	return n
}

// recorded returns the blocks of the recorded summary with a digest, none for another summary.
func (x *Index) recorded(d prompt.Digest) traces.Span {
	for _, s := range slices.Backward(x.summaries) {
		if s.digest == d {
			return s.blocks
		}
	}
	return traces.Span{}
}

func (x *Index) directivesOf(block int32) []directive {
	from, _ := slices.BinarySearchFunc(x.directives, block, func(d directive, b int32) int { return int(d.block - b) })
	to := from
	for to < len(x.directives) && x.directives[to].block == block {
		to++
	}
	return x.directives[from:to]
}

// table has the places of the terms that occur in tool calls; only these can be needs. It is an open hash table by
// digest, with the places of each term, newest first. Digests of 64 bits are assumed to be unique.
type table struct {
	keys  []uint64 // 0 for a free slot
	terms []term
	posts []post
}

// term is the data of one string.
type term struct {
	head   int32 // of posts, newest
	blocks int32 // blocks that have it, without the model's own actions
	round  int32 // the last round that needs it, as the builder counts; 0 for none
}

// post is one block that has a term.
type post struct{ block, next, from, to int32 }

// end closes a list of posts.
const end = int32(-1)

// newTable returns a table of the terms of the tool calls among utterances.
func newTable(heard []any) *table {
	var said []argument
	size, n := 1<<8, 0
	for _, t := range heard {
		if h, ok := t.(*utterance); ok {
			said = append(said, h.values...)
		}
	}
	for i := range said {
		n += len(said[i].all)
	}
	for size < 2*n {
		size *= 2
	}
	t := &table{keys: make([]uint64, size), terms: make([]term, size)}
	for i := range said {
		for _, f := range said[i].all {
			slot := t.slot(f.key | 1)
			t.keys[slot], t.terms[slot].head = f.key|1, end
		}
	}
	return t
}

// slot returns the slot of a digest, free or not.
func (t *table) slot(key uint64) int {
	mask := uint64(len(t.keys) - 1)
	i := (key ^ key>>29) & mask
	for t.keys[i] != 0 && t.keys[i] != key {
		i = (i + 1) & mask
	}
	return int(i)
}

// add records that a block has a term of the table, once for each block. The
// block counts unless it is the model's own action.
func (t *table) add(block int32, m mark, own bool) {
	i := t.slot(m.key | 1)
	x := &t.terms[i]
	if t.keys[i] == 0 || x.head != end && t.posts[x.head].block == block {
		return
	}
	t.posts = append(t.posts, post{block, x.head, m.from, m.from + int32(m.size)})
	x.head = int32(len(t.posts) - 1)
	if !own {
		x.blocks++
	}
}

// find returns a term, nil for one that has not occurred.
func (t *table) find(key uint64) *term {
	if i := t.slot(key | 1); t.keys[i] != 0 && t.terms[i].head != end {
		return &t.terms[i]
	}
	return nil
}
