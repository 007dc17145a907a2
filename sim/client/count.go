package client

import "github.com/compactsim/compactsim/sim/prompt"

// Counting is how a client estimates tokens. True tokens and this
// count are two numbers: triggers use this one.
type Counting struct {
	// Trailing adds the estimate of everything behind the last response to
	// its usage; without it the usage stands alone.
	Trailing bool
	// StringIsFree gives nothing for a message whose content is a bare
	// string, as versions through 2.1 do.
	StringIsFree bool
	// LoggedOutput counts the output as it was logged, which is not final in
	// those versions, instead of the whole output.
	LoggedOutput bool
	// Unpadded leaves a quarter of the bytes as it is.
	Unpadded bool
	// InputOnly takes input_tokens alone for the usage of the last response:
	// neither what was read nor what was written, nor the output.
	InputOnly bool
	// DenseInput counts a token for two bytes of a tool call's input instead
	// of four.
	DenseInput bool
	// DocumentBytes counts a document by its bytes, as text.
	DocumentBytes bool
}

// Tokens an image or a document counts for.
const mediaTokens = 2000

// Block returns the client's estimate for one block, tokens: a quarter of its
// bytes, padded by a third unless Unpadded, and rounded up; images and documents
// 2,000 unless DocumentBytes.
func (c *Counting) Block(b *prompt.Block) int64 {
	var raw int64
	switch {
	case b.Kind == prompt.KindUnseen || b.Kind == prompt.KindTools || b.Kind == prompt.KindSystem:
		return 0 // not in the client's message list
	case b.Kind == prompt.KindImage || b.Kind == prompt.KindDocument && !c.DocumentBytes:
		raw = mediaTokens
	case c.StringIsFree && b.Flags&prompt.FlagString != 0:
		return 0
	case b.Flags&prompt.FlagImage != 0:
		raw = mediaTokens
	default:
		raw = c.quarter(b)
	}
	if c.Unpadded {
		return raw
	}
	return (raw*4 + 2) / 3
}

// quarter returns a token for four bytes, or for two of a dense tool input.
func (c *Counting) quarter(b *prompt.Block) int64 {
	if c.DenseInput && b.Kind == prompt.KindToolUse {
		return int64(b.Bytes+1) / 2
	}
	return int64(b.Bytes+3) / 4
}

// Response returns what the client takes from the usage of a response, tokens:
// effective is the request less what was deleted from it, logged the output as
// the log has it.
func (c *Counting) Response(u prompt.Usage, effective, logged int64) int64 {
	switch {
	case c.InputOnly:
		return u.Uncached
	case c.LoggedOutput:
		return effective + logged
	}
	return effective + u.Output
}

// Count is what a scenario says about counting. "version" is as the client's
// version does it.
type Count struct {
	Canonical      string `yaml:"canonical"`        // full or input_only
	Trailing       string `yaml:"trailing"`         // version, true or false
	StringIsFree   string `yaml:"string_is_free"`   // version, true or false
	Padded         string `yaml:"padded"`           // version, true or false
	ToolInputBytes int    `yaml:"tool_input_bytes"` // bytes of a token: 4 or 2
	Documents      string `yaml:"documents"`        // fixed or bytes
}

// Values of Count.
const (
	byVersion          = "version"
	CanonicalFull      = "full"
	CanonicalInputOnly = "input_only"
	DocumentsFixed     = "fixed"
	DocumentsBytes     = "bytes"
)

// DefaultCount counts as the version does.
func DefaultCount() Count {
	return Count{
		Canonical: CanonicalFull, Trailing: byVersion, StringIsFree: byVersion, Padded: byVersion, ToolInputBytes: 4, Documents: DocumentsFixed,
	}
}

// Over returns how a client counts whose version counts like c.
func (n *Count) Over(c Counting) Counting {
	choose := func(to *bool, value string, yes bool) {
		if value == "true" || value == "false" {
			*to = (value == "true") == yes
		}
	}
	choose(&c.Trailing, n.Trailing, true)
	choose(&c.StringIsFree, n.StringIsFree, true)
	choose(&c.Unpadded, n.Padded, false)
	c.InputOnly = c.InputOnly || n.Canonical == CanonicalInputOnly
	c.DenseInput = c.DenseInput || n.ToolInputBytes == 2
	c.DocumentBytes = c.DocumentBytes || n.Documents == DocumentsBytes
	return c
}

func (n *Count) validate(p *problems) {
	p.oneOf("count.canonical", n.Canonical, CanonicalFull, CanonicalInputOnly)
	p.oneOf("count.trailing", n.Trailing, byVersion, "true", "false")
	p.oneOf("count.string_is_free", n.StringIsFree, byVersion, "true", "false")
	p.oneOf("count.padded", n.Padded, byVersion, "true", "false")
	p.oneOf("count.documents", n.Documents, DocumentsFixed, DocumentsBytes)
	if n.ToolInputBytes != 4 && n.ToolInputBytes != 2 {
		p.add("count.tool_input_bytes", " %d: a token takes 4 bytes, or 2", n.ToolInputBytes)
	}
}
