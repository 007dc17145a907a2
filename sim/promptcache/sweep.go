package promptcache

// reserve makes way for the entries of one more request. A full table is swept
// of what has expired and grows if that frees less than half, so both cost a
// constant per entry written.
func (a *Anthropic) reserve(t int64, n int) {
	if len(a.entries)+n > len(a.table.slots)/2 {
		a.sweep(t, n)
	}
}

// sweep drops what has expired and leaves a table at most a quarter full with n
// more entries.
func (a *Anthropic) sweep(t int64, n int) {
	kept := a.markKept(t)
	size := len(a.table.slots)
	for kept+n > size/4 {
		size *= 2
	}
	a.compact()
	a.table.resize(size)
	for id := range a.entries {
		if e := &a.entries[id]; e.state != stateDead {
			a.table.put(a.entries, e.key, int32(id))
		}
	}
}

// markKept notes in a.remap which entries stay (0, else none): those inside their
// TTL, those a request in flight holds, and all on their prefixes. It returns
// their number.
func (a *Anthropic) markKept(t int64) int {
	a.remap = a.remap[:0]
	for range a.entries {
		a.remap = append(a.remap, none)
	}
	kept := 0
	keep := func(id int32) {
		for ; id != none && a.remap[id] == none; id = a.entries[id].parent {
			a.remap[id] = 0
			kept++
		}
	}
	for i := range a.flights {
		f := &a.flights[i]
		for _, id := range f.held[:f.holds] {
			keep(id)
		}
		for _, id := range f.written[:f.writes] {
			keep(id)
		}
	}
	for id := range a.entries {
		e := &a.entries[id]
		if e.state != stateDead && t-a.lastUse(e) <= a.cfg.Lifetime[e.ttl] {
			keep(int32(id))
		}
	}
	return kept
}

// compact drops the entries that markKept did not keep and renumbers the rest in
// order, so that a parent still comes before its children.
func (a *Anthropic) compact() {
	for i := range a.lineages {
		a.lineages[i].tip = none
	}
	n := int32(0)
	for id := range a.entries {
		if a.remap[id] == none {
			continue
		}
		a.remap[id] = n
		e := &a.entries[n]
		*e = a.entries[id]
		if e.parent != none {
			e.parent = a.remap[e.parent]
		}
		a.lineages[e.lineage].tip = n
		n++
	}
	a.entries = a.entries[:n]
	a.compactLineages()
	for i := range a.flights {
		f := &a.flights[i]
		for j := range f.held[:f.holds] {
			f.held[j] = a.remap[f.held[j]]
		}
		for j := range f.written[:f.writes] {
			f.written[j] = a.remap[f.written[j]]
		}
	}
}

// compactLineages drops the lineages without entries. Swapping keeps the
// storage of the dropped ones for later.
func (a *Anthropic) compactLineages() {
	n := int32(0)
	a.relined = a.relined[:0]
	for i := range a.lineages {
		a.relined = append(a.relined, n)
		if a.lineages[i].tip == none {
			continue
		}
		if b := a.lineages[i].base; b != none {
			a.lineages[i].base = a.remap[b]
		}
		a.lineages[i], a.lineages[n] = a.lineages[n], a.lineages[i]
		n++
	}
	a.lineages = a.lineages[:n]
	for id := range a.entries {
		e := &a.entries[id]
		e.lineage = a.relined[e.lineage]
	}
}
