package sim

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/traces"
)

// broken is a session whose first result has no call.
func broken(id string) *traces.Session {
	s := newSession(id).turns(3, 0, 1000).session()
	for i := range s.Blocks {
		if s.Blocks[i].Kind == prompt.KindToolUse {
			s.Blocks[i].Call = 0
			break
		}
	}
	return s
}

// Sessions that break an invariant are left out of their cohort and named; all other sessions are
// what they are without them. A cohort of nothing else has no rows, and what ended a run
// is told behind the sessions.
func TestBrokenSessionsOfACohort(t *testing.T) {
	a, b := newSession("a").turns(5, 0, 1000).session(), newSession("b").turns(4, 0, 900).session()
	cells := []Config{testConfig(t, "none")}
	want, err := Runner{Cohorts: [][]int{{0, 1}}}.Run(context.Background(), []*traces.Session{a, b}, cells)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := Runner{Cohorts: [][]int{{1, 0, 2}, {3, 4}}}.Run(context.Background(), []*traces.Session{broken("w"), a, b, broken("x"), broken("y")}, cells)
	var all *Broken
	if !errors.As(err, &all) || len(all.Cells[0]) != 3 || all.Cells[0][0] == nil || all.Cells[0][3] == nil || all.Cells[0][4] == nil || all.Stopped != nil {
		t.Fatalf("%v, want sessions 0, 3 and 4", err)
	}
	if !reflect.DeepEqual(rows[0][1:3], want[0]) || rows[0][0].Strategy != "" || rows[0][3].Strategy != "" {
		t.Errorf("%+v, want two rows %+v and no others", rows[0], want[0])
	}
	if list := all.Unwrap(); len(list) != 3 || !errors.Is(err, ErrInvariant) {
		t.Errorf("%d errors: %v", len(list), list)
	}
	all.Stopped = context.Canceled
	if list := all.Unwrap(); len(list) != 4 || !errors.Is(list[3], context.Canceled) || !strings.Contains(all.Error(), "canceled") {
		t.Errorf("%v, want what stopped it last", list)
	}
}

// A run whose context ends with its last session is complete.
func TestEndOfTheContextWithTheRun(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	sessions := []*traces.Session{newSession("a").turns(2, 0, 100).session(), newSession("b").turns(2, 0, 100).session()}
	for after, complete := range map[int]bool{1: false, 2: true} {
		r := Runner{Workers: 1, Done: func(n int) {
			if n == after {
				cancel()
			}
		}}
		if _, err := r.Run(ctx, sessions, []Config{testConfig(t, "none")}); (err == nil) != complete {
			t.Errorf("ended behind session %d: %v", after, err)
		} else if !complete && !strings.Contains(err.Error(), "interrupted after 1 of 2 sessions") {
			t.Errorf("%v", err)
		}
		ctx, cancel = context.WithCancel(context.Background())
	}
	cancel()
}

// A price holds from its first moment to the one ahead of the next price; a call without a
// time has the one at hand.
func TestWhenAPriceHolds(t *testing.T) {
	from, until := time.Unix(1000, 0), time.Unix(2000, 0)
	var both, open model
	both.take(&costmodel.Price{From: from, Until: until})
	for at, want := range map[int64]bool{0: true, 1: false, 1000e9 - 1: false, 1000e9: true, 2000e9 - 1: true, 2000e9: false} {
		if got := both.holds(at); got != want {
			t.Errorf("at %d: %v", at, got)
		}
	}
	if open.take(&costmodel.Price{}); !open.holds(1) {
		t.Error("a price without dates does not hold")
	}
}

// What is not read is billed by the lifetime of the last marker, and without one by what the
// provider calls a write, if it does.
func TestUnreadClass(t *testing.T) {
	short, long := prompt.Marker{TTL: prompt.TTL5m}, prompt.Marker{TTL: prompt.TTL1h}
	for _, tc := range []struct {
		markers []prompt.Marker
		other   int64
		want    results.Class
	}{
		{[]prompt.Marker{long, short}, 9, results.ClassWrite5m}, {[]prompt.Marker{short, long}, 9, results.ClassWrite1h},
		{nil, 1, results.ClassWriteOther}, {nil, 0, results.ClassUncached},
	} {
		out := prompt.Outcome{Usage: prompt.Usage{WriteOther: tc.other}}
		if got := unreadClass(&prompt.Request{Markers: tc.markers}, &out); got != tc.want {
			t.Errorf("%+v: %v", tc, got)
		}
	}
}

// A recording with three compactions on one thread and one on another compacted four times,
// twice what was compacted already. One that no call follows does not count.
func TestRecordedEventsAreCounted(t *testing.T) {
	var row results.Row
	compact, micro := traces.Event{Kind: traces.EventCompact}, traces.Event{Kind: traces.EventMicrocompact}
	calls, last := make([]traces.Round, 1), compact
	last.Round = 1
	countEvents(&row, &traces.Thread{Rounds: calls, Events: []traces.Event{compact, micro, compact, compact, last}})
	countEvents(&row, &traces.Thread{Rounds: calls, Events: []traces.Event{micro, compact}})
	countEvents(&row, &traces.Thread{Rounds: calls, Events: []traces.Event{{Kind: traces.EventShrink}}})
	if row.N(results.Compactions) != 4 || row.N(results.Recompactions) != 2 || row.N(results.Microcompactions) != 2 {
		t.Errorf("%d compactions, %d of them again, %d microcompactions", row.N(results.Compactions),
			row.N(results.Recompactions), row.N(results.Microcompactions))
	}
}

// A row whose sources add up to other tokens or dollars than its classes is an error.
func TestRowMustAddUp(t *testing.T) {
	for name, change := range map[string]func(*results.Row){
		"":                 func(*results.Row) {},
		"a millionth":      func(r *results.Row) { r.CostBy(0)[0] += 1e-7 },
		"a cent":           func(r *results.Row) { r.CostBy(0)[0] += 0.01 },
		"a cent less":      func(r *results.Row) { r.CostBy(0)[0] -= 0.01 },
		"a token":          func(r *results.Row) { r.Figures[results.TokensBySource+results.ID(results.ClassRead)]++ },
		"a call":           func(r *results.Row) { r.Figures[results.CallsBySource+results.ID(0)]++ },
		"a call left out ": func(r *results.Row) { r.Figures[results.UnsimulatedCalls]++ },
	} {
		s := &replay{session: newSession("s").turns(3, 0, 1000).session()}
		l := NewLoop(testConfig(t, "none"))
		row, err := l.Run(s.session)
		if err != nil {
			t.Fatal(err)
		}
		s.row = row
		change(&s.row)
		if l.err = nil; name == "" || name == "a millionth" {
			if l.verifyRow(s); l.err != nil {
				t.Errorf("%s: %v", name, l.err)
			}
		} else if l.verifyRow(s); !errors.Is(l.err, ErrInvariant) {
			t.Errorf("%s: %v, want an invariant", name, l.err)
		}
	}
}
