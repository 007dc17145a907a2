package validate

import (
	"fmt"
	"math"
	"slices"

	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/calls"
	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/strategies/standard"
	"github.com/compactsim/compactsim/traces"
)

// CompactionCheck says whether a preset would have compacted where the
// recording did. Its trigger is evaluated before every call over the recorded
// contexts, by the client's count on the recorded thread. Every recorded
// compaction resets the context, so one wrong decision does not spoil the next.
type CompactionCheck struct {
	Strategy  string    `json:"strategy"`
	Automatic int       `json:"automatic"` // recorded automatic compactions
	Manual    int       `json:"manual"`    // asked for by a person: no trigger is expected
	Hit       int       `json:"hit"`       // fired at exactly that call
	Near      int       `json:"near"`      // fired at that call or the one before
	Early     int       `json:"early"`     // fired at an earlier call since the last compaction
	Late      int       `json:"late"`      // did not fire by then
	False     int       `json:"false"`     // threads or stretches in which it fired and the recording never compacted
	HitShare  *float64  `json:"hit_share"`
	Size      SizeCheck `json:"context_behind"`
	// Compactions are the recorded ones and the false ones, in order.
	Compactions []CheckedCompaction `json:"compactions"`
}

// CheckedCompaction is one compaction, recorded or fired.
type CheckedCompaction struct {
	Session   string `json:"session"`
	Version   string `json:"version"`
	Thread    string `json:"thread"`
	File      string `json:"file"`
	name      string // without the session's id
	Line      int    `json:"line"`
	Verdict   string `json:"verdict"` // hit, early, late, manual or false
	Calls     int    `json:"calls"`   // calls between the firing and the recorded compaction; 0 when hit
	Count     int64  `json:"count"`   // the client's count at the recorded compaction, or where it fired
	Threshold int64  `json:"threshold"`
	Logged    int64  `json:"logged"` // the client's count as logged, 0 for none
	After     int64  `json:"recorded_context_after"`
	Behind    int64  `json:"expected_context_after"` // what the preset leaves; 0 for none
	Constant  int64  `json:"constant_context_after"` // automatic ones: the median over other sessions
	Read      int64  `json:"recorded_read_after"`
	Predicted int64  `json:"predicted_read_after"`

	automatic bool // recorded, of its own accord
}

// place identifies a round of a session.
type place struct{ thread, round int32 }

// turn names a round.
type turn struct {
	session, thread string
	round           int
}

// probe is a layer that only evaluates the thresholds of a preset.
type probe struct {
	preset *strategies.Strategy
	seen   func(place, int64, int64)
}

func (p *probe) Name() string            { return "probe" }
func (p *probe) Clone() strategies.Layer { return p }
func (p *probe) Reset()                  {}

// BeforeRequest records the first token threshold of a layer that compacts; a
// layer that only clears compacts nothing.
func (p *probe) BeforeRequest(t *strategies.Turn) strategies.Outcome {
	for _, th := range p.preset.Thresholds(&t.Reading) {
		if !p.preset.Traits(th.Layer).Compacts {
			continue
		}
		if th.Measure == strategies.MeasureClientTokens || th.Measure == strategies.MeasureTokens {
			p.seen(place{t.Thread, t.Round}, t.Reading.Values[th.Measure], th.Value)
			break
		}
	}
	return strategies.Outcome{Verdict: strategies.Declined, Reason: "only looks"}
}

// reading is what the preset compared before a call.
type reading struct{ count, threshold int64 }

// CheckCompactions evaluates the trigger of a preset over recorded contexts; a preset of
// generations evaluates the preset of each session's client. It takes a report that has its calls.
func (r *Report) CheckCompactions(config sim.Config, preset *strategies.Strategy, sessions []*traces.Session) error {
	check := &CompactionCheck{Strategy: preset.Name, Compactions: []CheckedCompaction{}}
	predicted := map[turn]int64{} // reads
	for i := range r.calls {
		c := &r.calls[i]
		predicted[turn{c.Session, c.Thread, c.Round}] = c.Predicted.Read
	}
	for _, s := range sessions {
		s, err := s.Load()
		if err != nil {
			return fmt.Errorf("checking compactions: %w", err)
		}
		seen := map[place]reading{}
		of := preset.For(s.Agent, s.Version(), s.Variant)
		config.Profile = middling(r.profileFor(s))
		behind, err := Behind(config, of, s)
		if err != nil {
			return err
		}
		config.Profile = r.profileFor(s)
		look := &probe{preset: of, seen: func(at place, count, threshold int64) { seen[at] = reading{count, threshold} }}
		anchored := config
		anchored.Strategy = strategies.NewStrategy("recorded", "", append([]strategies.Layer{look}, config.Strategy.Layers()...)...)
		anchored.Record = nil
		if _, err := sim.NewLoop(anchored).Run(s); err != nil {
			return fmt.Errorf("checking compactions: %w", err)
		}
		for i := range s.Threads {
			check.thread(s, int32(i), seen, behind, predicted)
		}
	}
	check.sizes()
	n := map[string]int{}
	for i := range check.Compactions {
		x := &check.Compactions[i]
		n[x.Verdict]++
		check.Automatic += index(x.automatic)
		check.Near += index(x.Verdict == verdictHit || x.Verdict == verdictEarly && x.Calls == 1)
	}
	check.Hit, check.Early, check.Late, check.Manual, check.False = n[verdictHit], n[verdictEarly], n[verdictLate], n[verdictManual], n[verdictFalse]
	check.HitShare = share(float64(check.Hit), check.Automatic)
	r.Compactions = check
	return nil
}

// middling returns a profile that draws no sizes behind compactions but takes their median.
func middling(p *profile.Profile) *profile.Profile {
	if p == nil {
		return nil
	}
	q := *p
	q.Compact = p.Compact.Middling()
	return &q
}

// thread goes over one thread, stretch by stretch between compactions.
func (c *CompactionCheck) thread(s *traces.Session, i int32, seen map[place]reading, behind func(thread, round int32) int64, predicted map[turn]int64) {
	t := &s.Threads[i]
	next, fired := 0, -1
	for r := range t.Rounds {
		var event *traces.Event
		for ; next < len(t.Events) && int(t.Events[next].Round) <= r; next++ {
			if t.Events[next].Kind == traces.EventCompact {
				event = &t.Events[next]
			}
		}
		at := seen[place{i, int32(r)}]
		over := at.threshold > 0 && at.count >= at.threshold
		if event != nil && r > 0 {
			verdict, calls := verdictLate, 0
			switch {
			case fired >= 0:
				verdict, calls = verdictEarly, r-fired
			case over:
				verdict = verdictHit
			}
			if event.Manual {
				verdict = verdictManual
			}
			x := c.add(s, t, r, verdict, at)
			x.Calls, x.Logged, x.automatic = calls, int64(event.PreTokens), !event.Manual
			x.After, x.Read = t.Rounds[r].Usage.Input(), t.Rounds[r].Usage.Read
			x.Behind, x.Predicted = behind(i, int32(r)), predicted[turn{s.ID, t.ID, r}]
			fired = -1
			continue
		}
		if over && fired < 0 {
			fired = r
		}
	}
	if fired >= 0 {
		c.add(s, t, fired, verdictFalse, seen[place{i, int32(fired)}])
	}
}

// Verdicts on a compaction.
const (
	verdictHit    = "hit"
	verdictEarly  = "early"
	verdictLate   = "late"
	verdictManual = "manual"
	verdictFalse  = "false"
)

func (c *CompactionCheck) add(s *traces.Session, t *traces.Thread, r int, verdict string, at reading) *CheckedCompaction {
	rd := &t.Rounds[r]
	x := CheckedCompaction{
		Session: s.ID, Version: s.Version(), Thread: t.ID, Line: int(rd.Line), Verdict: verdict,
		Count: at.count, Threshold: at.threshold,
	}
	if int(rd.File) < len(s.Files) {
		x.File, x.name = s.Files[rd.File], calls.Name("", rd.File, rd.Line)
	}
	c.Compactions = append(c.Compactions, x)
	return &c.Compactions[len(c.Compactions)-1]
}

// SizeCheck compares two predictions of the context size after automatic
// compactions: what the preset would have left, and a constant, the median
// after the compactions of all other sessions. Errors are shares of the recorded size.
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
	config sim.Config, preset *strategies.Strategy, s *traces.Session, forced bool,
) ([]place, map[place]int64, error) {
	layers, own := preset.Layers(), config.Strategy.Layers()
	at := slices.IndexFunc(layers, func(l strategies.Layer) bool { return l.Name() == standard.Compact })
	recorded := slices.IndexFunc(own, func(l strategies.Layer) bool { return l.Name() == standard.Recorded })
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
	if _, err := sim.NewLoop(config).Run(s); err != nil {
		return nil, nil, fmt.Errorf("checking sizes after compactions: %w", err)
	}
	return fired, context, nil
}

// Behind returns the context of every call, tokens, if full-compact of a preset compacts where a recorded session did;
// nothing for a preset without that layer.
func Behind(config sim.Config, preset *strategies.Strategy, s *traces.Session) (func(thread, round int32) int64, error) {
	_, context, err := drive(config, preset, s, true)
	return func(thread, round int32) int64 { return context[place{thread, round}] }, err
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
		x.Constant = int64(profile.Median(others).Value)
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
	m, sum := profile.Median(x).Value, 0.0
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
