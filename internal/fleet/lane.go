package fleet

import (
	"context"
	"errors"
	"iter"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/promptcache"
	"github.com/compactsim/compactsim/traces"
)

// party is a user with the sessions of a clock.
type party struct {
	begin    int64 // when the first of them begins, ns on the clock
	sessions []int // by index in the population
	thread   uint32
}

// ahead simulates the sessions of a clock user by user. Users share only the cache
// entries ahead of messages: a user runs ahead as long as its requests read its own
// messages, and waits for all others with a request that does not. The data of a user
// thus stays in the cache of a core, several cores work at once, and the result is that
// of handling every event in order of time.
type ahead struct {
	pop     *Population
	job     *job
	config  func(*seat) sim.Config
	epoch   int64
	models  sim.Models
	parties []party
	lanes   []*lane
	ended   func(sessions int) // called when a party has ended, with so many; nil for nobody
	stopped atomic.Bool
}

var errStopped = errors.New("stopped")

// runAhead simulates the sessions of a clock user by user on so many lanes. It reports
// whether the result is valid: not when users have read messages of each other.
func (r *Runner) runAhead(
	ctx context.Context, p *Population, j *job, prices time.Time, lanes int, ended func(sessions int),
) (bool, error) {
	a := newAhead(p, j, lanes)
	a.ended = ended
	a.config = func(s *seat) sim.Config {
		server := func(cache traces.Cache) sim.Server {
			return &shared{metered: s.lane.server(cache), seat: s, cache: cache}
		}
		person := func(i int) sim.Person {
			who := j.cell.persons[a.parties[s.party].sessions[i]]
			who.User = 0 // the only one of the loop
			return who
		}
		return r.config(p, j, prices, server, person)
	}
	errs := make([]error, len(a.lanes))
	var wg sync.WaitGroup
	for i, l := range a.lanes {
		wg.Go(func() {
			defer l.close()
			if errs[i] = l.work(ctx); errs[i] != nil {
				a.stopped.Store(true)
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil && !errors.Is(err, errStopped) {
			return false, err
		}
	}
	if a.met() {
		return false, nil
	}
	for _, l := range a.lanes[1:] {
		a.lanes[0].meter.add(l.meter)
	}
	j.meter = a.lanes[0].meter
	return true, nil
}

func newAhead(p *Population, j *job, lanes int) *ahead {
	a := &ahead{pop: p, job: j}
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
	for i := range min(lanes, len(a.parties)) {
		a.lanes = append(a.lanes, newLane(a, i))
	}
	for i := range a.parties {
		a.parties[i].begin -= a.epoch
		a.lanes[i%len(a.lanes)].waiting.push(turn{at: a.parties[i].begin, party: int32(i)})
	}
	for i, l := range a.lanes {
		l.publish(l.next())
		l.peers = append(append(l.peers, a.lanes[:i]...), a.lanes[i+1:]...)
	}
	return a
}

// met reports whether users have read messages of each other.
func (a *ahead) met() bool {
	for i, l := range a.lanes {
		for cache, s := range l.servers {
			if s.Met() {
				return true
			}
			for _, other := range a.lanes[:i] {
				if o := other.servers[cache]; o != nil && s.Meets(o.Anthropic) {
					return true
				}
			}
		}
	}
	return false
}

// lane simulates some parties of a clock on one core, with a cache of its own. What all
// parties share is in the caches of all lanes, see promptcache.Echo.
type lane struct {
	clock   *ahead
	number  int
	peers   []*lane
	meter   *meter
	servers map[traces.Cache]*metered
	waiting turns   // parties with a request that depends on others
	lent    turns   // parties that paused for others and can go on
	seats   []*seat // by party; nil before it starts and after it ends
	free    []*seat
	all     []*seat
	sides   uint32
	safe    int64 // no party sends anything from before it, ns

	floor   atomic.Pointer[turn] // all parties of the lane have reached it
	blocked atomic.Pointer[turn] // the turn that the lane waits for all others to reach
	inbox   inbox
	sent    uint32           // echoes announced to the others
	follows map[echoID]int32 // the ticket of an echo of another lane
	mail    []message        // scratch
}

// inbox takes the messages of other lanes.
type inbox struct {
	mu       sync.Mutex
	messages []message
}

func newLane(a *ahead, number int) *lane {
	return &lane{
		clock: a, number: number, meter: newMeter(a.pop, a.job.sessions), servers: map[traces.Cache]*metered{},
		seats: make([]*seat, len(a.parties)), follows: map[echoID]int32{},
	}
}

// server returns the lane's cache for a kind.
func (l *lane) server(cache traces.Cache) *metered {
	if l.servers[cache] == nil {
		l.servers[cache] = &metered{Anthropic: promptcache.New(l.clock.pop.file.Server.cache()), meter: l.meter}
	}
	return l.servers[cache]
}

// work simulates the parties of the lane.
func (l *lane) work(ctx context.Context) error {
	for n := 0; !l.waiting.empty() || !l.lent.empty(); n++ {
		if n%64 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := l.step(ctx); err != nil {
			return err
		}
	}
	l.publish(turn{at: math.MaxInt64})
	return nil
}

// step runs the party whose turn it is until it has to wait again.
func (l *lane) step(ctx context.Context) error {
	next := l.next()
	l.publish(next)
	if !l.lent.empty() && next == l.lent.front() {
		return l.run(l.lent.pop())
	}
	if err := l.await(ctx, next); err != nil {
		return err
	}
	return l.run(l.waiting.pop())
}

// next returns the first turn of the lane, except that of the running party.
func (l *lane) next() turn {
	w, f := l.waiting.front(), l.lent.front()
	if f.before(w) {
		return f
	}
	return w
}

// run runs a party until it has to wait again.
func (l *lane) run(next turn) error {
	s := l.seats[next.party]
	if s == nil {
		s = l.take(next.party)
	}
	at, ok := s.resume()
	if s.err != nil {
		return s.err
	}
	s.sendKept(at)
	switch here := (turn{at, next.party}); {
	case !ok || at == over:
	case s.lent:
		l.lent.push(here)
		return nil
	default:
		l.waiting.push(here)
		return nil
	}
	for _, v := range l.servers {
		v.Leave(uint32(next.party) + 1)
	}
	l.seats[next.party] = nil
	l.free = append(l.free, s)
	if l.clock.ended != nil {
		l.clock.ended(len(l.clock.parties[next.party].sessions))
	}
	return nil
}

// take returns a seat for a party.
func (l *lane) take(party int32) *seat {
	var s *seat
	if n := len(l.free); n > 0 {
		s, l.free = l.free[n-1], l.free[:n-1]
	} else {
		s = &seat{lane: l, sides: map[uint32]uint32{}}
		s.loop = sim.NewPart(l.clock.config(s), l.clock.epoch, &l.clock.models)
		s.resume, s.stop = iter.Pull(s.parties)
		l.all = append(l.all, s)
	}
	s.party, s.group = party, s.group[:0]
	for _, k := range l.clock.parties[party].sessions {
		s.group = append(s.group, l.clock.pop.Sessions[k])
	}
	clear(s.sides)
	l.seats[party] = s
	return s
}

// close stops all seats.
func (l *lane) close() {
	for _, s := range l.all {
		s.stop()
	}
}
