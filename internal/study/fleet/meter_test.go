package fleet

import (
	"testing"

	"github.com/compactsim/compactsim/internal/study/studies"
)

// A session that is closed and resumed later is not under way in between. Three users
// have a session of one call at 1 h, 2 h and 3 h, and go on with it at 10 h, 11 h and
// 12 h: never is there more than one.
func TestPeakOfResumedSessions(t *testing.T) {
	const text = `schema: 1
strategies: [none]
compare: []
orgs:
  - name: a
    users: 4
    resume: 1
    kinds: {api: 1}
    sessions: {turns: {min: 1}, rounds: {min: 1}, model: claude-opus-4-6}
    arrivals: {process: trace, times: [`
	for times, want := range map[string]studies.FleetPeak{
		"1h 0, 2h 1, 3h 2, 10h 0, 11h 1, 12h 2":          {Count: 1, At: 3600},
		"1h 0, 2h 1, 3h 2, 10h 0, 11h 1, 12h 2, 12h 3":   {Count: 2, At: 12 * 3600},
		"1h 0, 5h 0, 9h 0, 9h 1, 1h 2, 1h 3, 9h 2, 9h 3": {Count: 4, At: 9 * 3600},
	} {
		f := parse(t, text+times+"]}\n")
		if got := simulate(t, f).Cells[0].PeakSessions; got != want {
			t.Errorf("%s: %+v, want %+v", times, got, want)
		}
	}
}

// A conversation of two rounds that is resumed with one more, and with a thread of its
// own: its third request is of the second run, and so is all of that thread.
func TestRunOfRequests(t *testing.T) {
	var m meter
	m.expect(3, &stretch{runs: []int64{0, 9}, cuts: []cut{{rounds: 2, threads: 2}}})
	m.expect(1, &stretch{runs: []int64{5}})
	for i, tc := range []struct {
		thread uint32
		want   int32
	}{{0, 0}, {1, 0}, {0, 0}, {3, 2}, {0, 1}, {2, 1}, {0, 1}} {
		if got := m.run(tc.thread); got != tc.want {
			t.Errorf("request %d is of run %d, want %d", i, got, tc.want)
		}
	}
	if len(m.runs) != 3 || m.runs[0].resumed || !m.runs[1].resumed || m.runs[2].resumed {
		t.Errorf("runs %+v", m.runs)
	}
}

// What is resumed while it is still answered has been open all the time.
func TestRunsThatMeet(t *testing.T) {
	m := meter{runs: []run{{0, 10, false}, {8, 20, true}, {30, 40, true}, {-1, 0, true}, {-1, 0, false}, {50, 60, true}}}
	s := m.sessions()
	if len(s.began) != 3 || s.ended[0] != 20 || s.began[1] != 30 || s.ended[2] != 60 {
		t.Errorf("open from %v to %v", s.began, s.ended)
	}
}
