package synthetic

import (
	"slices"

	"github.com/compactsim/compactsim/sim/prompt"
)

// The tools a profile may name.
const (
	toolRead  = "Read"
	toolEdit  = "Edit"
	toolWrite = "Write"
	toolBash  = "Bash"
	toolGrep  = "Grep"
	toolGlob  = "Glob"
	toolTask  = "Task"
)

var toolNames = [...]string{toolRead, toolEdit, toolWrite, toolBash, toolGrep, toolGlob, toolTask}

func knownTool(name string) bool { return slices.Contains(toolNames[:], name) }

// worksOnFiles reports whether calls of the tool name a file of the working set.
func worksOnFiles(name string) bool {
	return name == toolRead || name == toolEdit || name == toolWrite
}

// Tokens of a block are its bytes times these rates (fitted on recordings),
// a tool use has 54 more.
const (
	rateText     = 0.26
	rateThinking = 0.30
	rateToolUse  = 0.30
	ratePrompt   = 0.31
	rateResult   = 0.33
	fixedToolUse = 54
)

// rateOf returns tokens per byte of a block.
func rateOf(k prompt.Kind) float64 {
	switch k {
	case prompt.KindThinking:
		return rateThinking
	case prompt.KindToolUse:
		return rateToolUse
	case prompt.KindPrompt:
		return ratePrompt
	case prompt.KindToolResult:
		return rateResult
	}
	return rateText
}

// rateSpread is the standard deviation of the logarithm of a block's own rate
// around the rate of its kind: no tokenizer is a constant.
const rateSpread = 0.06
