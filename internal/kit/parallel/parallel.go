// Package parallel shares tasks among goroutines.
package parallel

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
)

// Workers returns how many of n tasks run at once, at least 1: no more than limit,
// or one for each processor when limit is 0.
func Workers(limit, n int) int {
	if limit <= 0 {
		limit = runtime.GOMAXPROCS(0)
	}
	return max(1, min(limit, n))
}

// Each calls task for 0…n−1, as many at once as Workers allows.
func Each(limit, n int, task func(i int)) {
	_ = Do(context.Background(), limit, n, func(i int) error { task(i); return nil }) // it never fails
}

// Do is Each for tasks that can fail. Once ctx has ended or a task has failed
// it starts no more, and returns the error; nil when all n are done.
func Do(ctx context.Context, limit, n int, task func(i int) error) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var next, done atomic.Int64
	var all sync.WaitGroup
	for range Workers(limit, n) {
		all.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				if err := task(i); err != nil {
					stop(err)
					return
				}
				done.Add(1)
			}
		})
	}
	all.Wait()
	if int(done.Load()) < n {
		return context.Cause(ctx)
	}
	return nil
}
