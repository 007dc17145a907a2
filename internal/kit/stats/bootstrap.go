// Package stats estimates differences: on which side a figure is lower, what chance there is
// that this is chance, and the smallest difference that would have been seen. Sessions are
// the sampling unit.
//
// All inputs must be finite. Same inputs and seed give the same bits, whatever
// the number of workers.
package stats

import (
	"context"
	"fmt"
	"sync"

	"github.com/compactsim/compactsim/internal/kit/draws"
	"github.com/compactsim/compactsim/internal/kit/parallel"
)

// Bootstrap draws as many pairs as there are, with replacement, Resamples
// times. The weight of a pair is the number of times it was drawn. All columns
// share the weights, so that functions of several columns can be resampled
// together.
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

// Draw returns the weighted sums of the columns in sums, and the maxima of the
// columns in maxima over the drawn pairs. Every column has n values, one for
// each pair. Draw fails when ctx ends.
func (b Bootstrap) Draw(ctx context.Context, n int, sums, maxima [][]float64) (Draws, error) {
	d := Draws{matrix(len(sums), b.Resamples), matrix(len(maxima), b.Resamples)}
	tops, columns := make([]descent, len(maxima)), make([]sparse, len(sums))
	parallel.Each(b.Workers, len(maxima), func(i int) { tops[i] = newDescent(maxima[i]) })
	parallel.Each(b.Workers, len(sums), func(i int) { columns[i] = newSparse(sums[i]) })
	rooms := sync.Pool{New: func() any { return &room{make([]uint8, n), make(weights, n)} }}
	err := parallel.Do(ctx, b.Workers, (b.Resamples+lanes-1)/lanes, func(i int) error {
		room := rooms.Get().(*room)
		defer rooms.Put(room)
		from := i * lanes
		to := min(from+lanes, b.Resamples)
		for r := from; r < to; r++ {
			count(room.counts, draws.Source{Seed: b.Seed, Session: uint64(r)})
			for pair, k := range room.counts {
				room.weights[pair][r-from] = float64(k)
			}
			for c := range tops {
				d.Maxima[c][r] = tops[c].max(maxima[c], room.counts)
			}
		}
		for c := range columns {
			sum := columns[c].sum(room.weights)
			copy(d.Sums[c][from:to], sum[:])
		}
		return nil
	})
	if err != nil {
		return Draws{}, fmt.Errorf("resampling %d pairs: %w", n, err)
	}
	return d, nil
}

// room is the storage of a goroutine.
type room struct {
	counts  []uint8
	weights weights
}

func matrix(n, size int) [][]float64 {
	all := make([][]float64, n)
	for i := range all {
		all[i] = make([]float64, size)
	}
	return all
}
