package sim

import (
	"strings"
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/strategies"
)

// hasty wants to be called now, again and again.
type hasty struct{}

func (hasty) Name() string                  { return "hasty" }
func (l hasty) Clone() strategies.Layer     { return l }
func (hasty) Reset()                        {}
func (hasty) Wake(t *strategies.Turn) int64 { return max(1, t.Now) }
func (hasty) Timer(*strategies.Turn) strategies.Outcome {
	return strategies.Outcome{Verdict: strategies.Declined, Reason: "nothing to do"}
}

// A timer that never lets the clock go on ends the run, with the layer's name.
func TestTimerMustLetTheClockGoOn(t *testing.T) {
	c := testConfig(t, "none")
	c.Strategy = strategies.NewStrategy("own", "", hasty{})
	_, err := NewLoop(c).Run(newSession("s").turns(3, 0, 1000).session())
	if err == nil || !strings.Contains(err.Error(), "layer hasty wants to be called again at the same time") {
		t.Errorf("%v", err)
	}
}

// follower makes a call beside the conversation behind every compaction.
type follower struct{ got *int }

func (follower) Name() string              { return "follower" }
func (l follower) Clone() strategies.Layer { return l }
func (follower) Reset()                    {}
func (follower) AfterCompaction(t *strategies.Turn) {
	t.Background(prompt.Intent{Source: "other", Instruction: 100, Known: &prompt.Answer{Output: 10}})
}
func (l follower) BackgroundResult(*strategies.Turn, *prompt.Result) strategies.Outcome {
	*l.got++
	return strategies.Outcome{Verdict: strategies.Done}
}

// A call asked for behind another layer's compaction is the layer's own.
func TestBackgroundBehindACompaction(t *testing.T) {
	c := testConfig(t, "auto-compact/167k")
	layers := c.Strategy.Layers()
	got := 0
	c.Strategy = strategies.NewStrategy("own", "", append(layers, follower{&got})...)
	row, _ := run(t, c, newSession("s").turns(60, 0, 4000).session())
	if row.N(measures.Compactions) == 0 || got != row.N(measures.Compactions) {
		t.Errorf("%d results of %d compactions", got, row.N(measures.Compactions))
	}
}
