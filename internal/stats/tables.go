package stats

// tile is the number of columns that are summed up at a time.
const tile = 4

// values are those of a tile of columns, in the order of the weights and in
// whole groups: what a tile needs of a pair is in one place of memory.
type values [][tile]float64

// sum adds up the columns of a tile under the weights of the batch. out is by
// column, then by resample.
//
// The weights are taken apart into bits, so that a sum is one of values drawn an
// odd number of times, twice another such sum, and so on; and of the sums of
// eight values there are but 256, which are looked up (the "four Russians").
func (w *weights) sum(columns, out [][]float64) {
	v := w.ordered(columns)
	var first, second table
	for g := range len(v) / group {
		codes := w.codes[g*w.size : (g+1)*w.size]
		for c := range columns {
			x := v.group(g, c)
			if x == [group]float64{} {
				continue
			}
			first.fill((*[8]float64)(x[:8]))
			second.fill((*[8]float64)(x[8:]))
			add(out[c][w.first:w.first+w.size], codes, &first, &second)
		}
	}
	for r, fours := range w.fours[:w.size] {
		sums := v.at(fours)
		for c := range columns {
			out[c][w.first+r] += 4 * sums[c]
		}
	}
}

// ordered returns the values of columns up to the last group in which one is not
// zero.
func (w *weights) ordered(columns [][]float64) values {
	v := make(values, len(w.order))
	end := 0
	for c, column := range columns {
		for i, pair := range w.order[:w.pairs] {
			if v[i][c] = column[pair]; column[pair] != 0 {
				end = max(end, (i/group+1)*group)
			}
		}
	}
	return v[:end]
}

// group returns the values of a group in column c.
func (v values) group(g, c int) (x [group]float64) {
	for i := range x {
		x[i] = v[g*group+i][c]
	}
	return x
}

// at returns the sums of columns at ascending places; behind the last value they
// are zero. The sums are variables of their own so that they stay in registers.
func (v values) at(places []uint32) [tile]float64 {
	var s0, s1, s2, s3 float64
	for _, i := range places {
		if int(i) >= len(v) {
			break
		}
		s0 += v[i][0]
		s1 += v[i][1]
		s2 += v[i][2]
		s3 += v[i][3]
	}
	return [tile]float64{s0, s1, s2, s3}
}

// table holds the sums of all subsets of eight values. Bit k of an index says
// that value k is in the subset.
type table [256]float64

// fill makes the table of x.
func (t *table) fill(x *[8]float64) {
	low := subsets(x[0], x[1], x[2], x[3])
	high := subsets(x[4], x[5], x[6], x[7])
	for i, sum := range high {
		row := (*[16]float64)(t[16*i:])
		for j := range row {
			row[j] = sum + low[j]
		}
	}
}

// subsets returns the sums of all subsets of four values.
func subsets(a, b, c, d float64) [16]float64 {
	ab, cd := a+b, c+d
	return [16]float64{
		0, a, b, ab, c, a + c, b + c, ab + c,
		d, a + d, b + d, ab + d, cd, a + cd, b + cd, ab + cd,
	}
}

// add adds to each sum what the code of its resample selects.
func add(sums []float64, codes []uint32, first, second *table) {
	sums = sums[:len(codes)]
	for r, c := range codes {
		once := first[uint8(c)] + second[uint8(c>>16)]
		twice := first[uint8(c>>8)] + second[uint8(c>>24)]
		sums[r] += once + 2*twice
	}
}
