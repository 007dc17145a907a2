package stats

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
)

// Bootstrap draws pairs with replacement, as many as there are, and does so
// Resamples times. The weight of a pair is the number of times it was drawn; all
// columns share the weights, so that functions of several columns can be
// resampled together.
type Bootstrap struct {
	Seed      uint64
	Resamples int // at least 1
	Workers   int // 0 for one per processor; does not change the results
}

// Draws are the sums and maxima of columns under each resample.
type Draws struct {
	Sums   [][]float64 // by column, then by resample
	Maxima [][]float64 // by column, then by resample
}

// Draw returns weighted sums of the columns sums, and the maxima of the columns
// maxima over the pairs that were drawn. Every column has n values, one for each
// pair. The other columns may change a sum by rounding: they decide on the order
// in which values are added. Draw fails when ctx ends.
func (b Bootstrap) Draw(ctx context.Context, n int, sums, maxima [][]float64) (Draws, error) {
	d := Draws{matrix(len(sums), b.Resamples), matrix(len(maxima), b.Resamples)}
	tops := make([]descent, len(maxima))
	b.spread(ctx, len(maxima), func(i int) { tops[i] = newDescent(maxima[i]) })
	w := newWeights(b.Seed, n, order(n, sums))
	for first := 0; first < b.Resamples && ctx.Err() == nil; first += batch {
		w.reset(first, min(batch, b.Resamples-first))
		b.spread(ctx, (w.size+line-1)/line, func(i int) {
			w.draw(i*line, func(r int, counts []uint8) {
				for c := range tops {
					d.Maxima[c][first+r] = tops[c].max(maxima[c], counts)
				}
			})
		})
		b.spread(ctx, (len(sums)+tile-1)/tile, func(i int) {
			from, to := i*tile, min((i+1)*tile, len(sums))
			w.sum(sums[from:to], d.Sums[from:to])
		})
	}
	if err := ctx.Err(); err != nil {
		return Draws{}, fmt.Errorf("resampling %d pairs: %w", n, err)
	}
	return d, nil
}

// spread calls task for 0…n−1 on the workers until ctx ends.
func (b Bootstrap) spread(ctx context.Context, n int, task func(int)) {
	workers := b.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	var next atomic.Int64
	var all sync.WaitGroup
	for range min(workers, n) {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				task(i)
			}
		})
	}
	all.Wait()
}

func matrix(n, size int) [][]float64 {
	all := make([][]float64, n)
	for i := range all {
		all[i] = make([]float64, size)
	}
	return all
}
