package fleet

import (
	"context"
	"runtime"
	"slices"
	"time"

	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/promptcache"
	"github.com/compactsim/compactsim/traces"
)

// seat simulates the parties of a lane, one after another.
type seat struct {
	lane   *lane
	party  int32
	loop   *sim.Loop
	group  []*traces.Session
	sides  map[uint32]uint32 // the servers' names of conversations of layers
	yield  func(int64) bool
	resume func() (int64, bool)
	stop   func()
	err    error
	kept   kept // not sent to the other lanes yet
	flying []flying

	lent    bool // the seat yielded only to let others catch up
	stopped bool
}

// kept is what a party has kept alive ahead of messages, and when last.
type kept struct {
	cache traces.Cache
	head  promptcache.Kept
	at    int64 // ns
}

// flying is a request in flight that ran ahead: it keeps what it read alive until it
// ends.
type flying struct {
	cache  traces.Cache
	ticket int32
	head   promptcache.Kept
}

// over is what a seat yields, in place of a time, when its party has ended.
const over = -1

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
		for i, k := range s.lane.clock.parties[s.party].sessions {
			s.lane.clock.job.cell.rows[k] = rows[i]
		}
		if !yield(over) {
			return
		}
	}
}

// shared is the lane's server as one seat sees it.
type shared struct {
	*metered
	seat  *seat
	cache traces.Cache
	told  []uint32 // by ticket: the number of its echo, 0 for none
}

// Reset does nothing: the cache holds entries of other parties.
func (s *shared) Reset() {}

// Begin serves a request. One that depends on other parties waits until all of them
// have reached its time.
func (s *shared) Begin(t int64, r *prompt.Request) prompt.Outcome {
	own, l, party := r.Thread, s.seat.lane, uint32(s.seat.party)+1
	r.Thread = s.seat.name(own)
	if r.Last {
		delete(s.seat.sides, own)
	}
	defer func() { r.Thread = own }()
	s.Serve(party, l.safe)
	ahead := s.Ahead(t, r)
	if ahead && !s.seat.lend(t) || !ahead && !s.seat.wait(t) {
		return prompt.Outcome{}
	}
	s.Serve(party, l.safe)
	out := s.metered.Begin(t, r)
	if len(l.peers) > 0 {
		s.announce(t, out.Ticket, ahead)
	}
	return out
}

// FirstToken tells the cache that a response has begun.
func (s *shared) FirstToken(t int64, ticket int32) {
	s.metered.FirstToken(t, ticket)
	if l := s.seat.lane; len(l.peers) > 0 && s.told[ticket] > 0 {
		l.send(message{kind: messageFirst, cache: s.cache, id: echoID{l.number, s.told[ticket]}, at: t})
	}
}

// End ends a request.
func (s *shared) End(t int64, ticket int32, output int64) {
	s.metered.End(t, ticket, output)
	l := s.seat.lane
	switch {
	case len(l.peers) == 0:
	case s.told[ticket] > 0:
		l.send(message{kind: messageEnd, cache: s.cache, id: echoID{l.number, s.told[ticket]}, at: t})
	default:
		s.seat.landed(s.cache, ticket, t)
	}
}

// announce sends the other lanes what the last request did to entries ahead of messages.
func (s *shared) announce(t int64, ticket int32, ahead bool) {
	for int(ticket) >= len(s.told) {
		s.told = append(s.told, 0)
	}
	if ahead {
		s.told[ticket] = 0
		head := s.Kept()
		s.seat.flying = append(s.seat.flying, flying{s.cache, ticket, head})
		s.seat.keep(kept{s.cache, head, t})
		return
	}
	l := s.seat.lane
	l.sent++
	s.told[ticket] = l.sent
	echo := s.Echo(ticket)
	l.send(message{kind: messageBegin, cache: s.cache, id: echoID{l.number, l.sent}, at: t, echo: &echo})
}

// keep records what the party has kept alive, to be sent later.
func (s *seat) keep(k kept) {
	if s.kept.cache == k.cache && s.kept.head == k.head {
		s.kept.at = max(s.kept.at, k.at)
		return
	}
	s.sendLast()
	s.kept = k
}

// landed records that a request that ran ahead ended at t.
func (s *seat) landed(cache traces.Cache, ticket int32, t int64) {
	i := slices.IndexFunc(s.flying, func(f flying) bool { return f.ticket == ticket && f.cache == cache })
	s.keep(kept{cache, s.flying[i].head, t})
	s.flying = slices.Delete(s.flying, i, i+1)
}

// sendKept sends the other lanes what the party has kept alive until t.
func (s *seat) sendKept(t int64) {
	s.sendLast()
	for _, f := range s.flying {
		s.lane.send(message{kind: messageKept, cache: f.cache, at: t, head: f.head})
	}
}

func (s *seat) sendLast() {
	if s.kept != (kept{}) {
		s.lane.send(message{kind: messageKept, cache: s.kept.cache, at: s.kept.at, head: s.kept.head})
		s.kept = kept{}
	}
}

// wait returns when all parties have reached a time; false when the run was stopped.
func (s *seat) wait(t int64) bool {
	here := turn{t, s.party}
	if l := s.lane; here.before(l.next()) && l.othersPast(here) {
		s.sendKept(t)
		l.publish(here)
		l.receive(here.at)
		return true
	}
	s.lent = false
	return s.pause(t)
}

// lend lets other parties go on if another lane waits for them; false when the run was
// stopped.
func (s *seat) lend(t int64) bool {
	if s.stopped || !s.lane.pressed(s, turn{t, s.party}) {
		return !s.stopped
	}
	s.lent = true
	return s.pause(t)
}

func (s *seat) pause(t int64) bool {
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
		return s.lane.clock.parties[s.party].thread + thread
	}
	known, ok := s.sides[thread]
	if !ok {
		s.lane.sides++
		known = 1<<31 | s.lane.sides
		s.sides[thread] = known
	}
	return known
}

// echoID identifies a request that a lane announced to the others.
type echoID struct {
	lane   int
	number uint32
}

// message is what a lane sends to the others.
type message struct {
	kind  messageKind
	cache traces.Cache
	id    echoID
	at    int64             // ns
	echo  *promptcache.Echo // of a request that begins
	head  promptcache.Kept  // of what has been kept alive
}

type messageKind uint8

const (
	messageKept messageKind = iota
	messageBegin
	messageFirst
	messageEnd
)

// send puts a message into the inbox of every other lane.
func (l *lane) send(v message) {
	for _, p := range l.peers {
		p.inbox.mu.Lock()
		p.inbox.messages = append(p.inbox.messages, v)
		p.inbox.mu.Unlock()
	}
}

// receive applies the messages of the other lanes once all have reached a time.
func (l *lane) receive(at int64) {
	l.safe = at
	if len(l.peers) == 0 {
		return
	}
	l.inbox.mu.Lock()
	l.mail, l.inbox.messages = l.inbox.messages, l.mail[:0]
	l.inbox.mu.Unlock()
	for i := range l.mail {
		v := &l.mail[i]
		cache := l.server(v.cache).Anthropic
		switch v.kind {
		case messageKept:
			cache.Keep(v.at, v.head)
		case messageBegin:
			l.follows[v.id] = cache.Follow(v.at, v.echo)
		case messageFirst:
			cache.FirstToken(v.at, l.follows[v.id])
		case messageEnd:
			cache.End(v.at, l.follows[v.id], 0)
			delete(l.follows, v.id)
		}
	}
}

// publish declares that all parties of the lane have reached a turn and that messages
// about what came before are sent.
func (l *lane) publish(v turn) {
	if len(l.clock.lanes) > 1 || l.floor.Load() == nil {
		l.floor.Store(&v)
	}
}

// othersPast reports whether the parties of all other lanes have passed a turn.
func (l *lane) othersPast(v turn) bool {
	for _, p := range l.peers {
		if !v.before(*p.floor.Load()) {
			return false
		}
	}
	return true
}

// await returns when the parties of all other lanes have passed a turn of this one and
// their messages are applied. Meanwhile it runs parties that need not wait.
func (l *lane) await(ctx context.Context, v turn) error {
	if !l.othersPast(v) {
		l.blocked.Store(&v)
		defer l.blocked.Store(nil)
		for n := 0; !l.othersPast(v); n++ {
			if l.clock.stopped.Load() {
				return errStopped
			}
			var err error
			if !l.lent.empty() {
				err = l.run(l.lent.pop())
			} else {
				err = rest(ctx, n)
			}
			if err != nil {
				return err
			}
		}
	}
	l.receive(v.at)
	return nil
}

// rest spins, yields or sleeps, by how often it was called in a row: another lane mostly
// needs no longer than a few calls.
func rest(ctx context.Context, n int) error {
	switch {
	case n < 200:
	case n < 2000:
		runtime.Gosched()
	default:
		time.Sleep(20 * time.Microsecond)
		return ctx.Err()
	}
	return nil
}

// pressed reports whether the running party, now at a turn, should pause: another lane
// waits for a party ahead of it, or the party that waited for other lanes can go on.
func (l *lane) pressed(s *seat, here turn) bool {
	if v := l.blocked.Load(); v != nil {
		return l.othersPast(*v)
	}
	next, lend := l.next(), false
	for _, p := range l.peers {
		wanted := p.blocked.Load()
		if wanted == nil || wanted.before(*l.floor.Load()) {
			continue
		}
		least := here
		if next.before(here) {
			least = next
		}
		s.sendKept(here.at)
		l.publish(least)
		lend = lend || next.before(*wanted) && wanted.before(here)
	}
	return lend
}
