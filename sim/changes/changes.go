// Package changes has the events that a scenario adds to a recorded session: a
// server of tools connects, somebody changes the effort.
package changes

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/compactsim/compactsim/internal/kit/nearest"
	"github.com/compactsim/compactsim/internal/kit/spec"
	"github.com/compactsim/compactsim/sim/prompt"
)

// Event is something that happens to a session in addition to its recording: a
// server of tools connects, somebody changes the effort.
type Event struct {
	At      When   `yaml:"at" doc:"the moment"`
	Do      string `yaml:"do" doc:"what happens"`
	Value   string `yaml:"value" doc:"what do takes, as text"`
	Threads string `yaml:"threads" doc:"where it happens: main (abandoned branches included) or all" enum:",main,all"`
}

// When is the time of an event; exactly one field is not zero. All are checked
// before a request.
type When struct {
	Round  int32         `yaml:"round" doc:"before this request of the thread, from 1" min:"0"`
	Every  int32         `yaml:"every" doc:"before every request whose number is a multiple" min:"0"`
	Tokens int64         `yaml:"tokens" doc:"before the first request from that size of the context on" min:"0"`
	After  time.Duration `yaml:"after" doc:"before the first request at that time since the session's start" min:"0s"`
}

// Rules returns the contradictions between fields.
func (w *When) Rules() []error {
	moments := 0
	for _, set := range []bool{w.Round != 0, w.Every != 0, w.Tokens != 0, w.After != 0} {
		if set {
			moments++
		}
	}
	if moments != 1 {
		return []error{fmt.Errorf("want one of round, every, tokens and after, not %d", moments)}
	}
	return nil
}

// Threads an event happens on.
const (
	ThreadsMain = "main"
	ThreadsAll  = "all"
)

// Max is the largest number of events of a scenario.
const Max = 64

// MaxTokens is the largest number of tokens that one event adds or removes: ten
// times the largest window of a model, beyond which a number is a slip.
const MaxTokens = 10_000_000

// Action is what an event does.
type Action uint8

// The actions.
const (
	ActionTools       Action = iota // another set of tools
	ActionDenyRule                  // a rule that names a whole tool
	ActionMCPConnect                // a server of tools connects
	ActionMCPLeave                  // it disconnects
	ActionSystem                    // another static system prompt: an upgrade, a resume after one
	ActionFlag                      // a remote flag that the system prompt depends on
	ActionClaudeMD                  // project files are edited
	ActionWebSearch                 // web search on or off
	ActionCitations                 // citations on or off
	ActionFastMode                  // fast mode on
	ActionBeta                      // one more beta header
	ActionEffort                    // effort
	ActionThinking                  // thinking mode or budget
	ActionToolChoice                // tool choice
	ActionImages                    // images in a request, or no longer any
	ActionModel                     // another model
	ActionOverage                   // the user exceeds the plan's quota, or no longer does
	ActionPermission                // permission mode
	ActionOutputStyle               // output style
	ActionSkill                     // a skill or command
	ActionMessage                   // a message from another agent or session
	NumActions        = int(ActionMessage) + 1
)

// takes is the kind of an event's value.
type takes uint8

const (
	takesTokens takes = iota // a number of tokens, up to MaxTokens; negative for what gets shorter
	takesSwitch              // on or off; toggles without a value
	takesText                // any text; without a value a different one every time
	takesModel               // the name of a model
)

// action describes one Action.
type action struct {
	name  string
	takes takes
	// level is where the change enters the cache key (A7, E1), for actions that
	// change a parameter of the request but not its text.
	level prompt.Level
	// key says that the action changes such a parameter.
	key bool
	// stays says that the client does not undo it (E1: the header of fast mode
	// stays).
	stays bool
}

var actions = [NumActions]action{
	ActionTools:       {name: "tools_change"},
	ActionDenyRule:    {name: "deny_rule"},
	ActionMCPConnect:  {name: "mcp_connect"},
	ActionMCPLeave:    {name: "mcp_disconnect"},
	ActionSystem:      {name: "system_change"},
	ActionFlag:        {name: "flag_change"},
	ActionClaudeMD:    {name: "claude_md_edit"},
	ActionWebSearch:   {name: "web_search", takes: takesSwitch, level: prompt.LevelSystem, key: true},
	ActionCitations:   {name: "citations", takes: takesSwitch, level: prompt.LevelSystem, key: true},
	ActionFastMode:    {name: "fast_mode", takes: takesSwitch, level: prompt.LevelSystem, key: true, stays: true},
	ActionBeta:        {name: "beta", takes: takesText, level: prompt.LevelSystem, key: true},
	ActionEffort:      {name: "effort", takes: takesText, level: prompt.LevelMessages, key: true},
	ActionThinking:    {name: "thinking", takes: takesText, level: prompt.LevelMessages, key: true},
	ActionToolChoice:  {name: "tool_choice", takes: takesText, level: prompt.LevelMessages, key: true},
	ActionImages:      {name: "images", takes: takesSwitch, level: prompt.LevelMessages, key: true},
	ActionModel:       {name: "model", takes: takesModel},
	ActionOverage:     {name: "overage", takes: takesSwitch},
	ActionPermission:  {name: "permission"},
	ActionOutputStyle: {name: "output_style"},
	ActionSkill:       {name: "skill"},
	ActionMessage:     {name: "message"},
}

// String returns the name used in scenarios.
func (a Action) String() string { return actions[min(int(a), NumActions-1)].name }

// Key returns the level at which the action's value enters the cache key, false
// for an action that changes no parameter of the request.
func (a Action) Key() (prompt.Level, bool) { return actions[a].level, actions[a].key }

// Stays reports whether the client never undoes the action.
func (a Action) Stays() bool { return actions[a].stays }

// Switches reports whether the action's value is on or off.
func (a Action) Switches() bool { return actions[a].takes == takesSwitch }

// shrinks reports whether the action's tokens may be negative, because an
// existing text gets shorter. What is added to a request has no existing text.
func (a Action) shrinks() bool {
	switch a {
	case ActionTools, ActionDenyRule, ActionSystem, ActionClaudeMD:
		return true
	}
	return false
}

// Names returns the names of all actions.
func Names() []string {
	names := make([]string, NumActions)
	for i := range names {
		names[i] = actions[i].name
	}
	return names
}

// Change is an event in the form of the loop.
type Change struct {
	When
	Action Action
	Agents bool // also happens on sub-agents
	Value  string
	Tokens int32 // the value as a number
	Given  bool  // a value was given
}

// Compile returns the events in the form of the loop. They must be valid.
func Compile(events []Event) []Change {
	list := make([]Change, 0, len(events))
	for i := range events {
		e := &events[i]
		c := Change{When: e.At, Agents: e.Threads == ThreadsAll, Value: e.Value, Given: e.Value != ""}
		c.Action = Action(max(0, slices.Index(Names(), e.Do)))
		if n, err := strconv.ParseInt(e.Value, 10, 32); err == nil {
			c.Tokens = int32(n)
		}
		list = append(list, c)
	}
	return list
}

// Due reports whether the event happens before the request with a number, from
// 1, at a size of the context in tokens and a time since the session's start,
// ns.
func (w *When) Due(request int32, tokens, now int64) bool {
	switch {
	case w.Every > 0:
		return request%w.Every == 0
	case w.Round > 0:
		return request == w.Round
	case w.Tokens > 0:
		return tokens >= w.Tokens
	}
	return now >= int64(w.After)
}

// Rules returns the errors that no tag expresses.
func (e *Event) Rules() []error {
	i, known := slices.Index(Names(), e.Do), Names()
	if i < 0 {
		text := fmt.Sprintf("unknown event %q%s", e.Do, nearest.Among(e.Do, known))
		return []error{spec.Problem{Paths: []string{"do"}, Text: text}}
	}
	if want := Action(i).wants(e.Value); want != "" {
		return []error{spec.Problem{Paths: []string{"value"}, Text: fmt.Sprintf("%s takes %s, not %q", e.Do, want, e.Value)}}
	}
	return nil
}

// wants returns what a value should be, "" if it is valid.
func (a Action) wants(value string) string {
	switch actions[a].takes {
	case takesTokens:
		least := 0
		if a.shrinks() {
			least = -MaxTokens
		}
		if n, err := strconv.Atoi(value); value != "" && (err != nil || n < least || n > MaxTokens) {
			return fmt.Sprintf("a number of tokens from %d to %d", least, MaxTokens)
		}
	case takesSwitch:
		if value != "" && value != "on" && value != "off" {
			return "on or off"
		}
	case takesModel:
		if value == "" {
			return "the name of a model"
		}
	}
	return ""
}
