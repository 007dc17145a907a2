package charts

import (
	"cmp"
	"errors"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/reports/check"
	"github.com/compactsim/compactsim/sim/audit"
	"github.com/compactsim/compactsim/sim/calls"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
)

// maxParts is how many parts of bars have a colour of their own; the last part sums up all further ones.
const maxParts = 6

// otherParts names the part of a bar that sums up what has no colour of its own.
const otherParts = "all others"

// BreakdownDrawings returns the chart of a bill by names: a bar for each value of the first name, with the values of
// the second as its parts.
func BreakdownDrawings(b *audit.Breakdown) []Drawing {
	return []Drawing{drawing("cost", func() (*document.Chart, error) { return breakdownChart(b) })}
}

func breakdownChart(b *audit.Breakdown) (*document.Chart, error) {
	bars, parts, usd := barsOf(b)
	highest := 0.0
	for _, of := range usd {
		sum := 0.0
		for _, v := range of {
			sum += v
		}
		highest = max(highest, sum)
	}
	if highest <= 0 {
		return nil, errors.New("nothing was billed")
	}
	p := document.Panel{Height: barPitch * float64(len(bars)), X: unitAxis(measures.UnitUSD, 0, 1.15*highest, 5)}
	p.X.Title, p.X.Grid = "cost (USD)", true
	series := make([]document.Series, len(parts))
	for k, name := range parts {
		if len(b.By) > 1 {
			name = b.Label(1, name)
		}
		series[k] = document.Series{Name: name, Data: "cost", Mark: document.MarkBox, Style: document.Style{Color: missParts()[k].Style.Color}}
	}
	texts := document.Series{Mark: document.MarkText, Aid: true}
	for i, bar := range bars {
		y, at := p.Y.Place(i, len(bars), document.Shortened(document.Printable(b.Label(0, bar)), maxNameRunes)), 0.0
		for k, name := range parts {
			if v := usd[bar][name]; v > 0 {
				series[k].Box(at, y-0.3, at+v, y+0.3, "")
				at += v
			}
		}
		texts.Point(at, y, document.USD(at, 2))
	}
	p.Series = append(slices.DeleteFunc(series, func(s document.Series) bool { return len(s.X) == 0 }), texts)
	c := &document.Chart{Title: "The bill by " + b.By[0], Width: barsWidth, Panels: []document.Panel{p},
		Facts:  []string{document.Count(b.Sessions, "session") + " · " + document.Count(b.Total.Calls, "call")},
		Source: "source: sim audit of recorded usage"}
	drawn := 0.0
	for _, bar := range bars {
		for _, v := range usd[bar] {
			drawn += v
		}
	}
	if left := b.Total.USD - drawn; left >= 0.005 {
		c.Notes = []string{document.USD(left, 2) + " of " + document.USD(b.Total.USD, 2) + " are not drawn"}
	}
	return c, nil
}

// barsOf returns the values of the first name that are drawn, the newest of periods and the dearest of all else, the values
// of the second name, dearest first, and the cost of each part of each bar, USD. What no thing accounts for is no bar.
func barsOf(b *audit.Breakdown) (bars, parts []string, usd map[string]map[string]float64) {
	usd, sums := map[string]map[string]float64{}, map[string]float64{}
	part := func(g *audit.Group) string {
		if len(b.By) > 1 {
			return g.Names[1]
		}
		return ""
	}
	for i := range b.Groups {
		if g := &b.Groups[i]; g.Names[0] != audit.Rest {
			if usd[g.Names[0]] == nil {
				usd[g.Names[0]], bars = map[string]float64{}, append(bars, g.Names[0])
			}
			sums[part(g)] += g.USD
		}
	}
	if over := len(bars) - maxBars; over > 0 && b.Timed() {
		bars = bars[over:]
	} else if over > 0 {
		bars = bars[:maxBars]
	}
	parts = slices.SortedFunc(maps.Keys(sums), func(x, y string) int { return cmp.Or(cmp.Compare(sums[y], sums[x]), cmp.Compare(x, y)) })
	if len(parts) > maxParts+1 {
		parts = append(parts[:maxParts], otherParts)
	}
	for i := range b.Groups {
		g := &b.Groups[i]
		name := part(g)
		if !slices.Contains(parts, name) {
			name = otherParts
		}
		if slices.Contains(bars, g.Names[0]) {
			usd[g.Names[0]][name] += g.USD
		}
	}
	for bar := range usd {
		if !slices.Contains(bars, bar) {
			delete(usd, bar)
		}
	}
	return bars, parts, usd
}

// lossPitch is the height of a miss in a chart: a line of text, and a bar below it.
const lossPitch = 40

// knowledge is a way in which causes are known.
type knowledge struct {
	confidence calls.Confidence
	name       string
	color      document.Color
}

// ways are the ways in which causes of misses are known, with their names and colours in a chart.
var ways = []knowledge{
	{calls.Logged, "cause in the log", document.Blue}, {calls.Seen, "seen in bodies or said by the server", document.Navy},
	{calls.Likely, "likely by recordings", document.Orange}, {"", "no visible reason", document.Grey},
}

// dearestChart draws the dearest misses: when each was, what it lost and cost, and why. Without
// names it does not say which calls they are.
func dearestChart(losses []audit.Loss, zone string, facts []string, names bool) (*document.Chart, error) {
	if len(losses) == 0 {
		return nil, errors.New("no miss has a price")
	}
	most, usd := int64(0), []float64{}
	for i := range losses {
		most, usd = max(most, losses[i].Missed), append(usd, losses[i].USD)
	}
	money := document.Amounts(usd...)
	if zone == time.Local.String() {
		zone = "local"
	}
	p := document.Panel{Title: "Cause, cost and time (" + zone + ")", Height: lossPitch * float64(len(losses)), X: unitAxis(measures.UnitTokens, 0, 1.02*float64(most), 6)}
	p.X.Title, p.X.Grid, p.Y.Bare = "tokens lost", true, true
	bars := make([]document.Series, len(ways))
	for k := range ways {
		bars[k] = document.Series{Name: ways[k].name, Data: "tokens lost", Mark: document.MarkBox, Style: document.Style{Color: ways[k].color}}
	}
	texts := document.Series{Mark: document.MarkText, Aid: true}
	for i := range losses {
		l := &losses[i]
		name := l.Cause.Short()
		if l.Because != "" {
			name += ", " + l.Because.Short()
		}
		if names {
			name += " · " + document.Printable(l.Name)
		}
		y := p.Y.Place(i, len(losses), name) // a long name takes several lines where there is little room
		k := slices.IndexFunc(ways, func(k knowledge) bool { return k.confidence == l.Confidence })
		bars[k].Box(0, y-0.4, float64(l.Missed), y-0.02, "")
		texts.Point(0, y+0.2, money(l.USD)+" · "+l.At)
	}
	p.Series = append(slices.DeleteFunc(bars, func(s document.Series) bool { return len(s.X) == 0 }), texts)
	return &document.Chart{Title: "The dearest misses of the cache", Width: barsWidth, Panels: []document.Panel{p}, Facts: facts,
		Source: "source: sim audit of recorded usage; tokens lost were left in the cache, and written again; a miss costs what writing took beyond a read"}, nil
}

// historyHeight is the height of a panel of the runs of a window, points.
const historyHeight = 90

// historyChart draws what a gate holds over the runs of its window: the bill over its prediction, the prices of tokens,
// and a call's bill beside the work in it.
func historyChart(r *check.Report) *document.Chart {
	over, _ := results.LookupMetric(measures.NameOverPredicted)
	c := &document.Chart{Title: "The runs of the window", Width: barsWidth, Source: "source: sim check of recorded usage",
		Facts: []string{document.Count(len(r.History), "run") + ", the last of " + document.Count(r.Sessions, "session")},
		Notes: []string{"work: what a call is predicted to cost at the prices of the last run"}}
	line := func(name string, color document.Color, of func(*check.RunFigures) float64) document.Series {
		s := document.Series{Name: name, Style: document.Style{Color: color, Width: 1.5, Size: 3}}
		for i := range r.History {
			h := &r.History[i]
			v := of(h)
			if v == 0 { // the run has no such figure
				v = math.NaN()
			}
			s.Point(float64(-h.Run), v, "")
			s.Sessions = append(s.Sessions, h.Sessions)
		}
		return s
	}
	last := float64(r.History[0].Run)
	add := func(title, unit string, lines ...document.Series) {
		p := document.Panel{Title: title, Height: historyHeight}
		low, high := math.Inf(1), math.Inf(-1)
		for i := range lines {
			for _, v := range lines[i].Y {
				if !math.IsNaN(v) {
					low, high = min(low, v), max(high, v)
				}
			}
		}
		if low > high {
			return
		}
		room := max(0.1*(high-low), 0.02*high)
		p.Y = unitAxis(unit, max(0, low-room), high+room, 4)
		p.Y.Grid = true
		p.X = document.Axis{Low: -last - 0.3, High: 0.3}
		for at := -last; at <= 0; at++ {
			p.X.Ticks = append(p.X.Ticks, document.Tick{Value: at, Label: document.Whole(int(-at))})
		}
		for i := range lines {
			if !slices.ContainsFunc(lines[i].Y, func(v float64) bool { return !math.IsNaN(v) }) {
				continue
			}
			p.Series = append(p.Series, lines[i].Dotted()...)
		}
		c.Panels = append(c.Panels, p)
	}
	add("Bill over its prediction", over.Unit, line("billed to predicted", document.Navy, func(h *check.RunFigures) float64 { return h.Predicted }))
	add("Price of a million tokens (USD)", measures.UnitUSD,
		line("conversations", document.Blue, func(h *check.RunFigures) float64 { return h.Price }),
		line("sub-agents", document.Green, func(h *check.RunFigures) float64 { return h.Agents }))
	add("A call (USD)", measures.UnitUSD,
		line("billed", document.Orange, func(h *check.RunFigures) float64 { return h.PerCall }),
		line("work", document.Grey, func(h *check.RunFigures) float64 { return h.Work }))
	if n := len(c.Panels); n > 0 {
		c.Panels[n-1].X.Title = "runs ago"
	}
	return c
}
