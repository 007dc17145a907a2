package confusion

// Counts are the counts of a Matrix that are not 0, in the order of their places: a run keeps a row for each session, most of whose
// counts are 0.
type Counts []Count

// Count is the count at a place of a Matrix.
type Count struct {
	N  uint32
	At uint16
}

// Counts returns the counts that are not 0, nil for none.
func (b *Matrix) Counts() Counts {
	n := 0
	for _, k := range b {
		if k != 0 {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	c := make(Counts, 0, n)
	for at, k := range b {
		if k != 0 {
			c = append(c, Count{k, uint16(at)})
		}
	}
	return c
}

// Matrix returns the matrix that has the counts.
func (c Counts) Matrix() *Matrix {
	b := new(Matrix)
	for _, k := range c {
		b[k.At] = k.N
	}
	return b
}

// Plus returns the sums of two lists of counts, and changes neither.
func (c Counts) Plus(o Counts) Counts {
	if len(o) == 0 {
		return c
	}
	sum := make(Counts, 0, len(c)+len(o))
	for len(c) > 0 && len(o) > 0 {
		switch {
		case c[0].At < o[0].At:
			sum, c = append(sum, c[0]), c[1:]
		case c[0].At > o[0].At:
			sum, o = append(sum, o[0]), o[1:]
		default:
			sum = append(sum, Count{c[0].N + o[0].N, c[0].At})
			c, o = c[1:], o[1:]
		}
	}
	return append(append(sum, c...), o...)
}
