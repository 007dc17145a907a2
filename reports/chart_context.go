package reports

import (
	"errors"
	"fmt"
	"image/color"
	"io"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
)

// ContextOptions select what ContextChart shows.
type ContextOptions struct {
	Session string // id; empty: the session with the most calls
	Agents  bool   // calls of sub-agents and abandoned branches too
	Window  int64  // context window, tokens; 0: not shown
	Trigger int64  // context at which a strategy compacts, tokens; 0: not shown
}

// ContextChart draws the context of one session, tokens, over its calls under
// at most four cells, with compactions and drops of the context marked, its
// misses by class below, and the share of the input that was read from the
// cache. Provenance and workload of run are its source line. It fails when the
// session has no calls or figures cannot be drawn.
func ContextChart(w io.Writer, format string, run *results.Run, calls []results.CellCalls, o ContextOptions) error {
	c, err := newContextChart(run, calls, o)
	if err != nil {
		return fmt.Errorf("drawing the context of a session: %w", err)
	}
	return c.render(w, format)
}

// Measures of a chart over calls.
const (
	callsWidth    = 720 * vg.Length(1)
	contextHeight = 250 * vg.Length(1)
	shareHeight   = 70 * vg.Length(1)
	laneHeight    = 12 * vg.Length(1)
	maxLanes      = 20
	panelGap      = 8 * vg.Length(1)
)

// contextChart is a session over its calls.
type contextChart struct {
	*frame
	traces      []trace
	strokes     []stroke
	levels      []level
	lanes       []lane
	top, bottom panel
	topTicks    []plot.Tick
	bottomTicks []plot.Tick
	models      []string // that the calls went to, in order of appearance
}

// lane is a row of ticks: the misses of one class under one cell.
type lane struct {
	name  string
	trace int
	at    []float64
}

func newContextChart(run *results.Run, calls []results.CellCalls, o ContextOptions) (*contextChart, error) {
	if err := checkCalls(calls); err != nil {
		return nil, err
	}
	if o.Session == "" {
		o.Session = largestSession(calls, o.Agents)
	}
	l := &contextChart{frame: newFrame("Context over the calls of a session")}
	most := 0
	for i := range calls {
		if t := newTrace(&calls[i], o.Session, o.Agents); len(t.calls) > 0 {
			l.traces = append(l.traces, t)
			l.noteModels(t.calls)
			most = max(most, len(t.calls))
		}
	}
	l.strokes = strokesOf(len(l.traces))
	if most == 0 {
		return nil, fmt.Errorf("session %q has no calls", o.Session)
	}
	if err := l.place(most, o); err != nil {
		return nil, err
	}
	l.findLanes()
	height := l.titleHeight()*2 + contextHeight + panelGap + laneHeight*vg.Length(len(l.lanes)) + panelGap + shareHeight + l.xAxisHeight()
	l.lay(callsWidth, height, run, []string{l.facts(run, o)}, l.keys(), undrawn(run, calls)...)
	l.paint = l.drawPanels
	return l, nil
}

// place sets the scales: calls from left to right, tokens upwards.
func (l *contextChart) place(most int, o ContextOptions) error {
	peak := int64(0)
	for i := range l.traces {
		for j := range l.traces[i].calls {
			peak = max(peak, l.traces[i].calls[j].Context)
		}
	}
	if peak == 0 {
		return errors.New("no call has a context")
	}
	high := float64(peak)
	dark := color.NRGBA{38, 38, 38, 255}
	for _, lv := range []level{
		{name: "window", value: float64(o.Window), style: draw.LineStyle{Color: dark, Width: vg.Points(1.2)}},
		{name: "trigger", value: float64(o.Trigger), style: draw.LineStyle{Color: dark, Width: vg.Points(1), Dashes: []vg.Length{6, 2}}},
	} {
		if lv.value > 0 && lv.value <= 3*float64(peak) {
			lv.name += " " + tokens(lv.value)
			l.levels = append(l.levels, lv)
			high = max(high, lv.value)
		}
	}
	l.top.x = scale{low: 0.5 - 0.01*float64(most), high: float64(most)*1.01 + 0.5}
	l.bottom.x = l.top.x
	l.top.y = scale{low: 0, high: 1.08 * high}
	l.bottom.y = scale{low: 0, high: 1.12}
	l.topTicks = unitTicks(results.UnitTokens, 0, l.top.y.high, 6)
	l.bottomTicks = []plot.Tick{{Value: 0, Label: "0 %"}, {Value: 0.5, Label: "50 %"}, {Value: 1, Label: "100 %"}}
	return nil
}

// findLanes makes a lane for each class and cell with misses, or for each cell
// when there would be too many.
func (l *contextChart) findLanes() {
	for class := 1; class < prompt.NumMissClasses; class++ {
		for i := range l.traces {
			l.addLane(i, prompt.MissClass(class).String(), func(c *results.CallRecord) bool { return int(c.Miss) == class })
		}
	}
	if len(l.lanes) > maxLanes {
		l.lanes = nil
		for i := range l.traces {
			l.addLane(i, "misses", func(*results.CallRecord) bool { return true })
		}
	}
}

func (l *contextChart) addLane(of int, name string, want func(*results.CallRecord) bool) {
	ln := lane{trace: of}
	for j := range l.traces[of].calls {
		if c := &l.traces[of].calls[j]; isMiss(c) && want(c) {
			ln.at = append(ln.at, float64(j+1))
		}
	}
	if len(ln.at) == 0 {
		return
	}
	ln.name = fmt.Sprintf("%s %d", name, len(ln.at))
	l.lanes = append(l.lanes, ln)
}

// facts says whose calls are shown.
func (l *contextChart) facts(run *results.Run, o ContextOptions) string {
	s := "session " + Printable(o.Session)
	calls := len(l.traces[0].calls)
	same := !slices.ContainsFunc(l.traces, func(t trace) bool { return len(t.calls) != calls })
	if same {
		s += " · " + CountOf(calls, "call")
	}
	if o.Agents {
		s += " of the main conversation, its sub-agents and abandoned branches"
	} else {
		s += " of the main conversation"
	}
	if o.Window > 0 && float64(o.Window) > l.top.y.high {
		s += " · window " + tokens(float64(o.Window))
	}
	if o.Trigger > 0 && float64(o.Trigger) > l.top.y.high {
		s += " · trigger " + tokens(float64(o.Trigger))
	}
	if len(l.models) > 0 {
		s += " · " + Printable(modelNames(l.models))
	}
	return s
}

func (l *contextChart) keys() []legendKey {
	var keys []legendKey
	compactions, drops := false, false
	for i := range l.traces {
		t := &l.traces[i]
		name := shortened(Printable(t.cell), maxNameRunes) + ", " + CountOf(len(t.compactions), "compaction")
		if len(t.drops) > 0 {
			name += ", " + CountOf(len(t.drops), "drop")
		}
		keys = append(keys, l.strokes[i].key(name))
		compactions = compactions || len(t.compactions) > 0
		drops = drops || len(t.drops) > 0
	}
	if compactions {
		keys = append(keys, cutKey(true, "compaction"))
	}
	if drops {
		keys = append(keys, cutKey(false, fmt.Sprintf("drop of more than %d %% without one", dropPercent)))
	}
	return keys
}

func cutKey(filled bool, name string) legendKey {
	return legendKey{name, legendBox, func(c *draw.Canvas, x, y vg.Length) {
		arrow(c, color.NRGBA{38, 38, 38, 255}, vg.Point{X: x + legendBox/2, Y: y + 1}, filled)
	}}
}

// arrow points down at a place: filled for a compaction.
func arrow(c *draw.Canvas, ink color.NRGBA, at vg.Point, filled bool) {
	shape := []vg.Point{at, {X: at.X - 4, Y: at.Y + 8}, {X: at.X + 4, Y: at.Y + 8}}
	if !filled {
		c.FillPolygon(color.White, shape)
	} else {
		c.FillPolygon(ink, shape)
	}
	c.StrokeLines(draw.LineStyle{Color: ink, Width: vg.Points(1)}, append(shape, at))
}

func (l *contextChart) drawPanels(c draw.Canvas) {
	left := l.yLabelRoom(l.topTicks, l.bottomTicks)
	for _, ln := range l.lanes {
		left = max(left, l.small.Width(ln.name)+tickGap)
	}
	right := 4 * vg.Length(1)
	if len(l.traces) > 1 && len(l.lanes) > 0 {
		right = 16 // markers behind the lanes
	}
	for _, lv := range l.levels {
		right = max(right, l.small.Width(lv.name)+15)
	}
	x0, x1 := c.Min.X+left, c.Max.X-right
	top := c.Max.Y - l.titleHeight()
	l.top.area = vg.Rectangle{Min: vg.Point{X: x0, Y: top - contextHeight}, Max: vg.Point{X: x1, Y: top}}
	low := c.Min.Y + l.xAxisHeight()
	l.bottom.area = vg.Rectangle{Min: vg.Point{X: x0, Y: low}, Max: vg.Point{X: x1, Y: low + shareHeight}}

	l.top.drawY(&c, l.pens(), "Context (tokens)", l.topTicks)
	c.StrokeLine2(l.pens().axis, x0, l.top.area.Min.Y, x1, l.top.area.Min.Y)
	l.bottom.drawY(&c, l.pens(), "Read from the cache (% of input)", l.bottomTicks)
	l.bottom.drawX(&c, l.pens(), "call", unitTicks(results.UnitCalls, 1, l.top.x.high, 10))
	l.drawLevels(&c, &l.top, l.levels)
	for i := range l.traces {
		l.drawTrace(&c, i)
	}
	l.drawLanes(&c)
}

// markers is about how many markers tell one line from another.
const markers = 9

func (l *contextChart) drawTrace(c *draw.Canvas, i int) {
	t, s := &l.traces[i], l.strokes[i]
	lines := map[int32][]vg.Point{} // by thread
	var threads []int32
	var main []vg.Point
	for j := range t.calls {
		call := &t.calls[j]
		at := vg.Point{X: l.top.toX(float64(j + 1)), Y: l.top.toY(float64(call.Context))}
		if lines[call.Thread] == nil {
			threads = append(threads, call.Thread)
		}
		lines[call.Thread] = append(lines[call.Thread], at)
		if call.Source == results.SourceMain {
			main = append(main, at)
		}
	}
	style := s.line()
	style.Width *= 0.8
	for _, id := range threads {
		c.StrokeLines(style, lines[id])
	}
	if len(l.traces) > 1 || len(main) == 1 {
		step := max(len(main)/markers, 1)
		for j := step * (i + 1) / (len(l.traces) + 1); j < len(main); j += step {
			s.mark(c, main[j])
		}
	}
	l.drawCuts(c, t, s)
	style.Width *= 0.8
	c.StrokeLines(style, l.shareLine(t))
}

// drawCuts marks what shortened the context, above what it was before.
func (l *contextChart) drawCuts(c *draw.Canvas, t *trace, s stroke) {
	for k, cuts := range [][]cut{t.drops, t.compactions} {
		for _, cut := range cuts {
			y := min(l.top.toY(float64(cut.from))+3, l.top.area.Max.Y-6)
			arrow(c, s.color, vg.Point{X: l.top.toX(cut.at), Y: y}, k == 1)
		}
	}
}

// maxShares is the number of places along the share of reads.
const maxShares = 240

// shareLine is the share of the input that was read, token-weighted over so
// many calls at a time that it stays readable.
func (l *contextChart) shareLine(t *trace) []vg.Point {
	width := int(math.Ceil(float64(len(t.calls)) / maxShares))
	var line []vg.Point
	for from := 0; from < len(t.calls); from += width {
		to := min(from+width, len(t.calls))
		var u prompt.Usage
		for _, c := range t.calls[from:to] {
			u.Add(c.Usage)
		}
		if u.Input() == 0 {
			continue
		}
		middle := float64(from+1+to) / 2
		line = append(line, vg.Point{X: l.bottom.toX(middle), Y: l.bottom.toY(float64(u.Read) / float64(u.Input()))})
	}
	return line
}

func (l *contextChart) drawLanes(c *draw.Canvas) {
	y := l.top.area.Min.Y - panelGap
	style := l.small
	style.XAlign, style.YAlign = draw.XRight, draw.YCenter
	for _, ln := range l.lanes {
		s := l.strokes[ln.trace]
		middle := y - laneHeight/2
		c.FillText(style, vg.Point{X: l.top.area.Min.X - tickGap, Y: middle + halfDescent}, ln.name)
		c.StrokeLine2(l.pens().grid, l.top.area.Min.X, middle, l.top.area.Max.X, middle)
		for _, at := range ln.at {
			x := l.top.toX(at)
			c.StrokeLine2(draw.LineStyle{Color: s.color, Width: vg.Points(1)}, x, y-laneHeight+1.5, x, y-1.5)
		}
		if len(l.traces) > 1 {
			s.mark(c, vg.Point{X: l.top.area.Max.X + 9, Y: middle})
		}
		y -= laneHeight
	}
}

// noteModels adds the models of calls that are not known yet.
func (l *contextChart) noteModels(calls []results.CallRecord) {
	for i := range calls {
		if m := calls[i].Model; !slices.Contains(l.models, m) {
			l.models = append(l.models, m)
		}
	}
}
