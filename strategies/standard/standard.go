// Package standard names built-in layers that other packages refer to. It has no promise to importers, who read names from the
// registry or the manual.
package standard

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
