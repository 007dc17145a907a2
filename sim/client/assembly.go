package client

import (
	"strings"

	"github.com/compactsim/compactsim/sim/changes"
)

// Assembly is how requests are put together, in addition to the client's
// version. Its keys are the keys of client in a scenario.
type Assembly struct {
	Provider string  `yaml:"provider" enum:"first_party,bedrock,third_party" doc:"Who serves the requests: first_party, bedrock or third_party. Another one than the first shares no system prompt among organisations, has the billing header in the cache key (assumed), and gives no 1h entries under ttl policy."`
	Windows  windows `yaml:"windows" doc:"Which models have a window of 1,000,000 beside those whose names end in [1m]."`
	System   System  `yaml:"system" doc:"The system prompt and what comes before it. Sizes are tokens of the recorded prefix, whose total stays what it is."`
	TTL      TTL     `yaml:"ttl" doc:"Which lifetime requests ask for. Session memory and other short forks ask for 5m, whatever the choice."`
	Count    count   `yaml:"count" doc:"How the client counts tokens. \"version\" is as its version does."`
	Env      Env     `yaml:"env" doc:"Environment variables of the client under their real names; \"\" is not set. Flags take 1 or 0. Those that change layers change them in every strategy that has the layer."`
}

// Providers of the model.
const (
	ProviderFirstParty = "first_party"
	ProviderBedrock    = "bedrock"
	ProviderThirdParty = "third_party" // Vertex, Foundry, gateways
)

// DefaultAssembly leaves everything to the version and the recording.
func DefaultAssembly() Assembly {
	return Assembly{
		Provider: ProviderFirstParty, System: DefaultSystem(), TTL: DefaultTTL(),
		Count: count{
			Canonical: "full", Trailing: byVersion, StringIsFree: byVersion, Padded: byVersion, ToolInputBytes: 4, Documents: "fixed",
		},
	}
}

// Event is a change of a session's surroundings, such as of its model or tools.
type Event = changes.Event

// When is the time of an Event.
type When = changes.When

// HeaderInKey reports whether the line that changes with every request is part
// of the cache key.
func (a *Assembly) HeaderInKey() bool {
	switch a.System.HeaderInKey {
	case "true":
		return true
	case "false":
		return false
	}
	return a.Provider != ProviderFirstParty
}

// The windows that a client knows, tokens.
const smallWindow, largeWindow = 200_000, 1_000_000

// windows says which models have the large window besides those whose name ends
// in [1m].
type windows struct {
	Capability bool `yaml:"capability" doc:"Those that can by themselves: Opus from 4.6, Sonnet from 4.6, Haiku 5.5, Fable, Mythos."`
	Beta       bool `yaml:"beta_1m" doc:"The million tokens of Sonnet 4 up to 4.6, with a beta header that was retired in 2026-04."`
	SmallOff   bool `yaml:"small_auto_window_off" needs:"client.env.CLAUDE_CODE_AUTO_COMPACT_WINDOW" doc:"CLAUDE_CODE_AUTO_COMPACT_WINDOW below 200,000 switches automatic compaction off in silence, as 2.1.221 does."`
}

// capable are models with the large window by themselves, and withHeader those
// that had it with the header until it was retired (A11, C1).
var (
	capable = []string{
		"fable", "mythos", "opus-4-6", "opus-4-7", "opus-4-8", "opus-5", "sonnet-4-6", "sonnet-5", "haiku-5-5",
	}
	withHeader = []string{"sonnet-4"}
)

// Window returns the context window of a client whose version assumes w for a
// model, tokens: from the name's suffix, else what the model can, the beta
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

// named reports whether a model's name contains one of some words.
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
