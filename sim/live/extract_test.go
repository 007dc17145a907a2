package live

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Whatever tags stand in it, the summary block comes out as it was written, if
// it does not close itself.
func TestExtractSummaryUntouched(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pieces := rapid.SliceOf(rapid.SampledFrom([]string{"<analysis>", "</analysis>", "a ", "x<", "\n"}))
		inside := strings.TrimSpace(strings.Join(pieces.Draw(t, "inside"), ""))
		text := "<analysis>first</analysis>\n<summary>" + inside + "</summary>"
		got, analysis := extract(text)
		if got != inside || analysis != "first" {
			t.Fatalf("%q: %q, analysis %q", text, got, analysis)
		}
	})
}

// BenchmarkExtract takes the summary out of 1 MB of tags.
func BenchmarkExtract(b *testing.B) {
	text := strings.Repeat("<analysis></analysis>", 1<<20/21)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		extract(text)
	}
}
