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
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/internal/kit/nearest"
	"github.com/compactsim/compactsim/internal/kit/spec"
	"github.com/compactsim/compactsim/internal/kit/stats"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"gonum.org/v1/gonum/stat"
	"gopkg.in/yaml.v3"
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
	Uncounted         int        `yaml:"uncounted" doc:"calls whose token counts are missing, cannot be read, contradict each other or are unfinished: the bill is wrong by these" min:"0"`
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

// Kind is the kind of bar of a rule.
type Kind uint8

// The kinds of bar.
const (
	Min         Kind = iota // the figure is at least the bar
	Max                     // the figure is at most the bar
	MaxIncrease             // it is above the baseline by at most the bar
	MaxDecrease             // it is below the baseline by at most the bar
	numKinds    = 4
)

var kindNames = [numKinds]string{"min", "max", "max_increase", "max_decrease"}

// String returns the key of the bar in a check file.
func (k Kind) String() string { return kindNames[min(k, numKinds-1)] }

// relative reports whether the bar is a margin against a baseline.
func (k Kind) relative() bool { return k == MaxIncrease || k == MaxDecrease }

// sign is 1 if figures grow towards the bar, −1 if they fall.
func (k Kind) sign() float64 {
	if k == Min || k == MaxDecrease {
		return -1
	}
	return 1
}

// Ways to group sessions.
const (
	ByProject = "project"
	ByModel   = "model" // the model of most calls of the session
	ByAgent   = "agent"
)

// Rule bounds one metric in the cells it names. Parse sets the line and the
// fields derived from keys.
type Rule struct {
	Name string `yaml:"metric" doc:"name of the metric"`
	Per  string `yaml:"per" doc:"divide it by this one, such as calls or output_tokens (for each thousand)"`
	// Strategy is the name of cells or of their strategy, or a pattern of either.
	Strategy    string  `yaml:"strategy" doc:"cells or strategies of this name or pattern; any without"`
	Group       string  `yaml:"group" doc:"project, model or agent; all sessions without"`
	Min         *Amount `yaml:"min" doc:"the least the figure may be"`
	Max         *Amount `yaml:"max" doc:"the most the figure may be"`
	MaxIncrease *Amount `yaml:"max_increase" doc:"the most it may lie above the baseline"`
	MaxDecrease *Amount `yaml:"max_decrease" doc:"the most it may lie below the baseline"`

	Metric results.Metric `yaml:"-"`
	whole  results.Metric // Metric without Per
	Kind   Kind           `yaml:"-"`
	Bar    Amount         `yaml:"-"`
	Line   int            `yaml:"-"` // in the check file
}

// Text returns the requirement of the rule, for instance "max_increase 1%".
func (r *Rule) Text() string { return r.Kind.String() + " " + r.Bar.String() }

// Rules returns errors that involve several keys of the rule.
func (r *Rule) Rules() []error {
	own := *r
	return own.settle()
}

// settle finds the metric and the bar, and returns the errors of the rule.
func (r *Rule) settle() []error {
	var errs []error
	wrong := func(key, format string, args ...any) { errs = append(errs, spec.Wrong(key, format, args...)) }
	var known bool
	if r.Metric, known = results.LookupMetric(r.Name); !known && r.Name == "" {
		errs = append(errs, errors.New("a rule needs a metric"))
	} else if !known {
		wrong("metric", "is unknown: %q%s; docs/schema.md lists them all", r.Name, nearest.Like(r.Name, metricNames()))
	}
	if r.whole = r.Metric; r.Per != "" && known {
		r.setPer(wrong)
	}
	if _, err := path.Match(r.Strategy, ""); err != nil {
		wrong("strategy", "is no pattern: %q", r.Strategy)
	}
	if by := []string{ByProject, ByModel, ByAgent}; r.Group != "" && !slices.Contains(by, r.Group) {
		wrong("group", "is unknown: %q%s; known: %s", r.Group, nearest.Hint(r.Group, by), strings.Join(by, ", "))
	}
	if err := r.setBar(known); err != nil {
		errs = append(errs, err)
	}
	return errs
}

// setPer divides the metric by another.
func (r *Rule) setPer(wrong func(key, format string, args ...any)) {
	base, known := results.LookupMetric(r.Per)
	per, sums := r.Metric.Per(base)
	switch {
	case !known:
		wrong("per", "is unknown: %q%s", r.Per, nearest.Like(r.Per, metricNames()))
	case !sums:
		wrong("per", "divides sums: one of %s and %s is none", r.Name, r.Per)
	default:
		r.Metric = per
	}
}

// setBar finds the one bar of a rule.
func (r *Rule) setBar(known bool) error {
	found := 0
	for k, a := range []*Amount{Min: r.Min, Max: r.Max, MaxIncrease: r.MaxIncrease, MaxDecrease: r.MaxDecrease} {
		if a != nil {
			r.Kind, r.Bar = Kind(k), *a
			found++
		}
	}
	switch {
	case found != 1:
		return fmt.Errorf("a rule has one of %s, this one has %d", strings.Join(kindNames[:], ", "), found)
	case r.Kind.relative() && r.Bar.Value < 0:
		return fmt.Errorf("%s must not be negative", r.Text())
	case known && r.Metric.Unit == measures.UnitRatio && r.Bar.Value > 1 && !(r.Kind.relative() && r.Bar.Percent):
		return fmt.Errorf("%s: a ratio is at most 1, or 100%%", r.Text())
	case !r.Kind.relative() && r.Bar.Percent && known && r.Metric.Unit != measures.UnitRatio:
		return fmt.Errorf("%s: only a ratio is bounded by a percentage, %s is in %s", r.Text(), r.Metric.Name, r.Metric.Unit)
	}
	return nil
}

// Predicts reports whether the check needs the bill predicted.
func (f *File) Predicts() bool {
	return f.Facts.asked() || f.Paired.asked() || f.Prices.Max != nil || slices.ContainsFunc(f.Rules, func(r Rule) bool { return r.Name == measures.NameOverPredicted })
}

func metricNames() []string {
	var names []string
	for _, m := range results.Metrics() {
		names = append(names, m.Name)
	}
	return names
}

// Names returns an error for rules that name nothing among the cells of a scenario and their strategies.
func (f *File) Names(known []string) error {
	var errs []error
	for i := range f.Rules {
		r := &f.Rules[i]
		if r.Strategy != "" && !slices.ContainsFunc(known, func(name string) bool { return nearest.Match(r.Strategy, name) }) {
			errs = append(errs, fmt.Errorf("%s:%d: unknown strategy %q%s; the scenario has %s", f.Name, r.Line, r.Strategy,
				nearest.Hint(r.Strategy, known), document.Few(known)))
		}
	}
	return errors.Join(errs...)
}

// Amount is a figure in the unit of a metric, or a percentage of another one.
type Amount struct {
	Value   float64 // 0.01 for 1%
	Percent bool
}

// UnmarshalYAML reads 0.92 or 1%.
func (a *Amount) UnmarshalYAML(n *yaml.Node) error {
	text, percent := strings.CutSuffix(n.Value, "%")
	v, err := strconv.ParseFloat(strings.ReplaceAll(strings.TrimSpace(text), "_", ""), 64)
	if err != nil || n.Kind != yaml.ScalarNode || math.IsNaN(v) || math.IsInf(v, 0) {
		return fmt.Errorf("want a number such as 0.92 or a percentage such as 1%%, not %q", n.Value)
	}
	if percent {
		v /= 100
	}
	*a = Amount{v, percent}
	return nil
}

// MarshalYAML writes what UnmarshalYAML reads.
func (a Amount) MarshalYAML() (any, error) { return a.String(), nil }

// String returns the amount in the form of a file.
func (a Amount) String() string {
	if a.Percent {
		return strconv.FormatFloat(100*a.Value, 'g', 12, 64) + "%"
	}
	return strconv.FormatFloat(a.Value, 'g', -1, 64)
}

// of returns the amount in the unit of base; a percentage is one of base.
func (a Amount) of(base float64) float64 {
	if a.Percent {
		return a.Value * math.Abs(base)
	}
	return a.Value
}

// overSeeds estimates the mean of a figure over seeds, with an interval that misses the true mean
// in a share of all samples, in (0, 1). The interval has no width when all values are equal.
func overSeeds(values []float64, share float64) stats.Estimate {
	if !spread(values) {
		return stats.Estimate{Difference: values[0], Interval: stats.Interval{Low: values[0], High: values[0]}}
	}
	part := make([]float64, len(values))
	for i, v := range values {
		part[i] = v / float64(len(values))
	}
	return stats.Estimator{Level: 1 - share}.One(stats.Pair{
		Base: stats.Figure{Part: make([]float64, len(values))}, Other: stats.Figure{Part: part},
	})
}

func spread(values []float64) bool {
	for _, v := range values {
		if v != values[0] {
			return true
		}
	}
	return false
}

func mean(values []float64) float64 {
	if !spread(values) {
		return values[0] // dividing a sum of equal numbers need not give the number
	}
	return stat.Mean(values, nil)
}

// figure formats a value of a unit for people.
func figure(unit string, v float64) string { return document.ScaleFor(unit, v).Text(v) }

// difference formats the difference of two values of a unit: in points for ratios.
func difference(unit string, v float64) string {
	return document.ScaleOf(unit, math.Abs(v), v).Change(v)
}
