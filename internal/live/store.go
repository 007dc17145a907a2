package live

import (
	"context"

	"github.com/compactsim/compactsim/internal/live/cassette"
	"github.com/compactsim/compactsim/sim/prompt"
)

// Store keeps calls. *cassette.Folder is one.
type Store interface {
	// Do returns a call, and true when it was there; else it has ask make it, once
	// however many want it, and stores it before it returns. What ask returns an
	// error for is not stored.
	Do(ctx context.Context, call cassette.Call, ask func(context.Context) (*cassette.Cassette, error)) (*cassette.Cassette, bool, error)
	// Has reports whether the call is there.
	Has(call cassette.Call) bool
}

// Titles returns what tells the sections of an answer. An answer repeats it from
// the instruction: cassettes without texts can keep it, so that a replay knows
// the sections and their sizes too.
func Titles() []string {
	var list []string
	for _, part := range []prompt.Part{prompt.PartWhole, prompt.PartUpTo} {
		p := plan{part: part}
		for i, s := range p.sections() {
			list = append(list, numbered(i, s), s.title)
		}
	}
	for _, s := range memorySections {
		list = append(list, memoryHeader+s.title)
	}
	return list
}
