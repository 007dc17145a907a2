package promptcache

import (
	"slices"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
)

// node is one position of a path that was sent: a prefix ending with an entry.
type node struct {
	ready int64 // ns: when it can be read; never until its writer's response begins
	run   int32
	pos   int32 // index of the entry in the request
}

// run is a stretch of positions that were appended one behind the other. Where
// a request leaves it, another run is attached.
type run struct {
	uses    []runUse
	parent  int32 // run it is attached to, none for the first of a path
	at      int32 // position in the parent it follows
	end     int32 // its last position
	child   int32 // first run attached to it
	sibling int32 // next run attached to the same parent
}

// runUse says that a prefix through a position was sent at a time. In a run they
// stand by falling position and rising time: a later use through the same or a
// further position makes an earlier one idle.
type runUse struct {
	time int64
	pos  int32
}

// find returns the node of the prefix ending at a position of a request, or
// none.
func (o *OpenAI) find(r *exchange.Request, i int) int32 {
	return o.table.find(o.entries, openAIKey(r, i))
}

func openAIKey(r *exchange.Request, i int) key {
	return key{chain: r.Entries[i].Chain, space: uint64(r.Owner)<<32 | uint64(r.Model)}
}

// longest returns the last position of a request whose prefix is in the cache,
// readable yet or not, -1 for none. When a prefix is there all shorter ones are:
// every use of the longer prefix used them. So a conversation that only appended is
// looked up from where it ended, any other by halving.
func (o *OpenAI) longest(t int64, r *exchange.Request, th *openAIThread, life int64) int {
	n := len(r.Entries)
	lo, hi := -1, n // lo is there, hi is not
	if th.left && int(th.pos) < n {
		if hi = int(th.pos); o.there(t, r, hi, life) {
			for lo = hi; lo+1 < n && o.there(t, r, lo+1, life); lo++ {
			}
			return lo
		}
	}
	for lo+1 < hi {
		if mid := (lo + hi) / 2; o.there(t, r, mid, life) {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
}

// there reports whether the prefix ending at a position is in the cache, given
// how long one lives, ns.
func (o *OpenAI) there(t int64, r *exchange.Request, i int, life int64) bool {
	id := o.find(r, i)
	if id == none {
		return false
	}
	nd := &o.nodes[id]
	return t-o.lastUse(nd.run, nd.pos) <= life || o.inFlight(nd.run, nd.pos)
}

// lastUse returns when the prefix through a position of a run was last sent.
func (o *OpenAI) lastUse(id, pos int32) int64 {
	ru := &o.runs[id]
	last := -never
	for i := len(ru.uses) - 1; i >= 0; i-- {
		if ru.uses[i].pos >= pos {
			last = ru.uses[i].time
			break
		}
	}
	for c := ru.child; c != none; c = o.runs[c].sibling {
		if o.runs[c].at >= pos {
			last = max(last, o.lastUse(c, o.runs[c].at+1))
		}
	}
	return last
}

// inFlight reports whether a request in flight sent the prefix through a
// position of a run.
func (o *OpenAI) inFlight(id, pos int32) bool {
	for i := range o.flights {
		f := &o.flights[i]
		if !f.open || f.tip == none || f.fromStart {
			continue
		}
		at, through := o.nodes[f.tip].run, o.nodes[f.tip].pos
		for at != none && at != id {
			at, through = o.runs[at].parent, o.runs[at].at
		}
		if at == id && through >= pos {
			return true
		}
	}
	return false
}

// use notes that the prefix ending with a node was sent at t.
func (o *OpenAI) use(id int32, t int64) {
	nd := &o.nodes[id]
	ru := &o.runs[nd.run]
	n := len(ru.uses)
	for n > 0 && ru.uses[n-1].pos <= nd.pos {
		n--
	}
	ru.uses = append(ru.uses[:n], runUse{time: t, pos: nd.pos})
}

// store adds the first n entries that a request sent behind the positions that
// were there, and opens its flight.
func (o *OpenAI) store(t int64, r *exchange.Request, alive, n int) int32 {
	o.reserve(t, n-alive-1)
	ticket := o.openFlight()
	f := &o.flights[ticket]
	f.tip = none
	f.from = int32(len(o.nodes))
	if alive >= 0 {
		f.tip = o.find(r, alive)
	}
	if alive+1 < n {
		at := o.extend(f.tip, int32(alive))
		for i := alive + 1; i < n; i++ {
			f.tip = o.insert(openAIKey(r, i), at, int32(i))
		}
		o.runs[at].end = int32(n - 1)
	}
	f.to = int32(len(o.nodes))
	if f.tip != none {
		o.use(f.tip, t)
	}
	return ticket
}

// extend returns the run that positions behind a node go into: the node's own
// when it is the run's last node, else a new one.
func (o *OpenAI) extend(behind, pos int32) int32 {
	parent := none
	if behind != none {
		parent = o.nodes[behind].run
		if o.runs[parent].end == pos {
			return parent
		}
	}
	id := int32(len(o.runs))
	var uses []runUse
	if len(o.runs) < cap(o.runs) {
		uses = o.runs[:id+1][id].uses[:0]
	}
	nr := run{uses: uses, parent: parent, at: pos, child: none, sibling: none}
	if parent != none {
		nr.sibling, o.runs[parent].child = o.runs[parent].child, id
	}
	o.runs = append(o.runs, nr)
	return id
}

// insert adds a node under a key, in place of one that has expired.
func (o *OpenAI) insert(k key, run, pos int32) int32 {
	id := int32(len(o.nodes))
	o.entries = append(o.entries, entry{key: k})
	o.nodes = append(o.nodes, node{ready: never, run: run, pos: pos})
	o.table.put(o.entries, k, id)
	return id
}

func (o *OpenAI) openFlight() int32 {
	if n := len(o.free); n > 0 {
		i := o.free[n-1]
		o.free = o.free[:n-1]
		o.flights[i] = openAIFlight{open: true}
		return i
	}
	o.flights = append(o.flights, openAIFlight{open: true})
	return int32(len(o.flights) - 1)
}

// reserve makes room for n more nodes. A full table is swept of what has expired
// and grows if that frees less than half, so both cost a constant per node
// written.
func (o *OpenAI) reserve(t int64, n int) {
	if len(o.nodes)+n > len(o.table.slots)/2 {
		o.sweep(t, n)
	}
}

// sweep drops what has expired by t and leaves a table at most a quarter full
// with n more nodes.
func (o *OpenAI) sweep(t int64, n int) {
	o.markKept(t)
	o.compact()
	size := len(o.table.slots)
	for len(o.nodes)+n > size/4 {
		size *= 2
	}
	o.table.resize(size)
	for i := range o.entries {
		o.table.put(o.entries, o.entries[i].key, int32(i))
	}
}

// markKept notes in o.keeps how much of every run stays: what is inside its
// retention, what requests in flight sent, and all on their prefixes. When a
// position stays all positions before it do.
func (o *OpenAI) markKept(t int64) {
	o.keeps = o.keeps[:0]
	for i := range o.runs {
		ru := &o.runs[i]
		keep := ru.at // nothing
		if j := slices.IndexFunc(ru.uses, func(u runUse) bool { return t-u.time <= o.longestLife }); j >= 0 {
			keep = ru.uses[j].pos // those behind it in the list are later and of shorter prefixes
		}
		o.keeps = append(o.keeps, keep)
	}
	for i := range o.flights {
		if f := &o.flights[i]; f.open && f.tip != none {
			nd := &o.nodes[f.tip]
			o.keeps[nd.run] = max(o.keeps[nd.run], nd.pos)
		}
	}
	for i := len(o.runs) - 1; i >= 0; i-- { // a run comes after its parent
		if p := o.runs[i].parent; p != none && o.keeps[i] > o.runs[i].at {
			o.keeps[p] = max(o.keeps[p], o.runs[i].at)
		}
	}
}

// compact drops the nodes that markKept did not keep, and runs without any, and
// renumbers the rest in order.
func (o *OpenAI) compact() {
	o.remap = o.remap[:0]
	n := int32(0)
	for i := range o.nodes {
		nd := o.nodes[i]
		if nd.pos > o.keeps[nd.run] {
			o.remap = append(o.remap, none)
			continue
		}
		o.remap = append(o.remap, n)
		o.nodes[n], o.entries[n] = nd, o.entries[i]
		n++
	}
	o.nodes, o.entries = o.nodes[:n], o.entries[:n]
	o.compactRuns()
	for i := range o.nodes {
		o.nodes[i].run = o.reruns[o.nodes[i].run]
	}
	for i := range o.flights {
		f := &o.flights[i]
		if !f.open || f.tip == none {
			continue
		}
		if wrote := f.to - f.from; wrote > 0 { // all of one run, up to the tip: they stay
			f.from = o.remap[f.from]
			f.to = f.from + wrote
		} else {
			f.from, f.to = 0, 0
		}
		f.tip = o.remap[f.tip]
	}
}

// compactRuns drops the runs of which nothing stays, cuts the remaining runs to what
// does, and links them anew. Swapping keeps the storage of the dropped ones for
// later.
func (o *OpenAI) compactRuns() {
	n := int32(0)
	o.reruns = o.reruns[:0]
	for i := range o.runs {
		keep := o.keeps[i]
		if keep <= o.runs[i].at {
			o.reruns = append(o.reruns, none)
			continue
		}
		o.reruns = append(o.reruns, n)
		o.runs[i].cut(keep)
		o.runs[i], o.runs[n] = o.runs[n], o.runs[i]
		ru := &o.runs[n]
		ru.child, ru.sibling = none, none
		if ru.parent != none {
			ru.parent = o.reruns[ru.parent]
			ru.sibling, o.runs[ru.parent].child = o.runs[ru.parent].child, n
		}
		n++
	}
	o.runs = o.runs[:n]
}

// cut ends a run at a position: uses of what lay beyond count as uses through it.
func (ru *run) cut(pos int32) {
	ru.end = min(ru.end, pos)
	beyond := 0
	for beyond < len(ru.uses) && ru.uses[beyond].pos >= pos {
		beyond++
	}
	if beyond > 0 {
		ru.uses = slices.Delete(ru.uses, 0, beyond-1)
		ru.uses[0].pos = pos
	}
}

// servedPlain is what the documents say of all of OpenAI's models.
var servedPlain = exchange.Serving{Step: openAIStep}

// serving returns how a request is served, given what is known of its model and
// what it says itself, and remembers the longest retention.
func (o *OpenAI) serving(model, own exchange.Serving) exchange.Serving {
	switch {
	case own.Step > 0:
		model = own
	case model.Step <= 0:
		model = servedPlain
	}
	if own.Retention > 0 {
		model.Retention = own.Retention
	}
	if model.Retention <= 0 {
		model.Retention = o.cfg.Retention
	}
	o.longestLife = max(o.longestLife, model.Retention)
	return model
}

// replied returns the last position that is read where responses are cached: the
// response to the thread's last request, as far as it is sent as it came, if all of that request is there.
func (th *openAIThread) replied(r *exchange.Request, hit int) int {
	if !th.left || hit != int(th.pos) || r.Entries[hit].Chain != th.chain {
		return hit
	}
	for hit+1 < len(r.Entries) && r.Entries[hit+1].Kind.Assistant() && r.Entries[hit+1].Form == prompt.FormVerbatim {
		hit++
	}
	return hit
}

// through returns the tokens of a request through a position that the server has seen before.
func through(r *exchange.Request, at int) int64 {
	n := int64(r.Entries[at].Cum)
	if r.Through > 0 {
		n = min(n, int64(r.Through))
	}
	return n
}
