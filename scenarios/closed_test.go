package scenarios

import (
	"strings"
	"testing"

	"github.com/compactsim/compactsim/sim/results/measures"
)

// closedText runs one strategy in a loop that is closed as the placeholder says.
const closedText = `
schema: 1
WAY
strategies:
  - name: at
    preset: auto-compact/167k
    set:
      full-compact.trigger: {measure: client_tokens}
      full-compact.trigger.fixed: 30000
`

// The loop is closed unless a scenario says otherwise, and each row says which loop it is of:
// open too where no texts are examined, and none where the recording is repeated.
func TestTheLoopIsClosedByDefault(t *testing.T) {
	usd := map[string]float64{}
	for way, want := range map[string]measures.Loop{
		"": measures.LoopClosed, "agent: {refetch: fitted}": measures.LoopClosed, "agent: {refetch: always}": measures.LoopClosed,
		"agent: {refetch: never}": measures.LoopOpen, "needs: false": measures.LoopOpen,
	} {
		cells := run(t, expand(t, strings.Replace(closedText, "WAY", way, 1))).Cells
		c := cells[len(cells)-1]
		for _, r := range c.Rows.All() {
			if r.Loop != want {
				t.Errorf("%q: a row of the loop %v, want %v", way, r.Loop, want)
			}
		}
		for _, r := range cells[0].Rows.All() {
			if r.Loop != measures.LoopNone {
				t.Errorf("%q: a row of %s has the loop %v", way, cells[0].Cell, r.Loop)
			}
		}
		usd[way] = c.Total.CostUSD()
	}
	if usd[""] != usd["agent: {refetch: fitted}"] || usd["agent: {refetch: never}"] != usd["needs: false"] || usd["agent: {refetch: always}"] <= usd["needs: false"] {
		t.Errorf("costs %v: what is fetched is to cost something", usd)
	}
}
