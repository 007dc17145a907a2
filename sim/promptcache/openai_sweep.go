package promptcache

import "slices"

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
// position stays all in front of it do.
func (o *OpenAI) markKept(t int64) {
	o.keeps = o.keeps[:0]
	for i := range o.runs {
		ru := &o.runs[i]
		keep := ru.at // nothing
		if j := slices.IndexFunc(ru.uses, func(u runUse) bool { return t-u.time <= o.cfg.Retention }); j >= 0 {
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
	for i := len(o.runs) - 1; i >= 0; i-- { // a run comes behind its parent
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

// compactRuns drops the runs of which nothing stays, cuts the others to what
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

// cut ends a run with a position: what was sent of it beyond counts as sent
// through there.
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
