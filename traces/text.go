package traces

import (
	"github.com/compactsim/compactsim/sim/prompt"
)

// Text is what a line says of a block.
type Text struct {
	Digest   prompt.Digest // of the block
	Text     string        // bytes as recorded; of a tool call its input
	Quoted   bool          // a tool call's input is text, not JSON
	Withheld bool          // the line shows only an encrypted form
}

// Listener is shown the texts of blocks while recordings are read. It is safe for concurrent use.
type Listener interface {
	// Hear returns what to remember of the text of a block, nil for nothing. A KindPrompt may still turn out to be
	// another kind. The text is valid only during the call.
	Hear(k prompt.Kind, t *Text) any
	// Index makes Session.Index from what was heard of each block of a session.
	Index(s *Session, heard []any) any
}
