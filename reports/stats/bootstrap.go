package stats

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/compactsim/compactsim/sim/draws"
)

// resampling is the purpose of the draws of a bootstrap, apart from those of a
// simulation.
const resampling draws.Purpose = 1 << 32

const (
	batch = 8   // resamples that a worker weighs at a time
	block = 256 // pairs whose weights stay in the cache meanwhile; a byte counts them
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
// pair. It fails when ctx ends.
func (b Bootstrap) Draw(ctx context.Context, n int, sums, maxima [][]float64) (Draws, error) {
	d := Draws{matrix(len(sums), b.Resamples), matrix(len(maxima), b.Resamples)}
	tops := make([]descent, len(maxima))
	for i, values := range maxima {
		tops[i] = newDescent(values)
	}
	added := make([]column, len(sums))
	for i, values := range sums {
		added[i] = newColumn(values)
	}
	workers := b.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	var next atomic.Int64
	var all sync.WaitGroup
	for range min(workers, (b.Resamples+batch-1)/batch) {
		all.Go(func() {
			w := newWeigher(b.Seed, n)
			for ctx.Err() == nil {
				first := int(next.Add(batch)) - batch
				if first >= b.Resamples {
					return
				}
				w.draw(first, min(batch, b.Resamples-first))
				w.sum(added, d.Sums)
				w.top(tops, maxima, d.Maxima)
			}
		})
	}
	all.Wait()
	if err := ctx.Err(); err != nil {
		return Draws{}, fmt.Errorf("resampling %d pairs: %w", n, err)
	}
	return d, nil
}

func matrix(n, size int) [][]float64 {
	all := make([][]float64, n)
	for i := range all {
		all[i] = make([]float64, size)
	}
	return all
}

// weigher holds the weights of some resamples at a time.
type weigher struct {
	seed   uint64
	counts [batch][]uint16 // by resample, then pair; no pair is drawn 65,536 times
	first  int             // the resample of counts[0]
	size   int             // resamples held
}

func newWeigher(seed uint64, n int) *weigher {
	w := &weigher{seed: seed}
	for r := range w.counts {
		w.counts[r] = make([]uint16, n)
	}
	return w
}

func (w *weigher) draw(first, size int) {
	w.first, w.size = first, size
	for r := range size {
		count(w.counts[r], draws.Source{Seed: w.seed, Session: uint64(first + r)})
	}
}

// count draws len(counts) pairs. Each draw of 64 bits gives two of them: the
// halves scaled to the number of pairs, off uniform by at most n/2³².
func count(counts []uint16, source draws.Source) {
	clear(counts)
	n := uint64(len(counts))
	for i := uint64(0); i < n; i += 2 {
		u := source.Uint64(resampling, i)
		counts[(u>>32)*n>>32]++
		if i+1 < n {
			counts[(u&math.MaxUint32)*n>>32]++
		}
	}
}

// weights are those of a block of pairs, by pair and resample.
type weights [block][batch]float64

// sum adds up every column under the weights held, block by block of pairs.
func (w *weigher) sum(values []column, sums [][]float64) {
	if len(values) == 0 {
		return
	}
	var part weights
	for b := range (len(w.counts[0]) + block - 1) / block {
		for r := range w.size {
			for i, k := range w.counts[r][b*block : min((b+1)*block, len(w.counts[r]))] {
				part[i][r] = float64(k)
			}
		}
		for c := range values {
			added := values[c].sum(b, &part)
			out := sums[c][w.first : w.first+w.size]
			for r := range out {
				out[r] += added[r]
			}
		}
	}
}

func (w *weigher) top(tops []descent, values, maxima [][]float64) {
	for c := range tops {
		for r := range w.size {
			maxima[c][w.first+r] = tops[c].max(values[c], w.counts[r])
		}
	}
}
