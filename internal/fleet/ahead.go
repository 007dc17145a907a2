package fleet

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/compactsim/compactsim/sim"
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
// in a core's own memory, users turn on several cores, and the result is that of one
// clock.
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

// runAhead simulates the sessions of a clock user by user on so many lanes. It
// reports whether the result stands: false when users have met in their messages.
func (r *Runner) runAhead(ctx context.Context, p *Population, j *job, prices time.Time, lanes int, ended func(sessions int)) (bool, error) {
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

// met reports whether users have met in their messages.
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
