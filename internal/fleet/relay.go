package fleet

import (
	"context"
	"runtime"
	"time"

	"github.com/compactsim/compactsim/sim/promptcache"
	"github.com/compactsim/compactsim/traces"
)

// echoID names a request that a lane has told the others of.
type echoID struct {
	lane   int
	number uint32
}

// letter is what a lane tells the others.
type letter struct {
	kind  letterKind
	cache traces.Cache
	id    echoID
	at    int64             // ns
	echo  *promptcache.Echo // of a request that begins
	head  promptcache.Kept  // of what has been kept alive
}

type letterKind uint8

const (
	letterKept letterKind = iota
	letterBegin
	letterFirst
	letterEnd
)

// tell tells all other lanes.
func (l *lane) tell(v letter) {
	for _, p := range l.peers {
		p.inbox.mu.Lock()
		p.inbox.letters = append(p.inbox.letters, v)
		p.inbox.mu.Unlock()
	}
}

// read does what the others have told, when all have come to a time.
func (l *lane) read(at int64) {
	l.safe = at
	if len(l.peers) == 0 {
		return
	}
	l.inbox.mu.Lock()
	l.mail, l.inbox.letters = l.inbox.letters, l.mail[:0]
	l.inbox.mu.Unlock()
	for i := range l.mail {
		v := &l.mail[i]
		cache := l.server(v.cache).Anthropic
		switch v.kind {
		case letterKept:
			cache.Keep(v.at, v.head)
		case letterBegin:
			l.follows[v.id] = cache.Follow(v.at, v.echo)
		case letterFirst:
			cache.FirstToken(v.at, l.follows[v.id])
		case letterEnd:
			cache.End(v.at, l.follows[v.id], 0)
			delete(l.follows, v.id)
		}
	}
}

// publish says that all parties of the lane have come to a turn, and that the others
// have been told what came before.
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

// await returns when the parties of all other lanes have passed a turn of this one,
// with what they have told done. Until then those go on that can.
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
	l.read(v.at)
	return nil
}

// rest lets some time pass, the longer the more often it has been asked: another
// lane most often takes no longer than a few calls.
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

// pressed reports whether the running party, which has come to a turn, should let
// others go on: those ahead of it that another lane waits for, or the one that had to
// wait for other lanes and need not any more.
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
		s.tellAll(here.at)
		l.publish(least)
		lend = lend || next.before(*wanted) && wanted.before(here)
	}
	return lend
}
