package gauge

import (
	"math"

	"github.com/compactsim/compactsim/internal/kit/spec"
	"github.com/compactsim/compactsim/sim/results/measures"
)

// Levels are what a client shows of how full its window is, and what it does
// when it is full. Sizes are tokens. The zero value notes nothing.
type Levels struct {
	Warning int64 `yaml:"warning" min:"0" doc:"Tokens below the limit at which it warns: 20,000 in Claude Code." unit:"tokens"`
	Error   int64 `yaml:"error" min:"0" doc:"Tokens below the limit at which it warns in red: 20,000 in Claude Code." unit:"tokens"`
	// Blocking is how far below the effective window, that is the window less
	// the output kept free, the client stops taking input; Output is the most
	// it keeps free.
	Blocking int64 `yaml:"blocking" min:"0" doc:"Tokens below the effective window at which it takes no input. The effective window is the window less the output kept free: 177,000 of 200,000; never below where the strategy compacts by itself." unit:"tokens"`
	Output   int64 `yaml:"output_reserve" min:"0" doc:"The most output kept free, tokens." unit:"tokens"`
	Block    Block `yaml:"block" doc:"What happens to a prompt at that level: client (what the preset of the strategy says of its client; off where it says nothing), off (it is sent as in the recording, and counted), compact (the person asks for a compaction first, if the strategy has full-compact and it takes manual ones) or end (the session ends; what is not simulated is counted, and the row is not compared) or none (the client knows no such level: no call is counted)."`
}

// DefaultLevels returns the levels of Claude Code: 20,000 below its limit
// (001:230; E3), and 3,000 below the window less 20,000 of output (E3: 177,000
// of 200,000).
func DefaultLevels() Levels {
	return Levels{Warning: 20_000, Error: 20_000, Blocking: 3_000, Output: 20_000}
}

// Block is what happens to a prompt at the blocking level.
type Block uint8

// What may happen to a prompt at the blocking level.
const (
	byClient     Block = iota // what the strategy's client does, off where it says nothing
	BlockOff                  // it is sent all the same, as in the recording; the call is counted
	BlockCompact              // the person asks for a compaction first
	BlockEnd                  // the session ends
	BlockNone                 // the client knows no such level: nothing is stopped or counted
)

// Names returns the names of blocks in files.
func (Block) Names() []string { return []string{"client", "off", "compact", "end", "none"} }

// Stops reports whether a prompt is not sent.
func (b Block) Stops() bool { return b == BlockCompact || b == BlockEnd }

// Rules returns contradictions between the levels.
func (v Levels) Rules() []error {
	if v.Error > v.Warning {
		return []error{spec.Wrong("error", "%d lies further below the limit than warning %d", v.Error, v.Warning)}
	}
	return nil
}

// percentLeft returns what a client shows as left of a limit when used tokens
// are in the context, per cent (001:244).
func percentLeft(limit, used int64) int {
	if limit <= 0 {
		return 0
	}
	return max(0, int(math.Round(float64(limit-used)/float64(limit)*100)))
}

// At returns the levels that a count of tokens is at: they are conditions
// of their own (001:256-276), and none is LevelNormal. limit is the client's: where it
// compacts by itself, else the window. Input never stops below it: 004:345 places
// blocking between the threshold and the window. All comparisons are ≥.
func (v *Levels) At(limit, window, maxOutput, used int64) At {
	blocking := window - min(maxOutput, v.Output) - v.Blocking
	if limit < window {
		blocking = max(blocking, limit)
	}
	var at At
	if used >= limit-v.Warning {
		at |= 1 << measures.LevelWarning
	}
	if used >= limit-v.Error {
		at |= 1 << measures.LevelError
	}
	if used >= blocking && v.Block != BlockNone {
		at |= 1 << measures.LevelBlocking
	}
	if at == 0 {
		return 1 << measures.LevelNormal
	}
	return at
}

// At is a set of levels, a bit each.
type At uint8

// Has reports whether a level is among them.
func (at At) Has(l measures.Level) bool { return at>>l&1 != 0 }
