package sim

import (
	"fmt"
	"testing"
	"time"

	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/traces"
)

// dreamers are sessions of a user of one turn each, that begin at the given
// times.
func dreamers(at ...time.Duration) []*traces.Session {
	var list []*traces.Session
	for i, d := range at {
		s := newSession(fmt.Sprint("s", i)).looping(1, 1).session()
		s.Start += int64(d)
		list = append(list, s)
	}
	return list
}

// dreamt runs sessions on one clock under a dream and returns the dreams of each
// that ended well, and the rows added up.
func dreamt(t *testing.T, params string, sessions []*traces.Session) (string, results.Row) {
	t.Helper()
	rows, err := NewLoop(written(t, "  - dream: {"+params+"}\n")).RunCohort(sessions)
	if err != nil {
		t.Fatal(err)
	}
	var list []int64
	var all results.Row
	for i := range rows {
		list = append(list, int64(rows[i].N(measures.Dreams)))
		all.Add(&rows[i])
	}
	return fmt.Sprint(list), all
}

// The sixth session finds five others and dreams (E5: minSessions 5), in ten
// turns; the seventh comes too soon (minHours 24). A day after the dream only
// sessions since then count, the seventh among them: the twelfth has five others.
func TestDreamAcrossSessions(t *testing.T) {
	const h = time.Hour
	got, row := dreamt(t, "", dreamers(0, h, 2*h, 3*h, 4*h, 5*h, 6*h, 30*h, 31*h, 32*h, 33*h, 34*h))
	if got != "[0 0 0 0 0 1 0 0 0 0 0 1]" {
		t.Errorf("dreams %v, want one of the sixth and one of the twelfth session", got)
	}
	if row.CallsBy(measures.SourceOf("dream")) != 20 || row.Firings["dream"] != 2 {
		t.Errorf("%d calls, firings %v; want two dreams of ten turns", row.CallsBy(measures.SourceOf("dream")), row.Firings)
	}
	// The first five find too few, and so do the next four a day later.
	for reason, want := range map[string]int{"too few sessions since the last one": 9, "too soon after the last one": 1} {
		if got := row.Reasons["dream: "+reason]; got != want {
			t.Errorf("%s: %d times, want %d (%v)", reason, got, want, row.Reasons)
		}
	}
}

// A dream shares its session's prefix: its first turn reads the 18,300 tokens of
// the one call before it and writes the response of 200 and an instruction of
// 2,000; each further one writes 400 of answer and 2,500 of results.
func TestDreamUsage(t *testing.T) {
	_, row := dreamt(t, "past_sessions: 5", dreamers(0))
	u := row.UsageBy(measures.SourceOf("dream"))
	var read int64 = 18300
	for turn := range int64(9) {
		read += 18300 + 2200 + turn*2900
	}
	if u.Read != read || u.Write5m != 2200+9*2900 || u.Output != 10*400 {
		t.Errorf("%+v, want %d read", u, read)
	}
}

// Dreams, switch by switch: six sessions an hour apart, or as said.
func TestDreamSwitches(t *testing.T) {
	const h = time.Hour
	six := []time.Duration{0, h, 2 * h, 3 * h, 4 * h, 5 * h}
	at := func(last time.Duration) []time.Duration { return append(six[:5:5], 5*h, last) }
	for _, tc := range []struct {
		params string
		starts []time.Duration
		want   string
		calls  int
	}{
		{"", six, "[0 0 0 0 0 1]", 10},
		{"enabled: false", six, "[0 0 0 0 0 0]", 0},
		{"sessions: 3", six, "[0 0 0 1 0 0]", 10},
		{"sessions: 3, hours: 1", six, "[0 0 0 1 0 0]", 10},
		{"sessions: 1, hours: 2", six, "[0 1 0 1 0 1]", 30}, // 2 hours to the nanosecond later
		{"count_own: true", six, "[0 0 0 0 1 0]", 10},
		{"past_sessions: 4", six, "[0 1 0 0 0 0]", 10},
		{"phases: {orient: 1, gather: 1, consolidate: 1, prune: 0}", six, "[0 0 0 0 0 1]", 3},
		{"failure: 1", six, "[0 0 0 0 0 0]", 0},
		{"killed: 1", six, "[0 0 0 0 0 0]", 5},
		// Every session's one response has ended when its dream begins.
		{"survives_exit: false", six, "[0 0 0 0 0 0]", 10},
		// After a failure the lock's time goes back, and the next session tries.
		{"failure: 1", at(6 * h), "[0 0 0 0 0 0 0]", 0},
		{"killed: 1", at(6 * h), "[0 0 0 0 0 0 0]", 10},
		// Two sessions end their turns a second apart.
		{"", at(5*h + time.Second), "[0 0 0 0 0 1 0]", 10},
		{"race_seconds: 2", at(5*h + time.Second), "[0 0 0 0 0 1 0]", 10},
		{"race_seconds: 2, reread: false", at(5*h + time.Second), "[0 0 0 0 0 1 1]", 20},
	} {
		got, row := dreamt(t, tc.params, dreamers(tc.starts...))
		if got != tc.want || row.CallsBy(measures.SourceOf("dream")) != tc.calls {
			t.Errorf("{%s}: dreams %s in %d calls, want %s in %d (%v)", tc.params, got,
				row.CallsBy(measures.SourceOf("dream")), tc.want, tc.calls, row.Reasons)
		}
	}
}

// Sessions are looked at every ten minutes at most (003:2655): with 5 others
// missing, of twelve turns a minute apart only the first and the eleventh look.
func TestDreamScanThrottle(t *testing.T) {
	s := newSession("s")
	for range 12 {
		s.turns(1, minute-5*second, 0).answer() // responses take five seconds
	}
	for params, want := range map[string]int{"": 2, "scan_minutes: 5": 3, "scan_minutes: 0": 12} {
		_, row := dreamt(t, params, []*traces.Session{s.session()})
		looked, not := row.Reasons["dream: too few sessions since the last one"], row.Reasons["dream: sessions were looked at just now"]
		if looked != want || looked+not != 12 {
			t.Errorf("{%s}: %d looks and %d without, want %d of 12", params, looked, not, want)
		}
	}
}

// A stale lock is taken over when it is older than its hour and its holder is
// gone, not before (003:2436). The first dream is lost with its session and
// leaves the lock; without the gate of hours the sessions that follow find it.
func TestDreamStaleLock(t *testing.T) {
	const m = time.Minute
	for params, want := range map[string]int{
		"":                  2, // at 0 and 61 minutes
		"stale_minutes: 20": 3, // at 0, 30 and 60 minutes
	} {
		_, row := dreamt(t, "hours: 0, past_sessions: 9, sessions: 0, survives_exit: false, "+params, dreamers(0, 30*m, 60*m, 61*m))
		if got := row.Firings["dream"]; got != want {
			t.Errorf("{%s}: %d dreams begun, want %d (%v)", params, got, want, row.Reasons)
		}
	}
}

// Who comes first in the list does not matter, only when it comes.
func TestDreamOrderOfSessions(t *testing.T) {
	const h = time.Hour
	want, _ := dreamt(t, "", dreamers(0, h, 2*h, 3*h, 4*h, 5*h))
	got, _ := dreamt(t, "", dreamers(5*h, 4*h, 3*h, 2*h, h, 0))
	if want != "[0 0 0 0 0 1]" || got != "[1 0 0 0 0 0]" {
		t.Errorf("dreams %s, and %s in the other order", want, got)
	}
}
