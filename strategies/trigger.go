package strategies

import (
	"errors"
	"fmt"

	"github.com/compactsim/compactsim/internal/kit/spec"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
)

// Measure names a quantity a trigger compares. Token measures are tokens,
// times ns.
type Measure uint8

// Quantities a trigger can compare.
const (
	MeasureClientTokens Measure = iota // the client's count: last usage and the estimate of what followed
	MeasureTokens                      // true tokens of the context
	MeasureIdle                        // time since the last response ended
	MeasureRounds                      // requests since the thread began or was compacted
	measureMessages                    // messages behind the head
	measurePrompts                     // prompts in the context
	measureResults                     // tool results that are shown
	measureSince                       // tokens behind the last summary, or behind the head
	measureUsed                        // tokens of the last request and its response
	measureGain                        // tokens that the layer's edit would take out
	measureResent                      // tokens behind the first change of that edit
	numMeasures
)

// Names returns the names used in YAML, by value.
func (Measure) Names() []string {
	return []string{
		"client_tokens", "tokens", "idle", "rounds", "messages", "prompts", "results", "since", "used", "gain", "resent",
	}
}

// String returns the name used in YAML.
func (m Measure) String() string { return spec.Name(m) }

// looked reports whether layers measure it themselves.
func (m Measure) looked() bool { return m >= measureMessages }

// tokens reports whether the measure counts tokens.
func (m Measure) tokens() bool {
	return m == MeasureClientTokens || m == MeasureTokens || m == measureUsed
}

// Reading is what triggers measure at one point, with the limits that relative
// values refer to.
type Reading struct {
	Values    [numMeasures]int64
	Window    int64 // context window, tokens
	MaxInput  int64 // input limit of the model below the window, tokens; 0 for none
	MaxOutput int64 // output limit of the model, tokens
	// NamedOutput is the output that a client names that has no limit of its own and whose model's maker asks for one, tokens; 0 elsewhere.
	NamedOutput int64
	// Limit is the size at which the recording's client compacts by a setting of its own, tokens; 0 for its default.
	Limit int64

	hidden, hiddenMessages int64 // see hide
}

// hide adds to what the turn measured tokens and messages that the client's history has and the context, a copy of it, has not.
func (r *Reading) hide(tokens, messages int64) {
	r.add(tokens)
	r.hidden += tokens
	r.hiddenMessages += messages
}

// add adds tokens to what the turn measured of the context.
func (r *Reading) add(tokens int64) {
	r.Values[MeasureTokens] += tokens
	r.Values[MeasureClientTokens] += tokens
}

// Trigger is a condition as data: a measure reaches a value. The value is Fixed, or a
// Fraction of the window, or the window less Reserve, or the window less the model's
// output limit (capped at OutputCap when that is not zero) less Reserve, or PctOverride
// per cent of what the output limit leaves; of several the smallest counts, AtLeast of the
// window at the least. Where the model has an input limit, that limit less InputReserve takes the
// place of the values by window. Shift then moves the value, and Less is subtracted last.
type Trigger struct {
	Measure       Measure `yaml:"measure" doc:"what is compared: client_tokens (the client's count), tokens (true ones), idle (ns), rounds (requests since a compaction), messages, prompts, results, since (tokens after the last summary), used (tokens of the last request and its response), and in layers that clear gain (tokens that it would take out) and resent (tokens after the first change)"`
	Fixed         int64   `yaml:"fixed,omitempty" doc:"a value in the measure's own unit; 0 for none" min:"0"`
	Fraction      float64 `yaml:"fraction,omitempty" doc:"share of the window, 0…1; 0 for none" unit:"share" min:"0" max:"1"`
	Reserve       *int64  `yaml:"reserve,omitempty" doc:"tokens kept free below the window; null for none" unit:"tokens" min:"0"`
	ReserveShare  float64 `yaml:"reserve_share,omitempty" doc:"share of the window that is kept free below it beside reserve, 0…1; 0 for none" unit:"share" min:"0" below:"1"`
	ReserveOutput bool    `yaml:"reserve_output,omitempty" doc:"also keep the model's output limit free"`
	NamedOutput   bool    `yaml:"named_output,omitempty" doc:"also keep the output free that requests name where the maker asks for a limit: all that a model of Anthropic can give, of another maker none"`
	InputReserve  *int64  `yaml:"input_reserve,omitempty" doc:"tokens kept free below the input limit of models that have one below their window, at most the model's output limit, in place of what fraction, reserve and reserve_output give; null for none" unit:"tokens" min:"0"`
	AtLeast       float64 `yaml:"at_least,omitempty" doc:"share of the window below which the value does not fall; 0 for none" unit:"share" min:"0" below:"1"`
	OutputCap     int64   `yaml:"output_cap,omitempty" doc:"most tokens kept free for output; 0 for no cap" unit:"tokens" min:"0"`
	// PctOverride is CLAUDE_AUTOCOMPACT_PCT_OVERRIDE: like the client, Value
	// ignores what does not lie in (0, 100].
	PctOverride float64         `yaml:"pct_override,omitempty" doc:"per cent of the window (less the output kept free) that lowers the value; 0 for none" unit:"per cent" min:"0" max:"100"`
	PerMessage  int64           `yaml:"per_message,omitempty" doc:"tokens that the client counts for each message behind the head beside its text" unit:"tokens" min:"0"`
	PerPrompt   int64           `yaml:"per_prompt,omitempty" doc:"messages that the client counts for each prompt behind the head beside the prompt's own, where messages are compared" unit:"messages" min:"0" needs:"measure=messages"`
	Count       triggerCounting `yaml:"count,omitempty" doc:"what is one message where messages are counted: as for keep.count; or each text, each thinking, each call and each result, where prompts and summaries are none (items)" needs:"measure=messages|per_message"`
	Shift       float64         `yaml:"shift,omitempty" doc:"moves the value, −1…1: down by that share of the value, or up by that share of what is left to the window" unit:"share" min:"-1" max:"1"`
	Less        int64           `yaml:"less,omitempty" doc:"tokens below the value the rest gives: 20000 for the warning level" unit:"tokens" min:"0"`

	// Own says that the Limit of a reading, where there is one, takes the place of the value before Shift. No file sets it: triggers of
	// strategy own have it, and triggers of strategies that give own a Shift alone.
	Own bool `yaml:"-"`
}

// looked reports whether layers measure what it compares themselves.
func (tr *Trigger) looked() bool { return tr.Measure.looked() || tr.PerMessage > 0 }

// Value returns the value the measure is compared with, and whether the
// trigger has one.
func (tr *Trigger) Value(r *Reading) (int64, bool) {
	if tr.Own && r.Limit > 0 {
		return tr.shifted(r.Limit, r), true
	}
	v, ok := int64(0), false
	least := func(x int64) {
		if !ok || x < v {
			v, ok = x, true
		}
	}
	available := r.Window - tr.outputKept(r) - int64(tr.ReserveShare*float64(r.Window))
	if tr.Fixed > 0 {
		least(tr.Fixed)
	}
	if tr.InputReserve != nil && r.MaxInput > 0 {
		least(r.MaxInput - min(*tr.InputReserve, r.MaxOutput))
	} else {
		if tr.Fraction > 0 {
			least(int64(tr.Fraction * float64(r.Window)))
		}
		if tr.Reserve != nil {
			least(available - *tr.Reserve)
		} else if tr.ReserveOutput || tr.NamedOutput || tr.ReserveShare > 0 {
			least(available)
		}
	}
	if tr.PctOverride > 0 && tr.PctOverride <= 100 {
		least(int64(float64(available) * tr.PctOverride / 100))
	}
	if floor := int64(tr.AtLeast * float64(r.Window)); floor > 0 && v < floor {
		v = floor
	}
	return tr.shifted(v, r), ok
}

// shifted moves a value by Shift and subtracts Less.
func (tr *Trigger) shifted(v int64, r *Reading) int64 {
	if tr.Shift < 0 {
		v += int64(tr.Shift * float64(v))
	} else if v < r.Window {
		v += int64(tr.Shift * float64(r.Window-v))
	}
	return v - tr.Less
}

// Label returns what a chart calls the value of the trigger: a threshold in the unit of
// the measure.
func (tr *Trigger) Label(key string) (name, unit string) {
	switch {
	case key == "fraction":
		return "threshold", "share of the window"
	case key != "fixed":
		return "", ""
	case tr.Measure.tokens():
		return "threshold", "tokens"
	case tr.Measure == MeasureIdle:
		return "threshold", "ns"
	}
	return "threshold", tr.Measure.String()
}

// outputKept returns the tokens kept free for the model's output.
func (tr *Trigger) outputKept(r *Reading) int64 {
	switch {
	case tr.NamedOutput:
		return r.NamedOutput
	case !tr.ReserveOutput:
		return 0
	case tr.OutputCap > 0:
		return min(r.MaxOutput, tr.OutputCap)
	}
	return r.MaxOutput
}

// vast is a window larger than any a client assumes: what is invalid there is invalid
// everywhere.
var vast = Reading{Window: 10_000_000, MaxOutput: 1}

// Rules returns what is wrong with the trigger whatever the window.
func (tr *Trigger) Rules() []error {
	if tr.OutputCap > 0 && !tr.ReserveOutput {
		return []error{spec.Wrong("output_cap", "%d means nothing without reserve_output", tr.OutputCap)}
	}
	if _, ok := tr.Value(&vast); !ok {
		return []error{errors.New("no value: give fixed, fraction or reserve")}
	}
	return tr.ValidateFor(&vast)
}

// ValidateFor returns what is wrong with the trigger at a window: a number of
// tokens that is always reached, or never within the window, or a fixed one that
// means nothing because another value is smaller.
func (tr *Trigger) ValidateFor(r *Reading) []error {
	if !tr.Measure.tokens() {
		return nil
	}
	switch v, ok := tr.Value(r); {
	case ok && v <= 0:
		return []error{fmt.Errorf("%d tokens at a window of %d: always reached", v, r.Window)}
	case ok && v >= r.Window:
		return []error{fmt.Errorf("%d tokens at a window of %d: never reached within it", v, r.Window)}
	}
	others := *tr
	others.Fixed = 0
	if v, ok := others.Value(r); tr.Fixed > 0 && ok && v+tr.Less < tr.Fixed {
		return []error{fmt.Errorf("fixed %d means nothing: the smallest value counts, here %d at a window of %d (give the whole trigger to replace it)", tr.Fixed, v+tr.Less, r.Window)}
	}
	return nil
}

// Check is one evaluation of a trigger: what was measured and compared.
type Check struct {
	Layer    string
	Measure  Measure
	Measured int64
	Value    int64
	Fired    bool
}

// Check evaluates a trigger for a layer, reports it to whoever watches, and
// says whether it fired. All comparisons are ≥.
func (t *Turn) Check(layer string, tr *Trigger) bool {
	v, ok := tr.Value(&t.Reading)
	m := t.measured(tr)
	fired := ok && m >= v
	if t.Kin != nil {
		t.Kin.check(layer, &t.Reading, tr, m, fired)
	}
	if t.log != nil {
		t.log(Check{layer, tr.Measure, m, v, fired})
	}
	return fired
}

// when are the conditions of an action beside its trigger.
type when struct {
	Any  []Trigger `yaml:"any" doc:"each of these triggers starts it too" off:"[]"`
	All  []Trigger `yaml:"all" doc:"all of these must hold besides" off:"[]"`
	Cold bool      `yaml:"cold" doc:"only once the lifetime of the cache has passed"`
	At   point     `yaml:"at" doc:"when they are checked: request (before each), prompt (before the first request after a prompt), end (when a response without tool calls ends a loop) or, in clear and truncate-oldest, refusal (when a prompt is refused)" off:"request"`
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

// trigger returns a layer's trigger, nil where a refusal takes its place.
func (w *when) trigger(tr *Trigger) *Trigger {
	if w.At == atRefusal {
		return nil
	}
	return tr
}

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
	if t.Kin != nil {
		t.Kin.test(&t.Reading, tr, m, ok && m >= v)
	}
	if t.log != nil {
		t.log(Check{layer, tr.Measure, m, v, ok && m >= v})
	}
	return ok && m >= v
}

// measured returns what a trigger compares, as its client counts it.
func (t *Turn) measured(tr *Trigger) int64 {
	var messages int64
	if tr.Measure == measureMessages || tr.PerMessage > 0 {
		messages = int64(counting(tr.Count).count(t.Context, Body(t.Context), t.Context.Len())) + t.Reading.hiddenMessages
	}
	m := messages
	if tr.Measure != measureMessages {
		m = t.measure(tr.Measure)
	}
	m += tr.PerMessage * messages
	if tr.PerPrompt > 0 && tr.Measure == measureMessages {
		m += tr.PerPrompt * t.measure(measurePrompts)
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
	case measureUsed:
		at := c.Len()
		for at > 0 && !c.At(at-1).Kind.Assistant() {
			at--
		}
		return tokensBetween(c, 0, at) + t.Reading.hidden
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
