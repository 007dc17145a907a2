// Package choose orders settings by a metric, and says what choosing among them saves on sessions that took no part in the choice.
// It has no promise to importers.
package choose

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"github.com/compactsim/compactsim/internal/kit/stats"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/sim/results/studies"
	"github.com/compactsim/compactsim/traces"
)

// A value is chosen on some sessions and judged on others. In each of
// repeats rounds the sessions, in the order of their start, are divided
// into Blocks blocks, whose borders move from round to round. Each block is
// judged by the value that the other blocks choose.
const (
	Blocks  = 5
	repeats = 3
)

// Setting has the figures of a setting that was simulated.
type Setting struct {
	Figure stats.Figure // the metric, by session
	Cut    []bool       // by session: it ended early
}

// Choice is a choice among settings.
type Choice struct {
	Metric   results.Metric
	Sessions int // their number; figures have them in the order of their start
	Units    []stats.Units
	Recorded Setting // the setting that others are held against
}

// Everywhere selects every session.
func Everywhere(int) bool { return true }

// Empty returns a figure of the metric that is 0 in every session.
func (c *Choice) Empty() stats.Figure {
	f := stats.Figure{Part: make([]float64, c.Sessions)}
	if c.Metric.Kind == measures.KindRatio {
		f.Base = make([]float64, c.Sessions)
	}
	return f
}

// Estimate compares two settings, by the units that are least sure.
func (c *Choice) Estimate(a, b stats.Figure) stats.Estimate {
	return stats.Estimator{}.One(stats.Pair{Base: a, Other: b, Relative: true, Units: c.Units})
}

// HeldOut chooses, in each of several rounds, on all sessions outside a block, and judges the
// choice on that block.
func (c *Choice) HeldOut(list []Setting) studies.Gain {
	n := c.Sessions
	if n < Blocks {
		return studies.Gain{Share: math.NaN()}
	}
	unseen := c.Empty()
	for round := range repeats {
		for b := range Blocks {
			in := func(i int) bool { return blockOf(i, n, round) == b }
			chosen := list[c.Order(list, func(i int) bool { return !in(i) })[0]].Figure
			for i := range n {
				if !in(i) {
					continue
				}
				if unseen.Part[i] += chosen.Part[i] / repeats; unseen.Base != nil {
					unseen.Base[i] += chosen.Base[i] / repeats
				}
			}
		}
	}
	seen := c.Estimate(c.Recorded.Figure, list[c.Order(list, Everywhere)[0]].Figure)
	e := c.Estimate(c.Recorded.Figure, unseen)
	e = e.Again().Blurred(e.Difference - seen.Difference)
	if !e.RelativeInterval.Known() && e.Pairs > 0 {
		e.Relative = math.NaN()
	}
	g := studies.Gain{Share: e.Relative, Low: e.RelativeInterval.Low, High: e.RelativeInterval.High, Level: stats.DefaultLevel,
		Detectable: e.Detectable / math.Abs(e.Base), Units: e.Units, Verdict: e.Verdict}
	if c.Metric.Better == measures.Lower {
		g.Share, g.Low, g.High = 0-e.Relative, -e.RelativeInterval.High, -e.RelativeInterval.Low
	}
	return g
}

// Order returns the indices of settings by some sessions, best first: settings that end fewer sessions early, then by the metric.
func (c *Choice) Order(list []Setting, on func(session int) bool) []int {
	ends, values, order := make([]int, len(list)), make([]float64, len(list)), make([]int, len(list))
	for i := range list {
		ends[i], values[i], order[i] = c.Ends(&list[i], on), c.value(&list[i], on), i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Or(ends[a]-ends[b], cmp.Compare(values[a], values[b])) })
	return order
}

// value returns the metric of a setting over some sessions, negated where more is better; NaN without a sample.
func (c *Choice) value(x *Setting, on func(session int) bool) float64 {
	v, base := 0.0, 0.0
	for i := range c.Sessions {
		if !on(i) {
			continue
		}
		if v += x.Figure.Part[i]; x.Figure.Base != nil {
			base += x.Figure.Base[i]
		}
	}
	if x.Figure.Base != nil {
		v /= base
	}
	if c.Metric.Better == measures.Higher {
		v = -v
	}
	return v
}

// Ends returns how many of some sessions a setting ends early and the recording does not.
func (c *Choice) Ends(x *Setting, on func(session int) bool) (n int) {
	for i := range c.Sessions {
		if on(i) && x.Cut[i] && !c.Recorded.Cut[i] {
			n++
		}
	}
	return n
}

// blockOf returns the block of a session among n in a round.
func blockOf(session, n, round int) int {
	return (session*Blocks*repeats/n + round) / repeats % Blocks
}

// timeBlocks is the number of blocks of consecutive sessions that are taken as units where sessions
// that follow each other are alike.
const timeBlocks = 10

// The names of units: UnitsOf returns the last three. Sessions are drawn one by one where blocks, projects and people give no wider interval.
const (
	UnitSession = "session"
	UnitBlock   = "block of time"
	UnitProject = "project"
	UnitPerson  = "person"
)

// UnitsOf returns what may be sampled in the place of sessions, in any order: blocks of sessions that follow each other in time, the
// sessions of a project, and the sessions of a person.
func UnitsOf(sessions []*traces.Session) []stats.Units {
	n := len(sessions)
	blocks, projects, people, order := make([]string, n), make([]string, n), make([]string, n), make([]int, n)
	for i, s := range sessions {
		projects[i], people[i], order[i] = s.Project, s.Person(), i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(sessions[a].Start, sessions[b].Start) })
	for rank, i := range order {
		blocks[i] = strconv.Itoa(rank * timeBlocks / n)
	}
	return []stats.Units{stats.UnitsBy(UnitBlock, blocks), stats.UnitsBy(UnitProject, projects), stats.UnitsBy(UnitPerson, people)}
}
