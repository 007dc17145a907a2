package scenarios

import (
	"github.com/compactsim/compactsim/internal/fidelity"
	"github.com/compactsim/compactsim/internal/live"
	"github.com/compactsim/compactsim/internal/live/cassette"
)

// Fidelity tells what summaries of live calls keep, as package fidelity does.
type Fidelity struct{}

// Entities returns what is worth keeping in what a summary stands for, and
// whether the summary has it word for word; a path below root, the folder of the
// project, relative to it too.
func (Fidelity) Entities(root string, span []live.Piece, summary string) []cassette.Entity {
	var x fidelity.Index
	for i := range span {
		p := fidelity.Piece(span[i])
		x.Add(&p)
	}
	text := fidelity.NewText(summary)
	var list []cassette.Entity
	for _, e := range x.Entities() {
		list = append(list, cassette.Entity{Kind: e.Kind.String(), Text: e.Text, Kept: text.Has(e, root)})
	}
	return list
}

// Survive returns how many of the entities a later summary has.
func (Fidelity) Survive(root string, entities []cassette.Entity, summary string) int {
	text, n := fidelity.NewText(summary), 0
	for _, e := range entities {
		kind := fidelity.Sentence // of which all but paths are looked for alike
		if e.Kind == fidelity.Path.String() {
			kind = fidelity.Path
		}
		if text.Has(fidelity.Entity{Kind: kind, Text: e.Text}, root) {
			n++
		}
	}
	return n
}
