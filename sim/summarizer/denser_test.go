package summarizer

import (
	"testing"

	"github.com/compactsim/compactsim/internal/kit/draws"
	"github.com/compactsim/compactsim/sim/prompt"
)

// Denser texts make longer summaries. Without spread the draw is the median, of which the analysis adds 60 %.
func TestDenserTexts(t *testing.T) {
	s := Default()
	s.Sigma = 0
	for denser, want := range map[float64][2]int32{0: {3070, 4912}, 1.5: {4605, 7368}} {
		a := s.Summarize(&prompt.Intent{Summarised: 100_000, Denser: denser}, draws.Source{}, 1, prompt.Digest{})
		if a.Summary != want[0] || a.Output != want[1] {
			t.Errorf("%g times as dense: summary %d, output %d, want %v", denser, a.Summary, a.Output, want)
		}
	}
}
