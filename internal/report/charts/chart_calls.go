package reports

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
)

// Limits of charts over calls.
const (
	callsWidth  = 660
	maxShares   = 240 // points of the share of reads
	markers     = 9   // approximate number, to distinguish lines
	dropPercent = 10  // of its context that a thread must lose between two calls for the loss to be marked
)

// checkCalls returns an error for calls that a chart cannot draw.
func checkCalls(calls []results.CellCalls) error {
	if len(calls) > results.ForemostCells {
		return fmt.Errorf("%d cells, at most %d can be told apart", len(calls), results.ForemostCells)
	}
	n := 0
	for i := range calls {
		n += len(calls[i].Calls)
		for j := range calls[i].Calls {
			if err := checkCall(&calls[i].Calls[j]); err != nil {
				return fmt.Errorf("cell %q, call %d: %w", calls[i].Cell, j+1, err)
			}
		}
	}
	if n == 0 {
		return errors.New("no calls")
	}
	return nil
}

func checkCall(c *results.CallRecord) error {
	u := c.Usage
	counts := [...]int64{u.Uncached, u.Read, u.Write5m, u.Write1h, u.WriteOther, c.Context, c.Start}
	if n := slices.Min(counts[:]); n < 0 {
		return fmt.Errorf("negative count or time %d", n)
	}
	if v := c.Cost.Total(); math.IsNaN(v) || math.IsInf(v, 0) {
		return fmt.Errorf("cost %v cannot be drawn", v)
	}
	return nil
}

// undrawn returns a note with the simulated cells of a run that a chart of
// calls leaves out; "" when it draws all.
func undrawn(run *results.Run, calls []results.CellCalls) string {
	var names []string
	for i := range run.Cells {
		c := &run.Cells[i]
		drawn := slices.ContainsFunc(calls, func(k results.CellCalls) bool { return k.Cell == c.Cell })
		if c.Strategy != results.StrategyBilled && !drawn {
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
	return c.Miss != prompt.MissNone && !c.First && c.Round >= 0
}

// isShown reports whether a call belongs to the main conversation.
func isShown(c *results.CallRecord) bool { return c.Round >= 0 && c.Source == results.SourceMain }

// tellingSession returns, of the sessions that are not compacted as often in every cell, or of all when there are none,
// the one with the most shown calls in the first cell that has any; of equal ones, the first in order of ids.
func tellingSession(calls []results.CellCalls) string {
	count, compactions := map[string]int{}, make([]map[string]int, len(calls))
	first := -1
	for i := range calls {
		compactions[i] = map[string]int{}
		for j := range calls[i].Calls {
			switch c := &calls[i].Calls[j]; {
			case c.Source == results.SourceCompact:
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
	drops       []shrink // where the context shrank without a compaction
}

// shrink is a point where a context became smaller.
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
		if c.Session == session && c.Source == results.SourceCompact && shown[c.Thread] {
			summaries[c.Thread] = append(summaries[c.Thread], c.Start)
		}
	}
	t.findShrinks(summaries)
	return t
}

// findShrinks places compactions and drops before the call that follows them.
func (t *trace) findShrinks(summaries map[int32][]int64) {
	last := map[int32]int64{} // context by thread
	for i := range t.calls {
		c := &t.calls[i]
		before, seen := last[c.Thread]
		last[c.Thread] = c.Context
		due := 0
		for len(summaries[c.Thread]) > 0 && summaries[c.Thread][0] <= c.Start {
			summaries[c.Thread] = summaries[c.Thread][1:]
			due++
		}
		switch {
		case due > 0:
			t.compactions = append(t.compactions, shrink{float64(i) + 0.5, max(before, c.Context)})
		case seen && 100*c.Context < (100-dropPercent)*before:
			t.drops = append(t.drops, shrink{float64(i) + 0.5, before})
		}
	}
}

// contextChart draws the context of the session with the most calls, tokens,
// over its calls under at most four cells. It marks compactions and drops of
// the context, and shows below them the misses by class and the share of the
// input that was read from the cache.
func contextChart(run *results.Run, calls []results.CellCalls) (*document.Chart, error) {
	if err := checkCalls(calls); err != nil {
		return nil, err
	}
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
	xs := unitAxis(results.UnitCalls, 1, float64(most), 10)
	for i := range c.Panels {
		c.Panels[i].X.Low, c.Panels[i].X.High = 0.5-0.01*float64(most), float64(most)*1.01+0.5
	}
	last := &c.Panels[len(c.Panels)-1]
	last.X.Ticks, last.X.Title = xs.Ticks, "call"
	return c, nil
}

// contextPanels returns the panels of traces: contexts, misses, shares of reads.
func contextPanels(traces []trace, peak float64) []document.Panel {
	context := document.Panel{Title: "Context (tokens)", Height: 250, Y: unitAxis(results.UnitTokens, 0, 1.2*peak, 6)}
	shares := document.Panel{Title: "Read from the cache (% of input)", Height: 70, Y: unitAxis(results.UnitRatio, 0, 1.12, 3)}
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
	dropName := fmt.Sprintf("drop of more than %d %% without one", dropPercent)
	for i := range traces {
		t := &traces[i]
		name := t.cell + ", " + document.Count(len(t.compactions), "compaction")
		if len(t.drops) > 0 {
			name += ", " + document.Count(len(t.drops), "drop")
		}
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
		cuts = append(cuts,
			arrows(dropName, t.drops, styles[i].Color, document.OpenArrow),
			arrows("compaction", t.compactions, styles[i].Color, document.Arrow))
		line = shareLine(t.calls, width)
		line.Data = name
		line.Style = styles[i]
		line.Style.Width *= 0.65
		shares.Series = append(shares.Series, line)
	}
	slices.SortStableFunc(cuts, func(a, b document.Series) int { return cmp.Compare(a.Name, b.Name) })
	context.Series = append(context.Series, cuts...)
	panels := []document.Panel{context}
	if lanes := missLanes(traces, styles); lanes != nil {
		panels = append(panels, *lanes)
	}
	return append(panels, shares)
}

// arrows returns marks of what shortened a context, above the context before.
func arrows(name string, shrinks []shrink, c document.Color, marker document.Marker) document.Series {
	s := dotsOf("", document.Style{Color: c, Marker: marker, Size: 4})
	for _, at := range shrinks {
		s.Name = name
		s.Point(at.at, float64(at.from), "")
	}
	return s
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

// missLanes returns a row of strokes for each class and cell with misses, nil
// if there are none.
func missLanes(traces []trace, styles []document.Style) *document.Panel {
	var rows []document.Series
	for class := range prompt.MissClass(prompt.NumMissClasses) {
		for i := range traces {
			s := dotsOf("", styles[i])
			for j := range traces[i].calls {
				if c := &traces[i].calls[j]; isMiss(c) && c.Miss == class {
					s.Point(float64(j+1), 0, "")
				}
			}
			if s.Name = fmt.Sprintf("%s %d", class, len(s.X)); len(s.X) > 0 {
				rows = append(rows, s)
			}
		}
	}
	if len(rows) == 0 {
		return nil
	}
	p := document.Panel{Height: leastRow * float64(len(rows)), Y: document.Axis{Grid: true}}
	end := 0.0
	for i := range traces {
		end = max(end, float64(len(traces[i].calls)))
	}
	for i, s := range rows {
		y := p.Y.Place(i, len(rows), s.Name)
		s.Name, s.Data = "", "misses"
		for j := range s.Y {
			s.Y[j] = y
		}
		key := s
		key.X, key.Y, key.Texts, key.Aid = []float64{end * 1.01}, []float64{y}, nil, true
		s.Style.Marker, s.Style.Size = document.Stroke, 4.5
		p.Series = append(p.Series, s, key)
	}
	return &p
}
