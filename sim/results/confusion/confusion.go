// Package confusion compares a client's break detector with the cache model,
// call by call.
package confusion

import (
	"github.com/compactsim/compactsim/sim/prompt/exchange"
)

// Reason is the verdict of a client's break detector on a call. It names what
// the client can know, which may differ from what happened: see Matrix.
type Reason uint8

// The reasons. Those from Model on are breaks.
const (
	None       Reason = iota // no fall beyond the thresholds
	First                    // nothing to compare with
	Excluded                 // a model that is not watched
	Compacted                // a summary replaced the messages: a fall is expected
	Deleted                  // the client had tokens deleted or cleared: a fall is expected
	Model                    // another model
	State                    // something else before the conversation or beside it changed
	Expiry5m                 // nothing changed, a pause of more than 5 minutes: possible expiry
	Expiry1h                 // nothing changed, a pause of more than an hour: possible expiry
	Server                   // nothing changed, no pause: likely the server
	Unknown                  // nothing changed, and the length of the pause is unknown
	NumReasons = int(Unknown) + 1
)

var reasonNames = [NumReasons]string{
	"none", "first", "excluded", "compacted", "deleted", "model", "state", "expiry_5m", "expiry_1h", "server", "unknown",
}

// String returns the lower-case name used in reports.
func (r Reason) String() string { return reasonNames[min(int(r), NumReasons-1)] }

// Broke reports whether the reason is one of a break.
func (r Reason) Broke() bool { return r >= Model }

// Means reports whether a reason, as the client means it, names a miss of a
// class. "Server" is everything that happens to an unchanged prompt: evicted,
// not yet readable, beyond the look-back, too short. A changed message has no
// reason of its own, because the detector does not look at messages.
func (r Reason) Means(m exchange.MissClass) bool {
	switch r {
	case Model:
		return m == exchange.MissModel
	case State:
		return m == exchange.MissHead
	case Expiry5m, Expiry1h:
		return m == exchange.MissExpiry
	case Server:
		return m == exchange.MissEviction || m == exchange.MissNotReadable || m == exchange.MissLookback || m == exchange.MissMinimum
	case Compacted:
		return m == exchange.MissCompaction
	case Deleted:
		return m == exchange.MissEdit || m == exchange.MissNone
	case None, First, Excluded:
		return m == exchange.MissNone
	}
	return false
}

// Field is one of the things whose change a break detector can name.
type Field uint8

// The fields in the order in which they are named: the model first.
const (
	FieldModel Field = iota
	FieldSystem
	FieldMarkers
	FieldTools
	FieldFastMode
	FieldGlobalStrategy
	FieldBetas
	FieldAutoMode
	FieldOverage
	FieldCachedMicro
	FieldEffort
	FieldExtraBody
	NumFields = int(FieldExtraBody) + 1
)

var fieldNames = [NumFields]string{
	"model", "system prompt", "cache markers", "tools", "fast mode", "global cache strategy", "beta headers",
	"auto mode", "overage", "cached microcompact", "effort", "extra body",
}

// String returns the name used in reports.
func (f Field) String() string { return fieldNames[min(int(f), NumFields-1)] }

// Matrix counts the verdicts of a client's break detector by what the cache
// model knows, call by call: a part of each row, and so a count takes 4 bytes. The zero Matrix is empty.
type Matrix [NumCounts]uint32

// Where the counts of a Matrix are.
const (
	// Calls are calls of conversations, by verdict and by class of miss.
	Calls = 0
	// Changed are the breaks among them with a change, by each named field and by class of miss.
	Changed = Calls + NumReasons*exchange.NumMissClasses
	// Beside are calls that layers made, by verdict. Each is a conversation of its own to the
	// server, so what it missed is unknown.
	Beside    = Changed + NumFields*exchange.NumMissClasses
	NumCounts = Beside + NumReasons
)

// Missed are counts by class of miss.
type Missed [exchange.NumMissClasses]uint32

// Calls returns the calls of conversations with a reason.
func (b *Matrix) Calls(r Reason) *Missed { return (*Missed)(b[Calls+int(r)*len(Missed{}):]) }

// Changed returns the breaks for which a field was named.
func (b *Matrix) Changed(f Field) *Missed { return (*Missed)(b[Changed+int(f)*len(Missed{}):]) }

// Add counts a call.
func (b *Matrix) Add(said Reason, truth exchange.MissClass) {
	b[Calls+int(said)*exchange.NumMissClasses+int(truth)]++
}

// Ran reports whether the detector saw a call of a conversation.
func (b *Matrix) Ran() bool { return b.Watched() > 0 }

// Watched returns the calls of conversations that the detector saw.
func (b *Matrix) Watched() int {
	n := 0
	for r := range Reason(NumReasons) {
		n += b.Said(r)
	}
	return n
}

// Broke returns the calls said to be breaks.
func (b *Matrix) Broke() int {
	n := 0
	for r := Model; int(r) < NumReasons; r++ {
		n += b.Said(r)
	}
	return n
}

// Said returns the calls with a reason.
func (b *Matrix) Said(r Reason) int { return b.Calls(r).total() }

// Right returns the calls on which the cache model agrees.
func (b *Matrix) Right(r Reason) int {
	n := 0
	for m, k := range b.Calls(r) {
		if r.Means(exchange.MissClass(m)) {
			n += int(k)
		}
	}
	return n
}

// Named returns the breaks for which the detector named a field.
func (b *Matrix) Named(f Field) int { return b.Changed(f).total() }

// NamedRight returns the calls that missed over a changed head or, for the
// model, over another model.
func (b *Matrix) NamedRight(f Field) int {
	if f == FieldModel {
		return int(b.Changed(f)[exchange.MissModel])
	}
	return int(b.Changed(f)[exchange.MissHead])
}

// True returns the calls that missed in the way a reason means, whatever the
// detector's verdict. Calls of models it does not watch are left out.
func (b *Matrix) True(r Reason) int {
	n := 0
	for said := range Reason(NumReasons) {
		if said == Excluded {
			continue
		}
		for m, k := range b.Calls(said) {
			if r.Means(exchange.MissClass(m)) {
				n += int(k)
			}
		}
	}
	return n
}

// Found returns the calls that missed in the way r means, and for which the
// detector gave r or a reason with the same meaning: both expiries have one.
func (b *Matrix) Found(r Reason) int {
	n := b.Right(r)
	switch r {
	case Expiry5m:
		n += b.Right(Expiry1h)
	case Expiry1h:
		n += b.Right(Expiry5m)
	}
	return n
}

// Precision returns the share of calls with a reason that missed in the way it
// means, in [0, 1]; false if the detector never gave it.
func (b *Matrix) Precision(r Reason) (float64, bool) { return share(b.Right(r), b.Said(r)) }

// Recall returns the share of calls that missed in the way a reason means for
// which the detector gave it, in [0, 1]; false if there was no such call, and
// for reasons that mean no miss. The two expiries count as one.
func (b *Matrix) Recall(r Reason) (float64, bool) {
	if !r.Broke() && r != Compacted {
		return 0, false
	}
	return share(b.Found(r), b.True(r))
}

func share(n, of int) (float64, bool) {
	if of == 0 {
		return 0, false
	}
	return float64(n) / float64(of), true
}

func (counts *Missed) total() int {
	n := 0
	for _, k := range counts {
		n += int(k)
	}
	return n
}

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
