package breaks

import "github.com/compactsim/compactsim/sim/results"

// Reason is what the detector says of a call: rows carry it, so it is theirs.
type Reason = results.BreakReason

// The reasons; see results.BreakReason.
const (
	ReasonNone      = results.BreakNone
	ReasonFirst     = results.BreakFirst
	ReasonExcluded  = results.BreakExcluded
	ReasonCompacted = results.BreakCompacted
	ReasonDeleted   = results.BreakDeleted
	ReasonModel     = results.BreakModel
	ReasonState     = results.BreakState
	ReasonExpiry5m  = results.BreakExpiry5m
	ReasonExpiry1h  = results.BreakExpiry1h
	ReasonServer    = results.BreakServer
	ReasonUnknown   = results.BreakUnknown
)

// NumReasons is the number of reasons, for tables indexed by Reason.
const NumReasons = results.NumBreakReasons

// Confusion counts what the detector says against what the cache model knows.
type Confusion = results.Breaks
