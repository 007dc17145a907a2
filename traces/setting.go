package traces

import "strings"

// Setting is something that a person can set in the client of an agent and that a
// simulation follows. In its texts %s stands for the value.
type Setting struct {
	Name string // as the client calls it
	// Group is what it decides. Of settings of one group a person sets one.
	Group   string
	From    string // first version that honours it; "" where no source states one
	Where   string // the file or environment that Snippet goes to
	Snippet string
	Does    string // in a few words
	Values  []string
	// Assign is the setting in a scenario under strategy own, as sim run --set takes it.
	Assign string
	Caveat string // what may differ from the simulation; "" for nothing
}

// GroupThreshold is the group of settings that decide at which size a context is compacted.
const GroupThreshold = "threshold"

// With returns a text of the setting with a value in it.
func (s *Setting) With(text, value string) string { return strings.ReplaceAll(text, "%s", value) }
