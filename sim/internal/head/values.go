package head

import (
	"strconv"

	"github.com/compactsim/compactsim/sim/changes"
	"github.com/compactsim/compactsim/sim/prompt"
)

// Key returns what an action has made of a parameter of the request, the zero digest for nothing.
func (h *Head) Key(a changes.Action) prompt.Digest { return h.keys[a] }

// Tools returns the block of the thread's tools without the tools of servers, once it is known, and the tokens of the tools
// of servers in the prefix.
func (h *Head) Tools() (own prompt.Ref, known bool, servers int32) {
	return h.tools.base, h.tools.know, h.tools.mcp
}

// GlobalStrategy says which part of the prompt the client marks for everyone,
// "" where the recording's client decides.
func (h *Head) GlobalStrategy() string {
	switch system := &h.of.Assembly.System; {
	case !system.Divided():
		return ""
	case h.ownPrompt() || h.staticScope() != prompt.ScopeGlobal:
		return "none"
	}
	return "system_prompt"
}

// Value returns what events have made of a parameter, as text.
func (h *Head) Value(a changes.Action) string {
	key := h.keys[a]
	if key.IsZero() {
		return "as recorded"
	}
	for i := range h.of.Assembly.changes {
		if c := &h.of.Assembly.changes[i]; c.Action == a && c.Given && textKey(a, c.Value) == key {
			return c.Value
		}
	}
	return strconv.FormatUint(key.Lo, 36)
}

// textKey is what a parameter with a text puts into the cache key.
func textKey(a changes.Action, value string) prompt.Digest {
	return prompt.DigestString(a.String() + "\x00" + value)
}
