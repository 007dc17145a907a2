package texts

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
)

// piece is what a line says of a block.
type piece struct {
	text     string // bytes as recorded; of a tool call its input
	quoted   bool   // a tool call's input is text, not JSON
	withheld bool   // the line shows only an encrypted form
	known    bool
}

// line is a line that is decoded: the blocks it must hold, and what was found
// of them.
type line struct {
	file   *file
	number int32
	text   []byte // while it is decoded
	blocks []prompt.Block
	wants  []want
	pieces []piece
	left   int // blocks not found yet
	walk   walker
}

func (l *line) reset(f *file, number int32, s *traces.Session) {
	l.file, l.number = f, number
	l.blocks, l.wants = s.Blocks, f.of(number)
	l.pieces = append(l.pieces[:0], make([]piece, len(l.wants))...)
	l.left = len(l.wants)
}

// offer says that the line has a piece of content. Of every wanted block asks
// is told whether it is this one.
func (l *line) offer(is func(b *prompt.Block) bool, p func() piece) {
	for k := range l.wants {
		if !l.pieces[k].known && is(&l.blocks[l.wants[k].block]) {
			l.pieces[k] = p()
			l.pieces[k].known = true
			l.left--
		}
	}
}

// found returns what the line says of a block.
func (l *line) found(block int32) (piece, bool) {
	for k := range l.wants {
		if l.wants[k].block == block {
			return l.pieces[k], l.pieces[k].known
		}
	}
	return piece{}, false
}

// object returns a tool call's input as a JSON object.
func object(input string, quoted bool) jsontext.Value {
	v := jsontext.Value(input)
	switch {
	case v.IsValid() && v.Kind() == '{':
		return v
	case v.IsValid() && v.Kind() == 'n' || len(bytes.TrimSpace(v)) == 0:
		return jsontext.Value(`{}`)
	case quoted || !v.IsValid():
		text, err := jsontext.AppendQuote(nil, input)
		if err != nil { // not UTF-8: what could not be kept is replaced
			text, _ = jsontext.AppendQuote(nil, bytes.ToValidUTF8(v, []byte("\uFFFD")))
		}
		v = text
	}
	return append(append(jsontext.Value(`{"input":`), v...), '}')
}
