package charts

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/sim/validate"
)

// Limits of charts over calls.
const (
	callsWidth = 660
	maxShares  = 240 // points of the share of reads
	markers    = 9   // approximate number, to distinguish lines
)

// undrawn returns a note with the simulated cells of a run that a chart of
// calls leaves out; "" when it draws all.
func undrawn(run *results.Run, calls []results.CellCalls) string {
	var names []string
	for i := range run.Cells {
		c := &run.Cells[i]
		drawn := slices.ContainsFunc(calls, func(k results.CellCalls) bool { return k.Cell == c.Cell })
		if c.Strategy != measures.StrategyBilled && !drawn {
			names = append(names, c.Cell)
		}
	}
	const named = 3
	if len(names) > named {
		names = append(names[:named], "and "+document.Count(len(names)-named, "other"))
	}
	if len(names) == 0 {
		return ""
	}
	return "not drawn: " + strings.Join(names, ", ")
}

// calledName names a cell of a run whose calls are drawn.
func calledName(run *results.Run, cell string) string {
	if c := cellOf(run, cell); c != nil {
		return shortName(c, sweptNames(run))
	}
	return cellName(cell)
}

// isMiss reports whether a call counts as a miss of its row: a call of the
// conversation that read less than the best prefix of its thread.
func isMiss(c *results.CallRecord) bool {
	return c.Miss != exchange.MissNone && !c.First && c.Round >= 0
}

// isShown reports whether a call belongs to the main conversation.
func isShown(c *results.CallRecord) bool { return c.Round >= 0 && c.Source == measures.SourceMain }

// tellingSession returns, of the sessions that are not compacted as often in every cell, or of all when there are none,
// the one with the most shown calls in the first cell that has any; of equal ones, the first in order of ids.
func tellingSession(calls []results.CellCalls) string {
	count, compactions := map[string]int{}, make([]map[string]int, len(calls))
	first := -1
	for i := range calls {
		compactions[i] = map[string]int{}
		for j := range calls[i].Calls {
			switch c := &calls[i].Calls[j]; {
			case c.Source == measures.SourceCompact:
				compactions[i][c.Session]++
			case isShown(c) && (first < 0 || first == i):
				first = i
				count[c.Session]++
			}
		}
	}
	differs := func(id string) bool {
		return slices.ContainsFunc(compactions, func(n map[string]int) bool { return n[id] != compactions[0][id] })
	}
	best := ""
	for _, id := range slices.Sorted(maps.Keys(count)) {
		if x, y := differs(id), differs(best); best == "" || x && !y || x == y && count[id] > count[best] {
			best = id
		}
	}
	return best
}

// trace is the main conversation of one session under one cell.
type trace struct {
	cell        string
	calls       []results.CallRecord // by start
	compactions []shrink
}

type shrink struct {
	at   float64 // between two calls
	from int64   // context before, tokens
}

func newTrace(of *results.CellCalls, session string) trace {
	t := trace{cell: of.Cell}
	shown := map[int32]bool{}
	for _, c := range of.Calls {
		if c.Session == session && isShown(&c) {
			t.calls = append(t.calls, c)
			shown[c.Thread] = true
		}
	}
	slices.SortStableFunc(t.calls, func(a, b results.CallRecord) int { return cmp.Compare(a.Start, b.Start) })
	summaries := map[int32][]int64{} // starts by thread
	for _, c := range of.Calls {
		if c.Session == session && c.Source == measures.SourceCompact && shown[c.Thread] {
			summaries[c.Thread] = append(summaries[c.Thread], c.Start)
		}
	}
	// Place compactions before the call that follows them.
	last := map[int32]int64{} // context by thread
	for i := range t.calls {
		c := &t.calls[i]
		before := last[c.Thread]
		last[c.Thread] = c.Context
		due := 0
		for due < len(summaries[c.Thread]) && summaries[c.Thread][due] <= c.Start {
			due++
		}
		if summaries[c.Thread] = summaries[c.Thread][due:]; due > 0 {
			t.compactions = append(t.compactions, shrink{float64(i) + 0.5, max(before, c.Context)})
		}
	}
	return t
}

// contextChart draws the context of the session with the most calls, tokens,
// over its calls under at most four cells. It marks compactions, and shows below them the share of the
// input that was read from the cache.
func contextChart(run *results.Run, calls []results.CellCalls) (*document.Chart, error) {
	session := tellingSession(calls)
	var traces []trace
	var models []string
	most, peak := 0, int64(0)
	for i := range calls {
		t := newTrace(&calls[i], session)
		if len(t.calls) == 0 {
			continue
		}
		traces = append(traces, t)
		most = max(most, len(t.calls))
		for j := range t.calls {
			peak = max(peak, t.calls[j].Context)
			if m := t.calls[j].Model; !slices.Contains(models, m) {
				models = append(models, m)
			}
		}
	}
	switch {
	case most == 0:
		return nil, errors.New("no session has calls of a main conversation")
	case peak == 0:
		return nil, errors.New("no call has a context")
	}
	facts := "session " + document.Printable(session)
	if !slices.ContainsFunc(traces, func(t trace) bool { return len(t.calls) != most }) {
		facts += " · " + document.Count(most, "call")
	}
	facts += " of the main conversation · " + document.Printable(modelNames(models))
	for i := range traces {
		traces[i].cell = calledName(run, traces[i].cell)
	}
	c := runChart(run, "Context over the calls of session "+document.Shortened(document.Printable(session), 13), errorLine(run),
		callsWidth, contextPanels(traces, float64(peak)), undrawn(run, calls))
	c.Facts = []string{facts}
	xs := unitAxis(measures.UnitCalls, 1, float64(most), 10)
	for i := range c.Panels {
		c.Panels[i].X.Low, c.Panels[i].X.High = 0.5-0.01*float64(most), float64(most)*1.01+0.5
	}
	last := &c.Panels[len(c.Panels)-1]
	last.X.Ticks, last.X.Title = xs.Ticks, "call"
	return c, nil
}

// contextPanels returns the panels of traces: contexts and shares of reads.
func contextPanels(traces []trace, peak float64) []document.Panel {
	context := document.Panel{Title: "Context (tokens)", Height: 250, Y: unitAxis(measures.UnitTokens, 0, 1.2*peak, 6)}
	shares := document.Panel{Title: "Read from the cache (% of input)", Height: 70, Y: unitAxis(measures.UnitRatio, 0, 1.12, 3)}
	context.Y.Grid, shares.Y.Grid = true, true
	width := 1
	for i := range traces {
		width = max(width, (len(traces[i].calls)+maxShares-1)/maxShares)
	}
	if width > 1 {
		shares.Title = fmt.Sprintf("Read from the cache (%% of input, the lowest of %d calls)", width)
	}
	styles := looksOf(len(traces))
	var cuts []document.Series
	for i := range traces {
		t := &traces[i]
		name := t.cell + ", " + document.Count(len(t.compactions), "compaction")
		line, marks := document.Series{Name: name, Style: styles[i]}, dotsOf(name, styles[i])
		marks.Aid = true
		line.Style.Width *= 0.8
		step := max(len(t.calls)/markers, 1)
		for j := range t.calls {
			x, y := float64(j+1), float64(t.calls[j].Context)
			line.Point(x, y, "")
			if len(t.calls) == 1 || len(traces) > 1 && j%step == step*(i+1)/(len(traces)+1) {
				marks.Point(x, y, "")
			}
		}
		context.Series = append(context.Series, line, marks)
		cut := dotsOf("", document.Style{Color: styles[i].Color, Marker: document.Arrow, Size: 4})
		for _, at := range t.compactions {
			cut.Name = "compaction"
			cut.Point(at.at, float64(at.from), "")
		}
		cuts = append(cuts, cut)
		line = shareLine(t.calls, width)
		line.Data = name
		line.Style = styles[i]
		line.Style.Width *= 0.65
		shares.Series = append(shares.Series, line)
	}
	context.Series = append(context.Series, cuts...)
	return []document.Panel{context, shares}
}

// shareLine returns the share of the input that was read: of so many calls at a time the lowest, at its call, so that
// every miss shows.
func shareLine(calls []results.CallRecord, width int) document.Series {
	var s document.Series
	for from := 0; from < len(calls); from += width {
		lowest, at := math.Inf(1), 0
		for i := from; i < min(from+width, len(calls)); i++ {
			if u := &calls[i].Usage; u.Input() > 0 && float64(u.Read)/float64(u.Input()) < lowest {
				lowest, at = float64(u.Read)/float64(u.Input()), i
			}
		}
		if !math.IsInf(lowest, 1) {
			s.Point(float64(at+1), lowest, "")
		}
	}
	return s
}

// hitChart draws the share of input tokens read from the cache over time, by
// hours or days since the start of each session, under at most four cells.
// All calls count, as in cache_hit_ratio; all sessions share one clock that begins at their start.
func hitChart(run *results.Run, calls []results.CellCalls) (*document.Chart, error) {
	step := bucketOf(calls)
	sessions := map[string]bool{}
	p := document.Panel{Title: "Read from the cache (% of input)", Height: 240}
	styles := looksOf(len(calls))
	var values []float64
	longest := 0
	for i := range calls {
		buckets := bucket(calls[i].Calls, step.width())
		longest = max(longest, len(buckets))
		for j := range calls[i].Calls {
			sessions[calls[i].Calls[j].Session] = true
		}
		line := document.Series{Name: calledName(run, calls[i].Cell), Style: styles[i]}
		for j := range buckets {
			if in := buckets[j].Input(); in > 0 { // the line goes on where nothing was called
				ratio := float64(buckets[j].Read) / float64(in)
				values = append(values, ratio)
				line.Point((float64(j)+0.5)*float64(step.n), ratio, "")
			}
		}
		p.Series = append(p.Series, line.Dotted()...)
	}
	if len(values) == 0 {
		return nil, errors.New("no call has input tokens")
	}
	p.X, p.Y = unitAxis(measures.UnitCount, 0, float64(longest*step.n), 12), valueAxis(measures.UnitRatio, values, 6)
	p.X.Title = step.name + "s since the start of the session"
	p.Note, p.Y.Grid = axisNote(&p.Y), true
	of := document.Count(len(sessions), "session")
	for id := range sessions {
		if len(sessions) == 1 {
			of = "session " + document.Shortened(document.Printable(id), 13)
		}
	}
	c := runChart(run, "Cache hit ratio over time, "+of, errorLine(run), callsWidth, []document.Panel{p}, undrawn(run, calls))
	c.Facts = []string{fmt.Sprintf("%s · weighted by tokens, in steps of %s since the start of each session",
		document.Count(len(sessions), "session"), document.Count(step.n, step.name))}
	return c, nil
}

const day = 24 * time.Hour

// step is the width of a bucket of calls: so many of a unit of time.
type step struct {
	n    int
	unit time.Duration
	name string
}

func (s step) width() time.Duration { return time.Duration(s.n) * s.unit }

// maxBuckets is the largest number of spans of time, as long as months suffice.
const maxBuckets = 60

// bucketOf returns the smallest step that divides all calls into few enough buckets.
func bucketOf(calls []results.CellCalls) step {
	last := int64(0)
	for i := range calls {
		for j := range calls[i].Calls {
			last = max(last, calls[i].Calls[j].Start)
		}
	}
	steps := []step{{5, time.Minute, "minute"}, {15, time.Minute, "minute"}, {1, time.Hour, "hour"}, {6, time.Hour, "hour"},
		{1, day, "day"}, {7, day, "day"}, {30, day, "day"}}
	i := slices.IndexFunc(steps[:len(steps)-1], func(s step) bool { return last/int64(s.width()) < maxBuckets })
	if i < 0 {
		i = len(steps) - 1
	}
	return steps[i]
}

// bucket returns the usage of calls in each span of time; calls before the start count in the first.
func bucket(calls []results.CallRecord, width time.Duration) (buckets []prompt.Usage) {
	for i := range calls {
		at := max(0, int(calls[i].Start/int64(width)))
		for len(buckets) <= at {
			buckets = append(buckets, prompt.Usage{})
		}
		buckets[at].Add(&calls[i].Usage)
	}
	return buckets
}

// ValidationDrawings returns the charts of a validation: how long caches keep what was left.
func ValidationDrawings(r *validate.Report) []Drawing {
	return []Drawing{drawing("survival", func() (*document.Chart, error) { return survivalChart(r) })}
}

// providerTitles are the names of providers for people.
var providerTitles = map[string]string{"anthropic": "Anthropic", "openai": "OpenAI", "deepseek": "DeepSeek", "google": "Google"}

// survivalChart shows by age how often calls still read what was left for them, by provider, with the documented lifetimes.
func survivalChart(r *validate.Report) (*document.Chart, error) {
	curves := r.Survival()
	if len(curves) == 0 {
		return nil, errors.New("no calls whose age is known at several ages")
	}
	p := document.Panel{Title: "calls that read what was left (95 % intervals)", Height: 300, Y: unitAxis(measures.UnitRatio, 0, 1.05, 6),
		X: document.Axis{Title: "age: since the last response, logarithmic", Log: true, Low: 0.1, High: 1e5}}
	p.Y.Grid = true
	p.X.Ticks = []document.Tick{{Value: 0.1, Label: "0.1 s"}, {Value: 1, Label: "1 s"}, {Value: 10, Label: "10 s"}, {Value: 60, Label: "1 min"},
		{Value: 300, Label: "5 min"}, {Value: 3600, Label: "1 h"}, {Value: 36_000, Label: "10 h"}}
	colors := []document.Color{0x0072b2, 0xd55e00, 0x009e73, 0xcc79a7, 0xe69f00, 0x56b4e9}
	var facts []string
	for i, c := range curves {
		name := cmp.Or(providerTitles[c.Provider], c.Provider)
		switch {
		case c.TTL == exchange.TTL1h:
			name += ", an hour"
		case c.Provider == "anthropic": // automatic caches are asked for no lifetime
			name += ", five minutes"
		case c.Model != "":
			name = c.Model + ", since the request"
		}
		line := document.Series{Name: name, Mark: document.MarkLine, Style: document.Style{Color: colors[i%len(colors)], Width: 1.4}}
		for _, at := range c.Points {
			spread(&line, false, at.Seconds, at.Value, "", document.Span{Low: at.Low, High: at.High}, at.N)
		}
		p.Series = append(p.Series, line)
		facts = append(facts, fmt.Sprintf("%s %s", name, document.Count(c.Calls, "call")))
	}
	for _, life := range []float64{300, 3600} {
		p.Series = append(p.Series, across(life, 0, life, 1))
	}
	return &document.Chart{Title: "How long caches keep what was left", Width: squareWidth, Panels: []document.Panel{p},
		Facts:  []string{strings.Join(facts, " · ")},
		Notes:  []string{"thin lines: documented lifetimes, five minutes and an hour"},
		Source: "sim validate"}, nil
}

// squareWidth is the width of charts that are about as high as wide, points.
const squareWidth = 520
