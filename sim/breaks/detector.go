package breaks

import (
	"strings"
	"time"

	"github.com/compactsim/compactsim/sim/results"
)

// Thresholds and lifetimes of the client's detector (seed 000, SPEC §10).
const (
	// MinDrop is the fall in tokens that a break must exceed.
	MinDrop = 2000
	// MinDropShare is the share of the tokens read before that it must exceed.
	MinDropShare = 0.05
	// Short and Long are the pauses, in ns, past which an entry may have expired.
	// The client looks at the short one alone; the long one is an extension.
	Short = int64(5 * time.Minute)
	Long  = int64(time.Hour)
)

// Call is one API call as a client knows it.
type Call struct {
	Source  results.Source
	Thread  int32  // which conversation of that source
	Model   string // as asked for
	At      int64  // ns when the request was sent, on any clock; At and End both 0: unknown
	End     int64  // ns when its response ended
	Read    int64  // tokens read from the cache
	Context int64  // input tokens
	// Deleted counts all tokens deleted from the cache by edits so far: it is
	// cumulative, as the server reports it.
	Deleted   int64
	State     State
	Compacted bool // the messages were replaced by a summary since the call before
}

// timed reports whether it is known when the call was.
func (c *Call) timed() bool { return c.At != 0 || c.End != 0 }

// Reason is what the detector says of a call. It names what the client can know,
// which need not be what happened: see Confusion.
type Reason uint8

// The reasons. Those from ReasonModel on are breaks.
const (
	ReasonNone      Reason = iota // no fall past the thresholds
	ReasonFirst                   // nothing to compare with
	ReasonExcluded                // a model that is not watched
	ReasonCompacted               // the messages were replaced: a fall is expected
	ReasonDeleted                 // tokens were deleted by cache edits: a fall is expected
	ReasonModel                   // another model
	ReasonState                   // something else ahead of the conversation or beside it changed
	ReasonExpiry5m                // nothing changed, a pause of more than 5 minutes: possible expiry
	ReasonExpiry1h                // nothing changed, a pause of more than an hour: possible expiry
	ReasonServer                  // nothing changed, no pause: likely the server
	ReasonUnknown                 // nothing changed, and it is not known how long the pause was
	reasonCount
)

// NumReasons is the number of reasons, for tables indexed by Reason.
const NumReasons = int(reasonCount)

var reasonNames = [reasonCount]string{
	"none", "first", "excluded", "compacted", "deleted", "model", "state", "expiry_5m", "expiry_1h", "server", "unknown",
}

// String returns the lower-case name used in reports.
func (r Reason) String() string { return reasonNames[min(r, reasonCount-1)] }

// Broke reports whether the reason is one of a break.
func (r Reason) Broke() bool { return r >= ReasonModel }

// Verdict is what the detector says of one call.
type Verdict struct {
	Reason   Reason
	Changed  Fields // all that changed against the call before
	From, To int64  // tokens read by the call before and by this one
	Gap      int64  // ns from the end of the call before to this request; 0 when unknown
	// CharDelta is by how many characters the system prompt grew.
	CharDelta int
}

// Broke reports whether the cache broke.
func (v *Verdict) Broke() bool { return v.Reason.Broke() }

// Text says the reason in words, as the client logs it (000:614).
func (v *Verdict) Text() string {
	switch v.Reason {
	case ReasonModel, ReasonState:
		return v.Changed.String() + " changed"
	case ReasonExpiry5m:
		return "possible expiry after 5 minutes"
	case ReasonExpiry1h:
		return "possible expiry after an hour"
	case ReasonServer:
		return "likely server side (prompt unchanged, pause below 5 minutes)"
	case ReasonUnknown:
		return "prompt unchanged, length of the pause not known"
	}
	return v.Reason.String()
}

// source is what has a baseline of its own.
type source struct {
	source results.Source
	thread int32
}

// baseline is what the last call of a source left to compare with.
type baseline struct {
	known   bool // a call was seen since the last compaction
	read    int64
	end     int64
	timed   bool
	deleted int64
	model   string
	state   State
}

// Detector watches the calls of one session. The zero Detector is ready to use.
// Calls of one source come in order; how sources mix does not matter.
type Detector struct {
	sources map[source]*baseline
}

// sourceOf returns whose baseline a call is compared with: a summary call
// continues the conversation it summarises (SPEC §10).
func sourceOf(c *Call) source {
	s := source{c.Source, c.Thread}
	if s.source == results.SourceCompact {
		s.source = results.SourceMain
	}
	return s
}

// Excluded reports whether calls of a model are not watched: small models have
// another cache behaviour (000:627).
func Excluded(model string) bool { return strings.Contains(strings.ToLower(model), "haiku") }

// See takes the next call of a source and says whether its cache broke.
func (d *Detector) See(c *Call) Verdict {
	if Excluded(c.Model) {
		return Verdict{Reason: ReasonExcluded, To: c.Read}
	}
	if d.sources == nil {
		d.sources = map[source]*baseline{}
	}
	key := sourceOf(c)
	b := d.sources[key]
	if b == nil {
		b = &baseline{}
		d.sources[key] = b
	}
	v := b.compare(c)
	b.take(c)
	return v
}

// Reset forgets all baselines, as at the start of another session.
func (d *Detector) Reset() { clear(d.sources) }

// compare says what a call is against the baseline.
func (b *baseline) compare(c *Call) Verdict {
	v := Verdict{From: b.read, To: c.Read}
	switch {
	case c.Compacted:
		v.Reason = ReasonCompacted
		return v
	case !b.known:
		v.Reason = ReasonFirst
		return v
	}
	timed := b.timed && c.timed() && c.At >= b.end
	if timed {
		v.Gap = c.At - b.end
	}
	v.Changed = c.State.Changed(&b.state)
	v.Changed.note(FieldModel, differ(c.Model, b.model))
	if v.Changed.Has(FieldSystem) {
		v.CharDelta = c.State.SystemChars - b.state.SystemChars
	}
	fall := b.read - c.Read
	switch {
	case fall <= MinDrop || float64(fall) <= MinDropShare*float64(b.read):
	case c.Deleted > b.deleted:
		v.Reason = ReasonDeleted
	default:
		v.Reason = v.cause(timed)
	}
	return v
}

// cause names why the cache broke: what changed before how long the pause was.
func (v *Verdict) cause(timed bool) Reason {
	switch {
	case v.Changed.Has(FieldModel):
		return ReasonModel
	case v.Changed != 0:
		return ReasonState
	case !timed:
		return ReasonUnknown
	case v.Gap > Long:
		return ReasonExpiry1h
	case v.Gap > Short:
		return ReasonExpiry5m
	}
	return ReasonServer
}

// take makes a call the baseline of the next one.
func (b *baseline) take(c *Call) {
	b.known, b.read, b.deleted = true, c.Read, c.Deleted
	b.end, b.timed = c.End, c.timed()
	if c.Model != "" {
		b.model = c.Model
	}
	state := c.State
	state.keep(&b.state)
	b.state = state
}
