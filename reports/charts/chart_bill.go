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
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
)

// maxDays is the largest number of days with bars of their own; of more, weeks have them.
const maxDays = 92

// AuditDrawings returns the charts of a bill: what misses cost by cause over days, and the dearest misses.
func AuditDrawings(r *audit.Report) []Drawing {
	return []Drawing{
		drawing("misses", func() (*document.Chart, error) { return auditMisses(r) }),
		drawing("dearest", func() (*document.Chart, error) { return dearestChart(r.Dearest, r.Zone, auditFacts(r), true) }),
	}
}

// auditFacts says what was read.
func auditFacts(r *audit.Report) []string {
	return []string{document.Count(r.Sessions, "session") + " · " + document.Count(r.Total.Calls, "call")}
}

func auditMisses(r *audit.Report) (*document.Chart, error) {
	usd := map[time.Time]map[exchange.MissClass]float64{}
	untimed := 0.0
	for _, m := range r.DailyMisses {
		day, err := time.Parse(time.DateOnly, m.Day)
		if err != nil {
			untimed += m.USD
			continue
		}
		if usd[day] == nil {
			usd[day] = map[exchange.MissClass]float64{}
		}
		usd[day][m.Class] += m.USD
	}
	if len(usd) == 0 {
		return nil, errors.New("no miss has a day")
	}
	days := slices.SortedFunc(maps.Keys(usd), time.Time.Compare)
	first, last := days[0], days[len(days)-1]
	width, per := 1, "day"
	if last.Sub(first) >= maxDays*day {
		width, per = 7, "week"
	}
	n := int(last.Sub(first)/day)/width + 1
	sums := make([][exchange.NumMissClasses]float64, n)
	for at, classes := range usd {
		for class, v := range classes {
			sums[int(at.Sub(first)/day)/width][class] += v
		}
	}
	parts, highest := missParts(), 0.0
	for i := range sums {
		low := 0.0
		for k := range parts {
			if v := sums[i][k+1]; v > 0 {
				parts[k].Box(float64(i)-0.4, low, float64(i)+0.4, low+v, "")
				low += v
			}
		}
		highest = max(highest, low)
	}
	if highest == 0 {
		return nil, errors.New("no miss has a price")
	}
	p := document.Panel{Title: "Cost of misses (USD per " + per + ")", Height: 240, Y: unitAxis(measures.UnitUSD, 0, 1.1*highest, 6)}
	p.Y.Grid = true
	p.X = document.Axis{Low: -0.6, High: float64(n) - 0.4, Title: map[string]string{"day": "day", "week": "first day of the week"}[per], Says: func(v float64) string {
		return first.AddDate(0, 0, width*int(math.Round(v))).Format(time.DateOnly)
	}}
	for i := 0; i < n; i += max((n+7)/8, 1) {
		p.X.Ticks = append(p.X.Ticks, document.Tick{Value: float64(i), Label: p.X.Says(float64(i))})
	}
	p.Series = slices.DeleteFunc(parts, func(s document.Series) bool { return len(s.X) == 0 })
	c := &document.Chart{Title: "What misses of the cache cost, by cause", Width: callsWidth, Panels: []document.Panel{p},
		Facts:  auditFacts(r),
		Source: "source: sim audit of recorded usage; a miss costs what writing took beyond a read"}
	if untimed > 0 {
		c.Notes = []string{document.Amounts(untimed)(untimed) + " of calls without a time are not drawn"}
	}
	return c, nil
}

// CheckKinds returns the kinds of charts of a check.
func CheckKinds() []string { return []string{"change", "history"} }

// CheckDrawings returns the charts of a check: the parts by which the bill changed since the baseline, none without one; and
// the runs of a window, none without an earlier one.
func CheckDrawings(r *check.Report) (list []Drawing) {
	if r.Change != nil {
		list = append(list, drawing("change", func() (*document.Chart, error) { return changeChart(r), nil }))
	}
	if len(r.History) > 1 {
		list = append(list, drawing("history", func() (*document.Chart, error) { return historyChart(r), nil }))
	}
	return list
}

// changePart is a part of a change: what it adds to the bill, USD.
type changePart struct {
	name string
	usd  float64
	span document.Span // of the part; without length where it is not known
}

// changeParts returns the parts of a change that are not 0, in the order of the first line of a check, work in any case.
func changeParts(c *check.Change) []changePart {
	parts := []changePart{{name: "work", usd: c.Work}, {name: "prices and models", usd: c.Prices}, {name: "facts of the client", usd: c.Facts}}
	dearest := func(a, b string) int {
		return cmp.Or(cmp.Compare(math.Abs(c.Causes[b]), math.Abs(c.Causes[a])), cmp.Compare(a, b))
	}
	for _, cause := range slices.SortedFunc(maps.Keys(c.Causes), dearest) {
		parts = append(parts, changePart{name: "cache: " + cause, usd: c.Causes[cause]})
	}
	rest := changePart{name: "cache: no cause", usd: c.Rest}
	if c.RestLow != nil && c.RestHigh != nil {
		rest.span = document.Span{Low: *c.RestLow, High: *c.RestHigh}
	}
	parts = append(parts, rest)
	return slices.DeleteFunc(parts, func(p changePart) bool { return p.usd == 0 && p.name != "work" })
}

// changeChart draws each part from where the one above it ends, and below them what they add up to.
func changeChart(r *check.Report) *document.Chart {
	c := r.Change
	notes := []string{"cache: what was billed beyond what is predicted"}
	if c.RestLow != nil {
		notes = append(notes, "bar: 95 % interval by session")
	}
	return &document.Chart{Title: "What changed the bill since the baseline", Width: barsWidth, Panels: []document.Panel{changePanel(c)}, Notes: notes,
		Facts: []string{document.Count(r.Sessions, "session") + " · per " + c.Per + " " + document.Amounts(c.Was)(c.Was) + " before, " +
			document.Amounts(c.Now)(c.Now) + " now"},
		Source: "source: sim check of recorded usage"}
}

func changePanel(c *check.Change) document.Panel {
	parts := append(changeParts(c), changePart{name: "all", usd: c.Now - c.Was})
	last := len(parts) - 1
	bars := [3]document.Series{
		{Name: "dearer", Mark: document.MarkBox, Style: document.Style{Color: document.Orange}, Unspanned: true},
		{Name: "cheaper", Mark: document.MarkBox, Style: document.Style{Color: document.Blue}, Unspanned: true},
		{Data: "all", Mark: document.MarkBox, Style: document.Style{Color: document.Navy}, Unspanned: true},
	}
	texts, spans := document.Series{Mark: document.MarkText, Aid: true}, document.Series{Mark: document.MarkText, Aid: true}
	var amounts []float64
	for _, part := range parts {
		amounts = append(amounts, part.usd)
	}
	money := document.Amounts(amounts...)
	p := document.Panel{Height: barPitch * float64(len(parts))}
	sum, low, high := 0.0, 0.0, 0.0
	for i, part := range parts {
		y, kind := p.Y.Place(i, len(parts), part.name), 0
		switch {
		case i == last:
			kind, sum = 2, 0
		case part.usd < 0:
			kind = 1
		}
		to := sum + part.usd
		bars[kind].Box(sum, y-0.3, to, y+0.3, "")
		bars[kind].XSpans = append(bars[kind].XSpans, part.span)
		end := max(sum, to)
		if part.span.Low != part.span.High {
			span := document.Span{Low: sum + part.span.Low, High: sum + part.span.High}
			spread(&spans, true, to, y, "", span, 0)
			low, end = min(low, span.Low), max(end, span.High)
		}
		texts.Point(end, y, document.Signed(part.usd, money)+"  "+document.SignedPercent(part.usd/c.Was))
		low, high, sum = min(low, to), max(high, end), to
		if i < last {
			p.Series = append(p.Series, across(sum, y-0.3, sum, y-0.7))
		}
	}
	margin := 0.03 * max(high-low, minSpan(measures.UnitUSD))
	p.X = unitAxis(measures.UnitUSD, low-margin, high+margin, 6)
	p.X.Title, p.X.Grid, p.Y.Bare = "change of the bill per "+c.Per+" (USD)", true, true
	p.Series = append(p.Series, across(0, p.Y.Low, 0, p.Y.High), bars[0], bars[1], bars[2], spans, texts)
	p.Series = slices.DeleteFunc(p.Series, func(s document.Series) bool { return len(s.X) == 0 })
	return p
}

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
