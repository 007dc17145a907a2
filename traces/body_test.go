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
