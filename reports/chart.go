package reports

import (
	"errors"
	"fmt"
	"image/color"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/image/font/sfnt"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/compactsim/compactsim/sim/results"
)

// ChartFormats returns the names that Chart takes.
func ChartFormats() []string { return []string{"svg", "png"} }

// ChartFormat returns the format that the extension of a file name asks for.
func ChartFormat(name string) (string, error) {
	format := strings.ToLower(strings.TrimPrefix(filepath.Ext(name), "."))
	if !slices.Contains(ChartFormats(), format) {
		return "", fmt.Errorf("chart file %q: extension must be one of .%s", name, strings.Join(ChartFormats(), ", ."))
	}
	return format, nil
}

// Chart draws the cost of every cell, USD, as bars stacked by token class, in a
// format of ChartFormats: the reference cells and the cheapest others when there
// are more than a page has room for. SVG bytes depend on the run alone; PNG bytes can
// differ between architectures. It fails when there is nothing to draw: no
// cells, no cost, or figures that are negative or not finite.
func Chart(w io.Writer, format string, run *results.Run) error {
	bars, err := costBars(run)
	if err != nil {
		return fmt.Errorf("drawing a chart: %w", err)
	}
	return newChartLayout(run, bars).render(w, format)
}

// costBar is the cost of one cell.
type costBar struct {
	cell      string
	name      string    // as drawn
	note      string    // behind the total: the difference to the recorded cell
	parts     []float64 // USD by token class, then storage
	total     float64   // USD
	reference bool      // billed or recorded
}

// costBars returns the bars of run from top to bottom.
func costBars(run *results.Run) ([]costBar, error) {
	if len(run.Cells) == 0 {
		return nil, errors.New("the run has no cells")
	}
	var bars []costBar
	var highest float64
	for i := range run.Cells {
		c := &run.Cells[i]
		b := costBar{cell: c.Cell, reference: isReference(c), name: shortened(Printable(c.Cell), maxNameRunes)}
		b.note, _ = vsRecorded(run, c)
		b.parts = append(slices.Clone(c.Total.CostByClass[:]), c.Total.StorageUSD)
		for _, v := range b.parts {
			if math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
				return nil, fmt.Errorf("cell %q: cost %v cannot be drawn", c.Cell, v)
			}
			b.total += v
		}
		highest = max(highest, b.total)
		bars = append(bars, b)
	}
	if highest == 0 || math.IsInf(highest, 0) {
		return nil, fmt.Errorf("the highest cost of all cells is $%v", highest)
	}
	return bars, nil
}

// isReference reports whether other cells are held against c.
func isReference(c *results.Cell) bool {
	return c.Strategy == results.StrategyBilled || c.Strategy == results.StrategyRecorded
}

// maxNameRunes keeps the names of cells from taking all of the width.
const maxNameRunes = 44

// shortened cuts the middle out of a long name: families of cells differ at
// their ends as often as at their beginnings.
func shortened(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	head := n / 2
	return string(r[:head]) + "…" + string(r[len(r)-(n-head-1):])
}

// usdTicks labels amounts on the axis; at most about six fit the width.
func usdTicks(low, high float64) []plot.Tick {
	step := niceStep(high / 5)
	var values []float64
	for i := 0; float64(i)*step <= high*(1+1e-9); i++ {
		values = append(values, float64(i)*step)
	}
	decimals := 0
	if step < 1 {
		decimals = int(math.Ceil(-math.Log10(step) - 1e-9))
	}
	ticks := make([]plot.Tick, len(values))
	for i, v := range values {
		ticks[i] = plot.Tick{Value: v, Label: usd(v, decimals)}
	}
	return ticks
}

// niceStep returns the smallest of 1, 2 and 5 times a power of ten that is not
// below v.
func niceStep(v float64) float64 {
	base := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{1, 2, 5} {
		if m*base >= v*(1-1e-9) {
			return m * base
		}
	}
	return 10 * base
}

// fill is how a token class is drawn: colours of distinct luminance, and a
// hatch where two would be close in greyscale.
type fill struct {
	name  string
	color color.NRGBA
	ink   color.NRGBA // of labels and hatches
	hatch hatch
}

type hatch uint8

const (
	hatchNone  hatch = iota
	hatchUp          // ////
	hatchDown        // \\\\
	hatchCross       // both
	hatchLevel       // ====
)

// fills are in the order of costBar.parts. The hues are told apart by people
// with any colour vision: blue for what goes through the cache, orange and
// brown for what does not.
func fills() []fill {
	white, dark := color.NRGBA{255, 255, 255, 255}, color.NRGBA{38, 38, 38, 255}
	return []fill{
		results.ClassUncached:   {"uncached input", color.NRGBA{140, 81, 10, 255}, white, hatchNone},
		results.ClassRead:       {"cache read", color.NRGBA{198, 219, 239, 255}, dark, hatchNone},
		results.ClassWrite5m:    {"cache write 5m", color.NRGBA{66, 146, 198, 255}, white, hatchUp},
		results.ClassWrite1h:    {"cache write 1h", color.NRGBA{8, 48, 107, 255}, white, hatchDown},
		results.ClassWriteOther: {"cache write other", color.NRGBA{107, 142, 173, 255}, white, hatchLevel},
		results.ClassOutput:     {"output", color.NRGBA{244, 165, 82, 255}, dark, hatchNone},
		results.NumClasses:      {"storage", color.NRGBA{217, 217, 217, 255}, dark, hatchCross},
	}
}

// drawable writes characters that the font of a style lacks as \u escapes:
// they would vanish.
func drawable(s draw.TextStyle, text string) string {
	face := s.Handler.Cache().Lookup(s.Font, s.Font.Size).Face
	var buf sfnt.Buffer
	var b strings.Builder
	for _, r := range text {
		if i, err := face.GlyphIndex(&buf, r); err != nil || i == 0 {
			fmt.Fprintf(&b, "\\u%04x", r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// textStyle returns the style of texts in a chart.
func textStyle(size vg.Length, c color.Color) draw.TextStyle {
	s := plot.New().Title.TextStyle
	s.Font.Variant = "Sans"
	s.Font.Size = size
	s.Color = c
	s.XAlign, s.YAlign = draw.XLeft, draw.YBottom
	return s
}
