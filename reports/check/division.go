package check

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/internal/kit/stats"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/validate"
)

// Change is the change of the bill since the baseline, for each call or task, divided into parts
// that add up. USD.
type Change struct {
	Text string  `json:"text"` // in one line
	Per  string  `json:"per"`  // call or task
	Was  float64 `json:"baseline_usd"`
	Now  float64 `json:"usd"`
	// Work is what the predicted bill changed by with the clients, prices and models of the baseline.
	Work   float64 `json:"work_usd"`
	Prices float64 `json:"prices_usd"` // by other prices and models
	Facts  float64 `json:"facts_usd"`  // by what the client does otherwise
	Cache  float64 `json:"cache_usd"`  // beyond what is predicted
	// Causes are the parts of Cache, and Rest what no cause explains, with its interval by session.
	Causes   map[string]float64 `json:"causes_usd"`
	Rest     float64            `json:"rest_usd"`
	RestLow  *float64           `json:"rest_low,omitempty"`
	RestHigh *float64           `json:"rest_high,omitempty"`
}

// weighed are sessions with the part that each has in a mean.
type weighed struct {
	list    []*Past
	weights []float64
	size    []float64 // what the mean is taken over: calls, or tries
}

// mean returns the weighted mean of a figure of sessions.
func (w *weighed) mean(of func(*Past) float64) float64 {
	f := w.figure(of)
	return f.Value()
}

func (w *weighed) figure(of func(*Past) float64) stats.Figure {
	f := stats.Figure{Base: w.size}
	for i, p := range w.list {
		f.Part = append(f.Part, w.weights[i]*of(p))
	}
	return f
}

// perCall weighs sessions by their calls.
func perCall(list []Past) weighed {
	var w weighed
	for i := range list {
		if list[i].Calls > 0 {
			w.list, w.weights, w.size = append(w.list, &list[i]), append(w.weights, 1), append(w.size, float64(list[i].Calls))
		}
	}
	return w
}

// perTask weighs the tries of a side so that each task counts once.
func (p *partners) perTask(side int) (w weighed) {
	for i := range p.tasks {
		tries := p.tasks[i].tries[side]
		each := slices.Repeat([]float64{1 / float64(len(tries))}, len(tries))
		w.list, w.weights, w.size = append(w.list, tries...), append(w.weights, each...), append(w.size, each...)
	}
	return w
}

// divide divides the change of the bill since the baseline; nil where either has none. facts are
// what today's sessions cost more by each fact that changed, by session.
func (f *File) divide(in *Input, b *Baseline, now []Past, facts map[string]float64) *Change {
	was := b.Past
	p := partnersOf(was, now)
	c := &Change{Per: "call", Causes: map[string]float64{}}
	before, after := perCall(was), perCall(now)
	if len(p.tasks) > 0 {
		c.Per, before, after = "task", p.perTask(0), p.perTask(1)
	}
	c.Was, c.Now = before.mean(billedUSD), after.mean(billedUSD)
	if !(c.Was > 0 && c.Now > 0) {
		return nil
	}
	causes := map[string]bool{rest: true}
	for _, w := range []*weighed{&before, &after} {
		for _, p := range w.list {
			for cause := range p.Excess {
				causes[cause] = true
			}
		}
	}
	for _, cause := range slices.Sorted(maps.Keys(causes)) {
		of := func(p *Past) float64 { return p.Excess[cause] }
		usd := after.mean(of) - before.mean(of)
		if c.Cache += usd; cause != rest {
			c.Causes[cause] = usd
			continue
		}
		c.Rest = usd
		if e, err := (stats.Estimator{Level: 1 - f.Level, Seed: 1}).Apart(context.Background(), before.figure(of), after.figure(of), 1); err == nil && e.Interval.Known() {
			c.RestLow, c.RestHigh = new(e.Interval.Low), new(e.Interval.High)
		}
	}
	other := replaced(was, now)
	c.Facts = after.mean(func(p *Past) float64 { return facts[p.key] })
	share, levels := priceParts(was, now)
	c.Prices = after.mean(func(p *Past) float64 {
		if !levels { // a baseline without levels of prices
			share = in.dearer(p.key, b.Rates, other)
		}
		return (p.predicted() - facts[p.key]) * share
	})
	c.Work = c.Now - c.Was - c.Prices - c.Facts - c.Cache
	c.Text = c.words()
	return c
}

func billedUSD(p *Past) float64 { return p.USD }

// dearer returns the share of what a session is predicted to cost that it would not at other
// prices and models.
func (in *Input) dearer(id string, rates map[string]results.Cost, other string) float64 {
	var now, then float64
	for model, cost := range in.Sessions[id].Predicted {
		rate, known := in.Rates[model]
		was, found := rates[model]
		if !found {
			was, found = rates[other]
		}
		for class, usd := range cost {
			now += usd
			if known && found && rate[class] > 0 {
				usd *= was[class] / rate[class]
			}
			then += usd
		}
	}
	if now == 0 {
		return 0
	}
	return 1 - then/now
}

// replaced returns the model whose share of calls fell most: one that the baseline does not have came in its
// place.
func replaced(was, now []Past) (model string) {
	most := 0.0
	for _, name := range factNames(was) {
		if _, client := validate.Client(name); client || !validate.Named(name) {
			continue
		}
		before, after := ratioOf(factParts(was, name)), ratioOf(factParts(now, name))
		if fell := before.Value() - after.Value(); fell > most {
			most, model = fell, strings.TrimPrefix(name, validate.FactModel)
		}
	}
	return model
}

// words says the change in one line, in shares of the bill before. Rounded parts add up: what is
// rounded off is counted as work.
func (c *Change) words() string {
	step := 0.1 // points
	if math.Abs(c.Now/c.Was-1) >= 0.1 {
		step = 1
	}
	points := func(usd float64) float64 { return math.Round(100*usd/c.Was/step) * step }
	all := points(c.Now - c.Was)
	work := all
	parts := ""
	for _, part := range []struct {
		name string
		usd  float64
	}{{"prices", c.Prices}, {"facts", c.Facts}, {"cache", c.Cache}} {
		p := points(part.usd)
		if work -= p; p != 0 || part.name == "cache" {
			parts += fmt.Sprintf(", %s %s", part.name, signedPoints(p))
		}
	}
	return fmt.Sprintf("%s per %s: work %s%s", signedPoints(all), c.Per, signedPoints(work), parts)
}

// signedPoints writes points as a share with its sign.
func signedPoints(v float64) string {
	text := strings.TrimSuffix(fmt.Sprintf("%.1f", math.Abs(v)), ".0")
	switch {
	case text == "0":
		return "±0 %"
	case v < 0:
		return document.Minus + text + " %"
	}
	return "+" + text + " %"
}
