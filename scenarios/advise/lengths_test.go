package advise

import (
	"strings"
	"testing"

	"github.com/compactsim/compactsim/internal/kit/document"
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

// Of $100 paid, the model computes $88 and expects $9 of losses beside it; the client unchanged costs $86.50. By hand: −13.5 % are −9 %
// of losses, −3 % of the model and −1.5 % of what the client does otherwise.
func TestAdviceSaysWhySimulatedDiffersFromPaid(t *testing.T) {
	x := AgentAdvice{Sessions: 20, Calls: 100, PaidUSD: 100, AsIsUSD: 86.5, Model: results.ModelError{BilledUSD: 100, RecordedUSD: 88, LossUSD: 9, Sessions: 20}}
	text := func() string {
		var b strings.Builder
		d := document.Document{Sections: []document.Section{x.section(AsDollars, anywhere)}}
		if err := d.Write(&b, "markdown"); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	if want := "SIMULATED differs from PAID by −13.5 %: −9.0 % for losses of the cache that come by chance, such as after an hour (the expected losses of " +
		"sim run), which no simulated call has; −3.0 % that the model is off besides; −1.5 % for calls"; !strings.Contains(text(), want) {
		t.Errorf("%s\nwant %q", text(), want)
	}
	if x.AsIsUSD = 95; strings.Contains(text(), "differs from PAID") {
		t.Errorf("5 %% are explained: %s", text())
	}
}
