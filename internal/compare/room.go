package compare

import (
	"fmt"
	"math"
	"sort"
	"unicode/utf8"

	"github.com/compactsim/compactsim/internal/document"
)

// maxComment is the most characters of a comment: GitHub's limit is 65,536, and
// whoever posts it may want a line of their own.
const maxComment = 65_000

// room is how much of a report there is room for.
type room struct {
	tables int // folded ones
	rows   int // of the overview
}

// fitting writes r as a comment that is not too long: folded tables are left out,
// the last first, then rows of the overview.
func (r *Report) fitting(o WriteOptions) (string, error) {
	c, text, err := r.comment(o, room{math.MaxInt, math.MaxInt})
	if err != nil || utf8.RuneCountInString(text) <= maxComment {
		return text, err
	}
	best := ""
	most := func(n int, with func(int) room) int {
		return sort.Search(n, func(i int) bool { // grows with i
			if err != nil {
				return true
			}
			var shorter string
			_, shorter, err = r.comment(o, with(i))
			if err == nil && utf8.RuneCountInString(shorter) <= maxComment {
				best = shorter
				return false
			}
			return true
		}) - 1
	}
	if most(c.folds, func(i int) room { return room{i, math.MaxInt} }) < 0 {
		most(len(r.Comparisons), func(i int) room { return room{0, i} })
	}
	if err == nil && best == "" {
		err = fmt.Errorf("a comment holds %d characters, this comparison has more without any table", maxComment)
	}
	return best, err
}

// leftOut says which folded tables there was no room for.
func (w *comment) leftOut() string {
	return fmt.Sprintf("Left out, as a comment has room for %s characters: %s (%s). They are in the other formats.",
		document.Grouped(maxComment, 0), document.Count(len(w.left), "table"), listed(w.left))
}
