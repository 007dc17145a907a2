package advise

import (
	"strings"
	"testing"

	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
)

// Where the client never compacted and would under the setting that is advised, no recording shows how long its summaries are: the advice says
// which run tells what that makes of the cost. A client that compacts anyway shows it, and a setting without compactions has no summary.
func TestAdviceTellsThatLengthsAreDrawn(t *testing.T) {
	for _, tc := range []struct {
		was, with float64
		told      bool
	}{{0, 3, true}, {1, 3, false}, {0, 0, false}} {
		x := AgentAdvice{Sessions: 5, Changes: []Change{{Assign: "full-compact.trigger.fixed=80000 client.window=272000", with: &results.Row{}}}}
		x.was.Figures[measures.Compactions], x.Changes[0].with.Figures[measures.Compactions] = tc.was, tc.with
		text := strings.Join(x.lacks(), "\n")
		if got := strings.Contains(text, "sim run --set full-compact.trigger.fixed=80000 --set client.window=272000 says"); got != tc.told {
			t.Errorf("%g compactions, %g with the setting: told %v, want %v: %q", tc.was, tc.with, got, tc.told, text)
		}
	}
}
