package compare

import (
	"context"
	"fmt"
	"math"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/internal/kit/stats"
	"github.com/compactsim/compactsim/sim/results"
)

// estimate sets what figures that differ show of other sessions. The metrics of the run table
// are judged together, and so are all others; those selected by name are one family.
func (r *Report) estimate(ctx context.Context, list []*measured, e stats.Estimator) error {
	var pairs []stats.Pair
	var have []*measured
	for _, m := range list {
		if m.missing() {
			continue
		}
		have = append(have, m)
		p := stats.Pair{Base: m.side[0].Figure, Other: m.side[1].Figure, Relative: m.Summary || r.Chosen}
		if !p.Relative {
			p.Family = 1
		}
		pairs = append(pairs, p)
	}
	estimates, err := e.Paired(ctx, pairs)
	if err != nil {
		return err
	}
	for i, m := range have {
		if m.Estimate = estimates[i]; len(m.side[0].value) < stats.PairsNeeded(e.Level) {
			m.Interval, m.RelativeInterval = stats.Everything, stats.Everything
		}
	}
	return nil
}

// judge sets the verdict of a figure, and notes why nothing can be said.
func (m *measured) judge(c *Comparison, level float64) {
	if m.missing() {
		m.Notes = append(m.Notes, m.lacking(c))
		return
	}
	m.Verdict = m.verdict()
	if m.Verdict == Same {
		return
	}
	if m.Estimate.Verdict == stats.TooFew {
		m.Notes = append(m.Notes, fmt.Sprintf("too few sessions differ: at %s it takes %d or more to say anything about others",
			level100(level), stats.PairsNeeded(level)))
	}
	if cut := c.cutShort(); cut != "" && m.Metric.Better != results.Neither {
		m.Notes, m.Verdict = append(m.Notes, cut), Unknown
		return
	}
	if note := c.modelError(m); note != "" {
		m.Notes, m.Verdict = append(m.Notes, note), Chance
	}
}

// verdict puts that of the estimate in terms of the metric.
func (m *measured) verdict() Verdict {
	lower := m.Estimate.Verdict == stats.Lower
	switch {
	case m.Estimate.Verdict < stats.Lower:
		return [...]Verdict{stats.Same: Same, stats.TooFew: Unknown, stats.Chance: Chance}[m.Estimate.Verdict]
	case m.Metric.Better == results.Neither && lower:
		return Below
	case m.Metric.Better == results.Neither:
		return Above
	case lower == (m.Metric.Better == results.Lower):
		return Better
	}
	return Worse
}

// cutShort says on which side sessions ended early, "" for neither: its figures
// cover less work, which is no improvement.
func (c *Comparison) cutShort() string {
	for s, label := range []string{c.Base, c.Other} {
		ended := 0
		for _, cell := range c.pairs.rows[s] {
			for _, row := range cell {
				if row.CutShort() {
					ended++
				}
			}
		}
		if ended > 0 {
			return fmt.Sprintf("%s of %s ended early: not the same work", document.Count(ended, "session"), label)
		}
	}
	return ""
}

// lacking says which sides have no figure.
func (m *measured) lacking(c *Comparison) string {
	var without []string
	for s, v := range []float64{m.Base, m.Other} {
		if math.IsNaN(v) {
			without = append(without, []string{c.Base, c.Other}[s])
		}
	}
	return "nothing to compare: no sample in " + and(without)
}

// modelError says that the model error on the sessions of either run can
// explain a difference of cost with a verdict, "" when it cannot.
func (c *Comparison) modelError(m *measured) string {
	if m.Metric.Name != results.NameCost || m.Verdict <= Chance {
		return ""
	}
	worst := c.pairs.sides[0].run.ModelError
	if other := c.pairs.sides[1].run.ModelError; other.Spread > worst.Spread {
		worst = other
	}
	if m.Blurred(worst.Noise(m.side[1].value, m.side[0].value)).Verdict != stats.Chance {
		return ""
	}
	return fmt.Sprintf("the model is off by %s of a session's cost: that can make this difference", percentage(worst.Spread))
}

// level100 formats a level in per cent.
func level100(level float64) string { return fmt.Sprintf("%.6g %%", 100*level) }
