package strategies

import (
	"slices"
	"strings"

	"github.com/compactsim/compactsim/sim/prompt"
)

// Carried is what the client of a thread keeps beside the messages and can put
// back: it outlives the messages it came from. It is derived from the tool calls
// of Claude Code that are about to be compacted. The zero value holds nothing.
type Carried struct {
	skills   []memory // by last invocation, oldest first
	plan     memory
	todos    memory
	planMode bool
	running  int32 // sub-agents whose result is not there yet
}

// CopyFrom makes c an independent copy of o.
func (c *Carried) CopyFrom(o *Carried) {
	skills := append(c.skills[:0], o.skills...)
	*c = *o
	c.skills = skills
}

// carriedOr returns what is carried on the thread, or a layer's own where
// nobody keeps it for all layers.
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

func memoryOf(b *prompt.Block) memory {
	return memory{digest: b.Digest, tokens: b.Tokens, bytes: b.Bytes}
}

// gather brings c up to date with the entries [from, to).
func (c *Carried) gather(t *Turn, from, to int) {
	var waiting []int32 // sub-agent calls without a result so far
	for i := from; i < to; i++ {
		b := t.Context.BlockAt(i)
		switch t.Context.At(i).Kind {
		case prompt.KindToolUse:
			if b.Op == prompt.OpAgent {
				waiting = append(waiting, b.Call)
			}
			c.note(t, b)
		case prompt.KindToolResult:
			if b.Op == prompt.OpAgent {
				waiting = slices.DeleteFunc(waiting, func(call int32) bool { return call == b.Call })
			}
			if t.tool(b) == "Skill" && b.Flags&prompt.FlagError == 0 {
				c.invoke(skillAt(t, i, to))
			}
		}
	}
	c.running = int32(len(waiting))
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
	case "Write":
		if isPlan(t.object(b)) {
			c.plan = memoryOf(b)
		}
	}
}

// invoke makes a skill the newest one.
func (c *Carried) invoke(s memory) {
	c.skills = slices.DeleteFunc(c.skills, func(k memory) bool { return k.digest == s.digest })
	c.skills = append(c.skills, s)
}

// skillAt returns the skill that the result at position i loaded: the text the
// client injects behind it, or the result itself when nothing follows.
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

// tool returns the name of a block's tool, "" for none.
func (t *Turn) tool(b *prompt.Block) string {
	if int(b.Tool) < len(t.Tools) {
		return t.Tools[b.Tool]
	}
	return ""
}

// object returns the path of a block's object, "" for none.
func (t *Turn) object(b *prompt.Block) string {
	if b.Object >= 0 && int(b.Object) < len(t.Objects) {
		return t.Objects[b.Object]
	}
	return ""
}

// isPlan reports whether a path is that of a plan file.
func isPlan(path string) bool { return strings.Contains(path, "/.claude/plans/") }
