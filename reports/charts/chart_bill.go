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
	"github.com/compactsim/compactsim/sim/prompt"
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
	usd := map[time.Time]map[prompt.MissClass]float64{}
	untimed := 0.0
	for _, m := range r.DailyMisses {
		day, err := time.Parse(time.DateOnly, m.Day)
		if err != nil {
			untimed += m.USD
			continue
		}
		if usd[day] == nil {
			usd[day] = map[prompt.MissClass]float64{}
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
	sums := make([][prompt.NumMissClasses]float64, n)
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
