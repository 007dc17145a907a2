package scenarios

import (
	"strings"
	"testing"

	"github.com/compactsim/compactsim/internal/study/recall"
	"github.com/compactsim/compactsim/sim/results"
)

// closedText runs one strategy in a loop that is closed as the placeholder says.
const closedText = `
schema: 1
agent: {refetch: WAY}
strategies:
  - name: at
    preset: auto-compact/167k
    set:
      full-compact.trigger: {measure: client_tokens}
      full-compact.trigger.fixed: [30000, 60000]
`

// What a closed loop says of the open one, and of the ends of the interval of its fit, is what runs in these loops say.
func TestClosedLoopHasWhatOthersCost(t *testing.T) {
	cells := func(way string) []results.Cell {
		c := run(t, expand(t, strings.Replace(closedText, "WAY", way, 1))).Cells
		return c[len(c)-2:]
	}
	for i, c := range cells("fitted") {
		fitted := c.Total.Needs.Closed
		for way, usd := range map[string]float64{"never": fitted.OpenUSD, "low": fitted.LowUSD, "high": fitted.HighUSD} {
			c := cells(way)[i]
			if got := c.Total.CostUSD(); got != usd || usd == 0 {
				t.Errorf("%s with agent.refetch=%s costs $%.6f, a closed loop says $%.6f", c.Cell, way, got, usd)
			}
			if c.Total.Needs.Closed != (recall.Closed{}) {
				t.Errorf("%s with agent.refetch=%s has an interval of the fit: %+v", c.Cell, way, c.Total.Needs.Closed)
			}
		}
		// Of the ends either can be the dearer one: a fetch more may bring a compaction that pays.
		if fitted.OpenUSD >= min(fitted.LowUSD, fitted.HighUSD) {
			t.Errorf("open $%.4f, low $%.4f, high $%.4f: fetches are to cost something", fitted.OpenUSD, fitted.LowUSD, fitted.HighUSD)
		}
	}
}
