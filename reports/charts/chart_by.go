package charts

import (
	"errors"
	"slices"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/sim/audit"
	"github.com/compactsim/compactsim/sim/results"
)

// Most bars of a breakdown, and parts of a bar before the last, which sums up all further ones.
const (
	maxGroups = 60
	maxParts  = 6
)

// BreakdownDrawings returns the chart of a bill by names: a bar for each value of the first name, with the values of
// the second as its parts.
func BreakdownDrawings(b *audit.Breakdown) []Drawing {
	return []Drawing{drawing("cost", func() (*document.Chart, error) { return breakdownChart(b) })}
}

func breakdownChart(b *audit.Breakdown) (*document.Chart, error) {
	bars, parts := levels(b)
	if len(bars) == 0 || b.Total.USD <= 0 {
		return nil, errors.New("nothing was billed")
	}
	series := make([]document.Series, len(parts))
	for i := range parts {
		look := looks()[i%len(looks())]
		series[i] = document.Series{Name: parts[i], Style: document.Style{Color: look.Color}}
	}
	highest := 0.0
	axis := document.Axis{Low: -0.6, High: float64(len(bars)) - 0.4, Title: b.By[0], Names: true, Says: func(v float64) string {
		if i := int(v + 0.5); i >= 0 && i < len(bars) {
			return bars[i]
		}
		return ""
	}}
	for i, bar := range bars {
		low := 0.0
		for k, part := range parts {
			usd := 0.0
			for _, g := range b.Groups {
				if g.Names[0] == bar && (len(b.By) == 1 || partOfBar(parts, g.Names[1]) == part) {
					usd += g.USD
				}
			}
			if usd > 0 {
				series[k].Box(float64(i)-0.4, low, float64(i)+0.4, low+usd, "")
				low += usd
			}
		}
		highest = max(highest, low)
	}
	for i := 0; i < len(bars); i += max((len(bars)+7)/8, 1) {
		axis.Ticks = append(axis.Ticks, document.Tick{Value: float64(i), Label: document.Shortened(bars[i], 14)})
	}
	p := document.Panel{Title: "Cost (USD)", Height: 240, X: axis, Y: unitAxis(results.UnitUSD, 0, 1.1*highest, 6)}
	p.Y.Grid = true
	p.Series = slices.DeleteFunc(series, func(s document.Series) bool { return len(s.X) == 0 })
	if len(parts) == 1 {
		p.Series[0].Name = ""
	}
	return &document.Chart{Title: "The bill by " + b.By[0], Width: callsWidth, Panels: []document.Panel{p},
		Facts:  []string{document.Count(b.Sessions, "session") + " · " + document.Count(b.Total.Calls, "call")},
		Source: "source: sim audit of recorded usage"}, nil
}

// levels returns the values of the first name, in the order of the groups and at most maxGroups, and the values of the
// second, the dearest first. Of periods the newest are kept, because groups are in order of time.
func levels(b *audit.Breakdown) (bars, parts []string) {
	usd := map[string]float64{}
	for _, g := range b.Groups {
		if !slices.Contains(bars, g.Names[0]) {
			bars = append(bars, g.Names[0])
		}
		if len(b.By) > 1 {
			usd[g.Names[1]] += g.USD
		}
	}
	if over := len(bars) - maxGroups; over > 0 && b.Timed() {
		bars = bars[over:]
	} else if over > 0 {
		bars = bars[:maxGroups]
	}
	if len(b.By) == 1 {
		return bars, []string{""}
	}
	for name := range usd {
		parts = append(parts, name)
	}
	slices.SortFunc(parts, func(x, y string) int {
		switch {
		case usd[x] > usd[y], usd[x] == usd[y] && x < y:
			return -1
		case x == y:
			return 0
		}
		return 1
	})
	if len(parts) > maxParts+1 {
		parts = append(parts[:maxParts], otherParts)
	}
	return bars, parts
}

// otherParts names the part of a bar that sums up what has no place of its own.
const otherParts = "all others"

func partOfBar(parts []string, name string) string {
	if slices.Contains(parts, name) {
		return name
	}
	return otherParts
}
