package fleet

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/promptcache"
	"github.com/compactsim/compactsim/traces"
)

// party is a user with the sessions that stand on a clock.
type party struct {
	begin    int64 // when the first of them begins, ns on the clock
	sessions []int // by index in the population
	thread   uint32
}

// ahead simulates the sessions of a clock user by user. Users meet only in what
// stands ahead of messages: each runs ahead as long as it reads its own messages, and
// waits for all others with a request that does not. So what a user works with stays
// in a core's own memory, and the result is that of one clock.
type ahead struct {
	pop     *Population
	job     *job
	config  func(*seat) sim.Config
	epoch   int64
	models  sim.Models
	servers map[string]*metered
	parties []party
	waiting turns
	seats   []*seat // by party; nil before its turn and behind its end
	free    []*seat
	all     []*seat
	floor   int64 // everybody has come to it, ns
	sides   uint32
}

// seat simulates one party after another.
type seat struct {
	run    *ahead
	party  int32
	loop   *sim.Loop
	group  []*traces.Session
	sides  map[uint32]uint32 // the servers' names of conversations of layers
	yield  func(int64) bool
	resume func() (int64, bool)
	stop   func()
	err    error

	stopped bool
}

// over is what a seat yields, in place of a time, when its party has ended.
const over = -1

var errStopped = errors.New("stopped")

// runAhead simulates the sessions of a clock user by user. It reports whether the
// result stands: false when users have met in their messages.
func (r *Runner) runAhead(ctx context.Context, p *Population, j *job, prices time.Time) (bool, error) {
	a := newAhead(p, j)
	a.config = func(s *seat) sim.Config {
		server := func(agent string) sim.Server { return &shared{metered: a.server(agent), seat: s} }
		person := func(i int) sim.Person {
			who := j.cell.persons[a.parties[s.party].sessions[i]]
			who.User = 0 // the only one of the loop
			return who
		}
		return r.config(p, j, prices, server, person)
	}
	defer a.close()
	for n := 0; len(a.waiting) > 0; n++ {
		if n%64 == 0 && ctx.Err() != nil {
			return false, ctx.Err()
		}
		if err := a.step(); err != nil {
			return false, err
		}
		for _, s := range a.servers {
			if s.Met() {
				return false, nil
			}
		}
	}
	return true, nil
}

func newAhead(p *Population, j *job) *ahead {
	a := &ahead{pop: p, job: j, servers: map[string]*metered{}}
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
	for i := range a.parties {
		a.parties[i].begin -= a.epoch
		a.waiting.push(turn{a.parties[i].begin, int32(i)})
	}
	a.seats = make([]*seat, len(a.parties))
	return a
}

// server returns the cache that sessions of an agent share.
func (a *ahead) server(agent string) *metered {
	if a.servers[agent] == nil {
		a.servers[agent] = &metered{Anthropic: promptcache.New(a.pop.file.Server.cache()), meter: a.job.meter}
	}
	return a.servers[agent]
}

// step lets the party whose turn it is go on until it has to wait again.
func (a *ahead) step() error {
	next := a.waiting[0]
	s := a.seats[next.party]
	if s == nil {
		s = a.take(next.party)
	}
	a.floor = next.at
	at, ok := s.resume()
	if s.err != nil {
		return s.err
	}
	if ok && at != over {
		a.waiting.replace(turn{at, next.party})
		return nil
	}
	a.waiting.pop()
	for _, v := range a.servers {
		v.Leave(uint32(next.party) + 1)
	}
	a.seats[next.party] = nil
	a.free = append(a.free, s)
	return nil
}

// take gives a party a seat.
func (a *ahead) take(party int32) *seat {
	var s *seat
	if n := len(a.free); n > 0 {
		s, a.free = a.free[n-1], a.free[:n-1]
	} else {
		s = &seat{run: a, sides: map[uint32]uint32{}}
		s.loop = sim.NewPart(a.config(s), a.epoch, &a.models)
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

// close ends all that is under way.
func (a *ahead) close() {
	for _, s := range a.all {
		s.stop()
	}
}

// parties simulates the seat's party, and the next it is given whenever it is asked
// to go on.
func (s *seat) parties(yield func(int64) bool) {
	s.yield = yield
	for {
		rows, err := s.loop.RunCohort(s.group)
		if err != nil {
			s.err = err
			return
		}
		for i, k := range s.run.parties[s.party].sessions {
			s.run.job.cell.rows[k] = rows[i]
		}
		if !yield(over) {
			return
		}
	}
}

// shared is the server of a seat: the one that all share.
type shared struct {
	*metered
	seat *seat
}

// Reset does nothing: others have written there as well.
func (s *shared) Reset() {}

// Begin serves a request, when everybody has come to its time if it depends on others.
func (s *shared) Begin(t int64, r *prompt.Request) prompt.Outcome {
	own, run, party := r.Thread, s.seat.run, s.seat.party
	r.Thread = s.seat.name(own)
	defer func() { r.Thread = own }()
	s.Serve(uint32(party)+1, run.floor)
	if !s.Ahead(t, r) && !s.seat.wait(t) {
		return prompt.Outcome{}
	}
	s.Serve(uint32(party)+1, run.floor)
	return s.metered.Begin(t, r)
}

// wait returns when everybody has come to a time; false when the run has been
// stopped.
func (s *seat) wait(t int64) bool {
	if s.run.waiting.first(turn{t, s.party}) {
		s.run.floor = t
		return true
	}
	if s.stopped || !s.yield(t) {
		s.stopped = true
		s.loop.Stop(errStopped)
		return false
	}
	return true
}

// name returns the servers' name of a conversation that the loop names.
func (s *seat) name(thread uint32) uint32 {
	if thread < 1<<31 {
		return s.run.parties[s.party].thread + thread
	}
	known, ok := s.sides[thread]
	if !ok {
		s.run.sides++
		known = 1<<31 | s.run.sides
		s.sides[thread] = known
	}
	return known
}
