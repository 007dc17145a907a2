package confusion

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A list of counts is the matrix, and the sum of two lists has the sums of their matrices.
func TestCounts(t *testing.T) {
	var a, b, sum Matrix
	a[0], a[7], a[NumCounts-1] = 1, 20, 3
	b[3], b[7] = 4, 5
	for i := range sum {
		sum[i] = a[i] + b[i]
	}
	c := a.Counts()
	if got := c.Plus(b.Counts()); len(got) != 4 || *got.Matrix() != sum || *c.Matrix() != a {
		t.Errorf("%v of %v and %v", got, c, b.Counts())
	}
	if diff := cmp.Diff(c, Counts(nil).Plus(c).Plus(nil)); diff != "" || new(Matrix).Counts() != nil {
		t.Error(diff)
	}
}
