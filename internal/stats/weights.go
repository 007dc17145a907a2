package stats

import (
	"cmp"
	"math"
	"slices"

	"github.com/compactsim/compactsim/internal/draws"
)

// resampling is the purpose of the draws of a bootstrap, apart from those of a
// simulation.
const resampling draws.Purpose = 1 << 32

const (
	batch = 1024 // resamples held at a time: enough that tables of sums pay
	line  = 16   // resamples drawn at a time, whose codes of a group fill a cache line
	group = 16   // pairs of a code
)

// weights are how often each pair is drawn in a batch of resamples. All but a
// fiftieth of the weights are below 4, which makes two bits: those of a group of
// pairs are a code.
type weights struct {
	seed  uint64
	pairs int
	order []uint32 // of the pairs in codes and fours, in whole groups
	first int      // resample of the batch
	size  int      // resamples in the batch
	// codes are by group, then resample. Bytes 0 and 1 are the low and the high
	// bits of eight pairs, bytes 2 and 3 those of the next eight.
	codes []uint32
	// fours are by resample: the places in order of pairs drawn four times or
	// more, ascending, one for every four times.
	fours [][]uint32
}

func newWeights(seed uint64, pairs int, order []uint32) *weights {
	return &weights{seed: seed, pairs: pairs, order: order, fours: make([][]uint32, batch)}
}

func (w *weights) groups() int { return len(w.order) / group }

// reset makes room for size resamples.
func (w *weights) reset(first, size int) {
	w.first, w.size = first, size
	if need := w.groups() * size; cap(w.codes) < need {
		w.codes = make([]uint32, need)
	}
	w.codes = w.codes[:w.groups()*size]
}

// draw draws up to line resamples of the batch from from on, and shows how often
// each pair is drawn in each.
func (w *weights) draw(from int, show func(r int, counts []uint8)) {
	to := min(from+line, w.size)
	counts := make([]uint8, w.pairs+1)
	codes := make([]uint32, line*w.groups())
	for r := from; r < to; r++ {
		count(counts[:w.pairs], draws.Source{Seed: w.seed, Session: uint64(w.first + r)})
		show(r, counts[:w.pairs])
		w.fours[r] = w.encode(codes[(r-from)*w.groups():], counts, w.fours[r][:0])
	}
	for g := range w.groups() {
		out := w.codes[g*w.size+from : g*w.size+to]
		for i := range out {
			out[i] = codes[i*w.groups()+g]
		}
	}
}

// count draws len(counts) pairs. Each draw of 64 bits gives two of them: the
// halves scaled to the number of pairs, off uniform by at most n/2³². The chance
// that a byte does not hold how often a pair was drawn is below 10⁻⁵⁰⁰.
func count(counts []uint8, source draws.Source) {
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

// encode sets the codes of a resample and returns fours with its own.
func (w *weights) encode(codes []uint32, counts []uint8, fours []uint32) []uint32 {
	for at := 0; at < len(w.order); at += 8 {
		p := (*[8]uint32)(w.order[at:])
		eight := uint64(counts[p[0]]) | uint64(counts[p[1]])<<8 | uint64(counts[p[2]])<<16 | uint64(counts[p[3]])<<24 |
			uint64(counts[p[4]])<<32 | uint64(counts[p[5]])<<40 | uint64(counts[p[6]])<<48 | uint64(counts[p[7]])<<56
		code := lowest(eight) | lowest(eight>>1)<<8
		codes[at/group] |= code << (at % group * 2)
		if eight&0xfcfcfcfcfcfcfcfc == 0 {
			continue
		}
		for i, pair := range p {
			for range counts[pair] / 4 {
				fours = append(fours, uint32(at+i))
			}
		}
	}
	return fours
}

// lowest gathers the lowest bits of eight bytes, that of the first byte lowest:
// the product moves that of byte k to bit 56 + k and no two to the same.
func lowest(bytes uint64) uint32 {
	return uint32((bytes & 0x0101010101010101) * 0x0102040810204080 >> 56)
}

// order returns the pairs with those that have most values other than zero
// first: many a column is of what happens in few pairs, and groups without it
// take no time. Groups are filled up with a pair n, which is never drawn.
func order(n int, columns [][]float64) []uint32 {
	values := make([]int, n)
	for _, column := range columns {
		for i, v := range column {
			if v != 0 {
				values[i]++
			}
		}
	}
	next := make([]int, len(columns)+2) // places of pairs by the values they lack
	for _, k := range values {
		next[len(columns)-k+1]++
	}
	for i := range next[1:] {
		next[i+1] += next[i]
	}
	list := make([]uint32, (n+group-1)/group*group)
	for i, k := range values {
		list[next[len(columns)-k]] = uint32(i)
		next[len(columns)-k]++
	}
	for i := n; i < len(list); i++ {
		list[i] = uint32(n)
	}
	return list
}

// maxSorted is how many of the largest values of a column are kept in order: a
// resample misses all of them with a chance of about e⁻³².
const maxSorted = 32

// descent finds the largest value of a column among the pairs drawn: most
// resamples hold one of its first few.
type descent []int // indices of the largest values, descending

func newDescent(column []float64) descent {
	order := make([]int, len(column))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(column[b], column[a]) })
	return order[:min(maxSorted, len(order))]
}

// max returns the largest value of a pair that was drawn; one was.
func (d descent) max(column []float64, counts []uint8) float64 {
	for _, i := range d {
		if counts[i] > 0 {
			return column[i]
		}
	}
	best, found := 0.0, false
	for i, k := range counts {
		if k > 0 && (!found || column[i] > best) {
			best, found = column[i], true
		}
	}
	return best
}
