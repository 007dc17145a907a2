package costmodel

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	near "github.com/compactsim/compactsim/internal/nearest"
)

// UnknownModelError says that a table has no price for a model.
type UnknownModelError struct {
	Model string   // the name as asked for
	Near  []string // names the table has, the most similar first; at most three, possibly none
}

// Error names the model and the names near it. The way out is the caller's to
// tell: it is a flag here and a key there.
func (e *UnknownModelError) Error() string {
	if len(e.Near) == 0 {
		return fmt.Sprintf("no price for model %q", e.Model)
	}
	return fmt.Sprintf("no price for model %q; near names: %s", e.Model, strings.Join(e.Near, ", "))
}

// maxNear is the number of suggestions in an UnknownModelError.
const maxNear = 3

// nearest returns up to n of the names similar to s, the most similar first:
// at most half of s differs, or s contains the name. A long common beginning
// counts in favour: the family and version of a model stand there.
func nearest(s string, names []string, n int) []string {
	if len(s) > 100 {
		return nil
	}
	type scored struct {
		name string
		rank int
	}
	var found []scored
	for _, name := range names {
		if d := near.Distance(s, name); d <= len(s)/2 || strings.Contains(s, name) {
			found = append(found, scored{name, 2*d - commonPrefix(s, name)})
		}
	}
	slices.SortFunc(found, func(a, b scored) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), strings.Compare(a.name, b.name))
	})
	var out []string
	for _, f := range found[:min(n, len(found))] {
		out = append(out, f.name)
	}
	return out
}

func commonPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
