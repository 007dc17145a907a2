package needs

// table holds where terms stand: an open hash table by digest, and for each term its places, newest first. Digests
// of 64 bits are taken to be different.
type table struct {
	keys  []uint64 // 0 for a free slot
	terms []term
	used  int
	posts []post
}

// term is what is known of one string.
type term struct {
	head   int32 // of posts, newest
	blocks int32 // of others than the model's own actions in which it stands
}

// post is one block in which a term stands.
type post struct{ block, next, from, to int32 }

// end closes a list of posts.
const end = int32(-1)

// newTable returns a table for a number of places of terms, each of which stands in two on average.
func newTable(places int) *table {
	n := 1 << 8
	for n < places {
		n *= 2
	}
	return &table{keys: make([]uint64, n), terms: make([]term, n), posts: make([]post, 0, places)}
}

// slot returns the place of a digest, free or not.
func (t *table) slot(key uint64) int {
	mask := uint64(len(t.keys) - 1)
	i := (key ^ key>>29) & mask
	for t.keys[i] != 0 && t.keys[i] != key {
		i = (i + 1) & mask
	}
	return int(i)
}

// add notes that a term stands in a block, once for each block, which counts unless it is the model's own action.
func (t *table) add(key uint64, block, from, to int32, own bool) {
	key |= 1
	i := t.slot(key)
	if t.keys[i] == 0 {
		if 2*t.used >= len(t.keys) {
			t.grow()
			i = t.slot(key)
		}
		t.used++
		t.keys[i], t.terms[i] = key, term{head: end}
	}
	x := &t.terms[i]
	if x.head != end && t.posts[x.head].block == block {
		return
	}
	t.posts = append(t.posts, post{block, x.head, from, to})
	x.head = int32(len(t.posts) - 1)
	if !own {
		x.blocks++
	}
}

// find returns a term, nil for one that was not added.
func (t *table) find(key uint64) *term {
	if i := t.slot(key | 1); t.keys[i] != 0 {
		return &t.terms[i]
	}
	return nil
}

func (t *table) grow() {
	keys, terms := t.keys, t.terms
	t.keys, t.terms = make([]uint64, 2*len(keys)), make([]term, 2*len(terms))
	for i, key := range keys {
		if key != 0 {
			j := t.slot(key)
			t.keys[j], t.terms[j] = key, terms[i]
		}
	}
}
