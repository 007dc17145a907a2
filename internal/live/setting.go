package live

import (
	"fmt"
	"strconv"

	"github.com/compactsim/compactsim/internal/live/wire"
	"github.com/compactsim/compactsim/sim/summarizer"
)

// Words about thinking beside a number of tokens, as flags and the events of
// scenarios have them.
const (
	ThinkingOff      = "off"      // no word of it
	ThinkingOn       = "on"       // in the form that the model takes
	ThinkingDisabled = "disabled" // the request forbids it
	ThinkingAdaptive = "adaptive"
	// ThinkingWords are those that ParseThinking takes, for messages.
	ThinkingWords = "off, disabled, adaptive or a number of tokens from 1024 on"
)

// ParseThinking returns what one of ThinkingWords says of thinking.
func ParseThinking(value string) (wire.Thinking, error) {
	switch value {
	case ThinkingOff:
		return wire.Thinking{}, nil
	case ThinkingDisabled:
		return wire.Thinking{Mode: wire.ThinkingDisabled}, nil
	case ThinkingAdaptive:
		return wire.Thinking{Mode: wire.ThinkingAdaptive}, nil
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < leastBudget {
		return wire.Thinking{}, fmt.Errorf("%q says nothing of thinking: want %s", value, ThinkingWords)
	}
	return wire.Thinking{Mode: wire.ThinkingBudget, Budget: n}, nil
}

// eventThinking returns what the value of an event says of thinking, false for what
// no request can say.
func eventThinking(value, model string) (wire.Thinking, bool) {
	if value == ThinkingOn {
		return usualThinking(model), true
	}
	t, err := ParseThinking(value)
	return t, err == nil
}

// effort returns the effort that a call asks for: on the conversation's own prefix
// that of the conversation, where an event of the scenario names it.
func (o *Options) effort(c *summarizer.Call) string {
	if along(c) && c.Effort.Value != "" {
		return c.Effort.Value
	}
	return o.Effort
}
