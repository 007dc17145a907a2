package traces_test

import (
	"errors"
	"reflect"
	"testing"

	"github.com/compactsim/compactsim/internal/needs"
	"github.com/compactsim/compactsim/internal/store"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
	"github.com/compactsim/compactsim/traces/synthetic"
)

// full is a shelf without room.
type full struct{}

var errFull = errors.New("no room")

func (full) Put(any) (int, error) { return 0, errFull }
func (full) Get(int, any) error   { return errFull }

// A session that was on a shelf is what it was, and its sums are told without loading it. Where there is no room it
// stays as it is.
func TestShelve(t *testing.T) {
	shelf, err := store.NewShelf(new(needs.Index))
	if err != nil {
		t.Fatal(err)
	}
	read := func(opts traces.Options) []*traces.Session {
		opts.Listener = needs.NewListener()
		c, err := agents.ReadFS(t.Context(), opts, synthetic.Samples())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c.Sessions
	}
	want, refused := read(traces.Options{}), read(traces.Options{Shelf: full{}})
	for i, s := range read(traces.Options{Shelf: shelf}) {
		w := want[i]
		if len(s.Blocks)+len(s.Threads) > 0 || s.Index != nil {
			t.Errorf("session %s is still in memory", s.ID)
		}
		if s.NumCalls() != w.NumCalls() || s.PeakInput() != w.PeakInput() || s.Usage() != w.Usage() ||
			!reflect.DeepEqual(s.ModelCalls(), w.ModelCalls()) {
			t.Errorf("session %s: %d calls, peak %d, usage %+v; want %d, %d, %+v", s.ID,
				s.NumCalls(), s.PeakInput(), s.Usage(), w.NumCalls(), w.PeakInput(), w.Usage())
		}
		whole, err := s.Load()
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(whole, w) {
			t.Errorf("session %s:\n%+v\nwant\n%+v", s.ID, whole, w)
		}
		if !reflect.DeepEqual(refused[i], w) {
			t.Errorf("session %s changed without room", s.ID)
		}
	}
	s := read(traces.Options{Shelf: shelf})[0]
	shelf.Close()
	if _, err := s.Load(); err == nil {
		t.Error("a session is loaded from a shelf that is closed")
	}
}

// A body that a store has is loaded from there; one that it has lost is read again.
func TestFromStore(t *testing.T) {
	c, err := agents.ReadFS(t.Context(), traces.Options{Listener: needs.NewListener()}, synthetic.Samples())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	kept, err := store.Open(t.TempDir(), new(needs.Index))
	if err != nil {
		t.Fatal(err)
	}
	want := c.Sessions[0]
	if err := want.Keep(kept, "body"); err != nil {
		t.Fatal(err)
	}
	head := want.Head()
	for key, lost := range map[string]bool{"body": false, "other": true} {
		again := false
		s := head.FromStore(kept, key, func() (*traces.Session, error) {
			again = true
			return want, nil
		})
		if len(s.Threads) > 0 || s.NumCalls() != want.NumCalls() || s.StoreKey() != key {
			t.Errorf("%s: %d threads, %d calls, key %q", key, len(s.Threads), s.NumCalls(), s.StoreKey())
		}
		whole, err := s.Load()
		if err != nil || !reflect.DeepEqual(whole, want) {
			t.Errorf("%s: %v:\n%+v\nwant\n%+v", key, err, whole, want)
		}
		if again != lost {
			t.Errorf("%s: read again: %v", key, again)
		}
	}
	failed := errors.New("gone")
	if _, err := head.FromStore(kept, "none", func() (*traces.Session, error) { return nil, failed }).Load(); !errors.Is(err, failed) {
		t.Errorf("error %v of a recording that is gone", err)
	}
}
