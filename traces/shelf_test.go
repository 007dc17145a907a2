package traces_test

import (
	"errors"
	"reflect"
	"testing"

	"github.com/compactsim/compactsim/internal/needs"
	"github.com/compactsim/compactsim/internal/store"
	"github.com/compactsim/compactsim/sim/prompt"
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

// A body that a store has is loaded from there; one of another state of the recordings, or none, is read again and kept.
func TestKept(t *testing.T) {
	c, err := agents.ReadFS(t.Context(), traces.Options{Listener: needs.NewListener()}, synthetic.Samples())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	kept, err := store.Open(t.TempDir(), new(needs.Index))
	if err != nil {
		t.Fatal(err)
	}
	want, old, now := c.Sessions[0], prompt.Digest{Lo: 1}, prompt.Digest{Lo: 2}
	if err := want.Keep(kept, "body", old); err != nil {
		t.Fatal(err)
	}
	head := want.Head()
	for _, test := range []struct {
		key   string
		of    prompt.Digest
		again int
	}{{"body", old, 0}, {"body", now, 1}, {"body", now, 0}, {"other", now, 1}, {"other", now, 0}} {
		again := 0
		s := head.Kept(kept, test.key, test.of, func() (*traces.Session, error) {
			again++
			return want, nil
		})
		if len(s.Threads) > 0 || s.NumCalls() != want.NumCalls() || s.Kept() == "" {
			t.Errorf("%+v: %d threads, %d calls, kept as %q", test, len(s.Threads), s.NumCalls(), s.Kept())
		}
		whole, err := s.Load()
		if err != nil || !reflect.DeepEqual(whole, want) {
			t.Errorf("%+v: %v:\n%+v\nwant\n%+v", test, err, whole, want)
		}
		if again != test.again {
			t.Errorf("%+v: read again %d times", test, again)
		}
	}
	failed := errors.New("gone")
	if _, err := head.Kept(kept, "none", now, func() (*traces.Session, error) { return nil, failed }).Load(); !errors.Is(err, failed) {
		t.Errorf("error %v of a recording that is gone", err)
	}
}
