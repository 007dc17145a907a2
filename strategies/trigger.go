package strategies

import (
	"fmt"

	"github.com/compactsim/compactsim/internal/nearest"
)

// Measure names a quantity a trigger compares. Token measures are tokens,
// times ns.
type Measure uint8

const (
	MeasureClientTokens Measure = iota // the client's count: last usage and the estimate of what followed
	MeasureTokens                      // true tokens of the context
	MeasureIdle                        // time since the last response ended
	MeasureRounds                      // requests since the thread began or was compacted
	numMeasures
)

var measureNames = [numMeasures]string{"client_tokens", "tokens", "idle", "rounds"}

// String returns the name used in YAML.
func (m Measure) String() string { return measureNames[min(m, numMeasures-1)] }

// UnmarshalYAML reads a measure by name; an unknown one is an error.
func (m *Measure) UnmarshalYAML(decode func(any) error) error {
	var name string
	if err := decode(&name); err != nil {
		return err
	}
	for i, n := range measureNames {
		if n == name {
			*m = Measure(i)
			return nil
		}
	}
	return fmt.Errorf("unknown measure %q%s", name, nearest.Hint(name, measureNames[:]))
}

// Reading is what triggers measure at one point, with the limits that relative
// values refer to.
type Reading struct {
	Values    [numMeasures]int64
	Window    int64 // context window, tokens
	MaxOutput int64 // output limit of the model, tokens
}

// Trigger is a condition as data: a measure reaches a value. The value is
// Fixed, or a Fraction of the window, or the window less Reserve, or the
// window less the model's output limit (capped at OutputCap when that is not
// zero) less Reserve; of several the smallest counts.
type Trigger struct {
	Measure       Measure `yaml:"measure"`
	Fixed         int64   `yaml:"fixed,omitempty"`
	Fraction      float64 `yaml:"fraction,omitempty"`
	Reserve       *int64  `yaml:"reserve,omitempty"`
	ReserveOutput bool    `yaml:"reserve_output,omitempty"`
	OutputCap     int64   `yaml:"output_cap,omitempty"`
}

// Value returns the value the measure is compared with, and whether the
// trigger has one.
func (tr *Trigger) Value(r *Reading) (int64, bool) {
	v, ok := int64(0), false
	least := func(x int64) {
		if !ok || x < v {
			v, ok = x, true
		}
	}
	if tr.Fixed > 0 {
		least(tr.Fixed)
	}
	if tr.Fraction > 0 {
		least(int64(tr.Fraction * float64(r.Window)))
	}
	if tr.Reserve != nil || tr.ReserveOutput {
		limit := r.Window
		if tr.Reserve != nil {
			limit -= *tr.Reserve
		}
		if tr.ReserveOutput {
			out := r.MaxOutput
			if tr.OutputCap > 0 {
				out = min(out, tr.OutputCap)
			}
			limit -= out
		}
		least(limit)
	}
	return v, ok
}

// Validate returns what is wrong with the trigger.
func (tr *Trigger) Validate() []error {
	var errs []error
	if tr.Fixed < 0 {
		errs = append(errs, fmt.Errorf("trigger: fixed %d must not be negative", tr.Fixed))
	}
	if tr.Fraction < 0 || tr.Fraction > 1 {
		errs = append(errs, fmt.Errorf("trigger: fraction %g must lie in 0…1", tr.Fraction))
	}
	if tr.Reserve != nil && *tr.Reserve < 0 {
		errs = append(errs, fmt.Errorf("trigger: reserve %d must not be negative", *tr.Reserve))
	}
	if tr.Fixed == 0 && tr.Fraction == 0 && tr.Reserve == nil && !tr.ReserveOutput {
		errs = append(errs, fmt.Errorf("trigger: no value: give fixed, fraction or reserve"))
	}
	return errs
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
	m := t.Reading.Values[tr.Measure]
	fired := ok && m >= v
	if t.log != nil {
		t.log(Check{layer, tr.Measure, m, v, fired})
	}
	return fired
}
