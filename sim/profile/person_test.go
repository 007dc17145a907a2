package profile

import (
	"math"
	"testing"
)

// By hand, with a share of one in 100: a person's other sessions lose 40 of 1,000 calls of 50,000 tokens whole, where 10 are due and
// chance explains 2.3: (5 + 40) / (5 + 10) is 3. With a tenth of each lost it is (5 + 4) / 15. Three losses of 1,000 calls are chance,
// and so are 500 in one session alone, which counts for one. The session itself and another person change nothing.
func TestOwnTimes(t *testing.T) {
	own := func(user, session string, calls, lost, tokens int64) Own {
		return Own{User: user, Session: session, Calls: calls, Due: calls * 50_000, Lost: lost, Missing: lost * tokens}
	}
	p := &Profile{Losses: Losses{Marked: Places{ToolResult: []GapShare{share(3600, 0.01, 0)}}}}
	p.LearnOwn([]Own{
		own("a", "1", 500, 20, 50_000), own("a", "2", 500, 20, 50_000), own("a", "3", 500, 500, 50_000),
		own("b", "4", 500, 20, 5_000), own("b", "5", 500, 20, 5_000),
		own("c", "6", 500, 2, 50_000), own("c", "7", 500, 1, 50_000),
		own("d", "8", 500, 500, 50_000), own("d", "9", 500, 0, 50_000),
	})
	for _, tt := range []struct {
		user, session string
		want          float64
	}{{"a", "3", 3}, {"b", "x", 9. / 15}, {"c", "x", 1}, {"d", "x", 1}, {"d", "8", 1}, {"", "x", 1}, {"e", "x", 1}} {
		if got := p.OwnTimes(tt.user, tt.session); math.Abs(got-tt.want) > 1e-12 {
			t.Errorf("session %s of %q loses %g times, want %g", tt.session, tt.user, got, tt.want)
		}
	}
	again := *p
	again.LearnOwn([]Own{own("a", "1", 500, 0, 0), own("a", "2", 500, 0, 0)})
	if len(again.Losses.Persons) != len(p.Losses.Persons) || again.OwnTimes("a", "3") != 1 || p.OwnTimes("a", "3") != 3 {
		t.Error("what is learned of a session again does not replace what was known")
	}
}
