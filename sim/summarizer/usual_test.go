package summarizer

import (
	"testing"

	"github.com/compactsim/compactsim/internal/kit/draws"
	"github.com/compactsim/compactsim/sim/prompt"
)

// Without spread a draw is as long as the client's summaries usually are, in the session's own tokens, and 3,070 tokens where
// nobody knows; a length that is told holds for every client and session. The analysis adds 60 %.
func TestUsualLength(t *testing.T) {
	for _, tc := range []struct {
		told, usual     float64
		summary, output int32
	}{{0, 0, 3070, 4912}, {0, 1430, 1430, 2288}, {0, 4605, 4605, 7368}, {1000, 4605, 1000, 1600}} {
		s := Default()
		s.Median, s.Sigma = tc.told, 0
		a := s.Summarize(&prompt.Intent{Summarised: 100_000, Usual: tc.usual}, draws.Source{}, 1, prompt.Digest{})
		if a.Summary != tc.summary || a.Output != tc.output {
			t.Errorf("told %g, usually %g: summary %d, output %d, want %d and %d", tc.told, tc.usual, a.Summary, a.Output, tc.summary, tc.output)
		}
	}
}
