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
	Provider string `yaml:"provider" enum:"anthropic,openai" doc:"anthropic, or openai for any server with chat completions (vLLM, llama.cpp)."`
	// Model replaces the session's model, under exactly this name. A strategy that
	// names a model of its own keeps it. Recorded names are sent without what a cloud
	// platform or the client puts around them.
	Model   string   `yaml:"model" doc:"Model to ask in place of the session's (\"\" for that), under exactly this name. A small model that a strategy names for itself stays."`
	Sources []string `yaml:"sources" enum:"compact,session_memory" doc:"Whose calls are real: compact, session_memory. The others are the stub's."`
	// Files of the head of calls that share the conversation's, and of further edits.
	SystemFile   string   `yaml:"system" doc:"File with the system prompt, beside the scenario, else in the current folder. \"\": requests hold a placeholder of the recorded size."`
	ToolsFile    string   `yaml:"tools" doc:"File with the tool definitions, a JSON list, the same way."`
	Instructions string   `yaml:"instructions" doc:"What to ask of every summary besides."`
	Betas        []string `yaml:"betas" doc:"Beta features to ask for in every call, beside those that strategies need."`
	Thinking     string   `yaml:"thinking" doc:"auto: as the recorded conversation, in calls on its own prefix. off: left out. disabled: forbidden. adaptive, a number of tokens, or on: as the model takes it."`
	Effort       string   `yaml:"effort" doc:"Effort to ask for, low to max; \"\" leaves it out."`
	MaxOutput    int      `yaml:"max_output" min:"1" doc:"Most tokens to ask for in an answer, where the strategy says nothing and the model allows it: the client's own cap for summaries."`
	// Trigger is as in Server.
	Trigger       int64         `yaml:"server_trigger" min:"0" doc:"Have the provider compact from so many tokens of input on, 50,000 at least, where the strategy has it compact; 0: on demand."`
	EditsFile     string        `yaml:"server_edits" doc:"File with edits to declare beside those of the strategies, a JSON list."`
	Redact        bool          `yaml:"redact" doc:"Store sizes and digests in place of texts."`
	ReplaceBroken bool          `yaml:"replace_broken" doc:"With record-missing: make calls anew whose files cannot be read, and keep these."`
	Budget        float64       `yaml:"budget_usd" min:"0" doc:"Stop before real calls cost more; 0: no limit."`
	MaxCalls      int           `yaml:"max_calls" min:"0" doc:"Stop before more requests are sent; 0: no limit."`
	Concurrency   int           `yaml:"concurrency" min:"1" doc:"Calls at once."`
	PerMinute     int           `yaml:"per_minute" min:"0" doc:"Requests a minute; 0: no limit."`
	Attempts      int           `yaml:"attempts" min:"1" max:"1000" doc:"Requests for one call before it counts as failed."`
	Timeout       time.Duration `yaml:"timeout" above:"0s" max:"24h" doc:"Longest time for one request. 90s of silence end it too; with a timeout above 10m a silence of that length does."`
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
