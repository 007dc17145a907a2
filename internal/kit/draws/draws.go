// Package draws gives counter-based random numbers: a draw is a pure function
// of seed, session, purpose and a stable event id. Two cells that differ in one
// parameter see the same draws, an extra call shifts nothing, and there is no
// state to fork.
package draws

import (
	"math"
	"math/bits"
)

// Purpose keeps draws for different questions independent of each other.
type Purpose uint64

// The purposes of draws.
const (
	Eviction       Purpose = iota + 1 // does the server evict before this call
	SummarySize                       // how long is this summary
	SummaryLatency                    // how long does this summary take
	SummaryFailure                    // does this summary call fail
	Unlogged                          // does something happen that no log shows
	Layer                             // random choices of a layer
	Announcement                      // how much a client announces
)

// Source draws for one session under one seed.
type Source struct{ Seed, Session uint64 }

// Event is the stable id of a call: its thread and round, and the ordinal of
// calls that a layer inserts before that round (0 for the round's own call).
func Event(thread, round int32, layer, ordinal uint8) uint64 {
	return uint64(uint32(thread))<<40 ^ uint64(uint32(round))<<16 ^ uint64(layer)<<8 ^ uint64(ordinal)
}

// Uint64 returns the draw for an event, uniform over all 64-bit values.
func (s Source) Uint64(p Purpose, event uint64) uint64 {
	h := mix(s.Seed+0x9e3779b97f4a7c15, s.Session^0xbf58476d1ce4e5b9)
	h = mix(h^uint64(p)*0x94d049bb133111eb, event+0x2545f4914f6cdd1d)
	return mix(h, h^0xd6e8feb86659fd93)
}

// mix folds the 128-bit product of its arguments, which makes every output bit
// depend on every input bit.
func mix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a|1<<63, b|1)
	return hi ^ lo ^ bits.RotateLeft64(a, 23) ^ bits.RotateLeft64(b, 47)
}

// Unit turns a 64-bit draw into a number in [0, 1).
func Unit(u uint64) float64 { return float64(u>>11) * 0x1p-53 }

// Normal turns a 64-bit draw into a standard normal deviate by the inverse
// error function, so that one draw gives one deviate.
func Normal(u uint64) float64 {
	p := (float64(u>>11) + 0.5) * 0x1p-53
	return math.Sqrt2 * math.Erfinv(2*p-1)
}

// LogNormal returns a log-normal deviate with the given median and standard
// deviation of the logarithm.
func LogNormal(u uint64, median, sigma float64) float64 {
	return median * math.Exp(sigma*Normal(u))
}
