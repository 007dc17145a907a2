package client

import "github.com/compactsim/compactsim/sim/prompt"

// Counting is how a client estimates tokens (SPEC §2). True tokens and this
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
}

// Tokens an image or a document counts for.
const mediaTokens = 2000

// Block returns the client's estimate for one block, tokens: a quarter of its
// bytes, padded by a third unless Unpadded, and rounded up; images and documents
// 2,000.
func (c *Counting) Block(b *prompt.Block) int64 {
	var raw int64
	switch {
	case b.Kind == prompt.KindUnseen || b.Kind == prompt.KindTools || b.Kind == prompt.KindSystem:
		return 0 // not in the client's message list
	case b.Kind == prompt.KindImage || b.Kind == prompt.KindDocument:
		raw = mediaTokens
	case c.StringIsFree && b.Flags&prompt.FlagString != 0:
		return 0
	default:
		raw = int64(b.Bytes+3) / 4
		if b.Flags&prompt.FlagImage != 0 {
			raw = mediaTokens
		}
	}
	if c.Unpadded {
		return raw
	}
	return (raw*4 + 2) / 3
}
