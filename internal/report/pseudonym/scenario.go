package pseudonym

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// leftOut are the keys of a scenario that name files and projects, or hold sentences, wherever doc stands.
var leftOut = []string{"doc", "live", "sessions.paths", "sessions.project", "prices.file"}

// wordForm is the form of texts in a scenario besides names, models and settings: patterns, versions, times.
var wordForm = regexp.MustCompile(`^[A-Za-z0-9_.:*-]{0,64}$`)

// Scenario returns a scenario without comments, without real calls, and without the keys that name files and projects or
// describe something. Organisations have pseudonyms, under which their users draw other sessions. Texts that could be paths or a person's words become pseudonyms, as in Run.
func Scenario(text, key []byte) ([]byte, error) {
	var n yaml.Node
	if err := yaml.Unmarshal(text, &n); err != nil {
		return nil, fmt.Errorf("anonymizing a scenario: %w", err)
	}
	a := anonymizer{key: key}
	a.node(&n, "")
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(&n); err != nil {
		return nil, fmt.Errorf("anonymizing a scenario: %w", err)
	}
	return b.Bytes(), e.Close()
}

// node changes a value and what is below it; path leads to it from the top.
func (a *anonymizer) node(n *yaml.Node, path string) {
	n.HeadComment, n.LineComment, n.FootComment = "", "", ""
	switch n.Kind {
	case yaml.DocumentNode, yaml.SequenceNode:
		for _, child := range n.Content {
			a.node(child, path)
		}
	case yaml.MappingNode:
		var rest []*yaml.Node
		for i := 0; i < len(n.Content); i += 2 {
			key, value := n.Content[i], n.Content[i+1]
			at := strings.TrimPrefix(path+"."+key.Value, ".")
			file := at == "profile" && !slices.Contains([]string{"default", "none"}, value.Value) ||
				at == "sessions.generate.profile" && strings.ContainsAny(value.Value, `./\`) ||
				strings.HasPrefix(at, "users.organisations.") && key.Value == "profiles" && namesFile(value)
			if file || key.Value == leftOut[0] || slices.Contains(leftOut, at) {
				continue
			}
			if path == "users.organisations" {
				key.SetString(Of(a.key, key.Value))
			} else {
				a.node(key, at)
			}
			a.node(value, at)
			rest = append(rest, key, value)
		}
		n.Content = rest
	case yaml.ScalarNode:
		if s := n.Value; n.ShortTag() == "!!str" && !isName(s) && !isModel(s) && !isSetting(s) && (!wordForm.MatchString(s) || strings.Contains(s, "..")) {
			n.SetString(Of(a.key, s))
		}
	}
}

// namesFile reports whether a key of a mapping is a file.
func namesFile(n *yaml.Node) bool {
	for i := 0; i < len(n.Content); i += 2 {
		if strings.ContainsAny(n.Content[i].Value, `./\`) {
			return true
		}
	}
	return false
}
