// Package breaks detects breaks of the prompt cache the way a client does: from
// what it sends and the usage in responses, without knowledge of the server
// (seed 000, "cache break detection", of 2026-03).
//
//	var d breaks.Detector
//	for i := range calls { // in order of time
//		v := d.See(&calls[i])
//		if v.Broke() {
//			fmt.Println(v.Reason, v.Changed, v.From, v.To)
//		}
//	}
//
// A break is a fall of the tokens read from the cache since the previous call of the same
// source. Simulated and recorded calls are treated alike: package sim makes a Call from
// what it sends, readers of recordings make one from a round. A confusion.Matrix compares
// the detector's verdicts with what the cache model knows.
package breaks

import (
	"maps"
	"strings"
	"time"

	"github.com/compactsim/compactsim/sim/results/confusion"

	"github.com/compactsim/compactsim/sim/results/measures"
)

// Short and Long are the pauses, in ns, after which an entry may have expired
// (seed 000). The client only knows the short one; the long one is an
// extension.
const (
	Short = int64(5 * time.Minute)
	Long  = int64(time.Hour)
)

// Call is one API call as a client knows it.
type Call struct {
	Source  measures.Source
	Thread  int32  // which conversation of that source
	Model   string // as requested
	At      int64  // ns when the request was sent, on any clock; At and End both 0: unknown
	End     int64  // ns when its response ended
	Read    int64  // tokens read from the cache
	Context int64  // input tokens
	// Deleted counts all tokens that edits have deleted from the cache so far: it
	// is cumulative, as the server reports it.
	Deleted   int64
	State     State
	Same      uint64 // calls with one number here, not 0, have the same State
	Compacted bool   // a summary replaced the messages since the previous call
	Cleared   bool   // the client cleared content in place since then
}

// timed reports whether the time of the call is known.
func (c *Call) timed() bool { return c.At != 0 || c.End != 0 }

// Verdict is what the detector says of one call.
type Verdict struct {
	Reason   confusion.Reason
	Changed  Fields // all differences from the previous call
	From, To int64  // tokens read by the previous call and by this one
	Gap      int64  // ns from the end of the previous call to this request; 0 when unknown
	says     string
}

// Broke reports whether the cache broke.
func (v *Verdict) Broke() bool { return v.Reason.Broke() }

// Text gives the reason in words, as the client logs it (000:614-621), with old
// and new values if the detector keeps them.
func (v *Verdict) Text() string {
	switch v.Reason {
	case confusion.Model, confusion.State:
		if v.says != "" {
			return v.says
		}
		return v.Changed.String() + " changed"
	case confusion.Expiry5m:
		return "possible expiry after 5 minutes"
	case confusion.Expiry1h:
		return "possible expiry after an hour"
	case confusion.Server:
		return "likely server side (prompt unchanged, pause below 5 minutes)"
	case confusion.Unknown:
		return "prompt unchanged, length of the pause not known"
	}
	return v.Reason.String()
}

// source identifies calls that share a baseline.
type source struct {
	source measures.Source
	thread int32
}

// baseline is the state of a source after its last call.
type baseline struct {
	known   bool // a call was seen since the last compaction
	read    int64
	end     int64
	timed   bool
	deleted int64
	model   string
	state   State
	same    uint64 // as in the call
}

// Detector watches the calls of one session. The zero Detector is ready to use.
// Calls of one source must come in order; how sources mix does not matter.
// Reset keeps its storage.
type Detector struct {
	Rules     *Rules // nil for the client's rules
	OldAndNew bool   // verdicts on breaks have old and new values

	sources   map[source]int
	baselines []baseline
	last      source // of the previous call, whose baseline is at index at
	at        int
	model     string // the model checked last, and whether it is excluded
	excluded  bool
	verdict   Verdict // on the last call
}

// Become makes d a copy of another detector, keeping d's storage.
func (d *Detector) Become(from *Detector) {
	baselines := append(d.baselines[:0], from.baselines...)
	*d = *from
	d.baselines, d.sources = baselines, maps.Clone(from.sources)
}

// sourceOf returns the source of a call: a summary call continues the
// conversation it summarises.
func sourceOf(c *Call) source {
	s := source{c.Source, c.Thread}
	if s.source == measures.SourceCompact {
		s.source = measures.SourceMain
	}
	return s
}

// Excluded reports whether calls of a model are not watched: the cache of small
// models behaves differently (000:627).
func Excluded(model string) bool { return strings.Contains(strings.ToLower(model), "haiku") }

// See takes the next call of a source and returns whether its cache broke, valid until the
// next call.
func (d *Detector) See(c *Call) *Verdict {
	v := &d.verdict
	*v = Verdict{}
	if c.Model != d.model {
		d.model, d.excluded = c.Model, Excluded(c.Model)
	}
	if d.excluded {
		v.Reason, v.To = confusion.Excluded, c.Read
		return v
	}
	rules := d.Rules
	if rules == nil {
		of := DefaultRules()
		rules = &of
	}
	b := d.baseline(sourceOf(c))
	b.compare(c, rules, v)
	if d.OldAndNew && (v.Reason == confusion.Model || v.Reason == confusion.State) {
		v.says = b.differences(c, v.Changed)
	}
	b.take(c)
	return v
}

// baseline returns the baseline of a source, a new one for a new source.
func (d *Detector) baseline(s source) *baseline {
	if len(d.baselines) > 0 && s == d.last {
		return &d.baselines[d.at]
	}
	i, ok := d.sources[s]
	if !ok {
		if d.sources == nil {
			d.sources = map[source]int{}
		}
		i = len(d.baselines)
		d.baselines = append(d.baselines, baseline{})
		d.sources[s] = i
	}
	d.last, d.at = s, i
	return &d.baselines[i]
}

// Reset forgets all baselines, as at the start of another session.
func (d *Detector) Reset() {
	clear(d.sources)
	d.baselines = d.baselines[:0]
}

// compare compares a call with the baseline, for a verdict that says nothing yet.
func (b *baseline) compare(c *Call, rules *Rules, v *Verdict) {
	v.From, v.To = b.read, c.Read
	switch {
	case c.Compacted:
		v.Reason = confusion.Compacted
		return
	case !b.known:
		v.Reason = confusion.First
		return
	}
	timed := b.timed && c.timed() && c.At >= b.end
	if timed {
		v.Gap = c.At - b.end
	}
	if c.Same == 0 || c.Same != b.same {
		v.Changed = c.State.Changed(&b.state)
	}
	v.Changed.note(confusion.FieldModel, differ(c.Model, b.model))
	switch {
	case !rules.fell(b.read, c.Read):
	case c.Cleared, rules.DeletedBaseline && c.Deleted > b.deleted:
		v.Reason = confusion.Deleted
	default:
		v.Reason = v.cause(timed)
	}
}

// cause names why the cache broke: a change takes precedence over the length of the pause.
func (v *Verdict) cause(timed bool) confusion.Reason {
	switch {
	case v.Changed.Has(confusion.FieldModel):
		return confusion.Model
	case v.Changed != 0:
		return confusion.State
	case !timed:
		return confusion.Unknown
	case v.Gap > Long:
		return confusion.Expiry1h
	case v.Gap > Short:
		return confusion.Expiry5m
	}
	return confusion.Server
}

// take makes a call the new baseline.
func (b *baseline) take(c *Call) {
	b.known, b.read, b.deleted = true, c.Read, c.Deleted
	b.end, b.timed = c.End, c.timed()
	if c.Model != "" {
		b.model = c.Model
	}
	if c.Same != 0 && c.Same == b.same {
		return
	}
	state := c.State
	state.keep(&b.state)
	b.state, b.same = state, c.Same
}

// Thresholds and lifetimes of the client's detector (seed 000).
const (
	// MinDrop is the fall in tokens that a break must exceed.
	MinDrop = 2000
	// MinDropShare is the share of the tokens read before that it must exceed.
	MinDropShare = 0.05
)

// Rules are the parameters of a detector.
type Rules struct {
	MinDrop  int64   `yaml:"min_drop" min:"0" needs:"breaks" doc:"A break is a fall of the tokens read from the cache by more than so many."`
	MinShare float64 `yaml:"min_share" min:"0" max:"1" needs:"breaks" doc:"The fall is also by more than this share, 0 to 1, of those read before."`
	// DeletedBaseline says that the client keeps the server's count of deleted
	// tokens and so expects the fall that its deletions cause. Otherwise it takes
	// that fall for a break (002:56).
	DeletedBaseline bool `yaml:"deleted_baseline" needs:"cached-microcompact" doc:"Keep the server's count of deleted tokens (cache_edits), so that the fall a deletion makes is expected. Off, each is a false break."`
}

// DefaultRules returns the rules of the client.
func DefaultRules() Rules {
	return Rules{MinDrop: MinDrop, MinShare: MinDropShare, DeletedBaseline: true}
}

// fell reports whether reading now instead of before tokens is a break.
func (r *Rules) fell(before, now int64) bool {
	fall := before - now
	return fall > r.MinDrop && float64(fall) > r.MinShare*float64(before)
}
