package traces_test

import (
	"errors"
	"reflect"
	"testing"

	"github.com/compactsim/compactsim/sim/needs"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
	"github.com/compactsim/compactsim/traces/store"
	"github.com/compactsim/compactsim/traces/synthetic"
)

// A body that a store has is loaded from there; one that it has lost is read again. What is asked of every session is
// told without it. A body of another session is read again, too.
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
	if !want.Keep(kept, "body") {
		t.Fatal("the body is not kept")
	}
	if !c.Sessions[1].Keep(kept, "another's") {
		t.Fatal("the body is not kept")
	}
	head := want.Head()
	for key, lost := range map[string]bool{"body": false, "other": true, "another's": true} {
		again := false
		s := head.FromStore(kept, key, func() (*traces.Session, error) {
			again = true
			return want, nil
		})
		if len(s.Blocks)+len(s.Threads) > 0 || s.Index != nil || s.StoreKey() != key {
			t.Errorf("%s: %d blocks, %d threads, key %q", key, len(s.Blocks), len(s.Threads), s.StoreKey())
		}
		if s.NumCalls() != want.NumCalls() || s.PeakInput() != want.PeakInput() || s.Usage() != want.Usage() ||
			!reflect.DeepEqual(s.ModelCalls(), want.ModelCalls()) || !reflect.DeepEqual(s.Head(), head) {
			t.Errorf("%s: %d calls, peak %d, usage %+v; want %d, %d, %+v", key,
				s.NumCalls(), s.PeakInput(), s.Usage(), want.NumCalls(), want.PeakInput(), want.Usage())
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

// counting is a store that counts what is asked of it.
type counting struct {
	traces.Store
	gets int
}

func (c *counting) Get(key string, v any) bool {
	c.gets++
	return c.Store.Get(key, v)
}

// A body that is loaded a second time stays in memory where a corpus has room for it: of four times, the store is asked twice. Without
// a corpus it is asked each time. Room is for 16,384 calls of all sessions.
func TestLoadedAgain(t *testing.T) {
	c, err := agents.ReadFS(t.Context(), traces.Options{}, synthetic.Samples())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	open, err := store.Open(t.TempDir(), new(needs.Index))
	if err != nil {
		t.Fatal(err)
	}
	kept := &counting{Store: open}
	want := c.Sessions[0]
	if !want.Keep(kept, "body") {
		t.Fatal("the body is not kept")
	}
	lost := func() (*traces.Session, error) { return nil, errors.New("lost") }
	head := want.Head()
	load := func(sessions ...*traces.Session) int {
		kept.gets = 0
		for range 4 {
			for _, s := range sessions {
				if whole, err := s.Load(); err != nil || !reflect.DeepEqual(whole.Blocks, want.Blocks) {
					t.Fatalf("%v, or another body", err)
				}
			}
		}
		return kept.gets
	}
	s := head.FromStore(kept, "body", lost)
	if n := load(s); n != 4 {
		t.Errorf("a body that no corpus holds was read %d times, want 4", n)
	}
	s = head.FromStore(kept, "body", lost)
	(&traces.Corpus{Sessions: []*traces.Session{s}}).Keep(kept, nil)
	if n := load(s); n != 2 {
		t.Errorf("a body was read %d times, want 2", n)
	}
	many := &traces.Corpus{}
	for range 2*16384/want.NumCalls() + 1 {
		many.Sessions = append(many.Sessions, head.FromStore(kept, "body", lost))
	}
	many.Keep(kept, nil)
	in := 16384 / want.NumCalls()
	if n, all := load(many.Sessions...), len(many.Sessions); n != 2*in+4*(all-in) {
		t.Errorf("%d bodies were read %d times, want %d of them twice", all, n, in)
	}
}
