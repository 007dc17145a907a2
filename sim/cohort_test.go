package sim

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/facts"
)

// shared gives every session the same tools and system prompt, as a client sends the same to every
// session of a folder.
func (b *sessionBuilder) shared() *sessionBuilder {
	for i := range 2 {
		b.s.Blocks[i].Digest.Hi, b.s.Blocks[i].Digest.Lo = 7, uint64(i)
	}
	return b
}

// Two sessions that share 16,000 tokens of tools and system prompt: the second
// begins two minutes after the first, inside the lifetime, and reads them.
func TestCohortSharesAPrefix(t *testing.T) {
	a, b := newSession("a").shared().turns(3, 0, 1000).session(), newSession("b").shared().turns(3, 0, 1000).session()
	b.Start = a.Start + 2*minute
	c := testConfig(t, "none")
	rows, err := NewLoop(c).RunCohort([]*traces.Session{a, b})
	if err != nil {
		t.Fatal(err)
	}
	alone, _ := run(t, c, b)
	if got, want := rows[1].Usage().Read-alone.Usage().Read, int64(16000); got != want {
		t.Errorf("the second session reads %d tokens more than alone, want %d", got, want)
	}
	first, _ := run(t, c, a)
	if !reflect.DeepEqual(rows[0], first) {
		t.Errorf("the first session is not what it is alone:\n%+v\n%+v", rows[0], first)
	}
}

// Sessions whose bodies are not in memory have the rows that they have in memory, and each is loaded once. The third begins when the
// first two are over, so that two seats are enough; a session that cannot be loaded ends the run.
func TestCohortLoadsSessionsWhenTheyBegin(t *testing.T) {
	sessions := []*traces.Session{
		newSession("a").shared().turns(30, 0, 4000).session(), newSession("b").shared().turns(20, minute, 3000).session(),
		newSession("c").shared().turns(25, 0, 9000).session(),
	}
	sessions[1].Start += 30 * second
	sessions[2].Start += 48 * 60 * minute
	loads := map[string]int{}
	var heads []*traces.Session
	for _, s := range sessions {
		h := s.Head()
		heads = append(heads, h.Without(func() (*traces.Session, error) {
			loads[s.ID]++
			return s, nil
		}))
	}
	c := testConfig(t, "auto-compact/167k")
	want, err := Runner{Cohorts: [][]int{{0, 1, 2}}}.Run(t.Context(), sessions, []Config{c})
	if err != nil {
		t.Fatal(err)
	}
	got, err := Runner{Cohorts: [][]int{{0, 1, 2}}}.Run(t.Context(), heads, []Config{c})
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("error %v, rows\n%+v\nwant\n%+v", err, got, want)
	}
	if want := map[string]int{"a": 1, "b": 1, "c": 1}; !reflect.DeepEqual(loads, want) {
		t.Errorf("loads %v, want %v", loads, want)
	}
	l := NewLoop(c)
	if _, err := l.RunCohort(heads); err != nil || len(l.spare) != 2 {
		t.Errorf("error %v, %d seats, want 2", err, len(l.spare))
	}
	gone := sessions[2].Head()
	heads[2] = gone.Without(func() (*traces.Session, error) { return nil, context.DeadlineExceeded })
	if _, err := l.RunCohort(heads); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a session that cannot be loaded: %v", err)
	}
}

// What the calls of a session cost is told of sessions whose bodies are not in memory, too, and of the one that was over long before
// the other began: three rounds and two.
func TestCohortTellsWhatCallsOfLoadedSessionsCost(t *testing.T) {
	a, b := newSession("a").turns(3, 0, 4000).session(), newSession("b").turns(2, 0, 3000).session()
	b.Start += 48 * 60 * minute
	var heads []*traces.Session
	for _, s := range []*traces.Session{a, b} {
		h := s.Head()
		heads = append(heads, h.Without(func() (*traces.Session, error) { return s, nil }))
	}
	told := map[string]int{}
	c := testConfig(t, "none")
	c.Ended = func(row *results.Row, calls []Spent) { told[row.Session] = len(calls) }
	if _, err := (Runner{Cohorts: [][]int{{0, 1}}}).Run(t.Context(), heads, []Config{c}); err != nil {
		t.Fatal(err)
	}
	if want := map[string]int{"a": 3, "b": 2}; !reflect.DeepEqual(told, want) {
		t.Errorf("calls %v, want %v", told, want)
	}
}

// While a session is simulated the next one is loaded: the server of the first call, which comes a minute before the second
// session begins, is made when the second session is loaded.
func TestCohortLoadsTheNextSession(t *testing.T) {
	a, b := newSession("a").turns(1, 0, 1000).session(), newSession("b").turns(1, 0, 1000).session()
	b.Start += minute
	loaded := make(chan struct{})
	var heads []*traces.Session
	for _, s := range []*traces.Session{a, b} {
		h := s.Head()
		heads = append(heads, h.Without(func() (*traces.Session, error) {
			if s == b {
				close(loaded)
			}
			return s, nil
		}))
	}
	c := testConfig(t, "none")
	server := c.Server
	c.Server = func(kind facts.Cache) Server {
		select {
		case <-loaded:
		case <-time.After(10 * time.Second):
			t.Error("the second session was not loaded while the first one was simulated")
		}
		return server(kind)
	}
	if _, err := NewLoop(c).RunCohort(heads); err != nil {
		t.Error(err)
	}
}

// A panic while a body is loaded beside the simulation is an error that names the session, and does not end the program.
func TestCohortReportsAPanicOfLoading(t *testing.T) {
	s := newSession("a").turns(1, 0, 1000).session()
	h := s.Head()
	away := h.Without(func() (*traces.Session, error) { panic("no such block") })
	_, err := NewLoop(testConfig(t, "none")).RunCohort([]*traces.Session{away})
	if !errors.Is(err, ErrInvariant) || strings.Count(err.Error(), "session a") != 1 || !strings.Contains(err.Error(), "load: no such block") {
		t.Errorf("error %v, want the panic of session a", err)
	}
}

// Sessions that send nothing alike do not change each other, whatever shares
// their clock, and neither does the order they are given in.
func TestIndependentSessionsOfACohort(t *testing.T) {
	sessions := []*traces.Session{
		newSession("a").turns(30, 0, 4000).session(), newSession("b").turns(20, minute, 3000).session(),
		newSession("c").turns(25, 0, 9000).session(),
	}
	sessions[1].Start += 30 * second
	c := testConfig(t, "auto-compact/167k")
	loop := NewLoop(c)
	rows, err := loop.RunCohort(sessions)
	if err != nil {
		t.Fatal(err)
	}
	together := append([]results.Row(nil), rows...)
	rows, err = loop.RunCohort([]*traces.Session{sessions[2], sessions[0], sessions[1]})
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range sessions {
		alone, _ := run(t, c, s)
		if !reflect.DeepEqual(together[i], alone) {
			t.Errorf("session %s in a cohort:\n%+v\nalone:\n%+v", s.ID, together[i], alone)
		}
		if turned := rows[(i+1)%3]; !reflect.DeepEqual(turned, alone) {
			t.Errorf("session %s in another order:\n%+v\nalone:\n%+v", s.ID, turned, alone)
		}
	}
}

func TestRunnerCohorts(t *testing.T) {
	var sessions []*traces.Session
	for _, id := range []string{"a", "b", "c"} {
		sessions = append(sessions, newSession(id).turns(5, 0, 1000).session())
	}
	cells := []Config{testConfig(t, "none")}
	want, err := Runner{}.Run(context.Background(), sessions, cells)
	if err != nil {
		t.Fatal(err)
	}
	for _, cohorts := range [][][]int{{{0, 1, 2}}, {{2}, {1, 0}}} {
		got, err := Runner{Workers: 2, Cohorts: cohorts}.Run(context.Background(), sessions, cells)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("cohorts %v: %v, rows differ: %v", cohorts, err, got)
		}
	}
	for _, cohorts := range [][][]int{{{0, 1}}, {{0, 1, 2, 2}}, {{0, 1, 3}}, {{-1, 0, 1}}} {
		if _, err := (Runner{Cohorts: cohorts}).Run(context.Background(), sessions, cells); err == nil {
			t.Errorf("cohorts %v of three sessions are taken", cohorts)
		}
	}
}

// A cohort in the middle of its simulation ends when the run is cancelled.
func TestCancelInsideACohort(t *testing.T) {
	s := newSession("s")
	for range 200 {
		s.turns(100, minute, 100)
	}
	ctx, cancel := context.WithCancel(context.Background())
	c := testConfig(t, "truncate-oldest")
	c.Verify = false
	calls := 0
	c.Record = func(*results.CallRecord) {
		calls++
		cancel()
	}
	if _, err := (Runner{Workers: 1}).Run(ctx, []*traces.Session{s.session()}, []Config{c}); err == nil || calls > 10000 {
		t.Errorf("%v after %d of 20,000 calls", err, calls)
	}
}

// Each root thread of a session begins with it, by its delay later.
func TestRootThreadsBeginWithTheSession(t *testing.T) {
	b := newSession("s").turns(2, 0, 1000)
	b.thread(traces.Thread{ID: "second", Kind: traces.ThreadMain, Parent: -1, ParentRound: -1, Delay: 20 * minute})
	b.s.Threads[1].Prefix = b.s.Threads[0].Prefix
	s := b.turns(2, 0, 1000).session()
	other := newSession("other").turns(2, 0, 1000).session()
	starts := map[int32]int64{}
	c := testConfig(t, "none")
	c.Record = func(r *results.CallRecord) {
		if _, ok := starts[r.Thread]; !ok && r.Session == "s" {
			starts[r.Thread] = r.Start
		}
	}
	rows, err := NewLoop(c).RunCohort([]*traces.Session{other, s})
	if err != nil {
		t.Fatal(err)
	}
	if rows[1].N(measures.Calls) != 4 || starts[1]-starts[0] != 20*minute {
		t.Errorf("%d calls, the second thread begins %d s behind the first", rows[1].N(measures.Calls), (starts[1]-starts[0])/second)
	}
}

// A session without a time begins with the first one, and changes nothing about when other
// sessions begin: six minutes apart they share nothing, and it reads what the first wrote.
func TestSessionWithoutATime(t *testing.T) {
	a, b, c := newSession("a").shared().turns(1, 0, 0).session(), newSession("b").shared().turns(1, 0, 0).session(), newSession("c").shared().turns(1, 5*second, 0).session()
	b.Start, c.Start = a.Start+6*minute, 0
	rows, err := NewLoop(testConfig(t, "none")).RunCohort([]*traces.Session{a, b, c})
	if err != nil {
		t.Fatal(err)
	}
	if rows[0].Usage().Read != 0 || rows[1].Usage().Read != 0 {
		t.Errorf("six minutes apart they read %d and %d tokens", rows[0].Usage().Read, rows[1].Usage().Read)
	}
	if rows[2].Usage().Read != 16_000 {
		t.Errorf("without a time it reads %d tokens, want the 16,000 that the first wrote", rows[2].Usage().Read)
	}
}
