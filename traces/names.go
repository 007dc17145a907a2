package traces

import "strings"

// NameKind is a kind of names in Session.Tools that are no tools: such a name begins with the kind and a space, which no
// name of a tool has.
type NameKind string

// The kinds of names.
const (
	NameSkill  NameKind = "skill"
	NamePlugin NameKind = "plugin"
	// NameGateway is for the provider or gateway that a client asked for a model, as its log names it, such as "github-copilot".
	NameGateway NameKind = "gateway"
	NameHook    NameKind = "hook"   // of a block: the hook whose output it is
	NameMemory  NameKind = "memory" // of a block: the file of instructions that it holds
)

// Of returns the name under which Session.Tools has a name of the kind; "" for none.
func (k NameKind) Of(name string) string {
	if name == "" {
		return ""
	}
	return string(k) + " " + name
}

// Named returns the name of a kind at an index of Session.Tools; "" if it is none of that kind.
func (s *Session) Named(k NameKind, at uint16) string {
	if int(at) >= len(s.Tools) {
		return ""
	}
	name, ok := strings.CutPrefix(s.Tools[at], string(k)+" ")
	if !ok {
		return ""
	}
	return name
}
