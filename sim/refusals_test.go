package sim

import (
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/strategies"
)

// shortener takes the result of a session's only tool out of a refused prompt, or does nothing about it.
type shortener struct {
	idler
	asked *int
	helps bool
}

func (l shortener) PromptTooLong(t *strategies.Turn) strategies.Outcome {
	*l.asked++
	for i := range t.Context.Len() {
		if l.helps && t.Context.At(i).Kind == prompt.KindToolResult {
			t.Context.SetForm(i, prompt.FormCleared, 0, prompt.CauseEdit)
		}
	}
	return strategies.Outcome{Verdict: strategies.Done}
}

func (l shortener) Clone() strategies.Layer { return l }

// A layer that shortens a refused prompt too little is followed by the next one, and each is asked once about a request.
func TestRefusalGoesToTheNextLayer(t *testing.T) {
	for helps, beyond := range map[bool]int{true: 0, false: 1} {
		var first, second int
		c := testConfig(t, "none")
		c.Strategy = strategies.NewStrategy("own", "", shortener{idler{map[int32]int64{}}, &first, false}, shortener{idler{map[int32]int64{}}, &second, helps})
		c.Window = 20_000
		row, _ := run(t, c, newSession("s").turns(2, 0, 5000).session())
		if first != 1 || second != 1 || row.N(measures.AnsweredOverWindow) != beyond {
			t.Errorf("helps %v: asked %d and %d times, %d calls beyond the window, want once each and %d", helps, first, second,
				row.N(measures.AnsweredOverWindow), beyond)
		}
	}
}
