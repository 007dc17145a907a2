package strategies

import (
	"slices"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/op"
)

// A disk is what a thread's messages have shown of the files that it works on. It outlives the messages: a compaction
// reads files as they are then. The zero value knows no file.
type disk struct {
	files  []diskFile // in the order of the first access
	next   int32      // identity of the first entry of the context that was not looked at
	began  int32      // identity of the prompt with which the client's process began, 0 for none
	places []int32    // by object, one more than the place of its file, 0 for none
}

// diskFile is a file as it is now.
type diskFile struct {
	object  int32
	size    memory        // a lower bound until the whole is known
	writes  prompt.Digest // what was written to it
	least   int64         // tokens, by the end of a part that was read
	whole   bool          // it was read or written as a whole
	numbers int32         // bytes of line numbers in the size
	lines   int32         // 0 for unknown
	held    bool          // the client's process knows the file, whatever messages show

	// Identities of entries, 0 for none: the last change, the last read of the whole since a compaction, and the time that
	// the client has noted.
	changed, read, noted int32
}

// printed is a client that a program started with -p, a process for each prompt (traces.Session.Entry).
const printed = "sdk-cli"

// stubBytes is the largest result that says only that a file is unchanged, bytes: Claude Code's has up to 200, Qwen Code's
// (0.24.4) 330 and the path.
const stubBytes = 500

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
			d.begin(e.ID)
		}
		b := t.Context.BlockAt(i)
		if !showsFile(b) || e.Kind != prompt.KindToolResult && e.Kind != prompt.KindAttachment {
			continue
		}
		// What a compaction restored, and may have cut, says nothing of a file that is known.
		if e.Kind == prompt.KindToolResult || b.Flags&prompt.FlagMeta == 0 || d.index(b.Object) < 0 {
			d.access(b, e.ID)
		}
	}
	d.next = next
}

// begin is another process of the client, which knows what messages show: a file that they read last has the time of
// the message, one that they changed last its time on disk. (Bundle of 2.1.332; 81 restored files of five sessions.)
func (d *disk) begin(id int32) {
	d.began = id
	for i := range d.files {
		f := &d.files[i]
		f.held, f.noted = false, max(f.changed, f.read)
	}
}

// access takes note of a read, an edit, a write or a command that shows a file. A write or a read of the whole sets the
// size (002:160), an edit adds to it; until the whole is known, reads of parts are lower bounds, and so is where a part
// ends, by its tokens a line. The client notes the time on disk, and no recording shows one that is older than the session.
func (d *disk) access(b *prompt.Block, id int32) {
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
		d.places[b.Object] = int32(i + 1)
	}
	f := &d.files[i]
	part := b.Op == op.Read && b.RangeFrom > 0
	switch {
	case b.Op == op.Write:
		f.size.resize(b.RangeLen)
		f.lines, f.numbers = b.RangeFrom, 0
		f.writes, f.whole, f.changed = f.writes.Extend(b.Digest), true, id
	case b.Op == op.Edit:
		f.size.resize(f.size.bytes + b.RangeLen)
		if f.lines > 0 {
			f.lines = max(1, f.lines+b.RangeFrom)
		}
		f.writes, f.changed = f.writes.Extend(b.Digest), id
	case part && !f.whole && b.Bytes > f.size.bytes, !part && (b.Bytes > stubBytes || b.Bytes > f.size.bytes):
		f.size, f.whole, f.lines, f.numbers = memoryOf(b), !part, 0, 0
		if !part {
			f.lines = b.RangeLen
		}
		if b.Op == op.Read {
			f.numbers = f.numbering(b.Bytes)
			if !part {
				f.read = id
			}
		}
	}
	if part && b.RangeLen > 0 {
		f.least = max(f.least, int64(b.Tokens)*int64(b.RangeFrom+b.RangeLen-1)/int64(b.RangeLen))
	}
	if b.Op != op.Exec || f.noted == 0 {
		f.noted = f.changed
	}
}

// numbering returns the bytes that a read puts ahead of the lines, a number and a tab each, or, where nobody counted
// the lines, those in a result of so many bytes.
func (f *diskFile) numbering(shown int32) int32 {
	if f.lines == 0 {
		return int32(lineNumbers / (1 + lineNumbers) * float64(shown))
	}
	n := f.lines
	for first := int32(1); first <= f.lines; first *= 10 {
		n += f.lines - first + 1
	}
	return n
}

// index returns the place of an object's file, -1 for none.
func (d *disk) index(object int32) int {
	if object < 0 || int(object) >= len(d.places) {
		return -1
	}
	return int(d.places[object]) - 1
}

// file returns an object's file, without a size where no access was seen.
func (d *disk) file(object int32) diskFile {
	if i := d.index(object); i >= 0 {
		return d.files[i]
	}
	return diskFile{object: object}
}

// hold says which files a compaction put back or named. The client's process remembers them as read, and they come back
// behind the next compaction too; claude -p --resume is another process and knows what the messages show. (Claude Code
// 2.1.332, 20 sessions: of 151 files put back and not touched again 97 of 128 came back when no prompt was between, and files
// changed later took the places of most others; behind a prompt 2 of 23, which kept messages showed.)
func (d *disk) hold(objects []int32) {
	for i := range d.files {
		f := &d.files[i]
		f.held, f.read, f.noted = slices.Contains(objects, f.object), 0, f.changed
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

// Carried is what the client of a thread keeps beside the messages and can put back: it outlives the messages it came
// from. It is derived from the tool calls of Claude Code that are about to be compacted. The zero value holds nothing.
type Carried struct {
	skills   []memory // by last invocation, oldest first
	disk     disk
	plan     memory
	todos    memory
	planMode bool
}

// CopyFrom makes c an independent copy of o.
func (c *Carried) CopyFrom(o *Carried) {
	skills, own := append(c.skills[:0], o.skills...), c.disk
	*c = *o
	c.skills = skills
	c.disk.files = append(own.files[:0], o.disk.files...)
	c.disk.places = append(own.places[:0], o.disk.places...)
}

// clone returns an independent copy of c.
func (c *Carried) clone() Carried {
	var o Carried
	o.CopyFrom(c)
	return o
}

// emptied returns what holds nothing, with the memory of c.
func (c *Carried) emptied() Carried {
	return Carried{skills: c.skills[:0], disk: disk{files: c.disk.files[:0], places: c.disk.places[:0]}}
}

// carriedOr returns what the thread carries, or own where each layer keeps its own.
func (t *Turn) carriedOr(own *Carried) *Carried {
	if t.Carried != nil {
		return t.Carried
	}
	return own
}

// memory is the size and identity of a text that a client keeps.
type memory struct {
	digest prompt.Digest
	tokens int32
	bytes  int32
}

// block is the text as an attachment, cut to tokens.
func (m *memory) block(tokens int32) prompt.Block {
	return prompt.Block{
		Digest: m.digest.ExtendInt(uint64(tokens)), Kind: prompt.KindAttachment, Tokens: tokens,
		Bytes:  int32(int64(m.bytes) * int64(tokens) / int64(max(1, m.tokens))),
		Object: -1, Flags: prompt.FlagMeta,
	}
}

func (m *memory) add(b *prompt.Block) {
	m.digest = m.digest.Extend(b.Digest)
	m.tokens += b.Tokens
	m.bytes += b.Bytes
}

// resize sets the length of a text, bytes; bytes per token stay the same.
func (m *memory) resize(length int32) {
	length = max(0, length)
	if m.bytes > 0 {
		m.tokens = int32((int64(m.tokens)*int64(length) + int64(m.bytes)/2) / int64(m.bytes))
	} else {
		m.tokens = length / bytesPerToken
	}
	m.bytes = length
}

func memoryOf(b *prompt.Block) memory {
	return memory{digest: b.Digest, tokens: b.Tokens, bytes: b.Bytes}
}

// gather brings c up to date with the entries [from, to).
func (c *Carried) gather(t *Turn, from, to int) {
	for i := from; i < to; i++ {
		b := t.Context.BlockAt(i)
		switch t.Context.At(i).Kind {
		case prompt.KindToolUse:
			c.note(t, b)
		case prompt.KindToolResult:
			if t.tool(b) == "Skill" && b.Flags&prompt.FlagError == 0 {
				c.invoke(skillAt(t, i, to))
			}
		}
	}
}

// note takes plan, plan mode and todos from a tool call: its input is their content.
func (c *Carried) note(t *Turn, b *prompt.Block) {
	switch t.tool(b) {
	case "EnterPlanMode":
		c.planMode = true
	case "ExitPlanMode":
		c.planMode, c.plan = false, memoryOf(b)
	case "TodoWrite":
		c.todos = memoryOf(b)
	default:
		switch {
		case b.Op != op.Write && b.Op != op.Edit || !isPlan(t.object(b)):
		case b.Op == op.Write:
			c.plan = memoryOf(b)
		default:
			c.plan.resize(c.plan.bytes + b.RangeLen)
			c.plan.digest = c.plan.digest.Extend(b.Digest)
		}
	}
}

// invoke makes a skill the newest one.
func (c *Carried) invoke(s memory) {
	c.skills = slices.DeleteFunc(c.skills, func(k memory) bool { return k.digest == s.digest })
	c.skills = append(c.skills, s)
}

// skillAt returns the skill that the result at position i loaded: the text the client
// injects after it, or the result itself when nothing follows.
func skillAt(t *Turn, i, to int) memory {
	var s memory
	for j := i + 1; j < to; j++ {
		b := t.Context.BlockAt(j)
		k := t.Context.At(j).Kind
		if k != prompt.KindAttachment && (k.Assistant() || k == prompt.KindToolResult || b.Flags&prompt.FlagMeta == 0) {
			break
		}
		s.add(b)
	}
	if s.tokens == 0 {
		return memoryOf(t.Context.BlockAt(i))
	}
	return s
}
