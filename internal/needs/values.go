package needs

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// value is a string of a tool call's input.
type value struct{ name, text string }

// old reports whether it is the text that an edit replaces.
func (v *value) old() bool {
	switch v.name {
	case "old_string", "old_str", "oldString", "oldText":
		return true
	}
	return false
}

// path reports whether it names the file that the call acts on.
func (v *value) path() bool {
	switch v.name {
	case "file_path", "notebook_path", "filePath", "path":
		return true
	}
	return false
}

// task reports whether it is an item of a plan.
func (v *value) task() bool {
	switch v.name {
	case "todos.content", "plan.step":
		return true
	}
	return false
}

// patch reports whether it is a patch: lines that are taken out, added, or stay.
func (v *value) patch() bool {
	return strings.HasPrefix(v.text, "*** ") && strings.Contains(v.text, "\n")
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
