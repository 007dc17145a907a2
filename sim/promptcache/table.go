package promptcache

// slot is one place of the table: 32 bits of the key's hash, never zero when
// taken, and the entry.
type slot struct {
	tag uint32
	id  int32
}

// table finds entries by key: open addressing with linear probing, at most half
// full, a power of two in size. Nothing is removed from it but by rebuilding.
type table struct {
	slots []slot
	shift uint8
}

// minTable is the smallest number of slots.
const minTable = 256

// resize makes the table empty with n slots, a power of two, keeping storage
// that is large enough.
func (h *table) resize(n int) {
	if n <= cap(h.slots) {
		h.slots = h.slots[:n]
		clear(h.slots)
	} else {
		h.slots = make([]slot, n)
	}
	h.shift = 64
	for ; n > 1; n >>= 1 {
		h.shift--
	}
}

// find returns the entry with key k, or none.
func (h *table) find(entries []entry, k key) int32 {
	hash := k.hash()
	tag := uint32(hash) | 1
	mask := len(h.slots) - 1
	for i := int(hash >> h.shift); ; i++ {
		s := h.slots[i&mask]
		if s.tag == 0 {
			return none
		}
		if s.tag == tag && entries[s.id].key == k {
			return s.id
		}
	}
}

// put points key k at an entry, in place of the one it pointed at. entries
// must hold the earlier one.
func (h *table) put(entries []entry, k key, id int32) {
	hash := k.hash()
	tag := uint32(hash) | 1
	mask := len(h.slots) - 1
	for i := int(hash >> h.shift); ; i++ {
		s := &h.slots[i&mask]
		if s.tag == 0 || s.tag == tag && entries[s.id].key == k {
			*s = slot{tag, id}
			return
		}
	}
}
