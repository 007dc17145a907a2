package client

import "strings"

// The windows that a client knows, tokens.
const smallWindow, largeWindow = 200_000, 1_000_000

// Windows says which models have the large window beside those whose name ends
// in [1m].
type Windows struct {
	Capability bool `yaml:"capability"` // models that have it by themselves
	Beta       bool `yaml:"beta_1m"`    // models that have it with a beta header
	// SmallOff switches automatic compaction off when thresholds are counted
	// from less than the small window, as 2.1.221 does.
	SmallOff bool `yaml:"small_auto_window_off" needs:"client.env.CLAUDE_CODE_AUTO_COMPACT_WINDOW"`
}

// capable are models with the large window by themselves, and withHeader those
// that had it with the header until it was retired (A11, C1).
var (
	capable = []string{
		"fable", "mythos", "opus-4-6", "opus-4-7", "opus-4-8", "opus-5", "sonnet-4-6", "sonnet-5", "haiku-5-5",
	}
	withHeader = []string{"sonnet-4"}
)

// Window returns the context window of a client whose version takes w for a
// model, tokens: the name's suffix first, then what the model can, the beta
// header, the environment, and 200,000.
func (a *Assembly) Window(v *Variables, model string, w int64) int64 {
	if a.Windows.Capability && named(model, capable) || a.Windows.Beta && named(model, withHeader) {
		w = max(w, largeWindow)
	}
	if v.small {
		w = min(w, smallWindow)
	}
	if v.window > 0 && w <= smallWindow {
		w = v.window
	}
	return w
}

// named reports whether a model's name holds one of some words.
func named(model string, words []string) bool {
	for _, word := range words {
		if strings.Contains(model, word) {
			return true
		}
	}
	return false
}

// SmallAuto reports whether thresholds are counted from less than the small
// window.
func (v *Variables) SmallAuto() bool { return v.auto > 0 && v.auto < smallWindow }
