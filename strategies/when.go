package strategies

import (
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
)

// when are the conditions of an action beside its trigger.
type when struct {
	Any  []Trigger `yaml:"any" doc:"each of these triggers starts it too" off:"[]"`
	All  []Trigger `yaml:"all" doc:"all of these must hold besides" off:"[]"`
	Cold bool      `yaml:"cold" doc:"only once the lifetime of the cache has passed"`
	At   point     `yaml:"at" doc:"when they are checked: request (before each), prompt (before the first request after a prompt), end (when a response without tool calls ends a loop) or, in clear, refusal (when a prompt is refused)" off:"request"`
}

// unconditional are no conditions.
var unconditional = when{Any: []Trigger{}, All: []Trigger{}}

// point is where conditions are looked at.
type point uint8

// The points.
const (
	atRequest point = iota
	atPrompt
	atEnd
	atRefusal
)

// Names returns the names used in YAML, by value.
func (point) Names() []string { return []string{"request", "prompt", "end", "refusal"} }

// fires reports whether a trigger with its conditions fires at a point, which is the end of a
// loop or ahead of a request.
func (w *when) fires(t *Turn, layer string, tr *Trigger, end bool) bool {
	return w.hold(t, layer, t.Check(layer, tr), end)
}

// hold reports whether the conditions let a trigger act that has fired or not, or start the action in its place.
func (w *when) hold(t *Turn, layer string, fired, end bool) bool {
	for i := range w.Any {
		fired = t.test(layer, &w.Any[i]) || fired
	}
	for i := range w.All {
		fired = t.test(layer, &w.All[i]) && fired
	}
	switch {
	case (w.At == atEnd) != end, w.At == atPrompt && t.Trigger != traces.TriggerPrompt, w.At == atRefusal && t.Excess == 0:
		return false
	}
	return fired && !(w.Cold && t.Warm())
}

// test is Check for a condition beside a trigger.
func (t *Turn) test(layer string, tr *Trigger) bool {
	v, ok := tr.Value(&t.Reading)
	m := t.measured(tr)
	if t.log != nil {
		t.log(Check{layer, tr.Measure, m, v, ok && m >= v})
	}
	return ok && m >= v
}

// measured returns what a trigger compares, as its client counts it.
func (t *Turn) measured(tr *Trigger) int64 {
	m := t.measure(tr.Measure)
	if tr.PerMessage > 0 {
		m += tr.PerMessage * t.measure(measureMessages)
	}
	return m
}

// measure returns what a trigger's measure is. Measures that need a look at the context are computed
// here.
func (t *Turn) measure(m Measure) int64 {
	c := t.Context
	switch m {
	case measureMessages:
		return int64(countMessages(c, Body(c), c.Len())) + t.Reading.hiddenMessages
	case measureSince:
		return tokensBetween(c, max(Body(c), lastSummary(c)+1), c.Len()) + t.Reading.hidden
	case measurePrompts, measureResults:
		n := int64(0)
		for i := Body(c); i < c.Len(); i++ {
			switch e := c.At(i); {
			case m == measurePrompts && e.Kind == prompt.KindPrompt,
				m == measureResults && e.Kind == prompt.KindToolResult && e.Form == prompt.FormVerbatim:
				n++
			}
		}
		return n
	}
	return t.Reading.Values[m]
}
