package parallel

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
)

// Every task is done once, whatever the number of workers.
func TestEach(t *testing.T) {
	for _, limit := range []int{0, 1, 3, 50} {
		for _, n := range []int{0, 1, 10} {
			done := make([]atomic.Int32, n)
			Each(limit, n, func(i int) { done[i].Add(1) })
			for i := range done {
				if got := done[i].Load(); got != 1 {
					t.Errorf("limit %d: task %d of %d was done %d times", limit, i, n, got)
				}
			}
		}
	}
}

// A task that fails is the last of its worker, and its error the result.
func TestDoFails(t *testing.T) {
	failed := errors.New("failed")
	calls := 0
	err := Do(context.Background(), 1, 10, func(i int) error {
		calls++
		if i == 3 {
			return failed
		}
		return nil
	})
	if !errors.Is(err, failed) || calls != 4 {
		t.Errorf("error %v after %d calls, want 4", err, calls)
	}
}

// A context that ends stops the tasks, unless every task is done by then.
func TestDoInterrupted(t *testing.T) {
	for last, want := range map[int]error{3: context.Canceled, 9: nil} {
		ctx, cancel := context.WithCancel(context.Background())
		err := Do(ctx, 1, 10, func(i int) error {
			if i == last {
				cancel()
			}
			return nil
		})
		if !errors.Is(err, want) {
			t.Errorf("cancelled in task %d: error %v, want %v", last, err, want)
		}
	}
}

func TestWorkers(t *testing.T) {
	cores := runtime.GOMAXPROCS(0)
	for _, tc := range []struct{ limit, n, want int }{{0, 1000, cores}, {3, 1000, 3}, {3, 2, 2}, {3, 0, 1}, {-1, 1000, cores}} {
		if got := Workers(tc.limit, tc.n); got != tc.want {
			t.Errorf("Workers(%d, %d) = %d, want %d", tc.limit, tc.n, got, tc.want)
		}
	}
}
