package prompt

import "slices"

// Ref names a block: ≥ 0 an index into the session's blocks, < 0 the
// complement of an index into the arena of the run.
type Ref int32

// Form is how much of its block an entry still shows.
type Form uint8

// The forms of an entry.
const (
	FormVerbatim Form = iota
	FormRange         // part of the content
	FormPointer       // a pointer to stored content
	FormCleared       // a placeholder
	formSummary       // stands for other blocks
)

var formNames = [...]string{"verbatim", "range", "pointer", "cleared", "summary"}

// String returns the lower-case name used in reports.
func (f Form) String() string { return formNames[min(int(f), len(formNames)-1)] }

// EditCause says what changed a prefix.
type EditCause uint8

// The causes of a changed prefix.
const (
	CauseNone       EditCause = iota
	CauseEdit                 // content cleared or replaced in place
	CauseCompaction           // messages replaced by a summary
	CauseRewind               // the conversation went back
	CauseHead                 // tools or system changed
)

var causeNames = [...]string{"none", "edit", "compaction", "rewind", "head"}

// String returns the lower-case name used in reports.
func (c EditCause) String() string { return causeNames[min(int(c), len(causeNames)-1)] }

// Change is the first position at which a request differs from what its thread sent before, appended entries aside.
type Change struct {
	At    int32 // index of the first changed entry; -1 when nothing changed
	Cause EditCause
}

// NoChange is the Change of a request that only appends.
var NoChange = Change{At: -1}

// Entry is one position of a context. Chain and Cum are set by Seal.
type Entry struct {
	Chain  Digest // hash of the prefix ending with this entry
	Cum    int32  // tokens of the prefix ending with this entry
	Tokens int32  // true tokens of this entry in its present form
	Block  Ref
	ID     int32 // stable identity; never reused within a context
	Kind   Kind
	Form   Form
	// Salt is mixed into the chain when it is not zero: the digest of a
	// changed form. Verbatim entries have none.
	Salt uint16
	// Had is the size, tokens, of the entry as the client still has it, when the server
	// leaves its content out (see LeaveOut); 0 when both have the same.
	Had int32
}

// Context is the list of blocks a thread sends, in order. It keeps the prefix
// hash chain: an edit cuts it, Seal extends it from there, so a call costs the
// new entries and those behind the first change.
type Context struct {
	blocks   []Block
	arena    *Arena
	entries  []Entry
	keys     [numLevels]Digest
	nextID   int32
	sealed   int // entries whose chain is valid
	sent     int // entries that the last request held
	change   Change
	edits    uint32
	from     int     // entries before it may belong to other contexts, too
	view     *view   // of entries that it shares with other contexts; nil for entries of its own
	spare    []Entry // storage for when it parts from them
	branched bool    // it has a branch, or is one
}

// Arena holds the blocks of a run that no recording has: summaries,
// placeholders, restored files.
type Arena struct {
	blocks []Block
	spare  []Entry // storage that a context of the run has given up
}

// Add stores b and returns its reference.
func (a *Arena) Add(b Block) Ref {
	a.blocks = append(a.blocks, b)
	return ^Ref(len(a.blocks) - 1)
}

// Reset empties the arena; references into it become invalid.
func (a *Arena) Reset() { a.blocks = a.blocks[:0] }

// Become makes a a copy of b: references into b are valid in a.
func (a *Arena) Become(b *Arena) { a.blocks = append(a.blocks[:0], b.blocks...) }

// Reset makes c an empty context over the blocks of a session and the arena of
// a run, keeping its storage.
func (c *Context) Reset(blocks []Block, arena *Arena) {
	*c = Context{blocks: blocks, arena: arena, entries: c.storage(), change: NoChange}
}

// Len returns the number of entries.
func (c *Context) Len() int { return len(c.entries) }

// At returns the entry at position i, for reading, until the next edit.
func (c *Context) At(i int) *Entry { return &c.entries[i] }

// Block returns the block an entry was made from.
func (c *Context) Block(r Ref) *Block {
	if r >= 0 {
		return &c.blocks[r]
	}
	return &c.arena.blocks[^r]
}

// BlockAt returns the block of the entry at position i.
func (c *Context) BlockAt(i int) *Block { return c.Block(c.entries[i].Block) }

// Arena returns the arena that Add puts blocks in.
func (c *Context) Arena() *Arena { return c.arena }

// Index returns the position of the entry with an id, or -1.
func (c *Context) Index(id int32) int {
	for i := len(c.entries) - 1; i >= 0; i-- {
		if c.entries[i].ID == id {
			return i
		}
	}
	return -1
}

// Messages returns the position of the first entry on the messages level.
func (c *Context) Messages() int {
	for i := range c.entries {
		if c.entries[i].Kind.Level() == LevelMessages {
			return i
		}
	}
	return len(c.entries)
}

// Append adds the block r at the end, verbatim, and returns the entry's id.
func (c *Context) Append(r Ref) int32 {
	b := c.Block(r)
	e := c.next()
	e.Tokens, e.Block, e.Kind = b.Tokens, r, b.Kind
	return e.ID
}

// next appends an empty entry. Callers fill it where it stands: a value that is built first is copied in long words,
// which must wait for the short ones just written.
func (c *Context) next() *Entry {
	if c.view != nil {
		c.extend()
	}
	c.entries = append(c.entries, Entry{})
	e := &c.entries[len(c.entries)-1]
	e.ID = c.nextID
	c.nextID++
	return e
}

// AppendRange appends the blocks from to to−1 of the session.
func (c *Context) AppendRange(from, to Ref) {
	for r := from; r < to; r++ {
		b, e := &c.blocks[r], c.next()
		e.Tokens, e.Block, e.Kind = b.Tokens, r, b.Kind
	}
}

// Add stores a new block in the arena and appends it.
func (c *Context) Add(b Block) int32 { return c.Append(c.arena.Add(b)) }

// SetForm changes how the entry at position i shows its block: its tokens in
// the new form, and why the prefix changes.
func (c *Context) SetForm(i int, f Form, tokens int32, cause EditCause) {
	if e := &c.entries[i]; e.Form == f && e.Tokens == tokens && e.Had == 0 {
		return
	}
	c.own(i, 0)
	e := &c.entries[i]
	e.Form, e.Tokens, e.Had = f, tokens, 0
	e.Salt = uint16(f)<<8 | 1
	if f == FormVerbatim && tokens == c.Block(e.Block).Tokens {
		e.Salt = 0
	}
	c.touch(i, cause)
}

// Reword makes the entry at position i another text of the same size than it is in other wordings.
func (c *Context) Reword(i int, wording uint8) {
	c.own(i, 0)
	e := &c.entries[i]
	e.Salt = uint16(e.Form)<<8 | uint16(wording)
	c.touch(i, CauseEdit)
}

// LeaveOut makes the entry at position i a placeholder of that many tokens, as a server
// does on request. The client keeps and sends the entry in its present form.
func (c *Context) LeaveOut(i int, tokens int32) {
	had := c.entries[i].Had
	if had == 0 && c.entries[i].Form != FormCleared {
		had = c.entries[i].Tokens
	}
	c.SetForm(i, FormCleared, tokens, CauseEdit)
	c.own(i, 0)
	c.entries[i].Had = had
}

// Replace puts the given blocks of the arena or session in place of the
// entries [from, to). Entries behind keep their ids.
func (c *Context) Replace(from, to int, with []Ref, cause EditCause) {
	grow := len(with) - (to - from)
	tail := len(c.entries) - to
	c.own(from, grow)
	if grow > 0 {
		for range grow {
			c.entries = append(c.entries, Entry{})
		}
		copy(c.entries[to+grow:], c.entries[to:to+tail])
	} else {
		copy(c.entries[to+grow:], c.entries[to:])
		c.entries = c.entries[:len(c.entries)+grow]
	}
	for i, r := range with {
		b := c.Block(r)
		c.entries[from+i] = Entry{Tokens: b.Tokens, Block: r, ID: c.nextID, Kind: b.Kind}
		c.nextID++
	}
	c.touch(from, cause)
}

// Restore puts entries that the context had before in place of the entries [from, to), each with the id and the form that it had.
func (c *Context) Restore(from, to int, entries []Entry, cause EditCause) {
	c.own(from, len(entries)-(to-from))
	c.entries = slices.Replace(c.entries, from, to, entries...)
	c.touch(from, cause)
}

// Truncate drops every entry from position n on: a rewind, when they had been
// sent.
func (c *Context) Truncate(n int, cause EditCause) {
	if n >= len(c.entries) {
		return
	}
	c.entries = c.entries[:n]
	c.shrink()
	c.touch(n, cause)
}

// SetKey sets what a level mixes into the prefix chain: request parameters
// that belong to the cache key there (thinking and effort at the messages
// level, for instance).
func (c *Context) SetKey(l Level, key Digest) {
	if c.keys[l] == key {
		return
	}
	c.keys[l] = key
	i := 0
	for i < len(c.entries) && c.entries[i].Kind.Level() < l {
		i++
	}
	c.touch(i, CauseHead)
}

// Edits counts how often existing entries have changed or moved: while the count stays
// the same, positions stay valid.
func (c *Context) Edits() uint32 { return c.edits }

// touch cuts the chain at position i and remembers the first change among the
// entries already sent.
func (c *Context) touch(i int, cause EditCause) {
	c.edits++
	c.sealed = min(c.sealed, i)
	if i < c.sent && (c.change.At < 0 || int32(i) < c.change.At) {
		c.change = Change{At: int32(i), Cause: cause}
	}
}

// Seal brings chain and cumulative tokens up to date and returns the entries,
// which stay valid until the next edit.
func (c *Context) Seal() []Entry {
	if c.sealed != len(c.entries) {
		c.seal()
	}
	return c.entries
}

func (c *Context) seal() {
	c.own(c.sealed, 0)
	var chain Digest
	var cum int32
	level := LevelTools
	if c.sealed > 0 {
		e := &c.entries[c.sealed-1]
		chain, cum, level = e.Chain, e.Cum, e.Kind.Level()
	} else {
		chain = c.keys[LevelTools]
	}
	for i := c.sealed; i < len(c.entries); i++ {
		e := &c.entries[i]
		for l := e.Kind.Level(); level < l; {
			level++
			if !c.keys[level].IsZero() {
				chain = chain.Extend(c.keys[level])
			}
		}
		chain = chain.Extend(c.Block(e.Block).Digest)
		if e.Salt != 0 {
			chain = chain.ExtendInt(uint64(e.Salt)<<32 | uint64(uint32(e.Tokens)))
		}
		cum += e.Tokens
		e.Chain, e.Cum = chain, cum
	}
	c.sealed = len(c.entries)
}

// Tokens returns the tokens of all entries.
func (c *Context) Tokens() int {
	e := c.Seal()
	if len(e) == 0 {
		return 0
	}
	return int(e[len(e)-1].Cum)
}

// MarkSent marks all entries as sent: later edits to them are changes. It returns the change
// since the last request.
func (c *Context) MarkSent() Change {
	ch := c.change
	c.sent, c.change = len(c.entries), NoChange
	return ch
}

// AppendAs is AppendEntry with another form, of that many tokens.
func (c *Context) AppendAs(e Entry, f Form, tokens int32) int32 {
	e.Form, e.Tokens, e.Salt, e.Had = f, tokens, uint16(f)<<8|1, 0
	return c.AppendEntry(e)
}

// AppendEntry adds an entry of another context over the same session and arena
// in its present form, and returns its id in c.
func (c *Context) AppendEntry(e Entry) int32 {
	e.ID = c.nextID
	*c.next() = e
	return e.ID
}

// AppendSame adds an entry of the context that c was copied from, with its id.
func (c *Context) AppendSame(e Entry) {
	next := max(c.nextID, e.ID+1)
	*c.next() = e
	c.nextID = next
}
