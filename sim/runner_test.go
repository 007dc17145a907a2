package sim

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/sim/internal/verify"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
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

// A row whose sources add up to other tokens or dollars than its classes is an error.
func TestRowMustAddUp(t *testing.T) {
	for name, change := range map[string]func(*results.Row){
		"":            func(*results.Row) {},
		"a millionth": func(r *results.Row) { r.CostBy(0)[0] += 1e-7 },
		"a cent":      func(r *results.Row) { r.CostBy(0)[0] += 0.01 },
		"a cent less": func(r *results.Row) { r.CostBy(0)[0] -= 0.01 },
		"a token": func(r *results.Row) {
			r.Figures[measures.CostByClass-measures.ID(measures.NumSources)*measures.NumClasses+measures.ID(measures.ClassRead)]++
		},
		"a call":           func(r *results.Row) { r.Figures[measures.CallsBySource+measures.ID(0)]++ },
		"a call left out ": func(r *results.Row) { r.Figures[measures.UnsimulatedCalls]++ },
	} {
		session := newSession("s").turns(3, 0, 1000).session()
		row, err := NewLoop(testConfig(t, "none")).Run(session)
		if err != nil {
			t.Fatal(err)
		}
		change(&row)
		said := ""
		verify.Row(session, &row, 0, func(format string, args ...any) { said = fmt.Sprintf(format, args...) })
		if ok := name == "" || name == "a millionth"; ok != (said == "") {
			t.Errorf("%s: %q", name, said)
		}
	}
}
