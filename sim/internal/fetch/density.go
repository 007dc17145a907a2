package fetch

import (
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces/signs"
)

// Density is how many tokens a byte of a session's results has. The zero value knows nothing.
type Density struct {
	tokens, bytes float64
	objects       map[int32]Density // results that are all a call sends, by their object
}

// Reset forgets what was counted, and keeps the storage.
func (d *Density) Reset() {
	d.tokens, d.bytes = 0, 0
	clear(d.objects)
}

// Add counts what a call sends of its own: results, and what no line shows.
func (d *Density) Add(input []prompt.Block) {
	var n Density
	object, results := int32(-1), 0
	for i := range input {
		switch b := &input[i]; b.Kind {
		case prompt.KindToolResult:
			n.tokens, n.bytes = n.tokens+float64(b.Tokens), n.bytes+float64(b.Bytes)
			object = b.Object
			results++
		case prompt.KindUnseen:
			n.tokens += float64(b.Tokens)
		}
	}
	if !signs.ShowDensity(n.tokens, n.bytes) {
		return
	}
	d.tokens, d.bytes = d.tokens+n.tokens, d.bytes+n.bytes
	if results == 1 && object >= 0 {
		if d.objects == nil {
			d.objects = map[int32]Density{}
		}
		o := d.objects[object]
		d.objects[object] = Density{tokens: o.tokens + n.tokens, bytes: o.bytes + n.bytes}
	}
}

// sessionBytes is how many bytes of an object the density of all results is worth: reminders that come with a short file are a larger
// part of what its call sends.
const sessionBytes = 2000

// Of returns the tokens of a byte of an object's contents, of all results for −1; 0 for unknown.
func (d *Density) Of(object int32) float64 {
	if d.bytes == 0 {
		return 0
	}
	all, o := d.tokens/d.bytes, d.objects[object]
	return (o.tokens + all*sessionBytes) / (o.bytes + sessionBytes)
}
