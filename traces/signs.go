package traces

import (
	"strings"

	"github.com/compactsim/compactsim/sim/prompt"
)

// Signs are what the lines before a call show of the client that made it, a bit
// each. They are not content: they say what the client did with the request.
type Signs uint32

// The signs of a round.
const (
	SignTurnEnd     Signs = 1 << iota // the client logged the end of the turn before: stop hooks, a duration
	SignAway                          // a summary for a person who comes back: a call of the client that is not logged
	SignHook                          // a hook of a tool added context to its result
	SignResume                        // the client was started again on the session
	SignNotice                        // the input is a notice of a background task, nobody's words
	SignInterrupt                     // a person interrupted the turn before
	SignCommand                       // a command was expanded
	SignPlan                          // a plan is started in a fresh context
	SignThinking                      // a person's line says how to think
	SignThinkingOff                   // and that it is switched off
	SignProcess                       // the client was started anew on the session, or in another way than before
	SignVersion                       // another version of the client than before
	SignServers                       // the list of tools that are loaded on demand, or of MCP servers, changed
	SignListing                       // the list of skills or of kinds of agents changed
	SignPlanMode                      // plan mode began or ended
	SignEffort                        // another effort of the model than before
	SignModel                         // a command chose a model
	SignBranch                        // another branch of git than before
	SignTeam                          // a teammate began or wrote
	SignRetry                         // the server refused a request
)

// Has reports whether all signs of a set are there.
func (s Signs) Has(set Signs) bool { return s&set == set }

// Thinking follows whether the turns of a thread go with thinking, by the lines
// before its calls. The zero value has heard nothing: it thinks.
type Thinking struct {
	plain   bool // the turn goes without
	told    bool // lines say how to think
	thought bool // a response has shown thinking
}

// Off reports whether the request goes without thinking. A thread that was never
// seen to think has none to switch off.
func (k *Thinking) Off() bool { return k.plain && (k.thought || k.told) }

// Hear takes the lines before a round's request. One that says how to think
// decides; else an expanded command or skill, which is a meta prompt, and the start
// of a plan switch thinking off, and a person's own words on again unless they come
// with tool results (recorded: the tail of a request shows which, and of 3,292
// calls of versions 2.1.6 to 2.1.37 this is right for all but 95, 87 of which
// are of models whose tail does not).
func (k *Thinking) Hear(c Content, signs Signs) {
	k.told = k.told || signs&(SignPlan|SignThinking) != 0
	switch {
	case signs&(SignPlan|SignThinkingOff) != 0:
		k.plain = true
	case signs.Has(SignThinking):
		k.plain = false
	case c.Meta:
		k.plain = true
	case c.Person && !c.Results:
		k.plain = false
	}
}

// See takes the response of a round.
func (k *Thinking) See(c Content) { k.thought = k.thought || c.Thinks }

// Content is which kinds of block a round has.
type Content struct {
	Meta, Person, Results bool // the input has a prompt of the client's, one of a person's, results of tools
	Calls, Thinks         bool // the response calls tools, shows thinking
}

// Content returns which kinds of block a round of s has.
func (s *Session) Content(r *Round) Content {
	var c Content
	for b := r.Input.From; b < r.Input.To; b++ {
		switch s.Blocks[b].Kind {
		case prompt.KindToolResult:
			c.Results = true
		case prompt.KindPrompt:
			meta := s.Blocks[b].Flags&prompt.FlagMeta != 0
			c.Meta, c.Person = c.Meta || meta, c.Person || !meta
		}
	}
	for b := r.Reply.From; b < r.Reply.To; b++ {
		c.Calls = c.Calls || s.Blocks[b].Kind == prompt.KindToolUse
		c.Thinks = c.Thinks || s.Blocks[b].Kind == prompt.KindThinking
	}
	return c
}

// Verdict is why the server says that a request did not continue what it had
// cached: its comparison of the request with the one before. It knows nothing
// of lifetimes (recorded: null is no hit, and "unavailable" is often one).
type Verdict uint8

// The verdicts of the server.
const (
	VerdictNone     Verdict = iota // none logged
	VerdictSame                    // logged, and nothing diverged
	VerdictUnknown                 // it could not compare
	VerdictGone                    // the message before is not in the cache
	VerdictMessages                // the messages differ
	VerdictSystem                  // the system prompt differs
	VerdictTools                   // the tools differ
	VerdictModel                   // the model differs
	numVerdicts
)

// Names are as logged (message.diagnostics.cache_miss_reason.type).
var verdictNames = [numVerdicts]string{
	"none", "same", "unavailable", "previous_message_not_found", "messages_changed", "system_changed", "tools_changed",
	"model_changed",
}

// String returns the name used in reports.
func (v Verdict) String() string { return verdictNames[min(v, numVerdicts-1)] }

// VerdictOf returns the verdict with a name as logged; VerdictUnknown for a new one.
func VerdictOf(name []byte) Verdict {
	for v := VerdictUnknown; v < numVerdicts; v++ {
		if verdictNames[v] == string(name) {
			return v
		}
	}
	return VerdictUnknown
}

// User distinguishes the users of sessions: a digest of the name of the home folder above
// the working directory, or of the whole directory when it is in none. It names nobody.
// It is zero for a session without a working directory.
func (s *Session) User() prompt.Digest {
	if s.Project == "" {
		return prompt.Digest{}
	}
	parts := strings.Split(strings.ReplaceAll(s.Project, `\`, "/"), "/")
	for i, part := range parts[:len(parts)-1] {
		if part == "Users" || part == "home" {
			return prompt.DigestString(parts[i+1])
		}
	}
	return prompt.DigestString(s.Project)
}
