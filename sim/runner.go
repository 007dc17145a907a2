package sim

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/traces"
)

// Runner simulates sessions under cells on several workers.
type Runner struct {
	// Workers is the number of sessions simulated at once; 0 means one per
	// core. Results do not depend on it.
	Workers int
	// Done, when not nil, is called after every session with the number
	// finished so far. It must be safe for concurrent use.
	Done func(finished int)
}

// Run returns the rows by cell, in the order of sessions. On an error or a
// cancelled context it returns what is complete: rows of sessions not
// simulated have no Strategy.
func (r Runner) Run(ctx context.Context, sessions []*traces.Session, cells []Config) ([][]results.Row, error) {
	rows := make([][]results.Row, len(cells))
	for i := range rows {
		rows[i] = make([]results.Row, len(sessions))
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var next, finished atomic.Int64
	var wg sync.WaitGroup
	total := int64(len(cells) * len(sessions))
	for range r.Parallel(int(total)) {
		wg.Go(func() {
			// Jobs come cell by cell, so a worker keeps one loop at a time and
			// memory does not grow with the number of cells.
			var loop *Loop
			at := -1
			for ctx.Err() == nil {
				job := next.Add(1) - 1
				if job >= total {
					return
				}
				cell, session := int(job)/len(sessions), int(job)%len(sessions)
				if at != cell {
					loop, at = NewLoop(cells[cell]), cell
				}
				row, err := loop.Run(sessions[session])
				if err != nil {
					stop(err)
					return
				}
				rows[cell][session] = row
				if n := finished.Add(1); r.Done != nil {
					r.Done(int(n))
				}
			}
		})
	}
	wg.Wait()
	if err := context.Cause(ctx); err != nil && finished.Load() < total {
		if errors.Is(err, context.Canceled) {
			return rows, fmt.Errorf("interrupted after %d of %d sessions: %w", finished.Load(), total, err)
		}
		return rows, err
	}
	return rows, nil
}

// Parallel returns how many of n jobs are worked on at once, at least 1.
func (r Runner) Parallel(n int) int {
	workers := r.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	return max(1, min(workers, n))
}
