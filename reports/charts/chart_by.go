package charts

import (
	"cmp"
	"errors"
	"maps"
	"slices"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/sim/audit"
	"github.com/compactsim/compactsim/sim/results"
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
	p := document.Panel{Height: barPitch * float64(len(bars)), X: unitAxis(results.UnitUSD, 0, 1.15*highest, 5)}
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
