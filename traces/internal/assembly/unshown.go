package assembly

import (
	"slices"
	"strings"

	"github.com/compactsim/compactsim/traces"
)

// countUnshown counts calls that no line shows by their models, in order of these, and kinds.
func countUnshown(list []traces.UnshownCall) (counts []traces.Unshown) {
	for i := range list {
		c := &list[i]
		at, found := slices.BinarySearchFunc(counts, c.Model, func(u traces.Unshown, model string) int { return strings.Compare(u.Model, model) })
		if !found {
			counts = slices.Insert(counts, at, traces.Unshown{Model: c.Model})
		}
		switch u := &counts[at]; {
		case c.Summary():
			u.Summaries++
		case c.Cut:
			u.Cut++
		default:
			u.Others++
		}
	}
	return counts
}
