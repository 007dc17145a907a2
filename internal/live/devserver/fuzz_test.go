package devserver

import (
	"strings"
	"testing"
)

// FuzzParseFaults: a fault that is read says which requests it meets, and a share
// is never that of all by mistake.
func FuzzParseFaults(f *testing.F) {
	for _, text := range []string{"429:retry-after=1@2,5-7", "529@10%", "loris", "reset@3", "503:retry-after=2.5@1e-9%"} {
		f.Add(text, 3)
	}
	f.Fuzz(func(t *testing.T, text string, ordinal int) {
		list, err := ParseFaults(text)
		if err != nil {
			return
		}
		got := list[0]
		if got.After < 0 || !(got.Share >= 0 && got.Share <= 1) {
			t.Errorf("%q: %+v", text, got)
		}
		if (got.Kind == "") == (got.Status == 0) {
			t.Errorf("%q is of no kind, or of two: %+v", text, got)
		}
		if limited := got.Share > 0 || len(got.Calls) > 0; limited != strings.Contains(text, "@") {
			t.Errorf("%q: limited to some requests: %t", text, limited)
		}
		pick([]Fault{got}, ordinal, 1)
	})
}
