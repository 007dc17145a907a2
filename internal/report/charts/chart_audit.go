package reports

import (
	"errors"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/internal/results/studies"
	"github.com/compactsim/compactsim/internal/study/audit"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
)

// maxDays is the largest number of days with bars of their own; of more, weeks have them.
const maxDays = 92

// AuditDrawings returns the charts of a bill: what misses cost by cause over days.
func AuditDrawings(r *audit.Report) []Drawing {
	return []Drawing{drawing("misses", func() (*document.Chart, error) { return auditMisses(r) })}
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
	p := document.Panel{Title: "Cost of misses (USD per " + per + ")", Height: 240, Y: unitAxis(results.UnitUSD, 0, 1.1*highest, 6)}
	p.Y.Grid = true
	p.X = document.Axis{Low: -0.6, High: float64(n) - 0.4, Title: map[string]string{"day": "day", "week": "first day of the week"}[per], Says: func(v float64) string {
		return first.AddDate(0, 0, width*int(math.Round(v))).Format(time.DateOnly)
	}}
	for i := 0; i < n; i += max((n+7)/8, 1) {
		p.X.Ticks = append(p.X.Ticks, document.Tick{Value: float64(i), Label: p.X.Says(float64(i))})
	}
	p.Series = slices.DeleteFunc(parts, func(s document.Series) bool { return len(s.X) == 0 })
	c := &document.Chart{Title: "What misses of the cache cost, by cause", Width: callsWidth, Panels: []document.Panel{p},
		Facts:  []string{document.Count(r.Sessions, "session") + " · " + document.Count(r.Total.Calls, "call")},
		Source: "source: sim audit of recorded usage; a miss costs what writing took beyond a read"}
	if untimed > 0 {
		c.Notes = []string{document.Amounts(untimed)(untimed) + " of calls without a time are not drawn"}
	}
	return c, nil
}

// ChainDrawings returns the charts of compactions: what each cost, and what later calls saved by it.
func ChainDrawings(run *results.Run, cells []studies.Chains) []Drawing {
	return []Drawing{drawing("compactions", func() (*document.Chart, error) { return chainChart(run, cells) })}
}

func chainChart(run *results.Run, cells []studies.Chains) (*document.Chart, error) {
	var list []document.Series
	var costs, gains []float64
	var notes []string
	styles := looks()
	for i := range cells {
		totals := cells[i].Totals()
		if totals.Compactions == totals.Unpriced {
			continue
		}
		if len(list) == len(styles) {
			notes = append(notes, cellName(cells[i].Cell)+" not drawn: there are too many strategies")
			continue
		}
		style := styles[len(list)]
		style.Size = 2.8
		name := calledName(run, cells[i].Cell)
		dots := dotsOf(name+", "+document.Whole(int64(totals.PaidBack))+" of "+
			document.Count(totals.Compactions-totals.Unpriced, "compaction")+" paid back", style)
		dots.Data = name
		for j := range cells[i].Compactions {
			x := &cells[i].Compactions[j]
			if !x.Priced() {
				continue
			}
			cost := x.CallCost.Total() + x.RewriteUSD
			costs, gains = append(costs, cost), append(gains, x.GainUSD)
			dots.Point(cost, x.GainUSD, "")
		}
		list = append(list, dots)
	}
	if len(costs) == 0 {
		return nil, errors.New("there are no compactions with a price")
	}
	p := document.Panel{Title: "What later calls saved (USD)", Height: 300}
	p.X, p.Y = balanceAxes(costs, gains)
	p.X.Title, p.X.Grid, p.Y.Grid = "what the compaction cost: its call and writing again (USD)", true, true
	p.Series = list
	if low, high := max(p.X.Low, p.Y.Low), min(p.X.High, p.Y.High); low < high {
		line := across(low, low, high, high)
		line.Name = "paid back above"
		p.Series = append(p.Series, line)
	}
	return runChart(run, "What compactions cost and paid back", errorLine(run), squareWidth, []document.Panel{p}, notes...), nil
}

// balanceAxes returns axes of USD for what compactions cost and saved: both logarithmic or neither, so that the line between
// those that paid back and others is straight.
func balanceAxes(costs, gains []float64) (x, y document.Axis) {
	all := slices.Concat(costs, gains)
	if least := slices.Min(all); least > 0 && slices.Max(all)/least > maxLinearRatio {
		return logAxis(results.UnitUSD, 0.8*slices.Min(costs), 1.2*slices.Max(costs)),
			logAxis(results.UnitUSD, 0.8*slices.Min(gains), 1.2*slices.Max(gains))
	}
	of := func(values []float64) document.Axis {
		low, high := min(slices.Min(values), 0), max(slices.Max(values), minSpan(results.UnitUSD))
		return unitAxis(results.UnitUSD, low, high+0.08*(high-low), 6)
	}
	return of(costs), of(gains)
}
