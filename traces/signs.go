package traces

import (
	"strings"

	"github.com/compactsim/compactsim/sim/prompt"
)

// Signs are what the lines ahead of a call tell about the client that made it,
// a bit each. They are no content: they say what it did with the request.
type Signs uint16

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
)

// Has reports whether all signs of a set are there.
func (s Signs) Has(set Signs) bool { return s&set == set }

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
	NumVerdicts
)

// Names are as logged (message.diagnostics.cache_miss_reason.type).
var verdictNames = [NumVerdicts]string{
	"none", "same", "unavailable", "previous_message_not_found", "messages_changed", "system_changed", "tools_changed",
	"model_changed",
}

// String returns the name used in reports.
func (v Verdict) String() string { return verdictNames[min(v, NumVerdicts-1)] }

// VerdictOf returns the verdict of a name as logged; VerdictUnknown for a new one.
func VerdictOf(name []byte) Verdict {
	for v := VerdictUnknown; v < NumVerdicts; v++ {
		if verdictNames[v] == string(name) {
			return v
		}
	}
	return VerdictUnknown
}

// User tells the users of sessions apart: a digest of the home folder above the
// working directory, of the working directory where it is in none. It names
// nobody. It is zero for a session without a working directory.
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
