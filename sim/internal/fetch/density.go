package fetch

import (
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces/signs"
)

// Density is how many tokens a byte of a session's results has. The zero value knows nothing.
type Density struct {
	all     weight
	objects []weight // of results that are all a call sends, by their object
}

// weight is the size of some results in both units.
type weight struct{ tokens, bytes float64 }

// and returns the weight of two parts.
func (w weight) and(x weight) weight { return weight{w.tokens + x.tokens, w.bytes + x.bytes} }

// Reset forgets what was counted, and keeps the storage.
func (d *Density) Reset() {
	d.all, d.objects = weight{}, d.objects[:0]
}

// Add counts what a call sends of its own: results, and what no line shows.
func (d *Density) Add(input []prompt.Block) {
	var n weight
	object, results := int32(-1), 0
	for i := range input {
		switch b := &input[i]; b.Kind {
		case prompt.KindToolResult:
			n = n.and(weight{float64(b.Tokens), float64(b.Bytes)})
			object = b.Object
			results++
		case prompt.KindUnseen:
			n.tokens += float64(b.Tokens)
		}
	}
	if !signs.ShowDensity(n.tokens, n.bytes) {
		return
	}
	d.all = d.all.and(n)
	if results == 1 && object >= 0 {
		for len(d.objects) <= int(object) {
			d.objects = append(d.objects, weight{})
		}
		d.objects[object] = d.objects[object].and(n)
	}
}

// sessionBytes is how many bytes of an object the density of all results is worth: reminders that come with a short file are a larger
// part of what its call sends.
const sessionBytes = 2000

// Of returns the tokens of a byte of an object's contents, of all results for −1; 0 for unknown.
func (d *Density) Of(object int32) float64 {
	if d.all.bytes == 0 {
		return 0
	}
	var o weight
	if object >= 0 && int(object) < len(d.objects) {
		o = d.objects[object]
	}
	all := d.all.tokens / d.all.bytes
	return (o.tokens + all*sessionBytes) / (o.bytes + sessionBytes)
}
