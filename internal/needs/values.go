package needs

import (
	"bytes"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// value is a string of a tool call's input.
type value struct{ name, text string }

// role says what a string is to its call.
type role uint8

const (
	roleOther role = iota
	roleOld        // the text that an edit replaces
	rolePatch      // lines that are taken out, added, or stay
	rolePath       // the file that the call acts on
	roleTask       // an item of a plan
)

// role returns what a string is to its call, by its name; a patch shows itself.
func (v *value) role() role {
	if strings.HasPrefix(v.text, "*** ") && strings.Contains(v.text, "\n") {
		return rolePatch
	}
	switch v.name {
	case "old_string", "old_str", "oldString", "oldText":
		return roleOld
	case "file_path", "notebook_path", "filePath", "path":
		return rolePath
	case "todos.content", "plan.step":
		return roleTask
	}
	return roleOther
}

// call returns what is heard of a tool call.
func (s *scanner) call(input jsontext.Value) *utterance {
	h := &utterance{}
	s.values = values(s.values[:0], input)
	for i := range s.values {
		v := &s.values[i]
		r := v.role()
		s.scan(v.text, r == rolePatch)
		if r == rolePatch {
			removed(v.text, s.terms)
			removed(v.text, s.lines)
		}
		if len(s.terms)+len(s.lines) == 0 && r != roleOld && r != rolePatch {
			continue
		}
		for _, list := range [...][]found{s.terms, s.lines} {
			for _, f := range list {
				h.marks = append(h.marks, f.mark)
			}
		}
		h.values = append(h.values, argument{r, slices.Clone(s.terms), slices.Clone(s.lines)})
	}
	return h
}

// removed notes what stands in the lines of a patch that are taken out.
func removed(text string, list []found) {
	for i := range list {
		list[i].removed = text[strings.LastIndexByte(text[:list[i].from], '\n')+1] == '-'
	}
}

// values appends the strings of an input. Those of a list of objects have the name of the list in front. What is no
// JSON has none.
func values(list []value, input jsontext.Value) []value {
	d := jsontext.NewDecoder(bytes.NewReader(input))
	var names [4]string
	for {
		token, err := d.ReadToken()
		if err != nil {
			return list
		}
		depth := d.StackDepth()
		if token.Kind() != '"' || depth == 0 {
			continue
		}
		kind, n := d.StackIndex(depth)
		text := token.String()
		if kind == '{' && n%2 == 1 {
			if depth < len(names) {
				names[depth] = text
			}
			continue
		}
		name := ""
		if depth < len(names) {
			name = names[depth]
		}
		if depth == 3 && names[1] != "" {
			name = names[1] + "." + name
		}
		list = append(list, value{name, text})
	}
}
