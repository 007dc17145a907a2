package compare

import (
	"slices"
	"testing"

	"github.com/compactsim/compactsim/sim/results"
)

// Prices are called by their date, or by the digest of their file.
func TestPriceFiles(t *testing.T) {
	type file struct{ name, digest string }
	for _, tc := range []struct {
		files []file
		want  string // the note, "" for none
	}{
		{[]file{{"mine.yaml", "1366"}, {"copied.yaml", "1366"}}, ""},
		{[]file{{"mine.yaml", "1366"}, {"mine.yaml", "a376"}, {"mine.yaml", "1366"}}, "x and z 1366, y a376"},
		{[]file{{"2026-01-01", ""}, {"mine.yaml", "a376"}}, "x 2026-01-01, y a376"},
	} {
		var inputs []Input
		for i, f := range tc.files {
			run := before()
			run.Provenance = results.Provenance{Prices: f.name, PricesDigest: f.digest}
			inputs = append(inputs, Input{string("xyz"[i]), run})
		}
		var want []string
		if tc.want != "" {
			want = []string{"The runs have different prices: " + tc.want + "."}
		}
		if got := tellMixed(inputs, nil, false); !slices.Equal(got, want) {
			t.Errorf("%v: %q, want %q", tc.files, got, want)
		}
	}
}
