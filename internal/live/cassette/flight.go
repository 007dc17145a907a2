package cassette

import (
	"context"
	"errors"
	"fmt"
)

// flight is a call under way, for which others wait.
type flight struct {
	done chan struct{}
	c    *Cassette
	err  error
}

// errPanicked is what those get who wait for a call whose maker panicked.
var errPanicked = errors.New("the call that was waited for panicked")

// Do returns the cassette of a call, and true when it was there already; else,
// unless the folder is only replayed, ask makes it, and what that returns is
// stored: whatever was paid for is on disk when Do returns. Of several that want
// a call at once one asks and the others get the same. The Call of what ask
// returns is set to call; the cassette that Do returns is what a replay gives,
// with filler for texts that are withheld.
//
// What ask returns an error for is not stored, nor is a failure that every call
// would meet, which is the error then.
func (f *Folder) Do(ctx context.Context, call Call, ask func(context.Context) (*Cassette, error)) (*Cassette, bool, error) {
	k := call.Key()
	for {
		own, other := f.board(k)
		if other == nil {
			return f.fly(ctx, own, call, ask)
		}
		select {
		case <-other.done:
		case <-ctx.Done():
			return nil, false, ctx.Err()
		}
		switch {
		case other.err == nil:
			return other.c, true, nil
		case interrupted(other.err) && ctx.Err() == nil:
			continue // only the other was told to stop
		}
		return nil, false, other.err
	}
}

func interrupted(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// board returns a flight of one's own, or another's under way.
func (f *Folder) board(k Key) (own, other *flight) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if other := f.flights[k]; other != nil {
		return nil, other
	}
	own = &flight{done: make(chan struct{}), err: errPanicked}
	f.flights[k] = own
	return own, nil
}

// fly does what one flight is for and tells those who wait.
func (f *Folder) fly(ctx context.Context, own *flight, call Call, ask func(context.Context) (*Cassette, error)) (c *Cassette, there bool, err error) {
	defer func() {
		f.mu.Lock()
		delete(f.flights, call.Key())
		f.mu.Unlock()
		close(own.done)
	}()
	c, err = f.there(call)
	if there = c != nil; !there && err == nil {
		c, err = f.record(ctx, call, ask)
	}
	own.c, own.err = c, err
	return c, there, err
}

// there returns the cassette that answers a call in the folder's mode, nil for
// one that is to be made.
func (f *Folder) there(call Call) (*Cassette, error) {
	made := f.madeHere(call.Key())
	switch f.mode {
	case Replay:
		return f.Load(call)
	case Record:
		if !made {
			return nil, nil
		}
	}
	c, err := f.find(call)
	if err == nil && c != nil && f.again(c, made) {
		return nil, nil
	}
	return c, err
}

// record has a call made and stores it.
func (f *Folder) record(ctx context.Context, call Call, ask func(context.Context) (*Cassette, error)) (*Cassette, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c, err := ask(ctx)
	if err != nil {
		return nil, err
	}
	if c == nil {
		return nil, fmt.Errorf("call %s of session %s came to nothing", call.Key(), call.Session)
	}
	if c.Failure != nil && c.Failure.Fatal() {
		return nil, c.Failure
	}
	made := *c
	made.Call = call
	return f.store(&made)
}
