package stats

// column is a list of values to sum up, without those that are zero: many a
// count is of what happens in few pairs.
type column struct {
	at     []uint8   // pairs of a block whose value is not zero
	values []float64 // their values
	starts []int     // index in at of the first pair of each block, and the end
}

func newColumn(values []float64) column {
	var c column
	for i, v := range values {
		if i%block == 0 {
			c.starts = append(c.starts, len(c.at))
		}
		if v != 0 {
			c.at, c.values = append(c.at, uint8(i%block)), append(c.values, v)
		}
	}
	c.starts = append(c.starts, len(c.at))
	return c
}

// sum adds up the values of block b under a batch of weights. The sums are
// variables of their own so that they stay in registers.
func (c *column) sum(b int, all *weights) [batch]float64 {
	at := c.at[c.starts[b]:c.starts[b+1]]
	values := c.values[c.starts[b]:c.starts[b+1]][:len(at)]
	var s0, s1, s2, s3, s4, s5, s6, s7 float64
	for j, i := range at {
		v, w := values[j], &all[i]
		s0 += v * w[0]
		s1 += v * w[1]
		s2 += v * w[2]
		s3 += v * w[3]
		s4 += v * w[4]
		s5 += v * w[5]
		s6 += v * w[6]
		s7 += v * w[7]
	}
	return [batch]float64{s0, s1, s2, s3, s4, s5, s6, s7}
}
