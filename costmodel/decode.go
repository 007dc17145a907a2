package costmodel

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// maxFile is the size in bytes a price file may have: a thousand times what a
// large one needs.
const maxFile = 16 << 20

// maxProblems is the number of problems one error lists.
const maxProblems = 50

// decoder walks the nodes of one file and notes every problem with its line.
type decoder struct {
	name     string
	problems []error
	dropped  int
}

func (d *decoder) problem(n *yaml.Node, format string, args ...any) {
	if len(d.problems) == maxProblems {
		d.dropped++
		return
	}
	d.problems = append(d.problems, fmt.Errorf("%s:%d: %s", d.name, n.Line, fmt.Sprintf(format, args...)))
}

func (d *decoder) err() error {
	if d.dropped > 0 {
		return errors.Join(append(d.problems, fmt.Errorf("%s: and %d more problems", d.name, d.dropped))...)
	}
	return errors.Join(d.problems...)
}

// parse returns the root node of the only document in r.
func (d *decoder) parse(r io.Reader) (*yaml.Node, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("read prices from %s: %w", d.name, err)
	}
	if len(text) > maxFile {
		return nil, fmt.Errorf("read prices from %s: larger than %d bytes", d.name, maxFile)
	}
	if line := badText(text); line > 0 {
		return nil, fmt.Errorf("%s:%d: not a text file in UTF-8", d.name, line)
	}
	dec := yaml.NewDecoder(bytes.NewReader(text))
	var doc, second yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil, fmt.Errorf("%s: no prices: the file is empty", d.name)
	case err != nil:
		return nil, d.syntax(err)
	}
	switch err := dec.Decode(&second); {
	case err == nil:
		return nil, fmt.Errorf("%s:%d: a second document: put all models into one", d.name, second.Line)
	case !errors.Is(err, io.EOF):
		return nil, d.syntax(err)
	}
	return doc.Content[0], nil
}

// badText returns the line of the first byte that is not UTF-8 or a control
// character, which the YAML parser refuses without saying where; 0 for none.
func badText(text []byte) int {
	line := 1
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		switch {
		case r == '\n':
			line++
		case r == utf8.RuneError && size <= 1, r < ' ' && r != '\t' && r != '\r', r == 0x7f:
			return line
		}
		i += size
	}
	return 0
}

var (
	yamlLine = regexp.MustCompile(`^yaml: line ([0-9]+): `)
	// The messages of yaml.v3's parser, which counts lines from 0; its scanner
	// counts from 1. Neither names the first line.
	fromParser = regexp.MustCompile(`^(did not find expected (<|node content|'-'|key|',')|found (undefined|duplicate|incompatible))`)
)

// syntax gives an error of the YAML parser the form of the others.
func (d *decoder) syntax(err error) error {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	if strings.HasPrefix(text, "unknown anchor") { // comes without any line
		return fmt.Errorf("%s: %s", d.name, text)
	}
	line := 1
	if m := yamlLine.FindStringSubmatch(err.Error()); m != nil {
		text = err.Error()[len(m[0]):]
		line, _ = strconv.Atoi(m[1]) // digits only
		if fromParser.MatchString(text) {
			line++
		}
	}
	return fmt.Errorf("%s:%d: %s", d.name, line, text)
}

// field is a key a mapping may have and what reads its value.
type field struct {
	key  string
	read func(*yaml.Node)
}

// mapping reads n with the given fields. Unknown and repeated keys are
// problems. It returns which keys were present.
func (d *decoder) mapping(n *yaml.Node, what string, fields []field) map[string]bool {
	seen := make(map[string]bool)
	d.pairs(n, what, func(k, v *yaml.Node) {
		for _, f := range fields {
			if f.key == k.Value {
				seen[f.key] = true
				f.read(v)
				return
			}
		}
		var known []string
		for _, f := range fields {
			known = append(known, f.key)
		}
		if near := nearest(k.Value, known, 1); near != nil {
			d.problem(k, "unknown key %q in %s; did you mean %q?", k.Value, what, near[0])
			return
		}
		d.problem(k, "unknown key %q in %s; known: %s", k.Value, what, strings.Join(known, ", "))
	})
	return seen
}

// pairs calls f for each key and value of the mapping n.
func (d *decoder) pairs(n *yaml.Node, what string, f func(k, v *yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		d.problem(n, "%s: want a mapping, have %s", what, describe(n))
		return
	}
	lines := make(map[string]int)
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		if k.Kind != yaml.ScalarNode {
			d.problem(k, "%s: a key is %s, want a name", what, describe(k))
			continue
		}
		if first, ok := lines[k.Value]; ok {
			d.problem(k, "%s: key %q stands already on line %d", what, k.Value, first)
			continue
		}
		lines[k.Value] = k.Line
		f(k, v)
	}
}

// number reads a finite number in [0, most].
func (d *decoder) number(n *yaml.Node, what string, most float64) (float64, bool) {
	var v float64
	tag := n.ShortTag()
	if n.Kind != yaml.ScalarNode || tag != "!!int" && tag != "!!float" || n.Decode(&v) != nil {
		d.problem(n, "%s: want a number, have %s", what, describe(n))
		return 0, false
	}
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		d.problem(n, "%s: %s is not a number to calculate with", what, n.Value)
		return 0, false
	case v < 0:
		d.problem(n, "%s: %s is negative", what, n.Value)
		return 0, false
	case v > most:
		d.problem(n, "%s: %s is more than %g", what, n.Value, most)
		return 0, false
	}
	return v, true
}

// count reads a whole number of tokens from 1 to a thousand million.
func (d *decoder) count(n *yaml.Node, what string) int {
	v, ok := d.number(n, what, 1e9)
	if ok && (v < 1 || v != math.Trunc(v)) {
		d.problem(n, "%s: %s is not a whole number of tokens from 1", what, n.Value)
		return 0
	}
	return int(v)
}

// text reads a string that is not empty.
func (d *decoder) text(n *yaml.Node, what string) string {
	if n.Kind != yaml.ScalarNode || strings.TrimSpace(n.Value) == "" || n.ShortTag() == "!!null" {
		d.problem(n, "%s: want a name, have %s", what, describe(n))
		return ""
	}
	return strings.TrimSpace(n.Value)
}

// date reads a day, as its first instant in UTC.
func (d *decoder) date(n *yaml.Node, what string) time.Time {
	at, err := time.Parse(time.DateOnly, n.Value)
	if n.Kind != yaml.ScalarNode || err != nil {
		d.problem(n, "%s: want a date like 2026-11-01, have %s", what, describe(n))
		return time.Time{}
	}
	return at
}

func describe(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "an alias, which price files do not support"
	}
	if n.Value == "" {
		return "nothing"
	}
	v := []rune(n.Value)
	return fmt.Sprintf("%q", string(v[:min(len(v), 40)]))
}
