package assembly

import (
	"testing"
	"time"

	"github.com/compactsim/compactsim/traces"
)

// A call of 100 tokens takes 2 s, so that a summary of 1,000 tokens takes 20 s where a night lies before it, or more than five
// minutes. A gap of 31 s is the summary's own, and so are 156 s, the most that a recording tells.
func TestNightIsNoWait(t *testing.T) {
	const second = int64(time.Second)
	for _, tt := range []struct{ at, output, want int64 }{
		{102 + 45_433, 1000, 20}, {102 + 508, 1000, 20}, {102 + 31, 1000, 31}, {102 + 156, 1000, 156}, {102 + 45_433, 0, 0},
	} {
		th := NewRounds(&Thread{}, &File{})
		th.Add(&Step{Kind: StepInput, At: 100 * second})
		th.Add(&Step{Kind: StepReply, At: 102 * second, Blocks: make([]Block, 1)})
		u := Usage{OK: true}
		u.Output = 100
		th.Add(&Step{Kind: StepCount, At: 102 * second, Usage: u})
		u.Output = tt.output
		th.Add(&Step{Kind: StepCompact, At: tt.at * second, Usage: u, Manual: true})
		ev := th.Happened[0]
		if ev.Kind != traces.EventCompact || ev.Wait != tt.want*second {
			t.Errorf("%d s after the answer: waited %v, want %d s", tt.at-102, time.Duration(ev.Wait), tt.want)
		}
	}
}
