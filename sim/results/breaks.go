package results

import "github.com/compactsim/compactsim/sim/prompt"

// BreakReason is what a client's break detector says of a call. It names what
// the client can know, which need not be what happened: see Breaks.
type BreakReason uint8

// The reasons. Those from BreakModel on are breaks.
const (
	BreakNone       BreakReason = iota // no fall past the thresholds
	BreakFirst                         // nothing to compare with
	BreakExcluded                      // a model that is not watched
	BreakCompacted                     // the messages were replaced: a fall is expected
	BreakDeleted                       // the client had tokens deleted or cleared: a fall is expected
	BreakModel                         // another model
	BreakState                         // something else ahead of the conversation or beside it changed
	BreakExpiry5m                      // nothing changed, a pause of more than 5 minutes: possible expiry
	BreakExpiry1h                      // nothing changed, a pause of more than an hour: possible expiry
	BreakServer                        // nothing changed, no pause: likely the server
	BreakUnknown                       // nothing changed, and it is not known how long the pause was
	NumBreakReasons = int(BreakUnknown) + 1
)

var breakReasonNames = [NumBreakReasons]string{
	"none", "first", "excluded", "compacted", "deleted", "model", "state", "expiry_5m", "expiry_1h", "server", "unknown",
}

// String returns the lower-case name used in reports.
func (r BreakReason) String() string { return breakReasonNames[min(int(r), NumBreakReasons-1)] }

// Broke reports whether the reason is one of a break.
func (r BreakReason) Broke() bool { return r >= BreakModel }

// Means reports whether a reason, as the client means it, names a miss of a
// class. "Server" is all that happens to an unchanged prompt: evicted, not yet
// readable, out of the reach of the look-back, too short. A changed message has
// no reason of its own: the detector does not look at messages.
func (r BreakReason) Means(m prompt.MissClass) bool {
	switch r {
	case BreakModel:
		return m == prompt.MissModel
	case BreakState:
		return m == prompt.MissHead
	case BreakExpiry5m, BreakExpiry1h:
		return m == prompt.MissExpiry
	case BreakServer:
		return m == prompt.MissEviction || m == prompt.MissNotReadable || m == prompt.MissLookback || m == prompt.MissMinimum
	case BreakCompacted:
		return m == prompt.MissCompaction
	case BreakDeleted:
		return m == prompt.MissEdit || m == prompt.MissNone
	case BreakNone, BreakFirst, BreakExcluded:
		return m == prompt.MissNone
	}
	return false
}

// BreakField is one of the things whose change a break detector can name.
type BreakField uint8

// The fields in the order in which they are named: the model first.
const (
	BreakFieldModel BreakField = iota
	BreakFieldSystem
	BreakFieldMarkers
	BreakFieldTools
	BreakFieldFastMode
	BreakFieldGlobalStrategy
	BreakFieldBetas
	BreakFieldAutoMode
	BreakFieldOverage
	BreakFieldCachedMicro
	BreakFieldEffort
	BreakFieldExtraBody
	NumBreakFields = int(BreakFieldExtraBody) + 1
)

var breakFieldNames = [NumBreakFields]string{
	"model", "system prompt", "cache markers", "tools", "fast mode", "global cache strategy", "beta headers",
	"auto mode", "overage", "cached microcompact", "effort", "extra body",
}

// String returns the name used in reports.
func (f BreakField) String() string { return breakFieldNames[min(int(f), NumBreakFields-1)] }

// Breaks counts what a client's break detector says against what the cache
// model knows, call by call. The zero Breaks is empty.
type Breaks struct {
	// Calls are those of conversations, by what was said of them and by what
	// they missed.
	Calls [NumBreakReasons][prompt.NumMissClasses]int
	// Changed are the breaks among them with something changed, by all that was
	// named and by what they missed.
	Changed [NumBreakFields][prompt.NumMissClasses]int
	// Beside are calls that layers made, by what was said of them. Each is a
	// conversation of its own to the server, so nobody knows what it missed.
	Beside [NumBreakReasons]int
}

// Add counts a call.
func (b *Breaks) Add(said BreakReason, truth prompt.MissClass) { b.Calls[said][truth]++ }

// Merge adds the counts of o.
func (b *Breaks) Merge(o *Breaks) {
	for i := range o.Calls {
		b.Beside[i] += o.Beside[i]
		for j, n := range o.Calls[i] {
			b.Calls[i][j] += n
		}
	}
	for i := range o.Changed {
		for j, n := range o.Changed[i] {
			b.Changed[i][j] += n
		}
	}
}

// ran reports whether the detector saw a call of a conversation.
func (b *Breaks) ran() bool { return b.Calls != [NumBreakReasons][prompt.NumMissClasses]int{} }

// Watched returns the calls of conversations that the detector saw.
func (b *Breaks) Watched() int {
	n := 0
	for r := range b.Calls {
		n += b.Said(BreakReason(r))
	}
	return n
}

// Broke returns the calls said to be breaks.
func (b *Breaks) Broke() int {
	n := 0
	for r := BreakModel; int(r) < NumBreakReasons; r++ {
		n += b.Said(r)
	}
	return n
}

// Said returns the calls the detector gave a reason.
func (b *Breaks) Said(r BreakReason) int { return total(&b.Calls[r]) }

// Right returns those of them where the cache model agrees.
func (b *Breaks) Right(r BreakReason) int {
	n := 0
	for m, k := range b.Calls[r] {
		if r.Means(prompt.MissClass(m)) {
			n += k
		}
	}
	return n
}

// Named returns the breaks for which the detector named a field.
func (b *Breaks) Named(f BreakField) int { return total(&b.Changed[f]) }

// NamedRight returns those of them that missed over a changed head or, for the
// model, over another model.
func (b *Breaks) NamedRight(f BreakField) int {
	if f == BreakFieldModel {
		return b.Changed[f][prompt.MissModel]
	}
	return b.Changed[f][prompt.MissHead]
}

// True returns the calls that missed in the way a reason means, whatever the
// detector said of them. Calls of models it does not watch are left out.
func (b *Breaks) True(r BreakReason) int {
	n := 0
	for said := range b.Calls {
		if BreakReason(said) == BreakExcluded {
			continue
		}
		for m, k := range b.Calls[said] {
			if r.Means(prompt.MissClass(m)) {
				n += k
			}
		}
	}
	return n
}

// Found returns the calls that missed in the way r means, and of which the
// detector said r or a reason with the same meaning: both expiries mean one.
func (b *Breaks) Found(r BreakReason) int {
	n := b.Right(r)
	switch r {
	case BreakExpiry5m:
		n += b.Right(BreakExpiry1h)
	case BreakExpiry1h:
		n += b.Right(BreakExpiry5m)
	}
	return n
}

// Precision returns the share of calls given a reason that missed in the way it
// means, in [0, 1]; false when the detector never gave it.
func (b *Breaks) Precision(r BreakReason) (float64, bool) { return share(b.Right(r), b.Said(r)) }

// Recall returns the share of calls that missed in the way a reason means for
// which the detector gave it, in [0, 1]; false when there was no such call, and
// for reasons that mean no miss. The two expiries count as one.
func (b *Breaks) Recall(r BreakReason) (float64, bool) {
	if !r.Broke() && r != BreakCompacted {
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

func total(counts *[prompt.NumMissClasses]int) int {
	n := 0
	for _, k := range counts {
		n += k
	}
	return n
}

// all returns every count.
func (b *Breaks) all() []int64 {
	var list []int64
	for _, rows := range [][][prompt.NumMissClasses]int{b.Calls[:], b.Changed[:]} {
		for i := range rows {
			for _, n := range rows[i] {
				list = append(list, int64(n))
			}
		}
	}
	for _, n := range b.Beside {
		list = append(list, int64(n))
	}
	return list
}
