package check

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/compactsim/compactsim/internal/nearest"
	"github.com/compactsim/compactsim/internal/spec"
	"github.com/compactsim/compactsim/sim/results"
)

// Kind is the sort of bar a rule sets.
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

// Ways to group sessions; any other group is a pattern of session ids.
const (
	ByProject = "project"
	ByModel   = "model" // the one most calls of the session went to
	ByAgent   = "agent"
)

// Rule bounds one metric in the cells it names.
type Rule struct {
	Metric   results.Metric
	Strategy string // cells of this strategy; "" for any
	Cell     string // the cell of this name or pattern; "" for any
	// Group is ByProject, ByModel, ByAgent or a pattern of session ids; "" for
	// all sessions together.
	Group string
	Kind  Kind
	Bar   Amount
	// MinEffect is what the mean of a figure that spreads must lie beyond its bar
	// at least, a percentage of the baseline or of a bar without one.
	MinEffect Amount
	Baseline  string // file the rule is held against; "" for none
	Line      int    // in the check file
}

// Text returns what the rule asks for, for instance "max_increase 1%".
func (r *Rule) Text() string { return r.Kind.String() + " " + r.Bar.String() }

// ruleNode is a rule as written.
type ruleNode struct {
	Metric      string  `yaml:"metric"`
	Strategy    string  `yaml:"strategy"`
	Cell        string  `yaml:"cell"`
	Group       string  `yaml:"group"`
	Min         *Amount `yaml:"min"`
	Max         *Amount `yaml:"max"`
	MaxIncrease *Amount `yaml:"max_increase"`
	MaxDecrease *Amount `yaml:"max_decrease"`
	MinEffect   *Amount `yaml:"min_effect"`
	Against     string  `yaml:"against"`
}

// rule returns the rule that stands at n, with the errors in it.
func (r *ruleNode) rule(t *spec.Tree, n *yaml.Node, baseline string) (Rule, []error) {
	var errs []error
	wrong := func(key, format string, args ...any) {
		at := n
		if child := spec.Child(n, key); child != nil {
			at = child
		}
		errs = append(errs, t.Errorf(at, format, args...))
	}
	out := Rule{Strategy: r.Strategy, Cell: r.Cell, Group: r.Group, Baseline: baselinePath(cmp.Or(r.Against, baseline)), MinEffect: defaultMinEffect, Line: n.Line}
	metric, known := results.LookupMetric(r.Metric)
	if out.Metric = metric; !known {
		if r.Metric == "" {
			wrong("", "a rule needs a metric")
		} else {
			wrong("metric", "unknown metric %q%s; docs/schema.md lists them all", r.Metric, metricHint(r.Metric))
		}
	}
	if r.Strategy != "" && r.Cell != "" {
		wrong("cell", "strategy and cell exclude each other")
	}
	for _, p := range [][2]string{{"cell", r.Cell}, {"group", r.Group}} {
		if _, err := path.Match(p[1], ""); err != nil {
			wrong(p[0], "%s: %q is no pattern: %w", p[0], p[1], err)
		}
	}
	if hint, ok := nearest.Name(r.Group, groupings); ok && !slices.Contains(groupings, r.Group) && len(r.Group) > 3 && !strings.ContainsAny(r.Group, "*?[0123456789") {
		wrong("group", "unknown group %q (did you mean %q?)", r.Group, hint)
	}
	if err := r.bar(&out, known); err != nil {
		wrong(out.Kind.String(), "%w", err)
	}
	if r.MinEffect != nil {
		out.MinEffect = *r.MinEffect
		if err := out.checkMinEffect(); err != nil {
			wrong("min_effect", "%w", err)
		}
	}
	return out, errs
}

// baselinePath returns the shortest form of a path, so that one file has one
// name; "" for none.
func baselinePath(name string) string {
	if name == "" {
		return ""
	}
	return path.Clean(filepath.ToSlash(name))
}

var groupings = []string{ByProject, ByModel, ByAgent}

// bar sets the one bar of a rule.
func (r *ruleNode) bar(out *Rule, known bool) error {
	found := 0
	for k, a := range []*Amount{Min: r.Min, Max: r.Max, MaxIncrease: r.MaxIncrease, MaxDecrease: r.MaxDecrease} {
		if a != nil {
			out.Kind, out.Bar = Kind(k), *a
			found++
		}
	}
	switch {
	case found != 1:
		return fmt.Errorf("a rule has one of %s, this one has %d", strings.Join(kindNames[:], ", "), found)
	case out.Kind.relative() && out.Bar.Value < 0:
		return fmt.Errorf("%s must not be negative", out.Text())
	case known && out.beyondRatio():
		return fmt.Errorf("%s: a ratio is at most 1%s", out.Text(), percentHint(out.Bar))
	case !out.Kind.relative() && out.Bar.Percent && known && out.Metric.Unit != results.UnitRatio:
		return fmt.Errorf("%s: only a ratio is bounded by a percentage, %s is in %s", out.Text(), out.Metric.Name, out.Metric.Unit)
	}
	return nil
}

// beyondRatio reports whether the bar of a ratio is one that no ratio reaches.
func (r *Rule) beyondRatio() bool {
	ofBaseline := r.Kind.relative() && r.Bar.Percent
	return r.Metric.Unit == results.UnitRatio && !ofBaseline && r.Bar.Value > 1
}

// percentHint returns what an amount above 1 may be meant to say.
func percentHint(a Amount) string {
	if a.Percent || a.Value > 100 {
		return ""
	}
	return fmt.Sprintf(" (did you mean %s%%?)", a)
}

// checkMinEffect refuses an effect that lets everything pass: it is a room for what
// does not matter, not a second bar.
func (r *Rule) checkMinEffect() error {
	switch e := r.MinEffect; {
	case !(e.Value > 0):
		return fmt.Errorf("min_effect %s must be above 0", e)
	case e.Percent && e.Value > 1:
		return fmt.Errorf("min_effect %s is more than all of the figure: at most 100%%", e)
	case !e.Percent && !r.Kind.relative() && r.Bar.Value != 0 && e.Value > math.Abs(r.Bar.Value):
		return fmt.Errorf("min_effect %s is more than the bar itself: %s", e, r.Text())
	}
	return nil
}

// metricHint returns the metrics that may be meant: the nearest, or else the first
// that have the name in theirs.
func metricHint(name string) string {
	names := metricNames()
	if hint := nearest.Hint(name, names); hint != "" {
		return hint
	}
	var like []string
	for _, n := range names {
		if strings.Contains(n, name) && len(like) < 3 {
			like = append(like, fmt.Sprintf("%q", n))
		}
	}
	if like == nil {
		return ""
	}
	return " (did you mean " + strings.Join(like, " or ") + "?)"
}

func metricNames() []string {
	var names []string
	for _, m := range results.Metrics() {
		names = append(names, m.Name)
	}
	return names
}

// repeated returns an error for every rule that sets a bar a second time.
func repeated(name string, rules []Rule) []error {
	type key struct {
		metric, strategy, cell, group, baseline string
		kind                                    Kind
	}
	first := map[key]int{}
	var errs []error
	for i := range rules {
		r := &rules[i]
		k := key{r.Metric.Name, r.Strategy, r.Cell, r.Group, "", r.Kind}
		if r.Kind.relative() {
			k.baseline = r.Baseline
		}
		if line, dup := first[k]; dup && r.Metric.Name != "" {
			errs = append(errs, fmt.Errorf("%s:%d: the rule on %s of %s stands here a second time, first in line %d", name, r.Line, r.Kind, r.Metric.Name, line))
			continue
		}
		first[k] = r.Line
	}
	return errs
}

// Twice reports the bars that two rules set on the very same cells of a run, the one
// by their strategy and the other by their name. Draws of cells are not looked at.
func (f *File) Twice(cells []Cell) error {
	in := &Input{Cells: cells}
	var errs []error
	for i := range f.Rules {
		a := &f.Rules[i]
		j := slices.IndexFunc(f.Rules[:i], func(b Rule) bool { return in.sameBar(a, &b) })
		if j >= 0 {
			errs = append(errs, fmt.Errorf("%s:%d: the rule on %s of %s stands here a second time, first in line %d: both name %s", f.Name, a.Line,
				a.Kind, a.Metric.Name, f.Rules[j].Line, in.targets(a)[0].Name))
		}
	}
	return errors.Join(errs...)
}

// sameBar reports whether two rules that name cells in different ways set one bar.
func (in *Input) sameBar(a, b *Rule) bool {
	named := (a.Strategy == "") != (b.Strategy == "") && (a.Cell == "") != (b.Cell == "")
	if !named || a.Metric.Name != b.Metric.Name || a.Kind != b.Kind || a.Group != b.Group || a.Kind.relative() && a.Baseline != b.Baseline {
		return false
	}
	cells := in.targets(a)
	return len(cells) > 0 && slices.Equal(cells, in.targets(b))
}

// Names reports the rules that name a strategy which a scenario does not have.
func (f *File) Names(strategies []string) error {
	var errs []error
	for i := range f.Rules {
		r := &f.Rules[i]
		if r.Strategy != "" && !slices.Contains(strategies, r.Strategy) {
			errs = append(errs, fmt.Errorf("%s:%d: unknown strategy %q%s; the scenario has %s", f.Name, r.Line, r.Strategy,
				nearest.Hint(r.Strategy, strategies), strings.Join(strategies, ", ")))
		}
	}
	return errors.Join(errs...)
}
