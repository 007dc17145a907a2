package live

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/compactsim/compactsim/sim/prompt"
)

// Piece is a block of what a summary stands for, as it was sent.
type Piece struct {
	Kind   prompt.Kind
	Meta   bool           // injected by the client
	Failed bool           // the result of a call that failed
	Object string         // path of the file that a call is about, "" for none
	Text   string         // of everything but a call
	Input  jsontext.Value // of a call: a JSON object
}

// cover keeps an entry of what the summary stands for, and how that begins.
func (p *composer) cover(i int, b *prompt.Block, text string, input jsontext.Value) {
	if i < p.plan.pivot {
		return
	}
	if p.quote == "" && p.plan.part == prompt.PartFrom {
		p.quote = firstWords(text + string(input))
	}
	if p.opts.Fidelity == nil {
		return
	}
	piece := Piece{
		Kind: b.Kind, Meta: b.Flags&prompt.FlagMeta != 0, Failed: b.Flags&prompt.FlagError != 0, Text: text, Input: input,
	}
	if o := p.call.Session.Objects; b.Object >= 0 && int(b.Object) < len(o) {
		piece.Object = o[b.Object]
	}
	p.span = append(p.span, piece)
}

// firstWords returns the beginning of a text on one line.
func firstWords(text string) string {
	const size = 200
	return strings.Join(strings.Fields(cut(text, size)), " ")
}
