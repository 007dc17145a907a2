package validate

import (
	"fmt"
	"math"
	"slices"

	"github.com/compactsim/compactsim/internal/loop"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces"
)

// SizeCheck compares two predictions of the context size after automatic
// compactions: what the preset would have left, and a constant, the median
// after those of all other sessions. Errors are shares of the recorded size.
type SizeCheck struct {
	Compactions    int      `json:"compactions"`
	Median         *float64 `json:"error_median"`
	Mean           *float64 `json:"error_mean"`
	ConstantMedian *float64 `json:"constant_error_median"`
	ConstantMean   *float64 `json:"constant_error_mean"`
}

// driven is a layer that compacts, beside one that repeats the other recorded
// edits of the context. It compacts where a person asked for that, and with
// forced everywhere that the recording did, else by its own trigger.
type driven struct {
	strategies.Layer
	others strategies.BeforeRequest
	forced bool
	fired  func(place)
}

// Clone copies the layer; the layer that repeats the recording has no state between calls.
func (d *driven) Clone() strategies.Layer {
	c := *d
	c.Layer = d.Layer.Clone()
	return &c
}

func (d *driven) BeforeRequest(t *strategies.Turn) strategies.Outcome {
	events, values := t.Events, t.Reading.Values
	defer func() { t.Events, t.Reading.Values = events, values }()
	force := false
	t.Events = slices.DeleteFunc(slices.Clone(events), func(e traces.Event) bool {
		force = force || e.Kind == traces.EventCompact && (e.Manual || d.forced)
		return e.Kind == traces.EventCompact
	})
	if len(t.Events) > 0 {
		d.others.BeforeRequest(t)
	}
	switch {
	case force:
		for i := range t.Reading.Values {
			t.Reading.Values[i] = math.MaxInt32 // above every trigger
		}
	case d.forced:
		return strategies.Outcome{Verdict: strategies.Declined, Reason: "the recording did not compact here"}
	}
	return d.Layer.(strategies.BeforeRequest).BeforeRequest(t)
}

func (d *driven) IntentResult(t *strategies.Turn, r *prompt.Result) strategies.Outcome {
	return d.Layer.(strategies.IntentResult).IntentResult(t, r)
}

func (d *driven) AfterCompaction(t *strategies.Turn) {
	d.fired(place{t.Thread, t.Round})
	if a, ok := d.Layer.(strategies.AfterCompaction); ok {
		a.AfterCompaction(t)
	}
}

// drive runs full-compact of a preset over a session. It returns the rounds it
// compacted before, in order, and the context of every call, tokens; nothing
// for a preset without that layer.
func drive(
	config loop.Config, preset *strategies.Strategy, s *traces.Session, forced bool,
) ([]place, map[place]int64, error) {
	layers, own := preset.Layers(), config.Strategy.Layers()
	at := slices.IndexFunc(layers, func(l strategies.Layer) bool { return l.Name() == strategies.CompactName })
	recorded := slices.IndexFunc(own, func(l strategies.Layer) bool { return l.Name() == strategies.RecordedName })
	if at < 0 || recorded < 0 {
		return nil, nil, nil
	}
	var fired []place
	context := map[place]int64{}
	config.Strategy = strategies.NewStrategy(preset.Name, "", &driven{
		Layer: layers[at], others: own[recorded].(strategies.BeforeRequest), forced: forced,
		fired: func(at place) { fired = append(fired, at) },
	})
	config.Record = func(r *results.CallRecord) {
		if r.Round >= 0 {
			context[place{r.Thread, r.Round}] = r.Usage.Input()
		}
	}
	if _, err := loop.NewLoop(config).Run(s); err != nil {
		return nil, nil, fmt.Errorf("checking sizes after compactions: %w", err)
	}
	return fired, context, nil
}

// sizes compares the sizes over all sessions.
func (c *CompactionCheck) sizes() {
	var own, constant []float64
	for i := range c.Compactions {
		x := &c.Compactions[i]
		if !x.automatic || x.Behind == 0 || x.After == 0 {
			continue
		}
		var others []float64
		for j := range c.Compactions {
			if y := &c.Compactions[j]; y.automatic && y.After > 0 && y.Session != x.Session {
				others = append(others, float64(y.After))
			}
		}
		if len(others) == 0 {
			continue
		}
		x.Constant = int64(median(others).Value)
		own = append(own, math.Abs(float64(x.Behind-x.After))/float64(x.After))
		constant = append(constant, math.Abs(float64(x.Constant-x.After))/float64(x.After))
	}
	c.Size = SizeCheck{Compactions: len(own)}
	c.Size.Median, c.Size.Mean = middle(own)
	c.Size.ConstantMedian, c.Size.ConstantMean = middle(constant)
}

// middle returns the median and the mean, nil without values.
func middle(x []float64) (med, mean *float64) {
	if len(x) == 0 {
		return nil, nil
	}
	m, sum := median(x).Value, 0.0
	for _, v := range x {
		sum += v
	}
	sum /= float64(len(x))
	return &m, &sum
}

// note describes how sizes compare, "" without any.
func (z *SizeCheck) note(strategy string) string {
	if z.Compactions == 0 {
		return ""
	}
	return fmt.Sprintf("EXPECTED AFTER is what %s leaves in the place of a recorded compaction. Off by a median of %s at %d automatic "+
		"ones (mean %s); CONSTANT, the median of the other sessions, by %s (mean %s).",
		strategy, Percent(z.Median, false), z.Compactions, Percent(z.Mean, false), Percent(z.ConstantMedian, false), Percent(z.ConstantMean, false))
}
