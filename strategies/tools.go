package strategies

import (
	"fmt"
	"slices"

	"gopkg.in/yaml.v3"

	"github.com/compactsim/compactsim/internal/kit/spec"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
)

// allTools names all tools of a session.
const allTools = "all"

// operations are the words for what tools do, by Block.Op.
var operations = [...]string{
	prompt.OpRead: "read", prompt.OpEdit: "edit", prompt.OpWrite: "write", prompt.OpExec: "exec",
	prompt.OpSearch: "search", prompt.OpFetch: "web", prompt.OpAgent: "agent",
}

// toolNames are tools by name (Bash, exec_command), by operation (read, edit, write, exec, search,
// web, agent: every tool known to do it, whatever its name) or all.
type toolNames []string

// UnmarshalYAML reads a list of words, or one word.
func (n *toolNames) UnmarshalYAML(node *yaml.Node) error {
	list := []string{}
	if node.Kind == yaml.ScalarNode {
		list = append(list, node.Value)
	} else if err := node.Decode(&list); err != nil {
		return err //nolint:wrapcheck // the caller says where
	}
	for _, name := range list {
		if name == "*" {
			return fmt.Errorf("%q is no tool: tools: all means every tool", name)
		}
	}
	*n = list
	return nil
}

// required refuses an empty list at a path: of tools whose results a layer clears.
func (n toolNames) required(path string) []error {
	if len(n) == 0 {
		return []error{spec.Wrong(path, "names none whose results may be cleared")}
	}
	return nil
}

// holds reports whether a tool with a name, or one that does op, is among them.
func (n toolNames) holds(name string, op prompt.Op) bool {
	return slices.ContainsFunc(n, func(word string) bool {
		return word == name || word == allTools || op != prompt.OpNone && word == operations[op]
	})
}

// unfit says why no call in a session can be a call of these tools; "" if one can, or if no tool
// is called there at all.
func (n toolNames) unfit(s *traces.Session) string {
	called := false
	for i := range s.Blocks {
		if b := &s.Blocks[i]; b.Kind == prompt.KindToolUse && int(b.Tool) < len(s.Tools) {
			if n.holds(s.Tools[b.Tool], b.Op) {
				return ""
			}
			called = true
		}
	}
	if !called {
		return ""
	}
	return NotRun + "no tool of the session is among its tools"
}

// NotRun begins the reason of a layer that can do nothing in a session.
const NotRun = "not run: "

// Choosy is implemented by layers that can do nothing in some sessions.
type Choosy interface {
	// Unfit says why the layer can do nothing in a session, beginning with NotRun; "" if it
	// can.
	Unfit(*traces.Session) string
}

// toolset is a set of tools by Block.Tool and Block.Op, so that a name is looked up once a
// session.
type toolset struct {
	named    toolNames // none: all tools
	excluded toolNames
	mcp      bool     // MCP tools may be among them
	member   []uint16 // operations, as bits, by Block.Tool, for those looked up so far
}

func (s *toolset) reset() { s.member = s.member[:0] }

// has reports whether the tool of a call or result belongs to the set.
func (s *toolset) has(t *Turn, b *prompt.Block) bool {
	for len(s.member) < len(t.Tools) {
		name, in := t.Tools[len(s.member)], uint16(0)
		for op := range operations {
			if (len(s.named) == 0 || s.named.holds(name, prompt.Op(op))) && !s.excluded.holds(name, prompt.Op(op)) {
				in |= 1 << op
			}
		}
		s.member = append(s.member, in)
	}
	return (s.mcp || b.Flags&prompt.FlagMCP == 0) && int(b.Tool) < len(s.member) && s.member[b.Tool]>>b.Op&1 != 0
}
