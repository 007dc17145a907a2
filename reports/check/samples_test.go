package check

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/results"
)

// week is a run of what n sessions were billed. Sizes of sessions are drawn log-normal
// with σ 1, as wide as recorded ones: the dearest tenth has half of the bill. A session
// reads 95 % of its input, on average over sessions of Beta form, and a call costs
// $0.10 times a log-normal factor of σ 0.5. Broken sessions read half as much, pay four
// times as much, and miss in every second call.
func week(r *rand.Rand, n int, broken bool) *Input {
	in := input()
	in.Sessions, in.SessionsDigest = map[string]Session{}, fmt.Sprint(r.Uint64())
	var rows []tally
	for i := range n {
		id := fmt.Sprintf("%s-%03d", in.SessionsDigest, i) // a week has sessions of its own
		in.Sessions[id] = Session{Project: "web"}
		size := math.Exp(r.NormFloat64())
		input := int64(1e6 * size)
		read := int64(float64(input) * (0.95 + 0.03*math.Tanh(r.NormFloat64())))
		t := tally{session: id, calls: int(50*size) + 1, read: read, written: input - read}
		t.usd = 5 * size * math.Exp(0.5*r.NormFloat64())
		if broken {
			t.usd, t.read, t.written = 4*t.usd, read/2, input-read/2
			t.misses = map[exchange.MissClass]int{exchange.MissEviction: t.calls / 2}
		}
		rows = append(rows, t)
	}
	in.Cells = []Cell{one("billed", rows...)}
	return in
}

// weekly are rules as the starter has them.
const weekly = `  - {metric: cache_hit_ratio, strategy: billed, max_decrease: 5%}
  - {metric: cost_usd, per: calls, strategy: billed, max_increase: 25%}
  - {metric: misses_eviction, per: calls, strategy: billed, max_increase: 0.03}
`

// Another week of the same quality raises an alarm in at most 5 % of checks and is
// judged in nearly all, even with bars at the true figures; reads that are gone from
// every second call are found at once. The weeks are drawn: the truth is known.
func TestOtherSessions(t *testing.T) {
	bars := strings.NewReplacer("25%", "0", "5%", "0", "0.03", "0").Replace(weekly)
	for _, tc := range []struct {
		rules       string
		was, now    int
		broken      bool
		runs        int
		least, most int // alarms
		mostOpen    int
	}{
		{weekly, 40, 20, false, 30, 0, 1, 2},
		{weekly, 40, 20, true, 5, 5, 5, 0},
		{weekly, 10, 8, true, 5, 5, 5, 0},
		{bars, 40, 20, false, 200, 1, 10, 10},
		{bars, 15, 8, false, 200, 1, 10, 50},
		{weekly, 3, 2, true, 5, 0, 0, 5},
	} {
		f := parsed(t, tc.rules)
		alarms, open := 0, 0
		for i := range tc.runs {
			r := rand.New(rand.NewPCG(3, uint64(i)))
			report := against(t, f, week(r, tc.was, false), week(r, tc.now, tc.broken))
			if report.count(Unjudged) > 0 || len(report.Problems) > 0 {
				t.Fatalf("%+v", report.failures())
			}
			if report.count(Breach) > 0 {
				alarms++
			} else if report.count(Undecided) > 0 {
				open++
			}
		}
		t.Logf("%d sessions against %d, broken %t: %d alarms, %d undecided of %d", tc.now, tc.was, tc.broken, alarms, open, tc.runs)
		if alarms < tc.least || alarms > tc.most || open > tc.mostOpen {
			t.Errorf("want %d to %d alarms, at most %d undecided", tc.least, tc.most, tc.mostOpen)
		}
	}
}

// A run that later ones are held against keeps the sessions of the runs before it, as many as the window says; one
// that leaves a rule undecided too. The same run again takes the place of the last, and a session is the later one.
func TestRunsAccumulate(t *testing.T) {
	f := parsed(t, weekly)
	f.Window = 3
	r := rand.New(rand.NewPCG(5, 5))
	n := 0
	step := func(was *Baseline, sessions int) (*Report, *Baseline, *Input) {
		in := week(r, sessions, false)
		n++
		rename(in, fmt.Sprint("w", n, " "))
		b, err := f.NewBaseline(in)
		if err != nil {
			t.Fatal(err)
		}
		return f.Judge(in, Loaded{Baseline: was}), f.After(b, was), in
	}
	_, b, _ := step(nil, 40)
	report, b, _ := step(b, 1)
	if report.count(Undecided) != 3 || len(b.Past) != 41 {
		t.Fatalf("one session: %s, %d sessions are kept", report.Verdict(), len(b.Past))
	}
	report, b, last := step(b, 20)
	if s := report.Results[0]; !report.OK || s.Sessions != 20 || s.Before != 41 || len(b.Past) != 61 {
		t.Errorf("twenty sessions: %s of %d against %d, %d are kept", report.Verdict(), s.Sessions, s.Before, len(b.Past))
	}
	again, err := f.NewBaseline(last)
	if err != nil {
		t.Fatal(err)
	}
	if b = f.After(again, b); len(b.Past) != 61 {
		t.Errorf("the same run again: %d sessions are kept, want 61", len(b.Past))
	}
	if report, b, _ = step(b, 20); report.Results[0].Before != 61 || len(b.Past) != 41 {
		t.Errorf("a fourth run against %d sessions, want 61; %d are kept, want 41 of three runs", report.Results[0].Before, len(b.Past))
	}
}

// rename gives the sessions of a run other ids.
func rename(in *Input, with string) {
	sessions := map[string]Session{}
	for id, s := range in.Sessions {
		sessions[with+id] = s
	}
	in.Sessions = sessions
	rows := &in.Cells[0].Draws[0].Rows
	for i := range rows.Len() {
		rows.Edit(i, func(r *results.Row) { r.Session = with + r.Session })
	}
}
