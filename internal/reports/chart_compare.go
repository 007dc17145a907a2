package reports

import (
	"errors"
	"fmt"
	"math"

	"github.com/compactsim/compactsim/internal/document"
	"github.com/compactsim/compactsim/internal/validate"
	"github.com/compactsim/compactsim/sim/results"
)

// Measures of the chart of a comparison: small panels in columns.
const (
	corpusColumns = 5
	corpusWidth   = 132
	corpusHeight  = 82
)

// CorpusChart draws the distributions of both corpora, a panel for each
// dimension: the share of values up to x. The colour of a panel shows how
// similar they are. Drawing fails when the corpora have no dimension in common.
func CorpusChart(c *CorpusComparison) Drawing {
	return Drawing{Name: "corpora", chart: func() (*document.Chart, error) {
		if len(c.Dimensions) == 0 {
			return nil, errors.New("the corpora have no dimension in common")
		}
		chart := &document.Chart{Title: "Generated and recorded sessions: where they are alike", Facts: []string{c.facts()},
			Source: "sim traces compare", Width: corpusWidth, Columns: corpusColumns}
		for i := range c.Dimensions {
			chart.Panels = append(chart.Panels, c.panel(&c.Dimensions[i]))
		}
		return chart, nil
	}}
}

// facts says what is drawn, and how many dimensions are how similar.
func (c *CorpusComparison) facts() string {
	count := map[string]int{}
	for i := range c.Dimensions {
		count[c.Dimensions[i].fit()]++
	}
	return fmt.Sprintf("share of values up to x, x logarithmic where values span decades; "+
		"dimensions: %d; alike (KS ≤ 10 %%): %d; near (≤ 25 %%): %d; differs: %d; "+
		"few (fewer than %d values on a side): %d",
		len(c.Dimensions), count["alike"], count["near"], count["differs"], fewValues, count["few"])
}

// panel draws one dimension.
func (c *CorpusComparison) panel(d *CorpusDimension) document.Panel {
	p := document.Panel{Title: d.title(), Height: corpusHeight, X: corpusAxis(d),
		Y: document.Axis{High: 1, Grid: true, Bare: true, Ticks: []document.Tick{{Value: 0.5, Label: " "}}}}
	styles := [2]document.Style{
		{Color: 0xd55e00, Width: 1.4, Dashes: []float64{4, 2}},
		{Color: 0x005aa0, Width: 1.6},
	}
	for k := len(d.Values) - 1; k >= 0; k-- {
		line := document.Series{Mark: document.MarkStep, Style: styles[k]}
		line.Name = corpusRoles[k] + ": " + document.Printable(c.Names[k]) + " (" + document.Count(c.Sessions[k], "session") + ")"
		if len(d.Values[k]) > 0 {
			shares(&line, &p.X, d.Values[k])
		}
		p.Series = append(p.Series, line)
	}
	fit := d.fit()
	ground := document.Series{Name: fit, Mark: document.MarkBand, Style: document.Style{Color: map[string]document.Color{
		"alike": 0xe8f5e9, "near": 0xfff3c4, "differs": 0xfcd5c8, "few": 0xeeeeee}[fit]}}
	ground.Box(p.X.Low, 0, p.X.High, 1, "")
	p.Series = append(p.Series, ground)
	return p
}

// verdict says how similar the corpora are, below a panel.
func (d *CorpusDimension) verdict() string {
	if one := d.only(); one >= 0 {
		return corpusRoles[one] + " only · " + d.fit()
	}
	return "KS " + document.Percent(d.KS) + " · " + d.fit()
}

// corpusAxis spans both samples without the outermost half per cent at each end.
func corpusAxis(d *CorpusDimension) document.Axis {
	low, high := math.Inf(1), math.Inf(-1)
	for k := range d.Values {
		if len(d.Values[k]) > 0 {
			low, high = min(low, d.quantile(k, 0.005)), max(high, d.quantile(k, 0.995))
		}
	}
	a := document.Axis{Title: d.verdict()}
	switch {
	case d.Unit == "share":
		low, high = min(math.Floor(10*low)/10, 0.9), 1
	case high > 30*max(low, 1) || d.Unit == "seconds" || d.Unit == "tokens":
		low = max(low, high/1e6, 0.001)
		if d.Unit != "seconds" {
			low = max(low, 1)
		}
		high, a.Log = max(high, low*2), true
	default:
		high = max(high, low+1)
	}
	a.Low, a.High = low, high
	for _, end := range []float64{low, high} {
		a.Ticks = append(a.Ticks, document.Tick{Value: end, Label: corpusLabel(end, d.Unit)})
	}
	return a
}

// corpusLabel formats an end of a panel's scale compactly.
func corpusLabel(x float64, unit string) string {
	if unit == "seconds" {
		switch {
		case x >= 48*3600:
			return fmt.Sprintf("%.0f d", x/86400)
		case x >= 3600:
			return fmt.Sprintf("%.0f h", x/3600)
		case x >= 60:
			return fmt.Sprintf("%.0f m", x/60)
		case x >= 1:
			return fmt.Sprintf("%.0f s", x)
		}
	}
	if x >= 10_000 {
		return fmt.Sprintf("%.0fk", x/1000)
	}
	return corpusFigure(x)
}

// shares adds the steps of the share of sorted values up to x, each at least a
// dot from the previous one.
func shares(to *document.Series, x *document.Axis, values []float64) {
	to.Point(x.Low, 0, "")
	last := math.Inf(-1)
	for i, v := range values {
		end := i+1 == len(values)
		v = min(max(v, x.Low), x.High)
		if !end && (values[i+1] == values[i] || x.At(v)-last < 0.8/corpusWidth) {
			continue
		}
		last = x.At(v)
		to.Point(v, float64(i+1)/float64(len(values)), "")
	}
	to.Point(x.High, 1, "")
}

// ValidationDrawings returns the charts of a validation: predicted against
// recorded reads, and the error by the gap since the last response.
func ValidationDrawings(r *validate.Report) []Drawing {
	return []Drawing{
		{Name: "scatter", chart: func() (*document.Chart, error) { return scatterChart(r) }},
		{Name: "error-by-gap", chart: func() (*document.Chart, error) { return gapChart(r) }},
	}
}

// scatterChart compares the predicted with the recorded reads of calls.
func scatterChart(r *validate.Report) (*document.Chart, error) {
	dots := validationDots(r, func(c *validate.Call) (x, y float64, ok bool) {
		return float64(c.Actual.Read), float64(c.Predicted.Read), true
	})
	top, n := 1.0, 0
	for _, s := range dots {
		n += len(s.X)
		for i := range s.X {
			top = max(top, s.X[i], s.Y[i])
		}
	}
	axis := unitAxis(results.UnitTokens, 0, 1.05*top, 6)
	p := document.Panel{Title: "predicted read, tokens", X: axis, Y: axis}
	p.Series = append(dots, across(0, 0, axis.High, axis.High))
	p.X.Title = "recorded read, tokens"
	return validationChart(r, fmt.Sprintf("Read by %s: predicted against recorded", document.Count(n, "call")), p)
}

// gapChart shows the error of the predicted reads by the gap before a call.
func gapChart(r *validate.Report) (*document.Chart, error) {
	const shortest = 0.1 // s, the left end of the logarithmic axis
	longest := 10.0
	dots := validationDots(r, func(c *validate.Call) (x, y float64, ok bool) {
		if c.Context == 0 {
			return 0, 0, false
		}
		x = max(float64(c.Gap)/1e9, shortest)
		longest = max(longest, x)
		return x, float64(c.Error()) / float64(c.Context), true
	})
	p := document.Panel{Title: "predicted − recorded read, of the context", Series: dots,
		X: document.Axis{Title: "gap since the last response, logarithmic", Log: true, Low: shortest, High: 1.1 * longest},
		Y: document.Axis{Low: -1.05, High: 1.05}}
	for _, s := range []float64{0.1, 1, 10, 60, 300, 3600, 86400} {
		if s <= longest {
			p.X.Ticks = append(p.X.Ticks, document.Tick{Value: s, Label: document.Seconds(s)})
		}
	}
	for v := -1.0; v <= 1; v += 0.5 {
		p.Y.Ticks = append(p.Y.Ticks, document.Tick{Value: v, Label: fmt.Sprintf("%+.0f %%", 100*v)})
	}
	return validationChart(r, "Error of the predicted read by gap", p)
}

// validationDots returns the places of all calls except first ones: those
// without and those with a collapse for no visible reason.
func validationDots(r *validate.Report, place func(*validate.Call) (x, y float64, ok bool)) []document.Series {
	dots := []document.Series{
		dotsOf("call", document.Style{Color: 0x0072b2, Size: 1.8}),
		dotsOf("collapsed for no visible reason", document.Style{Color: 0xd55e00, Size: 1.8}),
	}
	calls := r.Calls()
	for i := range calls {
		c := &calls[i]
		if c.Class == validate.ClassFirst {
			continue
		}
		if x, y, ok := place(c); ok {
			kind := 0
			if c.Collapsed() {
				kind = 1
			}
			dots[kind].Point(x, y, "")
		}
	}
	return dots
}

func validationChart(r *validate.Report, title string, p document.Panel) (*document.Chart, error) {
	if len(p.Series[0].X)+len(p.Series[1].X) == 0 {
		return nil, errors.New("no calls but first ones")
	}
	p.Height, p.Y.Grid = 380, true
	for i := range p.Series[:2] {
		p.Series[i].Thin(&p.X, &p.Y, 2*validationWidth, 2*p.Height)
	}
	return &document.Chart{Title: title, Width: validationWidth, Panels: []document.Panel{p},
		Facts: []string{fmt.Sprintf("exact %s, within 1 %% of the context %s, token-weighted error %s",
			validate.Percent(r.Exact, false), validate.Percent(r.Within1, false), validate.Percent(r.TokenErr, false))},
		Source: "sim validate; model: " + r.Model + "; profile: " + r.Profile}, nil
}

const validationWidth = 520
