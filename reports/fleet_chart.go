package reports

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/compactsim/compactsim/sim/results"
)

// fleetPart is one of the pictures of a fleet: a drawing with its legend.
type fleetPart struct {
	name   string // of a file
	title  string
	height vg.Length
	keys   []legendKey
	paint  func(c draw.Canvas)
}

// fleetGap is the distance between two parts of one picture.
const fleetGap = 22 * vg.Length(1)

// FleetChart draws a fleet under the strategy of Cells[cell] in a format of
// ChartFormats: the tokens created ahead of messages by hour, with the global
// scope or upgrades and without; what upgrades make the fleet write; and the hit
// ratio by organisation and scope. It fails when there is no such cell or nothing was called.
func FleetChart(w io.Writer, format string, f *results.Fleet, cell int) error {
	frame := newFrame("A fleet and its cache")
	parts, err := fleetParts(frame, f, cell)
	if err != nil {
		return fmt.Errorf("drawing a fleet: %w", err)
	}
	frame.layFleet(f, &f.Cells[cell], parts)
	return frame.render(w, format)
}

// FleetDrawings returns the charts of a fleet, each part of FleetChart by itself,
// for every strategy.
func FleetDrawings(f *results.Fleet) []Drawing {
	var list []Drawing
	for i := range f.Cells {
		probe, err := fleetParts(newFrame(""), f, i)
		if err != nil {
			continue // nothing was called: there is nothing to draw
		}
		for k := range probe {
			name := fileName("fleet", probe[k].name, f.Cells[i].Strategy)
			list = append(list, Drawing{name, func(w io.Writer, format string) error {
				frame := newFrame(probe[k].title)
				parts, err := fleetParts(frame, f, i)
				if err != nil {
					return fmt.Errorf("drawing a fleet: %w", err)
				}
				frame.layFleet(f, &f.Cells[i], parts[k:k+1])
				return frame.render(w, format)
			}})
		}
	}
	return list
}

// fleetParts returns the pictures of a cell.
func fleetParts(frame *frame, f *results.Fleet, cell int) ([]fleetPart, error) {
	if cell < 0 || cell >= len(f.Cells) {
		return nil, fmt.Errorf("no cell %d of %d", cell, len(f.Cells))
	}
	c := &f.Cells[cell]
	hours, err := newFleetHours(frame, f, c)
	if err != nil {
		return nil, err
	}
	hits := newFleetHits(frame, c)
	if len(hits.rows) == 0 {
		return nil, errors.New("no input was counted by scope")
	}
	parts := []fleetPart{hours.part()}
	if wave := newFleetWave(frame, f, c); wave != nil {
		parts = append(parts, wave.part())
	}
	return append(parts, hits.part()), nil
}

// layFleet sets what stands around the parts, and the size of the whole.
func (f *frame) layFleet(fleet *results.Fleet, c *results.FleetCell, parts []fleetPart) {
	f.width = callsWidth + 2*chartMargin
	f.facts = wrapped(f.small, callsWidth, []string{Printable(fleet.Name + " · " + c.Strategy + " · " + fleetSize(fleet))})
	height := fleetGap * vg.Length(len(parts)-1)
	named := map[string]bool{} // in the legend
	for i := range parts {
		height += parts[i].height
		keys := slices.DeleteFunc(slices.Clone(parts[i].keys), func(k legendKey) bool { return named[k.name] })
		for _, k := range keys {
			named[k.name] = true
		}
		f.legend = append(f.legend, f.legendLines(callsWidth, keys)...)
	}
	f.source = wrapped(f.small, callsWidth, []string{
		"source: sim fleet run; sessions are drawn from profiles, shares of users are those of the fleet file, not measured"})
	f.height = 2*chartMargin + f.line(f.head) + f.line(f.small)*vg.Length(len(f.facts)+len(f.source)) +
		f.line(f.label)*vg.Length(len(f.legend)) + 3*lineGap + height
	f.paint = func(canvas draw.Canvas) {
		top := canvas.Max.Y
		for i := range parts {
			area := canvas
			area.Rectangle = vg.Rectangle{Min: vg.Point{X: canvas.Min.X, Y: top - parts[i].height}, Max: vg.Point{X: canvas.Max.X, Y: top}}
			parts[i].paint(area)
			top -= parts[i].height + fleetGap
		}
	}
}
