package sim

import (
	"cmp"
	"fmt"
	"slices"
	"sync"

	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/traces"
)

// Run simulates a session by itself and returns its row. The error wraps
// ErrInvariant when Verify found a violation. Its caller may change a session between runs.
func (l *Loop) Run(s *traces.Session) (results.Row, error) {
	l.alone[0] = s
	rows, err := l.RunCohort(l.alone[:])
	if err != nil {
		return results.Row{}, err
	}
	return rows[0], nil
}

// RunCohort simulates sessions on one clock, at the times they were recorded, with one
// cache for the sessions of each agent: sessions that send the same read what others have
// written. Events of one time happen in the order of their users' numbers. It returns the
// rows in the order given, valid until the next run. A session without a time begins with
// the first one. Bodies that are not in memory are loaded in the
// order in which sessions begin, a few ahead of the clock (loadedAhead), and let go behind their last call.
func (l *Loop) RunCohort(sessions []*traces.Session) ([]results.Row, error) {
	l.reset(sessions)
	for i, session := range sessions {
		if away(session) {
			l.clock.scheduleBegin(l.origin(session), int32(i))
		} else if err := l.admit(i, session); err != nil {
			return nil, err
		}
	}
	defer l.loadAhead(&l.clock)()
	return l.play(func() {}) // copies at forks begin with a hook (fork.go)
}

// reset makes the loop ready for a cohort.
func (l *Loop) reset(cohort []*traces.Session) {
	l.clock.reset()
	if l.config.Meter != nil {
		l.config.Meter.Reset()
	}
	l.caches.Lifetimes = l.config.Lifetimes
	l.caches.Reset()
	l.written.Reset()
	l.flights.reset()
	l.verdict, l.host.thread = verdict{}, nil // refresh presents a thread anew: its storage may be another's by now
	l.turn.TakeBackground()                   // forgets what a hook had asked for before it panicked
	l.sides.Reset()
	l.users = l.users[:0]
	l.open(cohort)
}

// seats are what the sessions of a cohort are simulated in.
type seats struct {
	cohort  []*traces.Session // as given
	first   int64             // unix ns of the earliest session that has a time, 0 for none
	replays []*replay         // by index of the session; nil for one that has not begun or is over
	spare   []*replay         // of sessions that are over
	coming  <-chan loaded     // sessions that are not in memory, in the order in which they begin
	threads []*thread         // of all sessions, in the order in which these were seated; nil when theirs is over
}

// open makes room for a cohort. What sessions of earlier ones were simulated in is used again, in the same order.
func (l *seats) open(cohort []*traces.Session) {
	for _, s := range slices.Backward(l.replays) {
		if s != nil {
			l.spare = append(l.spare, s)
		}
	}
	l.cohort, l.first, l.threads = cohort, begin(cohort), l.threads[:0]
	l.replays = slices.Grow(l.replays[:0], len(cohort))[:len(cohort)]
	clear(l.replays)
}

// begin returns the time of the earliest session that has one, unix ns; 0 for
// none.
func begin(sessions []*traces.Session) int64 {
	var first int64
	for _, s := range sessions {
		if s.Start > 0 && (first == 0 || s.Start < first) {
			first = s.Start
		}
	}
	return first
}

// away reports whether the body of a session is not in memory.
func away(s *traces.Session) bool { return len(s.Threads) == 0 && s.NumCalls() > 0 }

// origin returns when a session of the cohort begins, ns on the cohort's clock.
func (l *seats) origin(session *traces.Session) int64 {
	if session.Start > 0 && l.first > 0 {
		return session.Start - l.first
	}
	return 0
}

// admit brings the session at a place of the cohort and its threads to their initial state, and has it begin at its time.
func (l *Loop) admit(i int, session *traces.Session) error {
	s := l.seat(i)
	if err := s.assign(l, i, session); err != nil {
		return err
	}
	s.reset(l, session, l.origin(session))
	l.hold(s, len(session.Threads))
	for j := range s.threads {
		s.threads[j].prepare(s, int32(j))
	}
	s.orderChildren()
	if l.config.Verify {
		s.verify.Begin(session)
	}
	l.clock.user = uint64(s.heads.User) // what is scheduled here is ordered as the user's (clock.add)
	for j := range session.Threads {
		if t := &session.Threads[j]; t.Parent < 0 {
			s.due++ // a session that is loaded late keeps its seat as long as something is due (happen)
			l.clock.schedule(s.origin+t.Delay, eventStart, s.base+int32(j))
		}
	}
	return nil
}

// seat gives the session at a place of the cohort a seat.
func (l *seats) seat(i int) (s *replay) {
	if n := len(l.spare); n > 0 {
		s, l.spare = l.spare[n-1], l.spare[:n-1]
	} else {
		s = &replay{}
	}
	s.index, s.base = int32(i), int32(len(l.threads))
	l.replays[i] = s
	return s
}

// assign gives the session at a place of the cohort its person.
func (s *replay) assign(l *Loop, i int, session *traces.Session) error {
	p := l.config.person(i, session)
	if p.Owner == 0 || p.User < 0 {
		return fmt.Errorf("session %s: organisation %d, user %d: want 1 or more, and 0 or more", session.ID, p.Owner, p.User)
	}
	l.users.through(p.User)
	s.user = l.users[p.User]
	s.person, s.heads.Owner, s.heads.Assembly = p, p.Owner, p.Assembly
	s.heads.User, s.ordinal = p.User, s.user.addSession()
	if of := l.config.Strategy.For(session.Agent, session.Version(), session.Variant); of != s.strategy {
		s.strategy, s.ends = of, l.config.Overflow.ends(of)
	}
	if s.heads.Assembly == nil {
		s.heads.Assembly = l.assembly
	}
	if s.gauge.Levels = p.Levels; s.gauge.Levels == nil {
		s.gauge.Levels = &l.config.Levels
	}
	return nil
}

// hold makes room for so many threads of a session that has a seat.
func (l *seats) hold(s *replay, threads int) {
	s.threads = s.threads[:cap(s.threads)] // what is stored is used again
	s.threads = slices.Grow(s.threads, max(0, threads-len(s.threads)))[:threads]
	for i := range s.threads {
		l.threads = append(l.threads, &s.threads[i])
	}
}

// loaded is a session that begins next, or why its body cannot be had.
type loaded struct {
	session *traces.Session
	err     error
}

// load takes a session's body into memory. A panic is an error of the session: in a goroutine of its own it would end the program.
func load(s *traces.Session) (next loaded) {
	defer func() {
		if r := recover(); r != nil {
			next = loaded{err: fmt.Errorf("%w: load: %v%s", ErrInvariant, r, origin())}
		}
	}()
	body, err := s.Load()
	return loaded{body, err}
}

// loadedAhead is how many sessions wait for their beginning at most, beside the one that is being loaded.
const loadedAhead = 4

// loadAhead has the sessions on a clock that are not in memory loaded in the order in which they begin, beside the
// simulation. The caller calls stop when it needs no more.
func (l *seats) loadAhead(clock *clock) (stop func()) {
	var begins []event
	for _, e := range clock.heap {
		if e.kind == eventBegin {
			begins = append(begins, e)
		}
	}
	if len(begins) == 0 {
		return func() {}
	}
	slices.SortFunc(begins, func(a, b event) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.seq, b.seq)) })
	next, ended := make(chan loaded, loadedAhead), make(chan struct{})
	var loading sync.WaitGroup
	loading.Go(func() {
		for _, e := range begins {
			select {
			case next <- load(l.cohort[e.of]):
			case <-ended:
				return
			}
		}
	})
	l.coming = next
	return func() {
		close(ended)
		loading.Wait()
	}
}

// play does something to begin with, runs all events on the clock and returns the rows. It ends early where the run stands for no
// strategy any more. A panic is an error of the session whose
// thread was under way, as sessions of a batch are no concern of each other.
func (l *Loop) play(begin func()) (rows []results.Row, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = l.panicked(r)
		}
	}()
	l.rows = slices.Grow(l.rows[:0], len(l.replays))[:len(l.replays)]
	begin()
	for n := 1; l.err == nil; n++ {
		e, ok := l.clock.next()
		if !ok {
			break
		}
		l.happen(e)
		if l.turn.Kin != nil && len(l.turn.Kin.Alike) == 0 && l.err == nil {
			return nil, nil
		}
		if n%untilAsked == 0 && l.ctx != nil && l.ctx.Err() != nil {
			return nil, l.ctx.Err()
		}
	}
	for _, s := range l.replays {
		if s != nil && l.err == nil {
			s.finish(l)
			l.rows[s.index] = s.book.Row
		}
	}
	if l.err != nil {
		return nil, l.under(l.config.Strategy.Name)
	}
	return l.rows, nil
}

// untilAsked is how many events happen before a loop asks again whether it has
// been cancelled.
const untilAsked = 1 << 14

// begin takes the session whose time has come.
func (e *event) begin(l *Loop) {
	i := int(e.of)
	next := <-l.coming
	if next.err == nil {
		// Its first events get the numbers that scheduleBegin has reserved, as if it had been loaded at first.
		l.clock.spendReserved(e, func() { next.err = l.admit(i, next.session) })
	}
	if next.err != nil {
		l.stop(l.cohort[i], next.err)
		return
	}
	l.replays[i].loadedLate = true
}

// letGo ends a session that was loaded late.
func (s *replay) letGo(l *Loop) {
	if s.finish(l); l.err == nil {
		l.rows[s.index] = s.book.Row
		l.host.thread = nil
		l.leave(s)
	}
}

// leave gives the seat of a session that is over to another one.
func (l *seats) leave(s *replay) {
	clear(l.threads[s.base:][:len(s.threads)])
	l.replays[s.index], l.spare = nil, append(l.spare, s)
}
