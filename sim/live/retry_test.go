package live

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/compactsim/compactsim/internal/kit/draws"
	"github.com/compactsim/compactsim/sim/prompt"
)

// Each fault that may pass is survived: the summary comes with the attempt after
// it, and nothing that was answered is asked again.
func TestRetrySurvives(t *testing.T) {
	for _, fault := range []string{"429", "429:1", "500", "502", "503", "529", "reset", "cut", "error-answer", "stall", "loris"} {
		s := startServer(t, fault+"@1,2,4")
		for name, b := range both(t, s.URL, timeoutOf(fault)) {
			var c sleeps
			r := retrying(t, b, 4, c.sleep)
			before, had := s.Count()
			reply, err := r.Do(context.Background(), dialogue())
			if err != nil {
				t.Errorf("%s from %s: %v", fault, name, err)
				continue
			}
			after, answered := s.Count()
			if sent := after - before; reply.Attempts != sent || sent < 2 || answered != had+1 {
				t.Errorf("%s from %s: %d attempts, %d requests after %d, %d answered after %d", fault, name, reply.Attempts, after, before, answered, had)
			}
			for _, d := range c {
				if strings.HasPrefix(fault, "429:") && (d < 0 || d > 1100*time.Millisecond) {
					t.Errorf("%s from %s: waited %v, want at most the second that the server asks for and a tenth", fault, name, d)
				}
			}
		}
	}
}

// What will not pass is asked once.
func TestRetryOnce(t *testing.T) {
	for _, fault := range []string{"400", "401", "403", "404", "too-long", "flood"} {
		s := startServer(t, fault)
		var c sleeps
		r := retrying(t, anthropicAt(t, s.URL, timeoutOf(fault)), 4, c.sleep)
		f := failure(t)(call(r, dialogue()))
		if n, _ := s.Count(); n != 1 || f.Attempts != 1 || len(c) > 0 {
			t.Errorf("%s: %d requests, %+v", fault, n, f)
		}
	}
}

// failing returns a backend that always fails in one way.
func failing(f Failure) *fake {
	return &fake{do: func(int) (*Reply, error) { again := f; return &Reply{}, &again }}
}

// times is what so many attempts at the dialogue are booked that broke off.
func times(n int64) prompt.Usage {
	u := estimate(dialogue())
	return prompt.Usage{Write1h: n * u.Write1h, Output: n * u.Output}
}

// The nth wait lies between nothing and twice the one before, up to the ceiling, and is spread
// over the whole range. Another seed waits otherwise.
func TestFullJitter(t *testing.T) {
	waits := func(seed uint64) []time.Duration {
		var c sleeps
		r := retrying(t, failing(Failure{Cause: CauseServer}), 7, c.sleep)
		r.jitter = draws.Source{Seed: seed}
		f := failure(t)(call(r, dialogue()))
		if f.Attempts != 7 || !strings.Contains(f.Message, "7 attempts") {
			t.Fatalf("%+v", f)
		}
		return c
	}
	limits := []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second, 30 * time.Second}
	low, high := make([]int, len(limits)), make([]int, len(limits))
	for seed := range uint64(200) {
		for i, d := range waits(seed) {
			if d < 0 || d >= limits[i] {
				t.Fatalf("wait %d of seed %d is %v, want 0…%v", i+1, seed, d, limits[i])
			}
			if d < limits[i]/2 {
				low[i]++
			} else {
				high[i]++
			}
		}
	}
	for i := range limits {
		if low[i] < 60 || high[i] < 60 { // 100 each, 5.6 standard deviations
			t.Errorf("wait %d: %d in the lower half, %d in the upper", i+1, low[i], high[i])
		}
	}
	if slices.Equal(waits(1), waits(2)) || !slices.Equal(waits(1), waits(1)) {
		t.Error("waits do not follow from the seed")
	}
}

// A server that asks for more than is waited for is told of.
func TestRetryAfterCeiling(t *testing.T) {
	var c sleeps
	b := failing(Failure{Cause: CauseRate, Status: 429, After: time.Hour})
	r := retrying(t, b, 4, c.sleep)
	f := failure(t)(call(r, dialogue()))
	if b.calls != 1 || len(c) > 0 || !strings.Contains(f.Message, "asks to wait 1h0m0s, longer than the 2m0s") {
		t.Errorf("%d calls, slept %v, %+v", b.calls, c, f)
	}
}

// The caller's cancellation ends the waiting.
func TestRetryCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	b := failing(Failure{Cause: CauseRate, After: time.Minute})
	r := retrying(t, b, 4, func(ctx context.Context, d time.Duration) error {
		cancel()
		return sleep(ctx, d)
	})
	reply, err := r.Do(ctx, dialogue())
	if !errors.Is(err, context.Canceled) || b.calls != 1 || reply.Attempts != 1 {
		t.Errorf("%v after %d calls", err, b.calls)
	}
}

// A failure tells what all attempts were billed.
func TestRetryAddsUp(t *testing.T) {
	r := retrying(t, failing(Failure{Cause: CauseBroken}), 3, quick)
	if f := failure(t)(call(r, dialogue())); f.Billed != times(3) || f.Attempts != 3 {
		t.Errorf("%+v", f)
	}
}

// After three failed calls in a row none is made; one that works starts anew,
// and what is refused for its own content does not count.
func TestBreaker(t *testing.T) {
	outcomes := []Cause{CauseServer, CauseRate, "", CauseServer, CauseBroken, CauseTooLong, CauseServer, CauseServer, CauseAuth}
	b := &fake{do: func(n int) (*Reply, error) {
		if c := outcomes[n-1]; c != "" {
			return nil, &Failure{Cause: c, Message: "oops"}
		}
		return &Reply{}, nil
	}}
	breaker := gated(t, b, Settings{})
	for i := range outcomes {
		if err := do(breaker, dialogue()); errors.Is(err, ErrBreaker) {
			t.Fatalf("call %d: %v", i+1, err)
		}
	}
	err := do(breaker, dialogue())
	var f *Failure
	if !errors.Is(err, ErrBreaker) || errors.As(err, &f) || b.calls != len(outcomes) || !strings.Contains(err.Error(), "authentication: oops") {
		t.Errorf("after %d calls: %v", b.calls, err)
	}
}

// A server that refuses the requests of one session works for all other sessions; one that is
// none, though it answers, does not.
func TestBreakerAndRefusals(t *testing.T) {
	for _, tc := range []struct {
		failure Failure
		opens   bool
	}{
		{Failure{Cause: CauseRequest, Status: 400}, false},
		{Failure{Cause: CauseRequest, Status: 422}, false},
		{Failure{Cause: CauseTooLong, Status: 413}, false},
		{Failure{Cause: CauseRequest, Status: 200}, true}, // a page of a website
		{Failure{Cause: CauseNetwork}, true},
	} {
		b := gated(t, failing(tc.failure), Settings{})
		var err error
		for range 4 {
			err = do(b, dialogue())
		}
		if got := errors.Is(err, ErrBreaker); got != tc.opens {
			t.Errorf("%+v four times: %v", tc.failure, err)
		}
	}
}
