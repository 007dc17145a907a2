package reports

import (
	"math"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/sim/results"
)

// tiles draws a map of two parameters: a tile for each pair of values.
func (s *sweep) tiles() *document.Chart {
	columns, rows := len(s.axes[0].values), len(s.axes[1].values)
	values := s.values()
	low, high := slices.Min(values), slices.Max(values)
	map_ := document.Series{Name: strings.ToLower(metricTitle(s.metric)) + " " + s.write(low) + " … " + s.write(high), Data: s.metric.Name, Mark: document.MarkBox}
	printed, marked, widest := columns*rows <= maxMapValues, false, 0
	for _, pt := range s.points {
		text := ""
		if printed {
			text = s.write(pt.value)
			if s.covered(pt) {
				text, marked = bracketed(text, true), true
			}
			widest = max(widest, len([]rune(text)))
		}
		tile(&map_, pt, text)
		share := 0.0
		if high > low {
			share = (pt.value - low) / (high - low)
		}
		map_.Values, map_.Sessions = append(map_.Values, pt.value), append(map_.Sessions, pt.cell.Sessions)
		map_.Shade = append(map_.Shade, share)
	}
	width, height := max(9, float64(mapWidth)/float64(columns)), 24.0
	if printed {
		width = max(5*float64(widest)+10, min(width, 72))
	} else {
		height = min(max(9, mapWidth*2/3/float64(rows)), height)
	}
	p := document.Panel{Title: s.title(&s.axes[1]), Height: height * float64(rows),
		X: places(&s.axes[0]), Y: places(&s.axes[1]), Series: []document.Series{map_}}
	p.X.Title, p.X.Names = s.title(&s.axes[0]), !s.axes[0].numeric
	p.Series = append(p.Series, s.outlines()...)
	for _, c := range s.beside() {
		v, _ := c.Value(s.metric)
		s.notes = append(s.notes, "for comparison, "+cellName(c.Cell)+": "+s.write(v))
	}
	_, common := groupNames([]string{s.points[0].group})
	common = strings.TrimSuffix(s.points[0].cell.Strategy+" · "+common, " · ")
	trust := errorLine(s.run)
	if marked {
		trust = chartTrust(s.run)
	}
	return frame([]*sweep{s}, common, trust, max(width*float64(columns), linesWidth*3/4), []document.Panel{p})
}

// outlines marks the tiles of the best value, and more thinly those that tie with it.
func (s *sweep) outlines() (list []document.Series) {
	best, name := s.best()
	if len(best) == 0 {
		return nil
	}
	const color = 0xc83c00
	outline := document.Series{Name: name, Mark: document.MarkBox, Aid: true, Style: document.Style{Color: color, Hollow: true, Width: 2}}
	for _, pt := range best {
		tile(&outline, pt, "")
	}
	tied := document.Series{Name: "ties with the best", Mark: document.MarkBox, Aid: true, Style: document.Style{Color: color, Hollow: true, Width: 0.8}}
	for _, pt := range s.around(best[0]) {
		x, y := float64(pt.at[0]), float64(pt.at[1])
		tied.Box(x-0.46, y-0.42, x+0.46, y+0.42, "")
	}
	if len(tied.X) > 0 {
		list = append(list, tied)
	}
	return append(list, outline)
}

// around returns the points that tie with the cheapest and are connected with it by such points.
func (s *sweep) around(best sweepPoint) []sweepPoint {
	if s.metric.Name != results.NameCost {
		return nil
	}
	area := []sweepPoint{best}
	for i := 0; i < len(area); i++ {
		for _, pt := range s.points {
			dx, dy := pt.at[0]-area[i].at[0], pt.at[1]-area[i].at[1]
			known := slices.ContainsFunc(area, func(p sweepPoint) bool { return p.cell == pt.cell })
			if dx*dx+dy*dy == 1 && !known && s.ties(pt.cell, best.cell) {
				area = append(area, pt)
			}
		}
	}
	return area[1:]
}

func tile(to *document.Series, p sweepPoint, text string) {
	x, y := float64(p.at[0]), float64(p.at[1])
	to.Box(x-0.5, y-0.5, x+0.5, y+0.5, text)
}

// places returns an axis with the values of a parameter beside each other.
func places(a *axis) document.Axis {
	x := document.Axis{Low: -0.5, High: float64(len(a.values)) - 0.5}
	for i, v := range a.values {
		x.Ticks = append(x.Ticks, document.Tick{Value: float64(i), Label: a.label(v)})
	}
	if a.numeric {
		x.Real = func(at float64) float64 { return numberOf(a.values[int(math.Round(at))]) }
	}
	return x
}

// covered reports whether chance can explain the difference between a point's
// cost and the recorded one.
func (s *sweep) covered(p sweepPoint) bool {
	d, ok := s.run.VsRecorded(p.cell)
	return s.metric.Name == results.NameCost && ok && d.Chance()
}
