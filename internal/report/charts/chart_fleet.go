package reports

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/internal/study/studies"
	"github.com/compactsim/compactsim/sim/results"
)

// Limits of charts of a fleet.
const (
	maxFleetBins = 336 // a fortnight of hours
	maxFleetRows = 14  // organisations that a chart has room for
)

// FleetChart draws a fleet under the strategy of Cells[cell]: the tokens
// created before messages by hour, with and without the global scope or
// upgrades; the writes that upgrades cause; and the hit ratio by organisation
// and scope. Drawing fails when there is no such cell or nothing was called.
func FleetChart(f *studies.Fleet, cell int) Drawing {
	return Drawing{Kind: "fleet", Name: "fleet", chart: func() (*document.Chart, error) {
		return fleetChart(f, cell, "A fleet and its cache", fleetParts())
	}}
}

// FleetDrawings returns the charts of a fleet, each part of FleetChart
// separately, for every strategy.
func FleetDrawings(f *studies.Fleet) []Drawing {
	var list []Drawing
	for i := range f.Cells {
		for _, part := range fleetParts() {
			if c, err := fleetChart(f, i, part.title, []fleetPart{part}); err == nil {
				name := fileName("fleet", part.name, f.Cells[i].Strategy)
				list = append(list, Drawing{Kind: part.name, Name: name, chart: func() (*document.Chart, error) { return c, nil }})
			}
		}
	}
	return list
}

// fleetPart is one of the charts of a fleet. Its panel has no series when there
// is nothing to show.
type fleetPart struct {
	name  string // of a file
	title string
	panel func(*studies.Fleet, *studies.FleetCell) document.Panel
}

func fleetParts() []fleetPart {
	return []fleetPart{
		{"hours", "Tokens created ahead of messages, by hour", fleetHours},
		{"wave", "What upgrades make the fleet write", fleetWave},
		{"hits", "Input read from the cache, by organisation and scope", fleetHits},
	}
}

func fleetChart(f *studies.Fleet, cell int, title string, parts []fleetPart) (*document.Chart, error) {
	if cell < 0 || cell >= len(f.Cells) {
		return nil, fmt.Errorf("no cell %d of %d", cell, len(f.Cells))
	}
	of := &f.Cells[cell]
	if len(of.Hours) == 0 {
		return nil, errors.New("no call was made")
	}
	c := &document.Chart{
		Title: title, Facts: []string{document.Printable(f.Name + " · " + of.Strategy + " · " + fleetSize(f))}, Width: callsWidth,
		Source: "source: sim fleet run; sessions are drawn from profiles, " +
			"shares of users are those of the fleet file, not measured",
	}
	for _, part := range parts {
		if p := part.panel(f, of); len(p.Series) > 0 {
			c.Panels = append(c.Panels, p)
		}
	}
	if len(c.Panels) == 0 {
		return nil, errors.New("nothing to draw")
	}
	return c, nil
}

// fleetHours draws the tokens created before messages, by time.
func fleetHours(f *studies.Fleet, c *studies.FleetCell) document.Panel {
	p := document.Panel{Title: "tokens created ahead of messages, per hour", Height: 210}
	bin, styles, highest := fleetBin(len(c.Hours)), looks(), 1.0
	add := func(name string, style document.Style, hours []studies.FleetHour) {
		var sum int64
		for i := range hours {
			sum += fleetAhead(&hours[i])
		}
		s := document.Series{Name: name + ": " + document.Tokens(sum) + " tokens", Mark: document.MarkStep, Style: style}
		s.Style.Width = 1.6
		for i, v := range append(fleetValues(hours, bin), 0) {
			s.Point(float64(i*bin), v, "")
			highest = max(highest, v)
		}
		p.X.High = max(p.X.High, s.X[len(s.X)-1])
		p.Series = append(p.Series, s)
	}
	scope, upgrades := c.Pair(studies.WithoutGlobalScope), c.Pair(studies.WithoutUpgrades)
	switch {
	case scope != nil && upgrades != nil:
		add("with both", styles[0], c.Hours)
	case scope != nil:
		add("with the global scope", styles[0], c.Hours)
	case upgrades != nil:
		add("with upgrades", styles[0], c.Hours)
	default:
		add("as it is", styles[0], c.Hours)
	}
	if scope != nil {
		add("without the global scope", styles[1], scope.Hours)
	}
	if upgrades != nil {
		add("without upgrades", styles[4], upgrades.Hours)
	}
	p.X = fleetTimes(f.Start, p.X.High, bin)
	p.Y = unitAxis(results.UnitTokens, 0, 1.1*highest, 5)
	p.Y.Grid = true
	p.Series = append(p.Series, upgradeBands(f, &p)...)
	return p
}

// fleetBin returns how many hours a value covers: one, unless the chart would
// have more values than it can show.
func fleetBin(hours int) int {
	for _, bin := range []int{1, 2, 3, 6, 12, 24} {
		if hours <= bin*maxFleetBins {
			return bin
		}
	}
	return 24 * ((hours + 24*maxFleetBins - 1) / (24 * maxFleetBins))
}

// fleetAhead returns the tokens created before messages in an hour.
func fleetAhead(h *studies.FleetHour) int64 {
	return h.Created[studies.FleetGlobal] + h.Created[studies.FleetOrgs]
}

// fleetValues returns the mean tokens per hour for each bin of hours.
func fleetValues(hours []studies.FleetHour, bin int) []float64 {
	values := make([]float64, (len(hours)+bin-1)/bin)
	for i := range hours {
		values[i/bin] += float64(fleetAhead(&hours[i])) / float64(bin)
	}
	return values
}

// fleetTimes labels hours of the clock, and days at midnight, over so many
// hours.
func fleetTimes(start time.Time, hours float64, bin int) document.Axis {
	a := document.Axis{Title: "time (UTC)", High: hours}
	if bin > 1 {
		a.Title += fmt.Sprintf(", means of %d hours", bin)
	}
	step := day * time.Duration(max(1, int(niceStep(hours/24/12))))
	for _, h := range []int{1, 2, 3, 6, 12} {
		if hours <= float64(14*h) {
			step = time.Duration(h) * time.Hour
			break
		}
	}
	start = start.UTC()
	end := start.Add(time.Duration(hours * float64(time.Hour)))
	for t := start.Truncate(step); !t.After(end); t = t.Add(step) {
		if t.Before(start) {
			continue
		}
		label := t.Format("15:04")
		if t.Hour() == 0 && t.Minute() == 0 {
			label = t.Format("2 Jan")
		}
		a.Ticks = append(a.Ticks, document.Tick{Value: t.Sub(start).Hours(), Label: label})
	}
	return a
}

// upgradeBands shades the hours in which upgrades reach people.
func upgradeBands(f *studies.Fleet, p *document.Panel) []document.Series {
	band := document.Series{Mark: document.MarkBand, Style: document.Style{Color: 0xe8e4f3}}
	var texts []string
	for i := range f.Upgrades {
		u := &f.Upgrades[i]
		if from := u.At / 3600; from < p.X.High {
			to := max((u.At+u.Over)/3600, from+p.X.High/300)
			band.Box(from, p.Y.Low, min(to, p.X.High), p.Y.High, "")
			texts = append(texts, "upgrade, prompt "+signedCount(int64(u.Static))+" tokens")
		}
	}
	if len(texts) == 0 {
		return nil
	}
	band.Name = strings.Join(slices.Compact(texts), "; ")
	return []document.Series{band}
}

// fleetScopes are the names and colours of scopes; they differ in luminance.
func fleetScopes() []document.Series {
	return []document.Series{
		studies.FleetGlobal: {Name: "shared by every organisation", Style: document.Style{Color: document.Navy}},
		studies.FleetOrgs:   {Name: "shared within the organisation", Style: document.Style{Color: document.Blue}},
		studies.FleetOwn:    {Name: "the session's own", Style: document.Style{Color: 0xf4a552}},
	}
}

// fleetMore returns the writes that upgrades cause: the mean tokens created per
// hour beyond those without upgrades, by bin of hours and scope.
func fleetMore(c *studies.FleetCell, without *studies.FleetPair, bin int) [][studies.NumFleetScopes]float64 {
	hours := max(len(c.Hours), len(without.Hours))
	more := make([][studies.NumFleetScopes]float64, (hours+bin-1)/bin)
	add := func(hours []studies.FleetHour, sign float64) {
		for i := range hours {
			for k, v := range hours[i].Created {
				more[i/bin][k] += sign * float64(v) / float64(bin)
			}
		}
	}
	add(c.Hours, 1)
	add(without.Hours, -1)
	return more
}

// fleetWave draws the writes that upgrades cause, by time and scope; nothing
// for a fleet that was not compared with one without upgrades.
func fleetWave(f *studies.Fleet, c *studies.FleetCell) document.Panel {
	p := document.Panel{Title: "tokens created beyond those without upgrades, per hour", Height: 130}
	without := c.Pair(studies.WithoutUpgrades)
	if without == nil {
		return p
	}
	bin := fleetBin(max(len(c.Hours), len(without.Hours)))
	more := fleetMore(c, without, bin)
	scopes := fleetScopes()
	low, high := 0.0, 1.0
	for i, values := range more {
		below, above := 0.0, 0.0
		for k, v := range values {
			from := &above
			if v < 0 {
				from = &below
			}
			if v != 0 {
				scopes[k].Box(float64(i*bin), *from, float64((i+1)*bin), *from+v, "")
			}
			*from += v
		}
		low, high = min(low, below), max(high, above)
	}
	p.X = fleetTimes(f.Start, float64(len(more)*bin), bin)
	p.Y = unitAxis(results.UnitTokens, 1.1*low, 1.1*high, 6)
	p.Y.Grid = true
	p.Series = upgradeBands(f, &p)
	for _, s := range scopes {
		s.Mark = document.MarkBox
		p.Series = append(p.Series, s)
	}
	p.Series = append(p.Series, across(0, 0, p.X.High, 0))
	return p
}

// fleetHits draws hit ratios: a dot for each scope, in a line for each
// organisation and the fleet. They lie close together and near 1, so the axis
// begins where the values do.
func fleetHits(_ *studies.Fleet, c *studies.FleetCell) document.Panel {
	groups := fleetGroups(c)
	kept := slices.Clone(groups[:len(groups)-1])
	slices.SortStableFunc(kept, func(a, b *studies.FleetGroup) int { return cmp.Compare(fleetInput(b), fleetInput(a)) })
	kept = kept[:min(len(kept), maxFleetRows)]
	rows := slices.DeleteFunc(slices.Clone(groups), func(g *studies.FleetGroup) bool {
		return fleetInput(g) == 0 || g != &c.Total && !slices.Contains(kept, g)
	})
	p := document.Panel{Title: "share of the input read from the cache", Height: 40 * float64(len(rows))}
	if more := len(groups) - 1 - len(kept); more > 0 {
		p.Title += fmt.Sprintf("; of %d organisations the %d with the most input", len(groups)-1, len(kept))
	}
	low := 0.95
	stems, scopes := fleetScopes(), fleetScopes()
	for i, g := range rows {
		at := p.Y.Place(i, len(rows), cellName(g.Name))
		for k := range scopes {
			if ratio, ok := g.Scope(studies.FleetScope(k)).HitRatio(); ok {
				y := at + 0.25*float64(1-k)
				low = min(low, math.Floor(20*(ratio-0.005))/20)
				scopes[k].Point(ratio, y, document.Percent(ratio))
				stems[k].Point(0, y, "")
				stems[k].Point(ratio, y, "")
				stems[k].Point(0, math.NaN(), "")
			}
		}
	}
	low = max(0, low)
	p.X = unitAxis(results.UnitRatio, low, 1, 10)
	p.X.Grid = true
	for k := range scopes {
		for i := range stems[k].X {
			stems[k].X[i] = max(stems[k].X[i], low)
		}
		stems[k].Name, stems[k].Style.Width, stems[k].Style.Dashes = "", 0.7, []float64{1, 2}
		scopes[k].Mark, scopes[k].Style.Size = document.MarkDot, 3.6
		if len(scopes[k].X) > 0 {
			p.Series = append(p.Series, stems[k], scopes[k])
		}
	}
	return p
}

// fleetInput returns the input tokens of a group.
func fleetInput(g *studies.FleetGroup) int64 {
	var n int64
	for scope := range studies.FleetScope(studies.NumFleetScopes) {
		n += g.Scope(scope).Input()
	}
	return n
}
