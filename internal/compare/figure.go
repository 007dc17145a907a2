package compare

import (
	"slices"

	"github.com/compactsim/compactsim/internal/stats"
	"github.com/compactsim/compactsim/sim/results"
)

// Verdict says what the figures tell of other sessions of the same kind.
type Verdict uint8

// The verdicts.
const (
	Missing Verdict = iota // a side has no sample: there is nothing to say
	Same                   // no session differs
	Unknown                // nothing can be said
	Better
	Worse
	Below // of a metric without a direction of improvement
	Above
)

// String returns the word for a verdict, "~" for Missing and Unknown.
func (v Verdict) String() string {
	return [...]string{"~", "same", "~", "better", "worse", "lower", "higher"}[min(v, Above)]
}

// Figure is a metric of both sides over the sessions they share. Values,
// differences and intervals are in the unit of the metric; differences are the
// other side's less the baseline's.
type Figure struct {
	Metric results.Metric
	// Summary says that the metric is one of those in the table of a run.
	Summary bool
	// Exact says that the figure is counted or priced call by call and that chance
	// had no part in either side: the difference is what it is.
	Exact bool
	Base  Sample
	Other Sample
	// Difference and what follows are set when both have a sample.
	Difference float64
	Relative   Sample // difference / base as a fraction, nothing for a base of 0
	// Interval is of the difference, RelativeInterval of the relative one for
	// metrics of the run table and those asked for by name; nil when there are too
	// few sessions or no difference.
	Interval         *stats.Interval
	RelativeInterval *stats.Interval
	// Test is Wilcoxon's on the differences of sessions; Holm its p-value
	// corrected for the number of metrics. Tested is false when no session
	// differs.
	Test   stats.SignedRank
	Holm   float64
	Tested bool
	// Lower, Ties and Higher count the sessions in which the other side's value
	// is below the baseline's, the same, and above.
	Lower, Ties, Higher int
	Verdict             Verdict
	Notes               []string
}

// Sample is a value that may not be there.
type Sample struct {
	Value float64
	OK    bool
}

// Changed reports whether the two sides differ in any session.
func (f *Figure) Changed() bool { return f.Verdict > Same }

// Wins returns the sessions in which the other side is better, those in which
// it is worse, and whether the metric has a better side at all.
func (f *Figure) Wins() (wins, losses int, ok bool) {
	switch f.Metric.Better {
	case results.Lower:
		return f.Lower, f.Higher, true
	case results.Higher:
		return f.Higher, f.Lower, true
	}
	return 0, 0, false
}

// Figure returns the figure of a metric, nil when there is none.
func (c *Comparison) Figure(name string) *Figure {
	i := slices.IndexFunc(c.Figures, func(f Figure) bool { return f.Metric.Name == name })
	if i < 0 {
		return nil
	}
	return &c.Figures[i]
}

// Changed reports whether any figure differs.
func (c *Comparison) Changed() bool {
	return slices.ContainsFunc(c.Figures, func(f Figure) bool { return f.Changed() })
}

// shown returns the figures to print: all when metrics or all of them were asked
// for, otherwise those of the run table followed by those that changed.
func (r *Report) shown(c *Comparison, o WriteOptions) []Figure {
	var list []Figure
	for _, summary := range []bool{true, false} {
		for _, f := range c.Figures {
			if f.Summary == summary && (o.All || r.Chosen || f.Summary || f.Changed()) {
				list = append(list, f)
			}
		}
	}
	return list
}
