package live

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/compactsim/compactsim/internal/live/api"
	"github.com/compactsim/compactsim/internal/live/wire"
	"github.com/compactsim/compactsim/internal/nearest"
	"github.com/compactsim/compactsim/internal/spec"
)

// Providers of real models.
const (
	Anthropic = "anthropic"
	OpenAI    = "openai" // and whoever offers the same interface
)

const (
	// DefaultMaxOutput bounds a call that says nothing of its output, tokens: the
	// client's own cap for summaries, of which 99.99 % take 17,387 at most.
	DefaultMaxOutput = 20_000
	// mostInstructions is the longest text of Settings.Instructions, characters: a compaction on demand takes
	// 16,384 (platform.claude.com, compaction), some of them this program's.
	mostInstructions = 16_000
)

// Settings are what real calls are made with: the block live of a scenario.
type Settings struct {
	Provider string `yaml:"provider" doc:"anthropic, or openai for any server with its interface" enum:"anthropic,openai"`
	// Model replaces the session's model, under exactly this name. A strategy that
	// names a model of its own keeps it. Recorded names are sent without what a cloud
	// platform or the client puts around them.
	Model   string   `yaml:"model" doc:"model to ask in place of the session's"`
	Sources []string `yaml:"sources" doc:"whose calls are real" enum:"compact,session_memory"`
	// Files of the head of calls that share the conversation's, and of further edits.
	SystemFile   string   `yaml:"system" doc:"file with the system prompt, empty for a placeholder of its size"`
	ToolsFile    string   `yaml:"tools" doc:"file with the tool definitions, a JSON list, empty for placeholders"`
	Instructions string   `yaml:"instructions" doc:"what to ask of every summary besides"`
	Betas        []string `yaml:"betas" doc:"beta features to ask for beside those that strategies need"`
	Thinking     string   `yaml:"thinking" doc:"auto (as the recorded conversation), off (left out), disabled, adaptive or a number of tokens"`
	Effort       string   `yaml:"effort" doc:"effort to ask for, low to max; empty to leave it out"`
	MaxOutput    int      `yaml:"max_output" doc:"most that an answer may have where the strategy says nothing" unit:"tokens" min:"1"`
	// Trigger is as in Server.
	Trigger       int64         `yaml:"server_trigger" doc:"the provider compacts at a threshold; 0: on demand" unit:"tokens" min:"0"`
	EditsFile     string        `yaml:"server_edits" doc:"file with further edits in the provider's form, a JSON list"`
	Redact        bool          `yaml:"redact" doc:"store sizes and digests in place of texts"`
	ReplaceBroken bool          `yaml:"replace_broken" doc:"make calls anew whose files cannot be read, and keep these beside"`
	Budget        float64       `yaml:"budget_usd" doc:"stop before real calls cost more; 0 for no limit" min:"0"`
	MaxCalls      int           `yaml:"max_calls" doc:"stop before more requests are sent; 0 for no limit" min:"0"`
	Concurrency   int           `yaml:"concurrency" doc:"calls at once" min:"1"`
	PerMinute     int           `yaml:"per_minute" doc:"requests a minute; 0 for no limit" min:"0"`
	Attempts      int           `yaml:"attempts" doc:"requests for one call before it counts as failed" min:"1" max:"1000"`
	Timeout       time.Duration `yaml:"timeout" doc:"longest time for one request; above 10m also the longest silence, else 90s" above:"0s" max:"24h"`
}

// DefaultSettings returns the settings of a scenario that says nothing.
func DefaultSettings() Settings {
	return Settings{
		Provider: Anthropic, Sources: []string{sourceCompact, sourceSessionMemory}, Betas: []string{}, Thinking: thinkingAuto,
		MaxOutput: DefaultMaxOutput, Concurrency: 4, Attempts: 4, Timeout: wire.DefaultTimeout,
	}
}

// efforts returns the names that a provider has for efforts.
func (s *Settings) efforts() []string {
	if s.Provider == OpenAI {
		return []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}
	}
	return api.Efforts()
}

// Rules refuses words that no call can say, and what the provider has no word for.
func (s *Settings) Rules() []error {
	var errs []error
	wrong := func(when bool, key, format string, args ...any) {
		if when {
			errs = append(errs, spec.Wrong(key, format, args...))
		}
	}
	if s.says() {
		err := s.CheckWord("thinking", s.Thinking)
		wrong(err != nil, "thinking", "%v, or %s", err, thinkingAuto)
	}
	if s.Effort != "" {
		err := s.CheckWord("effort", s.Effort)
		wrong(err != nil, "effort", "%v", err)
	}
	wrong(s.Trigger > 0 && s.Trigger < MinTrigger, "server_trigger", "%d: the provider takes %d tokens at least",
		s.Trigger, MinTrigger)
	n := utf8.RuneCountInString(s.Instructions)
	wrong(n > mostInstructions, "instructions", "has %d characters: a compaction by the provider takes %d", n,
		mostInstructions)
	if s.Provider == OpenAI {
		const unsaid = "is not for chat completions, which have no word for it (provider: openai)"
		wrong(s.EditsFile != "", "server_edits", unsaid)
		wrong(s.Trigger > 0, "server_trigger", unsaid)
		wrong(s.says() && s.Thinking != thinkingOff, "thinking", unsaid)
	}
	return errs
}

// says reports whether the settings say something of thinking.
func (s *Settings) says() bool { return s.Thinking != "" && s.Thinking != thinkingAuto }

// CheckWord returns an error when real calls cannot say a value of thinking or
// effort, as settings and the events of scenarios have them.
func (s *Settings) CheckWord(name, value string) error {
	switch name {
	case "effort":
		if known := s.efforts(); !slices.Contains(known, value) {
			return fmt.Errorf("%q%s: real calls take %s", value, nearest.Hint(value, known), strings.Join(known, ", "))
		}
	case "thinking":
		_, err := parseThinking(value, "")
		return err
	}
	return nil
}

// Switches names what was asked for otherwise than by the strategies.
func (s *Settings) Switches(to map[string]string) {
	if s.says() {
		to["live_thinking"] = s.Thinking
	}
	if s.Effort != "" {
		to["live_effort"] = s.Effort
	}
	if s.Trigger != 0 {
		to["server_trigger"] = fmt.Sprint(s.Trigger)
	}
}
