package reading

import (
	"sync"
	"sync/atomic"
)

// Parallel calls do for 0 … n-1 from a number of workers, at least one, and
// returns when all calls have.
func Parallel(workers, n int, do func(int)) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range max(1, min(workers, n)) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	wg.Wait()
}
