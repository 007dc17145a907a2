package advise

import (
	"slices"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/internal/kit/stats"
)

// Of $100 as they are, values that save $20, $20.22 and $30 keep 99, 92 and 80 % of what the agent uses later. With predictions that are 2.7 %
// off, $0.22 do not outweigh 7 points, and $10 do. A value that saves $2 for 10 points is worth nothing beside the client without a change.
func TestWorth(t *testing.T) {
	costs := [][]float64{{100}, {80}, {79.78}, {70}, {98}}
	kept := [][2]float64{{100, 100}, {99, 100}, {92, 100}, {80, 100}, {90, 100}}
	if got, want := worth(costs, kept, 0.027), []int{0, 1, 3}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := worth(costs, make([][2]float64, 5), 0.027); len(got) != 5 {
		t.Errorf("%v where nothing is known of what is used later, want all", got)
	}
}

// A saving that chance does not explain is not advised within the error of predictions, and the client is told that nothing is worth changing.
func TestNothingIsWorthChanging(t *testing.T) {
	recall := &[2]float64{0.99, 0.92}
	for _, c := range []struct {
		change Change
		want   string
	}{
		{Change{Unseen: 0.016, bar: bar{Off: 0.017}}, "Not advised: , −1.6 % (95 %: +0.0 % … +0.0 %) on unseen sessions; that is within the 1.7 % that predictions under another setting were off on average"},
		{Change{Unseen: 0.02, bar: bar{0.027, true}, Effect: Effect{Recall: recall}}, "; it saves no more than the 2.7 % that predictions under another setting were off on average, and of what the agent uses later 8 % is lost, instead of 1 %"},
		{Change{Unseen: 0.05, bar: bar{Off: 0.027}}, ""},
	} {
		c.change.verdict, c.change.SavesUSD = stats.Lower, 1
		if won := c.change.wins(); won != (c.want == "") {
			t.Errorf("advised: %t, want %q", won, c.want)
		}
		if got := c.change.open(); c.want != "" && !strings.HasSuffix(got, c.want) {
			t.Errorf("%q, want %q", got, c.want)
		}
		x := AgentAdvice{Agent: "codex", Sessions: 20, Open: []Change{c.change}}
		if got := x.none(); c.want != "" && got != "nothing is worth changing" {
			t.Errorf("%q", got)
		}
	}
	for agent, least := range map[string]float64{"codex": 0.01, "nobody": 0.05} { // the worst that was tried is 6.1 % off
		if off := offBy(agent); off < least || off > 0.1 {
			t.Errorf("predictions for %s are off by %v", agent, off)
		}
	}
}
