package needs

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
