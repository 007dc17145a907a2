package strategies

import (
	"slices"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/op"
)

// Carried is what the client of a thread keeps beside the messages and can put
// back: it outlives the messages it came from. It is derived from the tool calls
// of Claude Code that are about to be compacted. The zero value holds nothing.
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

// note takes plan, plan mode and todos from a tool call: its input is their
// content.
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
