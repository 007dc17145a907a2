package reports

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/internal/study/validate"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
)

// ValidationDrawings returns the charts of a validation: predicted against
// recorded reads, the error by the gap since the last response, and how long caches keep what was left.
func ValidationDrawings(r *validate.Report) []Drawing {
	return []Drawing{
		{Kind: "scatter", Name: "scatter", chart: func() (*document.Chart, error) { return scatterChart(r) }},
		{Kind: "gap", Name: "error-by-gap", chart: func() (*document.Chart, error) { return gapChart(r) }},
		{Kind: "survival", Name: "survival", chart: func() (*document.Chart, error) { return survivalChart(r) }},
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
	p.X.Ticks = timeTicks(longest)
	for v := -1.0; v <= 1; v += 0.5 {
		p.Y.Ticks = append(p.Y.Ticks, document.Tick{Value: v, Label: fmt.Sprintf("%+.0f %%", 100*v)})
	}
	return validationChart(r, "Error of the predicted read by gap", p)
}

// timeTicks returns the ticks of a logarithmic axis of times, s.
func timeTicks(longest float64) (list []document.Tick) {
	for _, t := range []document.Tick{{Value: 0.1, Label: "0.1 s"}, {Value: 1, Label: "1 s"}, {Value: 10, Label: "10 s"}, {Value: 60, Label: "1 min"},
		{Value: 300, Label: "5 min"}, {Value: 3600, Label: "1 h"}, {Value: 36_000, Label: "10 h"}} {
		if t.Value <= longest {
			list = append(list, t)
		}
	}
	return list
}

// providerTitles are the names of providers for people.
var providerTitles = map[string]string{"anthropic": "Anthropic", "openai": "OpenAI", "deepseek": "DeepSeek", "google": "Google"}

// survivalChart shows by age how often calls still read what was left for them, by provider, with the documented lifetimes.
func survivalChart(r *validate.Report) (*document.Chart, error) {
	curves := r.Survival()
	if len(curves) == 0 {
		return nil, errors.New("no calls whose age is known at several ages")
	}
	p := document.Panel{Title: "calls that read what was left (95 % intervals)", Height: 300, Y: unitAxis(results.UnitRatio, 0, 1.05, 6),
		X: document.Axis{Title: "age: since the last response, logarithmic", Log: true, Low: 0.1, High: 1e5}}
	p.Y.Grid = true
	p.X.Ticks = timeTicks(p.X.High)
	colors := []document.Color{0x0072b2, 0xd55e00, 0x009e73, 0xcc79a7, 0xe69f00, 0x56b4e9}
	var facts []string
	for i, c := range curves {
		name := cmp.Or(providerTitles[c.Provider], c.Provider)
		switch {
		case c.TTL == prompt.TTL1h:
			name += ", an hour"
		case c.Provider == "anthropic": // automatic caches are asked for no lifetime
			name += ", five minutes"
		}
		line := document.Series{Name: name, Mark: document.MarkLine, Style: document.Style{Color: colors[i%len(colors)], Width: 1.4}}
		for _, at := range c.Points {
			spread(&line, false, at.Seconds, at.Value, "", document.Span{Low: at.Low, High: at.High}, at.N)
		}
		p.Series = append(p.Series, line)
		facts = append(facts, fmt.Sprintf("%s %s", name, document.Count(c.Calls, "call")))
	}
	for _, life := range []float64{300, 3600} {
		p.Series = append(p.Series, across(life, 0, life, 1))
	}
	return &document.Chart{Title: "How long caches keep what was left", Width: validationWidth, Panels: []document.Panel{p},
		Facts:  []string{strings.Join(facts, " · ")},
		Notes:  []string{"thin lines: documented lifetimes, five minutes and an hour"},
		Source: "sim validate"}, nil
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
