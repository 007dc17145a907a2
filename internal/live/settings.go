package live

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/compactsim/compactsim/internal/live/api"
	"github.com/compactsim/compactsim/internal/live/wire"
	"github.com/compactsim/compactsim/internal/nearest"
	"github.com/compactsim/compactsim/internal/spec"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/summarizer"
)

// Providers of real models.
const (
	Anthropic = "anthropic"
	OpenAI    = "openai" // also servers with the same interface
)

const (
	// DefaultMaxOutput bounds a call without a limit of its own, tokens: the
	// client's cap for summaries, of which 99.99 % take at most 17,387.
	DefaultMaxOutput = 20_000
	// mostInstructions is the longest text of Settings.Instructions, characters: a compaction on demand
	// accepts 16,384 (platform.claude.com, compaction), some of them this program's.
	mostInstructions = 16_000
)

// Settings configure real calls: the block live of a scenario.
type Settings struct {
	Provider string `yaml:"provider" enum:"anthropic,openai" doc:"anthropic, or openai for any server with chat completions (vLLM, llama.cpp)."`
	// Model replaces the session's model, under exactly this name. A strategy that
	// names its own model keeps it. Recorded names are sent without what a cloud
	// platform or the client adds to them.
	Model   string   `yaml:"model" doc:"Model to ask in place of the session's (\"\" for that), under exactly this name. A small model that a strategy names for itself stays."`
	Sources []string `yaml:"sources" enum:"compact,session_memory" doc:"Whose calls are real: compact, session_memory. The others are the stub's."`
	// Files of the head of calls that share the conversation's.
	SystemFile   string        `yaml:"system" doc:"File with the system prompt, beside the scenario, else in the current folder. \"\": requests hold a placeholder of the recorded size."`
	ToolsFile    string        `yaml:"tools" doc:"File with the tool definitions, a JSON list, the same way."`
	Instructions string        `yaml:"instructions" doc:"What to ask of every summary besides."`
	Betas        []string      `yaml:"betas" doc:"Beta features to ask for in every call, beside those that strategies need."`
	Thinking     string        `yaml:"thinking" doc:"auto: as the recorded conversation, in calls on its own prefix. off: left out. disabled: forbidden. adaptive, a number of tokens, or on: as the model takes it."`
	Effort       string        `yaml:"effort" doc:"Effort to ask for, low to max; \"\" leaves it out."`
	MaxOutput    int           `yaml:"max_output" min:"1" doc:"Most tokens to ask for in an answer, where the strategy says nothing and the model allows it: the client's own cap for summaries."`
	Redact       bool          `yaml:"redact" doc:"Store sizes and digests in place of texts."`
	Budget       float64       `yaml:"budget_usd" min:"0" doc:"Stop before real calls cost more; 0: no limit."`
	MaxCalls     int           `yaml:"max_calls" min:"0" doc:"Stop before more requests are sent; 0: no limit."`
	Concurrency  int           `yaml:"concurrency" min:"1" doc:"Calls at once."`
	Attempts     int           `yaml:"attempts" min:"1" max:"1000" doc:"Requests for one call before it counts as failed."`
	Timeout      time.Duration `yaml:"timeout" above:"0s" max:"24h" doc:"Longest time for one request. 90s of silence end it too; with a timeout above 10m a silence of that length does."`
}

// DefaultSettings returns the settings of a scenario without a block live.
func DefaultSettings() Settings {
	return Settings{
		Provider: Anthropic, Sources: []string{sourceCompact, sourceSessionMemory}, Betas: []string{}, Thinking: thinkingAuto,
		MaxOutput: DefaultMaxOutput, Concurrency: 4, Attempts: 4, Timeout: wire.DefaultTimeout,
	}
}

// efforts returns the provider's names of efforts.
func (s *Settings) efforts() []string {
	if s.Provider == OpenAI {
		return []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}
	}
	return api.Efforts()
}

// Rules returns errors for values that no call can have, and for features that the provider lacks.
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
	n := utf8.RuneCountInString(s.Instructions)
	wrong(n > mostInstructions, "instructions", "has %d characters: a compaction by the provider takes %d", n,
		mostInstructions)
	wrong(s.Provider == OpenAI && s.says() && s.Thinking != thinkingOff, "thinking",
		"is not for chat completions, which have no word for it (provider: openai)")
	return errs
}

// says reports whether the settings set thinking.
func (s *Settings) says() bool { return s.Thinking != "" && s.Thinking != thinkingAuto }

// CheckWord returns an error if real calls cannot have a value of thinking or
// effort from settings or the events of scenarios.
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
}

// Words about thinking, besides a number of tokens, in settings and the events
// of scenarios.
const (
	thinkingAuto     = "auto" // as the strategy's call implies, in settings
	thinkingOff      = "off"  // leave it out
	thinkingOn       = "on"   // in the form that the model takes, in events
	thinkingDisabled = "disabled"
	thinkingAdaptive = "adaptive"
)

const (
	// thinkingRoom is the additional output of a call that thinks, tokens: the largest budget
	// of the recorded client, because no log shows that of a recording.
	thinkingRoom = 31_999
	// leastBudget is the smallest budget that the provider accepts, tokens.
	leastBudget = 1024
)

// parseThinking returns the thinking for a word or a number of tokens; "on" is in the form that the model accepts.
func parseThinking(value, model string) (wire.Thinking, error) {
	switch value {
	case thinkingOff:
		return wire.Thinking{}, nil
	case thinkingOn:
		return usualThinking(model), nil
	case thinkingDisabled:
		return wire.Thinking{Mode: wire.ThinkingDisabled}, nil
	case thinkingAdaptive:
		return wire.Thinking{Mode: wire.ThinkingAdaptive}, nil
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < leastBudget {
		return wire.Thinking{}, fmt.Errorf("%q: real calls take off, on, disabled, adaptive or a number of tokens from %d on",
			value, leastBudget)
	}
	return wire.Thinking{Mode: wire.ThinkingBudget, Budget: n}, nil
}

// untaken returns the parameters of a call that its model is known to reject.
func (p *plan) untaken(provider string) []string {
	var why []string
	takes, _ := api.AbilityOf(p.model)
	if m := p.thinking.Mode; m == wire.ThinkingAdaptive && !takes.Adaptive || m == wire.ThinkingBudget && !takes.Budget {
		why = append(why, fmt.Sprintf("thinking %s: %s does not take it; from 4.6 on models take adaptive, up to 4.6 a number "+
			"of tokens", p.thinking, p.model))
	}
	if p.effort != "" && provider != OpenAI && !takes.Effort {
		why = append(why, fmt.Sprintf("effort %s: %s does not take it; Opus does from 4.5 on, the others from 4.6 on",
			p.effort, p.model))
	}
	return why
}

// usualThinking is the form in which a model thinks, none for one that by its name cannot.
func usualThinking(model string) wire.Thinking {
	takes, known := api.AbilityOf(model)
	switch {
	case known && takes.Adaptive:
		return wire.Thinking{Mode: wire.ThinkingAdaptive}
	case known && takes.Budget:
		return wire.Thinking{Mode: wire.ThinkingBudget}
	}
	return wire.Thinking{}
}

// think returns the thinking a call requests and the output it allows for that, tokens. refused means that the call
// should think and cannot: there is no room for a budget, or it answers tool calls whose thinking it does not send.
func (o *Options) think(c *summarizer.Call, p *plan) (t wire.Thinking, room int, refused bool) {
	if t = o.wanted(c, p.model); !t.On() {
		return t, 0, false
	}
	room = thinkingRoom
	if t.Mode == wire.ThinkingBudget && t.Budget > 0 {
		room = t.Budget
	}
	room = o.bounded(p.maxOutput+room, p.model, c) - p.maxOutput
	if t.Mode == wire.ThinkingBudget {
		if t.Budget = room; room < leastBudget || answersCalls(c) {
			return wire.Thinking{}, 0, true
		}
	}
	return t, room, false
}

// wanted returns the thinking a call should request: an event of the scenario
// comes first, then the settings, then the recording. Calls under their own
// prompt, and calls that strip thinking, follow neither event nor recording.
func (o *Options) wanted(c *summarizer.Call, model string) wire.Thinking {
	if o.Provider == OpenAI { // its API has no parameter for it
		return wire.Thinking{}
	}
	thinksAlong := along(c) && !c.Intent.Rekey && c.Intent.Strip&prompt.StripThinking == 0
	if thinksAlong && c.Thinking.Set {
		if t, err := parseThinking(c.Thinking.Value, model); err == nil {
			return t
		}
	}
	if o.says() {
		t, _ := parseThinking(o.Thinking, model) // the settings are checked
		return t
	}
	if thinksAlong && thought(c) {
		return usualThinking(model)
	}
	return wire.Thinking{}
}

// effort returns the effort that a call requests: the conversation's on its own prefix, if an event names it.
func (o *Options) effort(c *summarizer.Call) string {
	if along(c) && c.Effort.Value != "" {
		return c.Effort.Value
	}
	return o.Effort
}

// along reports whether a call is made on the conversation's own prefix by its own model.
func along(c *summarizer.Call) bool {
	return !c.Intent.Own && c.Intent.Model == ""
}

// thought reports whether a recorded answer of the thread, up to this call, shows thinking.
func thought(c *summarizer.Call) bool {
	s := c.Session
	if int(c.Thread) >= len(s.Threads) {
		return false
	}
	rounds := s.Threads[c.Thread].Rounds
	for i := min(int(c.Round), len(rounds)-1); i >= 0; i-- {
		for b := rounds[i].Reply.From; b < rounds[i].Reply.To; b++ {
			if s.Blocks[b].Kind == prompt.KindThinking {
				return true
			}
		}
	}
	return false
}

// answersCalls reports whether the last model message that a call sends calls tools.
func answersCalls(c *summarizer.Call) bool {
	said := false
	for i := c.Context.Len() - 1; i >= c.Context.Messages(); i-- {
		switch k := c.Context.At(i).Kind; {
		case !k.Assistant() && said:
			return false
		case k == prompt.KindToolUse:
			return true
		case k == prompt.KindText:
			said = true
		}
	}
	return false
}
