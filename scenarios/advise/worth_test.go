package advise

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/internal/kit/stats"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/sim/results/recall"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
	"github.com/compactsim/compactsim/traces/facts"
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

// Of $100 as they are, of which 53 % of what is used later is kept, one value costs $101 and keeps 60 %, and one costs $96 and keeps 50 %. The
// dearer one outweighs the cheaper one, and saves nothing itself; against the client without a change 3 points are no loss to speak of, and $4
// are within the 6.1 % that predictions are off. Where the client keeps 56 %, it outweighs the value by 6 points: all three figures are of the
// twenty sessions that are compared. Of two values that are cheaper, the one that the other outweighs is passed over.
func TestSearchTellsWhatOutweighs(t *testing.T) {
	const n = 20
	list := offered(agents.Of(facts.ClaudeCode).Settings, "", nil)[0][:2]
	for _, c := range []struct {
		usd, keeps [3]float64 // without a change and with either value
		value      int
		want       *outweighed
	}{
		{[3]float64{100, 101, 96}, [3]float64{0.53, 0.60, 0.50}, 1, nil},
		{[3]float64{100, 101, 96}, [3]float64{0.56, 0.60, 0.50}, 1, &outweighed{0.04, [2]float64{0.56, 0.50}}},
		{[3]float64{100, 97, 96}, [3]float64{0.53, 0.60, 0.50}, 0, nil},
	} {
		p, sessions := adviserOf(t, 1), make([]*traces.Session, n)
		for i := range sessions {
			sessions[i] = &traces.Session{Start: int64(i)}
			for k, text := range append([]string{unchanged}, assignedBy(list, sessions[i])...) {
				e := &ending{}
				e.row.Figures[measures.StorageUSD] = c.usd[k] / n
				needs := (*recall.Needs)(e.row.Figures[measures.Needs:]).Kind(0)
				needs[recall.Weight], needs[recall.Verbatim] = 1, c.keeps[k]
				p.learn(text, sessions[i], e)
			}
		}
		found, err := p.search(t.Context(), sessions, list, 0.061)
		if err != nil || found == nil || found.Value != list[c.value].value {
			t.Fatalf("%+v: %v, %+v", c, err, found)
		}
		if got := found.Outweighed; (got == nil) != (c.want == nil) || got != nil &&
			(math.Abs(got.Saves-c.want.Saves) > 1e-9 || math.Abs(got.Recall[0]-c.want.Recall[0]) > 1e-9 || math.Abs(got.Recall[1]-c.want.Recall[1]) > 1e-9) {
			t.Errorf("%v, %v: outweighed by %+v, want %+v", c.usd, c.keeps, got, c.want)
		}
		found.SavesUSD = 4
		if why := found.worthless(); strings.Contains(why, "that is within the 6.1 %") != (c.want == nil) {
			t.Errorf("%v, %v: %q", c.usd, c.keeps, why)
		}
	}
}

// A saving that chance does not explain is not advised within the error of predictions, and the client is told that nothing is worth changing.
func TestNothingIsWorthChanging(t *testing.T) {
	for _, c := range []struct {
		change Change
		want   string
	}{
		{Change{Unseen: 0.016, bar: bar{Off: 0.017}}, "Not advised: , −1.6 % (95 %: +0.0 % … +0.0 %) on unseen sessions; that is within the 1.7 % that predictions under another setting were off on average"},
		{Change{Unseen: 0.08, bar: bar{0.027, &outweighed{0.021, [2]float64{0.99, 0.92}}}}, ", −8.0 % (95 %: +0.0 % … +0.0 %) on unseen sessions; on all sessions compared it saves 2.1 %, no more than the 2.7 % that predictions under another setting were off on average, and of what the agent uses later 8 % is lost, instead of 1 %"},
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

// Where the 95 % interval of a saving of 46.6 % is −7.7 … +70.3 %, at least one draw of forty loses 7.7 %: 95 of 100 save, as 0 is 1.68 standard
// deviations of the lower side away. By both sides together it would be 99. A bound at 0 leaves one draw of forty.
func TestDrawsAgreeWithTheInterval(t *testing.T) {
	for _, c := range []struct{ value, low, high, want float64 }{
		{0.466, -0.077, 0.703, 0.9537}, {0.10, 0, 0.3, 0.975}, {0.10, -0.02, 0.22, 0.9488}, {-0.1, -0.5, 0, 0.025}, {-0.05, -0.725, 0.577, 0.438}, {0, 0, 0, 0},
	} {
		if got := agree(c.value, c.low, c.high); math.Abs(got-c.want) > 5e-4 {
			t.Errorf("%v in %v … %v: %.4f, want %.4f", c.value, c.low, c.high, got, c.want)
		}
	}
}

// A session most of whose tokens no line shows is told at its agent, with the share: what a compaction keeps of 900 tokens of 1,000 is not
// known. Where half is unseen, nothing is told.
func TestUnseenSessionsAreTold(t *testing.T) {
	x := AgentAdvice{Agent: facts.Gemini, Sessions: 2}
	x.count([]*traces.Session{
		{Quality: traces.Quality{InputTokens: 1000, UnseenTokens: 900}}, {Quality: traces.Quality{InputTokens: 1000, UnseenTokens: 500}},
	})
	want := []string{"1 of 2 sessions with most of their tokens, 90.0 %, in no line of the log: what a compaction keeps of these is not known, " +
		"so SIMULATED is a guess there."}
	if got := x.lacks(); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
