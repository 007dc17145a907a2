package compare

import (
	"slices"
	"testing"

	"github.com/compactsim/compactsim/sim/results"
)

// Prices are called by their date or file; files of one name are told apart by their
// digest, and files of one digest are one.
func TestPriceFiles(t *testing.T) {
	type file struct{ name, digest string }
	const one, two = "1366dc25300b2e15", "a3766d4b620fd2cf"
	for _, tc := range []struct {
		files []file
		want  string // the note, "" for none
	}{
		{[]file{{"mine.yaml", one}, {"mine.yaml", one}}, ""},
		{[]file{{"mine.yaml", one}, {"mine.yaml", two}}, "x mine.yaml (digest 1366dc25), y mine.yaml (digest a3766d4b)"},
		{[]file{{"mine.yaml", one}, {"mine.yaml", two}, {"mine.yaml", one}}, "x and z mine.yaml (digest 1366dc25), y mine.yaml (digest a3766d4b)"},
		{[]file{{"mine.yaml", one}, {"copied.yaml", one}}, ""},
		{[]file{{"mine.yaml", one}, {"dear.yaml", two}}, "x mine.yaml (digest 1366dc25), y dear.yaml (digest a3766d4b)"},
		{[]file{{"2026-01-01", ""}, {"mine.yaml", two}}, "x 2026-01-01, y mine.yaml (digest a3766d4b)"},
		{[]file{{"mine.yaml", ""}, {"dear.yaml", two}}, "x mine.yaml, y dear.yaml (digest a3766d4b)"},
		{[]file{{"", "é"}, {"a-price-file-of-a-name-longer-than-a-line.yaml", two}}, "x (none) (digest é), y a-price-file-of-a-na…er-than-a-line.yaml (digest a3766d4b)"},
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
		if got := mixed(inputs); !slices.Equal(got, want) {
			t.Errorf("%v: %q, want %q", tc.files, got, want)
		}
	}
}
