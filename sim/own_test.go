package sim

import (
	"testing"

	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/sim/results/measures"
)

// Calls after tool results are expected to lose what the person's other sessions lose in proportion to everybody's: by hand, with one
// in 100 and 40 whole losses of 1,000 calls in two other sessions, (5 + 40) / (5 + 10) = 3 times as much.
func TestExpectedLossOfAPerson(t *testing.T) {
	s := newSession("s").turns(20, 0, 4000).session()
	s.Project = "/home/someone/work"
	p := &profile.Profile{}
	p.Losses.Marked.ToolResult = []profile.GapShare{{Seconds: 3600, Estimate: profile.Estimate{Value: 0.01}}}
	expected := func() float64 {
		c := testConfig(t, "none")
		c.Profile = p
		row, _ := run(t, c, s)
		return row.Figures[measures.ExpectedLossUSD]
	}
	plain := expected()
	user := profile.Key(s.User())
	p.LearnOwn([]profile.Own{
		{User: user, Session: "1", Calls: 500, Due: 25_000_000, Missing: 1_000_000, Lost: 20},
		{User: user, Session: "2", Calls: 500, Due: 25_000_000, Missing: 1_000_000, Lost: 20},
	})
	if got := expected(); plain == 0 || got < 2.999*plain || got > 3.001*plain {
		t.Errorf("an expected loss of $%g, want three times $%g", got, plain)
	}
}
