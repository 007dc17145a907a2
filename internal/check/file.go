package check

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/compactsim/compactsim/internal/spec"
)

// What a check file leaves out.
const (
	// DefaultSeeds is how many seeds a cell with draws is simulated under. Twenty
	// make the interval of a mean about half a standard deviation wide to either
	// side.
	DefaultSeeds = 20
	// DefaultLevel is the share of runs without a change in which a check may
	// raise an alarm.
	DefaultLevel = 0.05
	minLevel     = 1e-4 // the interval of a lower one is too wide to find anything
	minSeeds     = 5    // fewer leave an interval too wide to find anything
	maxSeeds     = 1000
)

// defaultMinEffect is a tenth of a per cent: well below what a person would act
// on, and above what rounding of sizes to whole tokens makes.
var defaultMinEffect = Amount{0.001, true}

// File is a check file.
type File struct {
	Name     string // as it was opened
	Scenario Source
	Seeds    int     // per cell with draws, minSeeds…maxSeeds
	Level    float64 // share of runs without a change that may raise an alarm, in [minLevel, 0.5]
	// ScenarioMayChange says that a scenario other than the baseline's is what
	// is judged, not a failure.
	ScenarioMayChange bool
	// Unread is how many lines, files and sessions may be lost in reading.
	Unread int
	// AllowUnpriced says that calls of models without a price may cost nothing.
	AllowUnpriced bool
	Rules         []Rule
}

// Source is where a scenario comes from: a file or built-in scenario by its
// name, or text within the check file.
type Source struct {
	Path string
	Text []byte // lines stand where they stand in the check file
	Line int
}

// checkFile is a check file as written.
type checkFile struct {
	Scenario          yaml.Node  `yaml:"scenario"`
	Seeds             int        `yaml:"seeds"`
	Level             float64    `yaml:"level"`
	Baseline          string     `yaml:"baseline"`
	ScenarioMayChange bool       `yaml:"scenario_may_change"`
	Unread            int        `yaml:"unread"`
	Unpriced          string     `yaml:"unpriced"`
	Rules             []ruleNode `yaml:"rules"`
}

// Parse reads the check file called name. All problems are reported at once,
// with file and line; what can be used is returned beside them, nil when the
// text is no YAML mapping.
func Parse(text []byte, name string) (*File, error) {
	tree, err := spec.Parse(text, name)
	if err != nil {
		return nil, err
	}
	if tree.Root.Kind != yaml.MappingNode {
		return nil, tree.Errorf(tree.Root, "a check is a mapping with the keys scenario and rules")
	}
	d := checkFile{Seeds: DefaultSeeds, Level: DefaultLevel}
	errs := tree.Decode(tree.Root, &d, "")
	f := &File{Name: name, Seeds: d.Seeds, Level: d.Level, ScenarioMayChange: d.ScenarioMayChange, Unread: d.Unread, AllowUnpriced: d.Unpriced == allowUnpriced}
	errs = append(errs, f.scenario(tree, text)...)
	errs = append(errs, f.bounds(tree)...)
	errs = append(errs, unpricedErrors(tree, d.Unpriced)...)
	errs = append(errs, f.rules(tree, d.Baseline)...)
	errs = append(errs, repeated(name, f.Rules)...)
	return f, errors.Join(byLine(name, errs)...)
}

// rules reads the rules one by one: decoding a list leaves out elements that it
// refuses, and those behind would get their lines.
func (f *File) rules(t *spec.Tree, baseline string) []error {
	list := spec.Child(t.Root, "rules")
	if list == nil || len(list.Content) == 0 {
		return []error{fmt.Errorf("%s: a check needs rules", f.Name)}
	}
	var errs []error
	for _, n := range list.Content {
		var r ruleNode
		if n.Kind != yaml.MappingNode || n.Decode(&r) != nil {
			continue // reported already
		}
		rule, wrong := r.rule(t, n, baseline)
		errs = append(errs, wrong...)
		f.Rules = append(f.Rules, rule)
	}
	return errs
}

func (f *File) bounds(t *spec.Tree) []error {
	var errs []error
	at := func(key string) *yaml.Node { return cmp.Or(spec.Child(t.Root, key), t.Root) }
	if f.Seeds < minSeeds || f.Seeds > maxSeeds {
		errs = append(errs, t.Errorf(at("seeds"), "seeds %d must lie in %d…%d: figures that are drawn are judged by the interval of several", f.Seeds, minSeeds, maxSeeds))
	}
	if !(f.Level >= minLevel && f.Level <= 0.5) {
		errs = append(errs, t.Errorf(at("level"), "level %g must lie in %g…0.5", f.Level, minLevel))
	}
	if f.Unread < 0 {
		errs = append(errs, t.Errorf(at("unread"), "unread %d must not be negative", f.Unread))
	}
	return errs
}

// scenario finds the scenario: a name, or a mapping within the file.
func (f *File) scenario(t *spec.Tree, text []byte) []error {
	n := spec.Child(t.Root, "scenario")
	switch {
	case n == nil:
		return []error{fmt.Errorf("%s: a check needs a scenario: a file, the name of a built-in one, or a mapping", f.Name)}
	case n.Kind == yaml.ScalarNode && n.Value != "":
		f.Scenario = Source{Path: n.Value, Line: n.Line}
		return nil
	case n.Kind != yaml.MappingNode:
		return []error{t.Errorf(n, "scenario takes a file, the name of a built-in one, or a mapping")}
	}
	f.Scenario = Source{Text: cut(t.Root, n, text), Line: n.Line}
	if own, err := spec.Parse(f.Scenario.Text, f.Name); err == nil && same(own.Root, n) {
		return nil
	}
	// An alias, a file of one line, or one whose lines end otherwise than in \n:
	// what is left of it has no lines to keep.
	again, err := yaml.Marshal(spec.Clone(n))
	f.Scenario.Text = again
	if err != nil {
		return []error{t.Errorf(n, "scenario: %w", err)}
	}
	return nil
}

// same reports whether two nodes hold the same in the same lines.
func same(a, b *yaml.Node) bool {
	return a.Kind == b.Kind && a.ShortTag() == b.ShortTag() && a.Value == b.Value && a.Line == b.Line &&
		slices.EqualFunc(a.Content, b.Content, same)
}

// cut returns the text of the mapping n below root with all that is not of it
// blanked, so that errors in it have the lines of the file.
func cut(root, n *yaml.Node, text []byte) []byte {
	end := len(text) + 1 // line of the key behind, from 1
	for i := 0; i < len(root.Content); i += 2 {
		if line := root.Content[i].Line; line > n.Line {
			end = min(end, line)
		}
	}
	lines := strings.Split(string(text), "\n")
	for i := range lines {
		switch {
		case i+1 < n.Line || i+1 >= end:
			lines[i] = ""
		case i+1 == n.Line && n.Column > 1:
			own := []rune(lines[i])
			lines[i] = strings.Repeat(" ", n.Column-1) + string(own[min(n.Column-1, len(own)):])
		}
	}
	return []byte(strings.TrimRight(strings.Join(lines, "\n"), "\n") + "\n")
}

// Baselines returns the files the rules are held against, each once and in the
// shortest form of its path, in order.
func (f *File) Baselines() []string {
	var files []string
	for i := range f.Rules {
		if b := f.Rules[i].Baseline; b != "" && !slices.Contains(files, b) {
			files = append(files, b)
		}
	}
	return files
}

// byLine sorts errors of the file called name by their lines, others in front.
func byLine(name string, errs []error) []error {
	line := func(err error) int {
		rest, _ := strings.CutPrefix(err.Error(), name+":")
		number, _, _ := strings.Cut(rest, ":")
		n, err := strconv.Atoi(number)
		if err != nil {
			return 0
		}
		return n
	}
	slices.SortStableFunc(errs, func(a, b error) int { return cmp.Compare(line(a), line(b)) })
	return errs
}
