package check

import (
	"errors"
	"fmt"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/stat"
	"gopkg.in/yaml.v3"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/internal/kit/nearest"
	"github.com/compactsim/compactsim/internal/kit/spec"
	"github.com/compactsim/compactsim/internal/kit/stats"
	"github.com/compactsim/compactsim/sim/results"
)

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
	case known && r.Metric.Unit == results.UnitRatio && r.Bar.Value > 1 && !(r.Kind.relative() && r.Bar.Percent):
		return fmt.Errorf("%s: a ratio is at most 1, or 100%%", r.Text())
	case !r.Kind.relative() && r.Bar.Percent && known && r.Metric.Unit != results.UnitRatio:
		return fmt.Errorf("%s: only a ratio is bounded by a percentage, %s is in %s", r.Text(), r.Metric.Name, r.Metric.Unit)
	}
	return nil
}

// Predicts reports whether the check needs the bill predicted.
func (f *File) Predicts() bool {
	return f.Facts.asked() || f.Paired.asked() || f.Prices.Max != nil || slices.ContainsFunc(f.Rules, func(r Rule) bool { return r.Name == results.NameOverPredicted })
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
