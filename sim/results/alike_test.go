package results

import (
	"math"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/compactsim/compactsim/internal/jsonlines"
)

// Rows that have parts of the last one are written and read as if each were alone, also behind one that is refused.
func TestRowsAlike(t *testing.T) {
	from := []Row{{}, usual("s", "a"), *sample("s", "a\u2028<é>"), {Calls: -1}, {StorageUSD: math.Copysign(0, -1), Firings: map[string]int{}}}
	rapid.Check(t, func(t *rapid.T) {
		var r, read Row
		w := rowForm.Writer()
		var scan jsonlines.Reader
		fields := reflect.TypeFor[Row]().NumField()
		for range 6 {
			for n := rapid.IntRange(0, 12).Draw(t, "changes"); n > 0; n-- {
				i := rapid.IntRange(0, fields-1).Draw(t, "field")
				other := rapid.SampledFrom(from).Draw(t, "row")
				reflect.ValueOf(&r).Elem().Field(i).Set(reflect.ValueOf(other).Field(i))
			}
			cell := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "cell")
			line, err := w.Line(cell, &r)
			if wrong := rowForm.Check(&r); wrong != nil {
				if err == nil || err.Error() != wrong.Error() {
					t.Fatalf("%v, want %v", err, wrong)
				}
				continue
			}
			if want := string(lineOf(t, cell, &r)) + "\n"; err != nil || string(line) != want {
				t.Fatalf("%v\n%swant\n%s", err, line, want)
			}
			line = line[:len(line)-1]
			_, want, err := readRow(line)
			if nextErr := rowForm.ReadNext(&scan, line, &read); err != nil || nextErr != nil {
				t.Fatalf("%v, %v: %s", nextErr, err, line)
			}
			if diff := cmp.Diff(want, read); diff != "" || scan.Label != cell {
				t.Fatalf("cell %s, of %s: %s", scan.Label, line, diff)
			}
		}
	})
}
