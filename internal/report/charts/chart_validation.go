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

// ValidationDrawings returns the charts of a validation: how long caches keep what was left.
func ValidationDrawings(r *validate.Report) []Drawing {
	return []Drawing{drawing("survival", func() (*document.Chart, error) { return survivalChart(r) })}
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
	p.X.Ticks = []document.Tick{{Value: 0.1, Label: "0.1 s"}, {Value: 1, Label: "1 s"}, {Value: 10, Label: "10 s"}, {Value: 60, Label: "1 min"},
		{Value: 300, Label: "5 min"}, {Value: 3600, Label: "1 h"}, {Value: 36_000, Label: "10 h"}}
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
	return &document.Chart{Title: "How long caches keep what was left", Width: squareWidth, Panels: []document.Panel{p},
		Facts:  []string{strings.Join(facts, " · ")},
		Notes:  []string{"thin lines: documented lifetimes, five minutes and an hour"},
		Source: "sim validate"}, nil
}

// squareWidth is the width of charts that are about as high as wide, points.
const squareWidth = 520
