// Package client assembles requests the way an agent's client does: where it puts cache markers, which lifetime it asks
// for, and how it counts tokens. It is neither strategy nor server.
package client

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/compactsim/compactsim/internal/kit/nearest"
	"github.com/compactsim/compactsim/internal/kit/version"
	"github.com/compactsim/compactsim/sim/changes"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/traces/facts"
)

// ClaudeCode assembles requests like Claude Code. The zero value is not useful: use ForVersion.
type ClaudeCode struct {
	// MessageMarkers is the number of markers on messages: 1 on the last
	// block, or 2 with one on the last block of the second-to-last message.
	MessageMarkers int
	// MarksPrompt says that the marker on messages is on the newest prompt, or a summary that came after it.
	MarksPrompt bool
	// MarksSummary says that the first summary has a marker too, where a request may carry one more: beside those of the recorded request,
	// too, whose server may read up to a summary that no request marks.
	MarksSummary bool
	// AsRecorded says that it marks what the recorded requests mark, where the recording shows that.
	AsRecorded bool
	// SystemScope is who shares the marked system prompt.
	SystemScope exchange.Scope
	// Count is how it counts tokens.
	Count Counting
	// Large says that it takes a window of a million for models that have one by themselves.
	Large bool
	// Listed says that it has the windows of a catalogue of models, as clients other than Claude Code do.
	Listed bool
}

// ForVersion returns the client at a version such as "2.1.17". Versions 1.x put two markers on messages (raw captures
// of 1.0.62); later ones put one (leaked client of 2.1.x). What is no version counts as newest; of a version with a
// suffix, such as 2.1.17-beta, only the numbers count.
//
// The token counts that 14 recorded compactions logged show how they count:
// 2.1.1 counts the last response alone; from 2.1.5 on a quarter of the
// following bytes is added, without a pad; and from 2.1.17 through 2.1.29 the
// output is the figure of the stream's start, as in the log. Versions 1.x count nothing
// for a message that is a bare string (001:1037); 004:157 counts it. From 2.1.277 on it
// is padded by a third for models of the newer tokenizer, as 149 firings of 2.1.332 with
// Opus 4.7 show; Sonnet 4.6 and Opus 4.6 of 2.1.332 have no pad, nor has Opus 5 in a recording
// of 2.1.226. The program assumes that all other newer models count like Opus 4.7.
func ForVersion(release string) *ClaudeCode {
	c := &ClaudeCode{MessageMarkers: 1, Count: Counting{Trailing: true, Unpadded: true}}
	release = numbers(release)
	c.Large, c.Count.PadsLarge = version.AtLeast(release, 2, 1, 150), version.AtLeast(release, 2, 1, 277)
	switch {
	case !dotted.MatchString(release):
		c.Large, c.Count.PadsLarge = true, true
	case !version.AtLeast(release, 2):
		c.MessageMarkers = 2
		c.Count.Trailing, c.Count.StringIsFree = false, true
	case !version.AtLeast(release, 2, 1, 5):
		c.Count.Trailing = false
	case version.AtLeast(release, 2, 1, 17) && !version.AtLeast(release, 2, 1, 30):
		c.Count.LoggedOutput = true
	}
	return c
}

// Counting returns how the client counts tokens.
func (c *ClaudeCode) Counting() Counting { return c.Count }

// large are the models for which Claude Code takes a window of a million without a suffix: runs of 2.1.150 to 2.1.332
// (2026-11-27), where the provider is called directly. Behind a base URL it does so from 2.1.285 on; a recording does not
// say whether there was one. Opus 4.6 and Sonnet 4.6 have 200,000.
var large = []string{"opus-4-7", "opus-4-8", "opus-5", "sonnet-5", "haiku-5-5", "fable", "mythos"}

// small are models that have no larger window than 200,000 tokens, with a suffix or without.
var small = []string{"claude-3", "haiku-3", "sonnet-3", "opus-4-0", "opus-4-1", "opus-4-2", "opus-4-5", "haiku-4-5"}

// Window returns the context window the client assumes for a model, tokens:
// 1,000,000 for names with the suffix [1m] and for models that have it by themselves,
// else 200,000; 0 where it has the windows of a catalogue.
func (c *ClaudeCode) Window(model string) int64 {
	if c.Listed {
		return 0
	}
	if strings.HasSuffix(model, "[1m]") || c.Large && named(model, large) {
		return largeWindow
	}
	return smallWindow
}

// SmallAlone reports whether a model has no window above 200,000 tokens, whatever usage a recording shows.
func SmallAlone(model string) bool { return named(model, small) && !strings.HasSuffix(model, "[1m]") }

// WaitsForRefusal reports whether a version of Claude Code compacts a model's conversation by itself only where the
// server refuses a request, though automatic compaction is on: models before 4.6 from 2.1.153 on, Opus 4.6 through
// 2.1.162, Opus 4.7 and 4.8 through 2.1.259 (66 versions in 118 runs, 2026-11-27, without the vendor's feature flags:
// Opus 4.5 went to 1.25 million tokens of usage).
func WaitsForRefusal(release, model string) bool {
	release = numbers(release)
	if dotted.MatchString(release) && !version.AtLeast(release, 2, 1, 153) {
		return false
	}
	until := func(patch int) bool { return dotted.MatchString(release) && !version.AtLeast(release, 2, 1, patch+1) }
	switch {
	case named(model, small), named(model, before46):
		return true
	case named(model, []string{"opus-4-6"}):
		return until(162)
	case named(model, []string{"opus-4-7", "opus-4-8"}):
		return until(259)
	}
	return false
}

// before46 are the models before 4.6 that have a larger window with a suffix.
var before46 = []string{"sonnet-4-0", "sonnet-4-2", "sonnet-4-5"}

// MaxOutput is the output limit the client requests: 32,000 tokens, as
// thresholds of recordings through 2.1.20 show (200k − 32k − 13k = 155k).
const MaxOutput = 32_000

// Codex assembles requests like the Codex CLI, for a cache that needs no markers. The zero value is ready to use.
type Codex struct {
	// Size is what it takes for the size of a context; other clients call these caches too.
	Size facts.Size
	// Windows returns the context window of a model, tokens; nil where the client has the windows of a catalogue.
	Windows func(model string) int64
}

// CodexWindow is the context window the client works with, tokens: 95 % of the 272,000 of its model catalogue
// (openai/codex#40095), as in token_count events of recorded sessions.
const CodexWindow = 258_400

// Window returns the context window the client assumes for a model, tokens; 0 where it has the windows of a catalogue.
func (c *Codex) Window(model string) int64 {
	if c.Windows == nil {
		return 0
	}
	return c.Windows(model)
}

// Mark adds nothing: the provider caches every prefix.
func (c *Codex) Mark(dst []exchange.Marker, _ []prompt.Entry, _ Marks) []exchange.Marker { return dst }

// Counting returns how the client counts what follows the last response: a token
// for four bytes (openai/codex, codex-rs/core), and the reasoning ahead of the last
// prompt by the bytes of its encrypted form: in recordings a fifth more than its tokens.
func (c *Codex) Counting() Counting {
	if c.Size != facts.SizeWithNew {
		return Counting{Unpadded: true, NoOutput: c.Size == facts.SizeInput}
	}
	return Counting{Trailing: true, Unpadded: true, Reasoning: 1.2}
}

// Marking returns a client other than Claude Code that marks so many messages of a request, or nothing at all below
// zero, and counts like Claude Code's newest version, or takes less for the size of a context.
func Marking(messages int, size facts.Size) *ClaudeCode {
	c := ForVersion("")
	c.MessageMarkers, c.Count.Trailing, c.Large, c.Count.PadsLarge, c.Listed = messages, size == facts.SizeWithNew, false, false, true
	c.Count.NoOutput = size == facts.SizeInput
	return c
}

// versions are the versions of Claude Code at which requests or counts are known to change, see ForVersion.
func versions() []string { return []string{"1.0.62", "2.1.1", "2.1.5", "2.1.17", "2.1.30"} }

var dotted = regexp.MustCompile(`^[0-9]{1,9}(\.[0-9]{1,9}){0,2}$`)

// CheckVersion returns an error for what is no version: one to three numbers with dots between them. A version newer
// than all known ones is valid; so is "".
func CheckVersion(release string) error {
	if release == "" || dotted.MatchString(release) {
		return nil
	}
	return fmt.Errorf("%q is no version%s; want numbers such as %s, or \"\" for each session's own",
		release, nearest.Hint(release, versions()), strings.Join(versions(), ", "))
}

// numbers returns a recorded version without what follows its numbers.
func numbers(release string) string {
	if i := strings.IndexAny(release, "-+ "); i > 0 {
		return release[:i]
	}
	return release
}

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

// HeaderInKey reports whether the line that changes with every request is part of the cache key.
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

// windows says which models have the large window besides those whose name ends in [1m].
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

// Window returns the context window of a client whose version assumes w for a model, tokens: from the name's suffix,
// else what the model can, the beta header, the environment, and 200,000.
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

// SmallAuto reports whether thresholds are counted from less than the small window.
func (v *Variables) SmallAuto() bool { return v.auto > 0 && v.auto < smallWindow }
