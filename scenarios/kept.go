package scenarios

import (
	"github.com/compactsim/compactsim/sim/fidelity"
	"github.com/compactsim/compactsim/sim/summarizer/live"
)

// Kept returns how many entities the span of a live call has, and how many of
// them its summary has word for word.
func Kept(span []live.Piece, summary string) (entities, kept int32) {
	var x fidelity.Index
	for i := range span {
		p := fidelity.Piece(span[i])
		x.Add(&p)
	}
	r := fidelity.NewText(summary).Keep(x.Entities(), "")
	all, has := r.Total()
	return int32(all), int32(has)
}
