package compare

import (
	"fmt"
	"math"
	"strings"

	"github.com/compactsim/compactsim/internal/document"
	"github.com/compactsim/compactsim/internal/stats"
	"github.com/compactsim/compactsim/sim/results"
)

// correct sets the corrected p-values. Metrics in which no session differs take
// part in no correction: whatever the test, they could not come out. The metrics
// of the run table are a family of their own, unless metrics were chosen: those
// are one family.
func correct(list []*measured, chosen bool) {
	for _, family := range []bool{true, false} {
		var members []*measured
		var p []float64
		for _, m := range list {
			if m.Tested && (m.Summary || chosen) == family {
				members, p = append(members, m), append(p, m.Test.P)
			}
		}
		for i, v := range stats.Holm(p) {
			members[i].Holm = v
		}
	}
}

// judge sets the verdict of a figure that differs, and notes why nothing can be
// said.
func (m *measured) judge(c *Comparison, level float64) {
	if m.Verdict == Missing {
		m.Notes = append(m.Notes, m.missing(c))
	}
	if m.Verdict != Unknown {
		return
	}
	if note := c.tooFew(m, level); note != "" {
		m.Notes = append(m.Notes, note)
	}
	switch {
	case m.Interval != nil || c.Sessions < stats.PairsNeeded(level):
	case c.Normal:
		m.Notes = append(m.Notes, fmt.Sprintf("no interval of a maximum over more than %s", document.Count(MaxResampled, "session")))
	default:
		m.Notes = append(m.Notes, "no interval: too many resamples hold no session with a sample")
	}
	if note := c.modelError(m); note != "" {
		m.Notes = append(m.Notes, note)
		return
	}
	m.Verdict = m.verdict(level)
}

// missing says which sides have no figure, and whether they could have one.
func (m *measured) missing(c *Comparison) string {
	var unmeasured, without []string
	for s, label := range []string{c.Base, c.Other} {
		switch {
		case len(m.side[s].rows) == 0:
			unmeasured = append(unmeasured, label)
		case s == 0 && !m.Base.OK, s == 1 && !m.Other.OK:
			without = append(without, label)
		}
	}
	var parts []string
	if len(unmeasured) > 0 {
		parts = append(parts, "not measured in "+and(unmeasured))
	}
	if len(without) > 0 {
		parts = append(parts, "no sample in "+and(without))
	}
	return "nothing to compare: " + strings.Join(parts, ", ")
}

// tooFew says that the test cannot come out whatever the figures, "" when it can.
// Sessions that do not differ are no part of it.
func (c *Comparison) tooFew(m *measured, level float64) string {
	needed := stats.PairsNeeded(level)
	switch {
	case c.Sessions < needed:
		return fmt.Sprintf("too few for a level of %s: %s, it takes %d or more to tell anything of others",
			level100(level), document.Count(c.Sessions, "session"), needed)
	case m.Test.N < needed:
		return fmt.Sprintf("fewer than %s differ: too few for a level of %s to tell anything of others",
			document.Count(needed, "session"), level100(level))
	}
	return ""
}

// verdict holds interval and test against each other: both must say the same.
func (m *measured) verdict(level float64) Verdict {
	d, effect := m.Difference, m.Test.RankBiserial()
	if m.Interval == nil || m.Interval.Contains(0) || m.Holm > 1-level || !m.Tested || d*effect <= 0 {
		return Unknown
	}
	switch {
	case m.Metric.Better == results.Neither && d < 0:
		return Below
	case m.Metric.Better == results.Neither:
		return Above
	case (d < 0) == (m.Metric.Better == results.Lower):
		return Better
	}
	return Worse
}

// modelError says that a difference of cost is smaller than the error of the
// model on the sessions of either of the two runs, "" when it is not.
func (c *Comparison) modelError(m *measured) string {
	if m.Metric.Name != "cost_usd" || !m.Relative.OK || c.errors == nil {
		return ""
	}
	worst := 0.0
	for _, e := range c.errors {
		if rel, ok := e.Relative(); ok && math.Abs(rel) > math.Abs(worst) {
			worst = rel
		}
	}
	if math.Abs(m.Relative.Value) >= math.Abs(worst) {
		return ""
	}
	return fmt.Sprintf("smaller than the model error on these sessions, %s", relative(worst))
}

// level100 writes a level in per cent.
func level100(level float64) string { return fmt.Sprintf("%.6g %%", 100*level) }
