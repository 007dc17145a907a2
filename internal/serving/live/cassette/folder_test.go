package cassette

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/compactsim/compactsim/internal/serving/live/wire"
)

// counted answers calls and counts them.
type counted struct {
	calls atomic.Int32
	give  func(n int) (*Cassette, error)
}

func (c *counted) ask(context.Context) (*Cassette, error) {
	n := int(c.calls.Add(1))
	if c.give != nil {
		return c.give(n)
	}
	return answered(Call{}), nil
}

// What each mode does about a call that is stored, and about one that is not.
func TestModes(t *testing.T) {
	for _, tt := range []struct {
		mode          Mode
		stored        int // calls made where the call is stored
		missing       int // and where it is not
		has           bool
		missingFailed bool
	}{
		{Replay, 0, 0, true, true},
		{Record, 1, 1, false, false},
		{RecordMissing, 0, 1, true, false},
	} {
		dir := t.TempDir()
		store(t, dir, Options{}, answered(nth(1)))
		f := openFolder(t, dir, tt.mode, Options{})
		if got := f.Has(nth(1)); got != tt.has {
			t.Errorf("%s: the stored call is there: %v", tt.mode, got)
		}
		for call, want := range map[int]int{1: tt.stored, 2: tt.missing} {
			var c counted
			for range 3 { // once in the life of the folder
				got, _, err := f.Do(t.Context(), nth(call), c.ask)
				if failed := call == 2 && tt.missingFailed; failed != (err != nil) || failed != errors.Is(err, ErrMissing) {
					t.Fatalf("%s, call %d: %v", tt.mode, call, err)
				} else if !failed && !cmp.Equal(got, answered(nth(call))) {
					t.Errorf("%s, call %d: %s", tt.mode, call, cmp.Diff(answered(nth(call)), got))
				}
			}
			if n := int(c.calls.Load()); n != want {
				t.Errorf("%s, call %d: made %d times, want %d", tt.mode, call, n, want)
			}
		}
		if tt.mode != Replay && (!f.Has(nth(1)) || !f.Has(nth(2))) {
			t.Errorf("%s: what was made is not there", tt.mode)
		}
	}
}

// A run that records redacted gets what a run that replays gets.
func TestRecordingIsLikeReplaying(t *testing.T) {
	dir := t.TempDir()
	for _, opts := range []Options{{}, {Redact: true}} {
		var c counted
		recorded, there, err := openFolder(t, dir, Record, opts).Do(t.Context(), nth(1), c.ask)
		if err != nil || there {
			t.Fatal(there, err)
		}
		replayed, there, err := openFolder(t, dir, Replay, Options{}).Do(t.Context(), nth(1), nil)
		if err != nil || !there {
			t.Fatal(there, err)
		}
		if diff := cmp.Diff(recorded, replayed); diff != "" || recorded.Texts == opts.Redact {
			t.Errorf("redact %v: %s", opts.Redact, diff)
		}
	}
}

// Failures that may pass are tried again when what is missing is recorded, once;
// others are answers. One that every call meets ends the run and is not kept.
func TestFailures(t *testing.T) {
	dir := t.TempDir()
	store(t, dir, Options{}, refused(nth(1), wire.CauseNetwork), refused(nth(2), wire.CauseTooLong))
	f := openFolder(t, dir, RecordMissing, Options{})
	again := counted{give: func(int) (*Cassette, error) { return refused(Call{}, wire.CauseNetwork), nil }}
	for range 2 {
		if _, _, err := f.Do(t.Context(), nth(1), again.ask); err != nil {
			t.Error(err)
		}
	}
	if n := again.calls.Load(); n != 1 {
		t.Errorf("a call that failed on the network was made %d times, want 1", n)
	}
	if c, there, err := f.Do(t.Context(), nth(2), nil); err != nil || !there || c.Failure.Cause != wire.CauseTooLong {
		t.Errorf("%+v, %v, %v", c, there, err)
	}
	if c, _, err := openFolder(t, dir, Replay, Options{}).Do(t.Context(), nth(1), nil); err != nil || c.Failure.Cause != wire.CauseNetwork {
		t.Errorf("replayed: %+v, %v", c, err)
	}
	fatal := counted{give: func(int) (*Cassette, error) { return refused(Call{}, wire.CauseAuth), nil }}
	_, _, err := f.Do(t.Context(), nth(3), fatal.ask)
	var why *wire.Failure
	if !errors.As(err, &why) || why.Cause != wire.CauseAuth || f.Has(nth(3)) {
		t.Errorf("%v; stored: %v", err, f.Has(nth(3)))
	}
	nothing := counted{give: func(int) (*Cassette, error) { return nil, nil }}
	_, _, err = f.Do(t.Context(), nth(4), nothing.ask)
	wantError(t, "no cassette", err, "came to nothing")
	stored := func(f *Folder, c *Cassette) error { _, err := f.store(c); return err }
	wantError(t, "a fatal failure", stored(f, refused(nth(5), wire.CauseModel)), "every call meets")
	wantError(t, "neither", stored(f, &Cassette{Call: nth(5)}), "either a reply or a failure")
	wantError(t, "negative", stored(f, &Cassette{Call: nth(5), Reply: &wire.Reply{Usage: wire.Usage{Read: -1}}}), "negative")
	wantError(t, "replayed", stored(openFolder(t, dir, Replay, Options{}), answered(nth(1))), "opened to replay")
}

// However many want a call, it is made once, and all get the same.
func TestCallsAreMadeOnce(t *testing.T) {
	f := openFolder(t, t.TempDir(), RecordMissing, Options{})
	var asked [4]counted
	var wg sync.WaitGroup
	for i := range 64 {
		n := i % len(asked)
		asked[n].give = func(int) (*Cassette, error) {
			time.Sleep(time.Millisecond)
			return answered(Call{}), nil
		}
	}
	for i := range 64 {
		wg.Go(func() {
			n := i % len(asked)
			got, _, err := f.Do(t.Context(), nth(n), asked[n].ask)
			if err != nil || got.Call.Number != int32(n) {
				t.Errorf("call %d: %+v, %v", n, got, err)
			}
			f.Has(nth(n))
		})
	}
	wg.Wait()
	for n := range asked {
		if got := asked[n].calls.Load(); got != 1 {
			t.Errorf("call %d was made %d times", n, got)
		}
	}
}

// When the one that makes a call is told to stop, another that waits for it makes
// it; one that waits can stop.
func TestWaiting(t *testing.T) {
	f := openFolder(t, t.TempDir(), RecordMissing, Options{})
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() {
			_, _, err := f.Do(ctx, nth(1), func(ctx context.Context) (*Cassette, error) {
				<-ctx.Done()
				return nil, fmt.Errorf("asking: %w", ctx.Err())
			})
			if !errors.Is(err, context.Canceled) {
				t.Errorf("the first: %v", err)
			}
		})
		synctest.Wait()
		var left atomic.Bool
		stopped, stop := context.WithCancel(t.Context())
		wg.Go(func() {
			if _, _, err := f.Do(stopped, nth(1), nil); !errors.Is(err, context.Canceled) {
				t.Errorf("one that stops waiting: %v", err)
			}
			left.Store(true)
		})
		var second counted
		wg.Go(func() {
			if _, _, err := f.Do(t.Context(), nth(1), second.ask); err != nil {
				t.Errorf("the second: %v", err)
			}
		})
		synctest.Wait()
		stop()
		synctest.Wait()
		if !left.Load() {
			t.Error("one that stops waiting goes on waiting")
		}
		cancel()
		wg.Wait()
		if second.calls.Load() != 1 {
			t.Errorf("the second made %d calls, want 1", second.calls.Load())
		}
	})
}

// A call that fails, or panics, is no call: the next who wants it makes it.
func TestFailedCallsAreForgotten(t *testing.T) {
	f := openFolder(t, t.TempDir(), RecordMissing, Options{})
	bad := counted{give: func(int) (*Cassette, error) { return nil, errors.New("out of money") }}
	for range 2 {
		_, _, err := f.Do(t.Context(), nth(2), bad.ask)
		wantError(t, "a call that cannot be made", err, "out of money")
	}
	func() {
		defer func() { _ = recover() }()
		_, _, _ = f.Do(t.Context(), nth(3), func(context.Context) (*Cassette, error) { panic("bug") })
	}()
	var again counted
	if _, _, err := f.Do(t.Context(), nth(3), again.ask); err != nil {
		t.Errorf("after a panic: %v", err)
	}
}

// A write that was broken off leaves the old cassette, and what it left behind is
// passed over.
func TestLeftovers(t *testing.T) {
	dir := t.TempDir()
	store(t, dir, Options{}, answered(nth(1)))
	for _, name := range []string{"." + nth(1).name() + "-123.tmp", "." + nth(2).name() + ".json", "notes.txt"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(`{"version":1,`), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f := openFolder(t, dir, Replay, Options{})
	if got, err := f.load(nth(1)); err != nil || !cmp.Equal(got, answered(nth(1))) {
		t.Errorf("%+v, %v", got, err)
	}
	_, err := f.load(nth(2))
	wantError(t, "half a cassette", err, ErrMissing.Error())
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 4 {
		t.Errorf("%v, %v: storing left something behind", entries, err)
	}
}

func (c Call) name() string { return c.Key().String() }

func TestOpen(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	_, err := Open(dir, Replay, Options{})
	wantError(t, "no folder", err, "there is no folder "+dir)
	if _, err := Open(dir, Record, Options{}); err != nil {
		t.Errorf("a folder to record to is not made: %v", err)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = Open(file, Replay, Options{})
	wantError(t, "a file", err, "is no folder")
}

// Has says of a call what Do does about it: whether it is made, and paid for.
func TestHasForetellsDo(t *testing.T) {
	stored := []*Cassette{answered(nth(1)), refused(nth(2), wire.CauseOverloaded), refused(nth(3), wire.CauseTooLong)}
	for _, mode := range []Mode{Record, RecordMissing} {
		dir := t.TempDir()
		store(t, dir, Options{}, stored...)
		f := openFolder(t, dir, mode, Options{})
		for n := 1; n <= 4; n++ {
			for range 2 { // what was made once is there
				c := counted{give: func(int) (*Cassette, error) { return refused(Call{}, wire.CauseOverloaded), nil }}
				has := f.Has(nth(n))
				if _, _, err := f.Do(t.Context(), nth(n), c.ask); err != nil {
					t.Fatal(err)
				}
				if made := c.calls.Load() > 0; made == has {
					t.Errorf("%s, call %d: there %v, made %v", mode, n, has, made)
				}
			}
		}
	}
	dir := t.TempDir()
	store(t, dir, Options{}, stored...)
	f := openFolder(t, dir, Replay, Options{})
	if !f.Has(nth(2)) || f.Has(nth(4)) {
		t.Error("to replay, what is stored is there")
	}
}

// Tags and titles stay in whatever case a model writes them.
func TestMarksInAnyCase(t *testing.T) {
	text := "<Analysis>" + canary + "</ANALYSIS>\n<Summary>\n1. PRIMARY request: " + canary + "İ\n</summary>"
	b := newBlur()
	parts := b.withhold(text, []string{"1. Primary Request"})
	got, err := refill(parts)
	if err != nil || len(got) < len(text) || strings.Contains(got, canary) {
		t.Fatalf("%q, %v", got, err)
	}
	for _, mark := range []string{"<Analysis>", "</ANALYSIS>\n<Summary>\n1. PRIMARY request", "\n</summary>"} {
		if !strings.Contains(got, mark) {
			t.Errorf("%q lacks %q", got, mark)
		}
	}
}
