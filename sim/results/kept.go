package results

import (
	"encoding/binary"
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/sim/results/confusion"
	"github.com/compactsim/compactsim/sim/results/measures"
)

// Rows are the rows of a cell, one per session. Most figures of a row are 0, and most others are small whole numbers: a
// row takes some 400 bytes here and 2.7 kB as a Row, of which a run has one for each session and strategy.
type Rows struct{ list []packed }

// packed is a row.
type packed struct {
	session, strategy, organisation string
	loop                            Loop
	breaks                          confusion.Counts
	firings, reasons                map[string]int
	figures                         string
}

// With returns rs with more rows behind it.
func (rs Rows) With(rows ...*Row) Rows {
	rs.list = slices.Clone(rs.list)
	for _, r := range rows {
		rs.Keep(r)
	}
	return rs
}

// Len returns the number of rows.
func (rs *Rows) Len() int { return len(rs.list) }

// Session returns the session of the i-th row.
func (rs *Rows) Session(i int) string { return rs.list[i].session }

// At returns a copy of the i-th row. Its maps are shared by all copies of the row, and not to be changed.
func (rs *Rows) At(i int) *Row {
	r := new(Row)
	rs.list[i].into(r)
	return r
}

// All yields the index and a copy of each row.
func (rs *Rows) All() iter.Seq2[int, *Row] {
	return func(yield func(int, *Row) bool) {
		for i := range rs.list {
			if !yield(i, rs.At(i)) {
				return
			}
		}
	}
}

// List returns copies of all rows.
func (rs *Rows) List() []*Row {
	list := make([]*Row, len(rs.list))
	for i := range list {
		list[i] = rs.At(i)
	}
	return list
}

// Keep adds a copy of a row.
func (rs *Rows) Keep(r *Row) { rs.list = append(rs.list, pack(r)) }

// Edit keeps what f makes of the i-th row.
func (rs *Rows) Edit(i int, f func(*Row)) {
	r := rs.At(i)
	f(r)
	rs.list[i] = pack(r)
}

// Sort sorts rows by session.
func (rs *Rows) Sort() {
	slices.SortStableFunc(rs.list, func(a, b packed) int { return strings.Compare(a.session, b.session) })
}

// sorted returns the rows by session.
func (rs *Rows) sorted() Rows {
	sorted := Rows{slices.Clone(rs.list)}
	sorted.Sort()
	return sorted
}

// Drop leaves out the rows of sessions.
func (rs *Rows) Drop(drop func(session string) bool) {
	rs.list = slices.DeleteFunc(rs.list, func(p packed) bool { return drop(p.session) })
}

// without returns the rows of the sessions that are not dropped.
func (rs *Rows) without(drop func(session string) bool) Rows {
	some := Rows{slices.Clone(rs.list)}
	some.Drop(drop)
	return some
}

// sameSessions reports whether rows are of the same sessions in the same order.
func (rs *Rows) sameSessions(as *Rows) bool {
	return slices.EqualFunc(rs.list, as.list, func(a, b packed) bool { return a.session == b.session })
}

// A figure that is a whole number below 2^53 is packed as twice itself, any other one as unpacked and its 8 bytes.
const unpacked = 1

// pack returns a row as it is kept: a bit for each figure that is not 0, and these figures.
func pack(r *Row) packed {
	var buf [measures.NumFigures/8 + 1 + 9*measures.NumFigures]byte
	text := buf[:measures.NumFigures/8+1]
	for id, v := range r.Figures {
		if math.Float64bits(v) == 0 { // -0 stays
			continue
		}
		text[id/8] |= 1 << (id % 8)
		if v > 0 && v < 1<<53 && v == math.Trunc(v) {
			text = binary.AppendUvarint(text, uint64(v)<<1)
			continue
		}
		text = binary.LittleEndian.AppendUint64(append(text, unpacked), math.Float64bits(v))
	}
	return packed{r.Session, r.Strategy, r.Organisation, r.Loop, r.Breaks, r.Firings, r.Reasons, string(text)}
}

// into makes r the row that was packed.
func (p *packed) into(r *Row) {
	*r = Row{Session: p.session, Strategy: p.strategy, Organisation: p.organisation, Loop: p.loop, Breaks: p.breaks,
		Firings: p.firings, Reasons: p.reasons}
	bits, rest := p.figures[:measures.NumFigures/8+1], []byte(p.figures[measures.NumFigures/8+1:])
	for id := range r.Figures {
		if bits[id/8]&(1<<(id%8)) == 0 {
			continue
		}
		n, used := binary.Uvarint(rest)
		if rest = rest[used:]; n != unpacked {
			r.Figures[id] = float64(n >> 1)
			continue
		}
		r.Figures[id], rest = math.Float64frombits(binary.LittleEndian.Uint64(rest)), rest[8:]
	}
}
