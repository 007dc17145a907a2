// Package standard names built-in layers that other packages refer to, and declares what is asked of built-in layers alone. It has no
// promise to importers, who read names from the registry or the manual.
package standard

import "github.com/compactsim/compactsim/sim/prompt"

// The names of layers in the registry.
const (
	CachedClear      = "cached-microcompact"
	Compact          = "full-compact"
	Dream            = "dream"
	MemoryExtraction = "memory-extraction"
	Microcompact     = "microcompact"
	Recorded         = "recorded"
	SessionMemory    = "session-memory"
	Suggestion       = "prompt-suggestion"
	TimeClear        = "time-microcompact"
	ToolStorage      = "tool-storage"
)

// Parting is a layer that may part calls and results, or the conversation and its first prompt.
type Parting interface {
	// Parts reports whether requests may have calls without their results, or results without their calls, which providers
	// refuse, and whether they may begin with any response.
	Parts() (pairs, opening bool)
}

// Insisting is a layer of a client that retries for as long as it can shorten the prompt.
type Insisting interface {
	// Insists reports whether all layers are asked again where the prompt is still too long behind an outcome Done of this layer. The
	// layer answers Done only if it took something out, so that the retries end.
	Insists() bool
}

// Sleeper is a layer with a timer whose settings may keep the timer from ever being called.
type Sleeper interface{ Sleeps() bool }

// Sparing is a layer of which it can be said ahead that it finds nothing to do in a session: advice asks.
type Sparing interface {
	// Spares reports whether every result of a session stays, given the largest results of each tool and the session's names of tools.
	Spares(largest []prompt.Block, tools []string) bool
}
