// Package check judges a run by rules: a gate for continuous integration.
//
// A check file names a scenario and rules. A rule bounds one metric, by itself
// (min, max) or against a baseline (max_increase, max_decrease):
//
//	scenario: ci.yaml
//	baseline: baseline.json
//	rules:
//	  - metric: cache_hit_ratio
//	    strategy: claude-code/2026-03
//	    min: 0.92
//	  - metric: cost_usd
//	    max_increase: 1%
//
// What a check cannot judge fails it: no sessions, a metric without a sample, a
// cell or group that matches nothing, a baseline that is missing or belongs to
// other sessions or another scenario, and a rule that no figure could break.
//
// # Figures that are drawn
//
// Sizes and failures of summaries, evictions and random choices of layers are
// drawn, so that every figure of such a cell is a sample. The cell is simulated
// under several seeds, and the interval of the mean over them decides: a rule
// is broken when the whole interval lies beyond the bar, and its mean lies
// beyond by more than a thousandth. Against a baseline the seeds are
// paired. The interval is Student's with a confidence of 1 − level/m, where m
// is the number of figures of the check that spread, so that a check of any
// length raises a false alarm in at most a share level of its runs (half of
// that when the figures are near normal, because an alarm is one-sided). A
// figure that is the same under all seeds is compared directly.
package check

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/compactsim/compactsim/internal/kit/spec"
)

// Defaults of a check file.
const (
	// defaultSeeds is how many seeds a cell with draws is simulated under. Twenty
	// make the interval of a mean about half a standard deviation wide on either
	// side.
	defaultSeeds = 20
	// defaultLevel is the share of runs without a change in which a check may raise
	// an alarm.
	defaultLevel = 0.05
)

// File is a check file. With fewer than five seeds or a lower level, intervals
// are too wide to find anything.
type File struct {
	Name     string    `yaml:"-"` // as opened
	Scenario Source    `yaml:"-"`
	From     yaml.Node `yaml:"scenario"` // source of the scenario, as written

	Seeds             int        `yaml:"seeds" doc:"seeds that a cell with draws is simulated under" min:"5" max:"1000"`
	Level             float64    `yaml:"level" doc:"share of runs without a change that may raise an alarm" min:"0.0001" max:"0.5"`
	Baseline          string     `yaml:"baseline" doc:"file that the rules are held against"`
	ScenarioMayChange bool       `yaml:"scenario_may_change" doc:"another scenario than the baseline's is what is judged"`
	Suspect           string     `yaml:"suspect" doc:"what becomes of a figure that is beyond its bar by no more than chance explains: it is told first, or fails the check" enum:"warn,fail"`
	Window            int        `yaml:"window" doc:"runs that a baseline keeps, the last ones; each is judged and then added by --update" min:"0" max:"1000"`
	Unread            *int       `yaml:"unread" doc:"lines, files and sessions that may be lost in reading; without it as many as the runs of the baseline lost" min:"0"`
	Uncounted         int        `yaml:"uncounted" doc:"calls whose token counts are missing, cannot be read or contradict each other: the bill is wrong by these" min:"0"`
	Unpriced          string     `yaml:"unpriced" doc:"refuse leaves costs unjudged that lack prices, allow lets such calls cost nothing" enum:"refuse,allow"`
	Facts             Facts      `yaml:"facts"`
	Paired            Paired     `yaml:"paired"`
	Prices            Prices     `yaml:"prices"`
	Models            []string   `yaml:"models" doc:"names or patterns of the models that may be called; any without"`
	Accept            Acceptance `yaml:"-"`
	Rules             []Rule     `yaml:"rules"`

	factsLine, pairedLine, baselineLine, pricesLine, modelsLine int
}

// Source is a scenario: a file or built-in scenario by its name, or one within the check file.
type Source struct {
	Path string // "" for one within
	Line int
}

// Parse reads the check file called name. All problems are reported at once,
// with file and line. The usable part is returned with them, nil when the text
// is no YAML mapping.
func Parse(text []byte, name string) (*File, error) {
	tree, err := spec.Parse(text, name)
	if err != nil {
		return nil, err
	}
	if tree.Root.Kind != yaml.MappingNode {
		return nil, tree.Errorf(tree.Root, "a check is a mapping with the keys scenario and rules")
	}
	f := &File{Name: name, Seeds: defaultSeeds, Level: defaultLevel, Unpriced: "refuse", Suspect: "warn", Facts: Facts{Lifetime: "any"}}
	errs := tree.Decode(tree.Root, f, "")
	errs = append(errs, f.scenario(tree)...)
	list := spec.Child(tree.Root, "rules")
	if list == nil || len(list.Content) == 0 {
		errs = append(errs, fmt.Errorf("%s: a check needs rules", name))
	}
	for key, line := range map[string]*int{"facts": &f.factsLine, "paired": &f.pairedLine, "baseline": &f.baselineLine, "prices": &f.pricesLine, "models": &f.modelsLine} {
		if n := spec.Child(tree.Root, key); n != nil {
			*line = n.Line
		}
	}
	for _, q := range []struct {
		key   string
		asked bool
	}{{"facts", f.Facts.asked()}, {"paired", f.Paired.asked()}, {"prices", f.Prices.Max != nil}, {"models", len(f.Models) > 0}} {
		if n := spec.Child(tree.Root, q.key); n != nil && !q.asked {
			errs = append(errs, tree.Errorf(n, "%s asks nothing: give it a bar, as docs/ci.md shows, or take the key out", q.key))
		}
	}
	if slices.ContainsFunc(f.Models, func(p string) bool { return strings.Trim(p, "*") == "" }) {
		errs = append(errs, tree.Errorf(spec.Child(tree.Root, "models"), "models cannot fail: any model passes a pattern of *"))
	}
	for i := range f.Rules {
		r := &f.Rules[i]
		r.settle() // Decode has reported the errors
		r.Line = list.Content[i].Line
	}
	return f, errors.Join(tree.Sorted(errs)...)
}

// scenario finds the scenario: a name, or a mapping within the file.
func (f *File) scenario(t *spec.Tree) []error {
	n := spec.Child(t.Root, "scenario")
	switch {
	case n == nil:
		return []error{fmt.Errorf("%s: a check needs a scenario: a file, the name of a built-in one, or a mapping", f.Name)}
	case n.Kind != yaml.MappingNode && (n.Kind != yaml.ScalarNode || n.Value == ""):
		return []error{t.Errorf(n, "scenario takes a file, the name of a built-in one, or a mapping")}
	}
	f.Scenario = Source{Path: n.Value, Line: n.Line}
	return nil
}
