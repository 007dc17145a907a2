package charts

import (
	"math"
	"slices"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/internal/kit/numbers"
	"github.com/compactsim/compactsim/internal/kit/stats"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
)

// intervalNote says what the bars of a chart are.
const intervalNote = "bars: 95 % intervals of the difference to recorded over other sessions like these, around the values; " +
	"of costs with the model error"

// spanOf returns the 95 % interval of a metric of a cell: over its seeds, where it has several, or
// else the interval of its difference to the recorded cell by session. It has no length where
// neither is known.
func spanOf(run *results.Run, c *results.Cell, m results.Metric) document.Span {
	if over, ok := c.OverSeeds(m); ok {
		return document.Span{Low: over.Low, High: over.High}
	}
	ref := run.Reference(measures.StrategyRecorded)
	if ref == nil || isReference(c) || !c.Covers(ref) || c.Rows.Len() < leastSpanned {
		return document.Span{}
	}
	if m.Name == measures.NameCost {
		d, ok := run.VsRecorded(c)
		if !ok || !d.Known {
			return document.Span{}
		}
		was := c.Total.CostUSD() / (1 + d.Relative)
		return document.Span{Low: max(was*(1+d.Low), 0), High: was * (1 + d.High)}
	}
	was, ok := figureOf(ref, m)
	now, also := figureOf(c, m)
	if !ok || !also {
		return document.Span{}
	}
	d := stats.Estimator{Student: true}.One(stats.Pair{Base: was, Other: now})
	if !d.Interval.Known() {
		return document.Span{}
	}
	at := was.Value()
	span := document.Span{Low: max(at+d.Interval.Low, 0), High: at + d.Interval.High}
	if m.Unit == measures.UnitRatio {
		span.High = min(span.High, 1)
	}
	return span
}

// leastSpanned is the smallest number of sessions that an interval is drawn for: of two it is wider than any chart.
const leastSpanned = 3

// shownTo returns how far an axis shows intervals beyond values up to high; longer ones leave the chart.
func shownTo(high float64, spans []document.Span) float64 {
	to := high
	for _, s := range spans {
		to = max(to, s.High)
	}
	return min(to, 1.5*high)
}

// uncrossed returns the text of a part of a bar, none if the interval of the bar would run through it.
func uncrossed(text string, from, to float64, bar document.Span) string {
	middle, quarter := (from+to)/2, (to-from)/4
	if bar.Low != bar.High && bar.Low < middle+quarter && bar.High > middle-quarter {
		return ""
	}
	return text
}

// figureOf returns what adds up to a metric over the sessions of a cell, false for extremes and without rows.
func figureOf(c *results.Cell, m results.Metric) (f stats.Figure, ok bool) {
	if c.Rows.Len() == 0 || !c.Measures(m) || m.Kind != measures.KindSum && m.Kind != measures.KindRatio {
		return f, false
	}
	for _, r := range c.Rows.All() {
		if m.Kind == measures.KindRatio {
			part, base := m.Parts(r)
			f.Part, f.Base = append(f.Part, part), append(f.Base, base)
			continue
		}
		v, _ := m.Value(r)
		f.Part = append(f.Part, v)
	}
	return f, m.Kind == measures.KindSum || slices.Max(f.Base) > 0
}

// spread adds a point to a series with its interval and the sessions behind it.
func spread(s *document.Series, across bool, x, y float64, text string, span document.Span, sessions int) {
	s.Point(x, y, text)
	s.Sessions = append(s.Sessions, sessions)
	if across {
		s.XSpans = append(s.XSpans, span)
	} else {
		s.YSpans = append(s.YSpans, span)
	}
}

// valueAxis returns an axis for values of a unit: logarithmic where they are of several magnitudes.
func valueAxis(unit string, values []float64, n int) document.Axis {
	low, high := slices.Min(values), slices.Max(values)
	if unit != measures.UnitRatio && low > 0 && high/low > maxLinearRatio {
		return logAxis(unit, 0.8*low, 1.2*high)
	}
	low, high = dataRange(unit, values)
	if unit == measures.UnitRatio {
		high = min(high, 1.02)
	}
	return unitAxis(unit, low, high, n)
}

// axisNote says of a panel what its axis does.
func axisNote(a *document.Axis) string {
	switch {
	case a.Log:
		return "logarithmic"
	case a.Low != 0:
		return "axis does not begin at 0"
	}
	return ""
}

// barNotes says what the bars of intervals are, if there are any.
func barNotes(spans []document.Span) []string {
	if !slices.ContainsFunc(spans, func(s document.Span) bool { return s.Low != s.High }) {
		return nil
	}
	return []string{intervalNote}
}

// unitAxis returns an axis of a unit of results with labels at round values
// that divide it into at most n parts.
func unitAxis(unit string, low, high float64, n int) document.Axis {
	step := niceStep((high - low) / float64(n))
	if unit == measures.UnitCount || unit == measures.UnitCalls {
		step = max(step, 1)
	}
	a := document.Axis{Low: low, High: high}
	for i := math.Ceil(low/step - 1e-9); i*step <= high+step*1e-9; i++ {
		v := i*step + 0 // avoids a negative zero
		if unit == measures.UnitRatio && v > 1+1e-9 {
			break
		}
		a.Ticks = append(a.Ticks, document.Tick{Value: v, Label: tickLabel(unit, v, step)})
	}
	return a
}

// logAxis returns a logarithmic axis with labels at 1, 2 and 5 times the powers of ten, or at these alone if they are many.
func logAxis(unit string, low, high float64) document.Axis {
	a := document.Axis{Low: low, High: high, Log: true}
	factors := []float64{1, 2, 5}
	if high/low > 1e3 {
		factors = factors[:1]
	}
	for base := math.Pow(10, math.Floor(math.Log10(low))); base <= high; base *= 10 {
		for _, factor := range factors {
			if v := factor * base; v >= low*(1-1e-9) && v <= high*(1+1e-9) {
				a.Ticks = append(a.Ticks, document.Tick{Value: v, Label: tickLabel(unit, v, v)})
			}
		}
	}
	return a
}

func tickLabel(unit string, v, step float64) string {
	switch unit {
	case measures.UnitUSD:
		return document.USD(v, decimalsOf(step))
	case measures.UnitRatio:
		return numbers.Grouped(100*v, decimalsOf(100*step)) + " %"
	case measures.UnitTokens:
		return document.Tokens(v)
	case measures.UnitSeconds:
		return document.Seconds(v)
	case measures.UnitRate:
		return numbers.Grouped(v, decimalsOf(step))
	}
	return numbers.Grouped(v, 0)
}

// decimalsOf returns the number of decimals that distinguish multiples of a nice step.
func decimalsOf(step float64) int { return max(0, int(math.Ceil(-math.Log10(step)-1e-9))) }

// niceStep returns the smallest of 1, 2 and 5 times a power of ten that is at
// least v.
func niceStep(v float64) float64 {
	base := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{1, 2, 5} {
		if m*base >= v*(1-1e-9) {
			return m * base
		}
	}
	return 10 * base
}

// dataRange returns the ends of an axis for values of a unit, with a margin on
// each side. An axis that would begin in the lower half of its values begins at
// zero.
func dataRange(unit string, values []float64) (low, high float64) {
	low, high = slices.Min(values), slices.Max(values)
	if low >= 0 && low < 0.5*high || high == 0 && low == 0 {
		low = 0
	}
	span := high - low
	if span <= 1e-9*math.Abs(high) {
		span = math.Max(math.Abs(high)*0.02, minSpan(unit))
	}
	if low != 0 {
		low -= 0.16 * span
	}
	high += 0.12 * span
	if low == 0 {
		high = max(high, 4*minSpan(unit))
	}
	return low, high
}

// minSpan returns a difference that is small for a unit.
func minSpan(unit string) float64 {
	switch unit {
	case measures.UnitUSD, measures.UnitRatio:
		return 1e-4
	}
	return 1
}
