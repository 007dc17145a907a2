package live

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/compactsim/compactsim/internal/live/api"
	"github.com/compactsim/compactsim/internal/live/wire"
	"github.com/compactsim/compactsim/internal/version"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/summarizer"
)

// Words about thinking beside a number of tokens, as settings and the events of
// scenarios have them.
const (
	thinkingAuto     = "auto" // as the strategy's call implies, in settings
	thinkingOff      = "off"  // leave it out
	thinkingOn       = "on"   // in the form that the model takes, in events
	thinkingDisabled = "disabled"
	thinkingAdaptive = "adaptive"
)

const (
	// thinkingRoom is what a call that thinks may say beyond its answer, tokens: the largest budget of the recorded
	// client, since no log shows that of a recording.
	thinkingRoom = 31_999
	// leastBudget is the smallest budget that the provider takes, tokens.
	leastBudget = 1024
)

// What models take by the version of their names (platform.claude.com, thinking and
// effort).
func canThink(release string) bool    { return version.AtLeast(release, 3, 7) }
func adapts(release string) bool      { return version.AtLeast(release, 4, 6) }
func takesBudget(release string) bool { return canThink(release) && !version.AtLeast(release, 4, 7) }

// parseThinking returns what a word or a number of tokens says of thinking, "on" in the form that the model takes.
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

// untaken returns what a call says that its model is known not to take.
func (p *plan) untaken(provider string) []string {
	var why []string
	if !takes(p.model, p.thinking.Mode) {
		why = append(why, fmt.Sprintf("thinking %s: %s does not take it; from 4.6 on models take adaptive, up to 4.6 a number "+
			"of tokens", p.thinking, p.model))
	}
	if p.effort != "" && provider != OpenAI && !takesEffort(p.model) {
		why = append(why, fmt.Sprintf("effort %s: %s does not take it; Opus does from 4.5 on, the others from 4.6 on",
			p.effort, p.model))
	}
	return why
}

// takes reports whether a model takes a mode of thinking, as far as its name shows a version.
func takes(model string, m wire.Mode) bool {
	release, known := api.Version(model)
	switch {
	case known && m == wire.ThinkingAdaptive:
		return adapts(release)
	case known && m == wire.ThinkingBudget:
		return takesBudget(release)
	}
	return true
}

// takesEffort reports whether a model takes effort, as far as its name shows a version: all from 4.6 on, and Opus
// 4.5.
func takesEffort(model string) bool {
	release, known := api.Version(model)
	first := 6
	if strings.HasPrefix(model, "claude-opus-") {
		first = 5
	}
	return !known || version.AtLeast(release, 4, first)
}

// usualThinking is the form in which a model thinks, nothing for one that cannot as far as its name shows.
func usualThinking(model string) wire.Thinking {
	release, known := api.Version(model)
	switch {
	case !known || !canThink(release):
		return wire.Thinking{}
	case !adapts(release):
		return wire.Thinking{Mode: wire.ThinkingBudget}
	}
	return wire.Thinking{Mode: wire.ThinkingAdaptive}
}

// think returns the thinking a call asks for and the output it allows for that, tokens. Refused means that the call
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

// wanted returns the thinking a call should ask for: an event of the scenario comes first, then the settings, then
// the recording. Calls under a prompt of their own, and calls that strip thinking, follow neither event nor
// recording.
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

// effort returns the effort that a call asks for: the conversation's on its own prefix, where an event names it.
func (o *Options) effort(c *summarizer.Call) string {
	if along(c) && c.Effort.Value != "" {
		return c.Effort.Value
	}
	return o.Effort
}

// along reports whether a call is made on the conversation's own prefix by its own model.
func along(c *summarizer.Call) bool {
	return c.Intent.Prefix == prompt.PrefixShared && c.Intent.Model == ""
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

// answersCalls reports whether the last message of the model that a call sends calls tools.
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
