package strategies

import (
	"slices"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/op"
)

// A disk is what a thread's messages have shown of the files that it works on. It outlives the messages: a compaction
// reads files as they are then. The zero value knows no file.
type disk struct {
	files []diskFile // in the order of the first access; a file that is changed moves to the end
	next  int32      // identity of the first entry of the context that was not looked at

	// By object, one more than the last place at which its file may be, 0 for none. Files that move to the end only
	// bring the files behind them forward.
	places []int32
}

// diskFile is a file as it is now.
type diskFile struct {
	object  int32
	size    memory        // a lower bound until the whole is known
	writes  prompt.Digest // what was written to it
	least   int64         // tokens, by the end of a part that was read
	whole   bool          // it was read or written as a whole
	bare    bool          // the size counts no line numbers
	changed bool
	held    bool // the client's process knows the file, whatever messages show
}

// printed is a client that a program started with -p, a process for each prompt (traces.Session.Entry).
const printed = "sdk-cli"

// stubBytes is the largest result that says only that a file is unchanged, bytes.
const stubBytes = 200

// look takes note of the accesses that the context shows and an earlier look did not meet.
func (d *disk) look(t *Turn) {
	next := d.next
	for i := range t.Context.Len() {
		e := t.Context.At(i)
		if e.ID < d.next {
			continue
		}
		next = max(next, e.ID+1)
		if e.Kind == prompt.KindPrompt && t.Entry == printed {
			d.hold(nil)
		}
		b := t.Context.BlockAt(i)
		if !reached(b) || e.Kind != prompt.KindToolResult && e.Kind != prompt.KindAttachment {
			continue
		}
		// What a compaction restored, and may have cut, says nothing of a file that is known.
		if e.Kind == prompt.KindToolResult || b.Flags&prompt.FlagMeta == 0 || d.index(b.Object) < 0 {
			d.access(b)
		}
	}
	d.next = next
}

// access takes note of a read, an edit, a write or a command that shows a file. A write or a read of the whole sets the
// size (002:160), an edit adds to it; until the whole is known, reads of parts are lower bounds, and so is where a part
// ends, by its tokens a line.
func (d *disk) access(b *prompt.Block) {
	switch b.Op {
	case op.Read, op.Edit, op.Write, op.Exec:
	default:
		return
	}
	i := d.index(b.Object)
	if i < 0 {
		i = len(d.files)
		d.files = append(d.files, diskFile{object: b.Object})
		d.places = append(d.places, make([]int32, max(0, int(b.Object)+1-len(d.places)))...)
	}
	d.places[b.Object] = int32(i + 1)
	f := &d.files[i]
	part := b.RangeFrom > 0 || b.RangeLen > 0
	switch {
	case b.Op == op.Write:
		f.size.resize(b.RangeLen)
		f.writes, f.whole, f.bare, f.changed = f.writes.Extend(b.Digest), true, true, true
	case b.Op == op.Edit:
		f.size.resize(f.size.bytes + b.RangeLen)
		f.writes, f.changed = f.writes.Extend(b.Digest), true
	case part && !f.whole && b.Bytes > f.size.bytes, !part && (b.Bytes > stubBytes || b.Bytes > f.size.bytes):
		f.size, f.whole, f.bare = memoryOf(b), !part, b.Op == op.Exec
	}
	if b.Op == op.Read && b.RangeFrom > 0 && b.RangeLen > 0 {
		f.least = max(f.least, int64(b.Tokens)*int64(b.RangeFrom+b.RangeLen-1)/int64(b.RangeLen))
	}
	if b.Op == op.Edit || b.Op == op.Write {
		last := *f
		d.files = append(slices.Delete(d.files, i, i+1), last)
		d.places[b.Object] = int32(len(d.files))
	}
}

// index returns the place of an object's file, -1 for none. It searches from both ends: an agent goes back to the file it
// had last, or takes files in turn.
func (d *disk) index(object int32) int {
	if object < 0 || int(object) >= len(d.places) {
		return -1
	}
	for front, back := 0, int(d.places[object])-1; front <= back; front, back = front+1, back-1 {
		switch object {
		case d.files[front].object:
			return front
		case d.files[back].object:
			return back
		}
	}
	return -1
}

// file returns an object's file, without a size where no access was seen.
func (d *disk) file(object int32) diskFile {
	if i := d.index(object); i >= 0 {
		return d.files[i]
	}
	return diskFile{object: object}
}

// changedAt returns the place of a file in the order of last changes, -1 for one that nobody changed.
func (d *disk) changedAt(object int32) int {
	if i := d.index(object); i >= 0 && d.files[i].changed {
		return i
	}
	return -1
}

// hold says which files a compaction put back or named. The client's process remembers them as read, and they come back
// behind the next compaction too; claude -p --resume is another process and knows what the messages show. (Claude Code
// 2.1.332, 20 sessions: of 151 files put back and not touched again 97 of 128 came back when no prompt was between, and files
// changed later took the places of most others; behind a prompt 2 of 23, which kept messages showed.)
func (d *disk) hold(objects []int32) {
	for i := range d.files {
		d.files[i].held = slices.Contains(objects, d.files[i].object)
	}
}

// appendHeld appends the files that the process holds.
func (d *disk) appendHeld(list []access) []access {
	for i := range d.files {
		if d.files[i].held {
			list = append(list, access{object: d.files[i].object})
		}
	}
	return list
}
