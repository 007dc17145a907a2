package course

import (
	"slices"

	"github.com/compactsim/compactsim/sim/prompt"
)

// Deletions are the entries of a context that the client wants the server to leave
// out without changing the cached prefix.
type Deletions struct {
	list   []prompt.Deletion // in order of position
	ids    []int32           // of the entries, in the same order
	tokens int64             // of the list
	edits  uint32            // 1 + edits of the context when positions were last checked, 0 for never
}

// Tokens returns what the deletions leave out, tokens, as of the last time that they were resolved.
func (d *Deletions) Tokens() int64 { return d.tokens }

// Any reports whether a deletion is in force.
func (d *Deletions) Any() bool { return len(d.list) > 0 }

// Has reports whether the deletion of an entry is in force.
func (d *Deletions) Has(id int32) bool { return slices.Contains(d.ids, id) }

// Delete adds an entry of a context.
func (d *Deletions) Delete(c *prompt.Context, id int32) {
	if i := c.Index(id); i >= 0 && !d.Has(id) {
		d.add(c, i)
	}
}

// Undelete takes a deletion back.
func (d *Deletions) Undelete(id int32) {
	if i := slices.Index(d.ids, id); i >= 0 {
		d.tokens -= int64(d.list[i].Tokens)
		d.list, d.ids = slices.Delete(d.list, i, i+1), slices.Delete(d.ids, i, i+1)
	}
}

// Reset takes all deletions back, keeping storage.
func (d *Deletions) Reset() { *d = Deletions{list: d.list[:0], ids: d.ids[:0]} }

// add puts the entry at position i at its place in the list.
func (d *Deletions) add(c *prompt.Context, i int) {
	e := c.At(i)
	at := len(d.list)
	for at > 0 && d.list[at-1].Position > int32(i) {
		at--
	}
	d.list = slices.Insert(d.list, at, prompt.Deletion{Position: int32(i), Tokens: e.Tokens, Ref: c.BlockAt(i).Digest})
	d.ids = slices.Insert(d.ids, at, e.ID)
	d.tokens += int64(e.Tokens)
}

// Resolve brings positions up to date with the context; entries that are gone,
// or no longer whole, leave the list.
func (d *Deletions) Resolve(c *prompt.Context) []prompt.Deletion {
	if d.edits == c.Edits()+1 {
		return d.list
	}
	d.edits = c.Edits() + 1
	for i := range d.list {
		p := int(d.list[i].Position)
		if p < c.Len() && c.At(p).ID == d.ids[i] && c.At(p).Tokens == d.list[i].Tokens {
			continue
		}
		return d.rebuild(c)
	}
	return d.list
}

func (d *Deletions) rebuild(c *prompt.Context) []prompt.Deletion {
	ids, edits := slices.Clone(d.ids), d.edits
	d.Reset()
	d.edits = edits
	for i := range c.Len() {
		if e := c.At(i); (e.Form == prompt.FormVerbatim || e.Form == prompt.FormRange) && slices.Contains(ids, e.ID) {
			d.add(c, i)
		}
	}
	return d.list
}

// Inherit makes d the deletions of o in another context that has the same entries.
func (d *Deletions) Inherit(o *Deletions) {
	d.list, d.ids, d.tokens, d.edits = append(d.list[:0], o.list...), append(d.ids[:0], o.ids...), o.tokens, 0
}

// CopyFrom makes d the deletions of o in an independent copy of its context.
func (d *Deletions) CopyFrom(o *Deletions) {
	d.Inherit(o)
	d.edits = o.edits
}
