package fleet

import (
	"container/heap"
	"context"
	"errors"
	"iter"
	"time"

	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/promptcache"
	"github.com/compactsim/compactsim/traces"
)

// party is a user with the sessions of a clock.
type party struct {
	begin    int64 // start of the first of them, ns on the clock
	sessions []int // by index in the population
	thread   uint32
}

// ahead simulates the sessions of a clock user by user. Users share only the
// cache entries before messages: a user runs ahead as long as its requests read
// its own messages, and waits for all others at a request that does not. A
// user's data thus stays in the cache of a core, and the result is that of
// handling every event in order of time.
type ahead struct {
	pop     *Population
	job     *job
	config  func(*seat) sim.Config
	epoch   int64
	parties []party
	ended   func(sessions int) // called with the number of sessions when a party has ended; may be nil
	meter   *meter
	servers map[traces.Cache]*metered
	waiting turns   // parties that have not begun, or whose next request depends on others
	seats   []*seat // by party; nil before it starts and after it ends
	free    []*seat
	all     []*seat
	sides   uint32
	safe    int64 // no party sends anything from before this time, ns
}

var errStopped = errors.New("stopped")

// runAhead simulates the sessions of a clock user by user. It reports whether
// the result is valid: it is not if users have read each other's messages.
func (r *Runner) runAhead(
	ctx context.Context, p *Population, j *job, prices time.Time, ended func(sessions int),
) (bool, error) {
	a := newAhead(p, j)
	a.ended = ended
	a.config = func(s *seat) sim.Config {
		server := func(cache traces.Cache) sim.Server { return &shared{metered: a.server(cache), seat: s} }
		person := func(i int) sim.Person {
			who := j.cell.persons[a.parties[s.party].sessions[i]]
			who.User = 0 // the only one of the loop
			return who
		}
		return r.config(p, j, prices, server, person)
	}
	defer func() {
		for _, s := range a.all {
			s.stop()
		}
	}()
	for n := 0; len(a.waiting) > 0; n++ {
		if n%64 == 0 && ctx.Err() != nil {
			return false, ctx.Err()
		}
		next := heap.Pop(&a.waiting).(turn)
		a.safe = next.at
		if err := a.run(next); err != nil {
			return false, err
		}
	}
	for _, s := range a.servers {
		if s.Met() {
			return false, nil
		}
	}
	j.meter = a.meter
	return true, nil
}

func newAhead(p *Population, j *job) *ahead {
	a := &ahead{pop: p, job: j, meter: newMeter(p, j.sessions), servers: map[traces.Cache]*metered{}}
	a.epoch = p.Sessions[j.sessions[0]].Start
	thread, last := uint32(0), int32(-1)
	for _, k := range j.sessions {
		s := p.Sessions[k]
		a.epoch = min(a.epoch, s.Start)
		if p.of[k].user != last {
			last = p.of[k].user
			a.parties = append(a.parties, party{begin: s.Start, thread: thread})
		}
		v := &a.parties[len(a.parties)-1]
		v.begin = min(v.begin, s.Start)
		v.sessions = append(v.sessions, k)
		thread += uint32(len(s.Threads))
	}
	a.seats = make([]*seat, len(a.parties))
	for i := range a.parties {
		a.parties[i].begin -= a.epoch
		heap.Push(&a.waiting, turn{at: a.parties[i].begin, party: int32(i)})
	}
	return a
}

// server returns the cache of a kind, which all parties share.
func (a *ahead) server(cache traces.Cache) *metered {
	if a.servers[cache] == nil {
		a.servers[cache] = &metered{Anthropic: promptcache.New(a.pop.file.Server.cache()), meter: a.meter}
	}
	return a.servers[cache]
}

// run runs a party until it must wait again or has ended.
func (a *ahead) run(next turn) error {
	s := a.seats[next.party]
	if s == nil {
		s = a.take(next.party)
	}
	at, ok := s.resume()
	if s.err != nil {
		return s.err
	}
	if ok && at != over {
		heap.Push(&a.waiting, turn{at, next.party})
		return nil
	}
	for _, v := range a.servers {
		v.Leave(uint32(next.party) + 1)
	}
	a.seats[next.party] = nil
	a.free = append(a.free, s)
	if a.ended != nil {
		a.ended(len(a.parties[next.party].sessions))
	}
	return nil
}

// take returns a seat for a party.
func (a *ahead) take(party int32) *seat {
	var s *seat
	if n := len(a.free); n > 0 {
		s, a.free = a.free[n-1], a.free[:n-1]
	} else {
		s = &seat{clock: a, sides: map[uint32]uint32{}}
		var other *sim.Loop
		if len(a.all) > 0 {
			other = a.all[0].loop
		}
		s.loop = sim.NewPart(a.config(s), a.epoch, other)
		s.resume, s.stop = iter.Pull(s.parties)
		a.all = append(a.all, s)
	}
	s.party, s.group = party, s.group[:0]
	for _, k := range a.parties[party].sessions {
		s.group = append(s.group, a.pop.Sessions[k])
	}
	clear(s.sides)
	a.seats[party] = s
	return s
}

// seat simulates parties, one after another.
type seat struct {
	clock  *ahead
	party  int32
	loop   *sim.Loop
	group  []*traces.Session
	sides  map[uint32]uint32 // the servers' names of conversations of layers
	yield  func(int64) bool
	resume func() (int64, bool)
	stop   func()
	err    error

	stopped bool // nobody resumes the seat any more
}

// over is what a seat yields instead of a time when its party has ended.
const over = -1

// parties simulates the seat's party, and then the next one it is given
// whenever it is resumed.
func (s *seat) parties(yield func(int64) bool) {
	s.yield = yield
	for {
		rows, err := s.loop.RunCohort(s.group)
		if err != nil {
			s.err = err
			return
		}
		for i, k := range s.clock.parties[s.party].sessions {
			s.clock.job.cell.rows[k] = rows[i]
		}
		if !yield(over) {
			return
		}
	}
}

// shared is a server as seen by one seat.
type shared struct {
	*metered
	seat *seat
}

// Reset does nothing: the cache holds entries of other parties.
func (s *shared) Reset() {}

// Begin serves a request. One that depends on other parties waits until all of them
// have reached its time.
func (s *shared) Begin(t int64, r *prompt.Request) prompt.Outcome {
	own, party := r.Thread, uint32(s.seat.party)+1
	r.Thread = s.seat.name(own)
	if r.Last {
		delete(s.seat.sides, own)
	}
	defer func() { r.Thread = own }()
	s.Serve(party, s.seat.clock.safe)
	if !s.Ahead(t, r) && !s.seat.wait(t) {
		return prompt.Outcome{}
	}
	s.Serve(party, s.seat.clock.safe)
	return s.metered.Begin(t, r)
}

// wait returns when all parties have reached a time; false if the run was stopped.
func (s *seat) wait(t int64) bool {
	a := s.clock
	if here := (turn{t, s.party}); len(a.waiting) == 0 || here.before(a.waiting[0]) {
		a.safe = t
		return true
	}
	if s.stopped || !s.yield(t) {
		s.stopped = true
		s.loop.Stop(errStopped)
		return false
	}
	return true
}

// name returns the number under which the servers know a conversation of the loop.
func (s *seat) name(thread uint32) uint32 {
	if thread < 1<<31 {
		return s.clock.parties[s.party].thread + thread
	}
	known, ok := s.sides[thread]
	if !ok {
		s.clock.sides++
		known = 1<<31 | s.clock.sides
		s.sides[thread] = known
	}
	return known
}
