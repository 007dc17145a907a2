package breaks

import (
	"slices"
	"strings"

	"github.com/compactsim/compactsim/internal/confusion"
	"github.com/compactsim/compactsim/sim/results"
)

// Flag is a setting that may be unknown. The zero Flag is unknown.
type Flag uint8

// The values of a Flag.
const (
	Unknown Flag = iota
	Off
	On
)

// String returns off or on, "" for unknown.
func (f Flag) String() string { return [...]string{"", "off", "on"}[min(f, On)] }

// Hash stands for content that is only compared. Zero is unknown.
type Hash uint64

// Tool is one tool definition.
type Tool struct {
	Name   string
	Schema Hash
}

// State is what a client sends ahead of the conversation and beside it: all
// that can change the cache key without a message changing (000:604). Every
// field may be unknown, which is its zero value; what is unknown on either side
// of a comparison has not changed.
type State struct {
	SystemText      Hash   // text of the system prompt
	SystemMarkers   Hash   // its cache markers: place, scope and lifetime
	TTL             string // that lifetime, to say how it changed
	SystemChars     int    // characters of the system prompt, to say by how much it changed
	Tools           Hash   // all tool definitions
	EachTool        []Tool // each of them, to say which changed; nil: unknown
	FastMode        Flag
	GlobalStrategy  string   // where the globally scoped part of the prompt stands
	Betas           []string // beta headers in the order sent; nil: unknown
	AutoMode        Flag
	Overage         Flag   // a subscriber draws on credits beyond the plan
	CachedMicro     Flag   // cached microcompact is on
	Effort          string // effort of the model
	ExtraBodyParams Hash   // further parameters of the request
}

// Fields is a set of what changed between two calls, a bit for each
// confusion.Field.
type Fields uint16

// The fields in the order in which they are named: the model first.
const (
	FieldModel          = Fields(1) << confusion.FieldModel
	FieldSystem         = Fields(1) << confusion.FieldSystem
	FieldMarkers        = Fields(1) << confusion.FieldMarkers
	FieldTools          = Fields(1) << confusion.FieldTools
	FieldFastMode       = Fields(1) << confusion.FieldFastMode
	FieldGlobalStrategy = Fields(1) << confusion.FieldGlobalStrategy
	FieldBetas          = Fields(1) << confusion.FieldBetas
	FieldAutoMode       = Fields(1) << confusion.FieldAutoMode
	FieldOverage        = Fields(1) << confusion.FieldOverage
	FieldCachedMicro    = Fields(1) << confusion.FieldCachedMicro
	FieldEffort         = Fields(1) << confusion.FieldEffort
	FieldExtraBody      = Fields(1) << confusion.FieldExtraBody
)

// String names the fields of the set, separated by commas.
func (f Fields) String() string {
	var names []string
	for i := range confusion.NumFields {
		if f&(1<<i) != 0 {
			names = append(names, confusion.Field(i).String())
		}
	}
	return strings.Join(names, ", ")
}

// Has reports whether the set holds all of g.
func (f Fields) Has(g Fields) bool { return f&g == g }

// Changed returns which fields differ between s and an earlier state.
func (s *State) Changed(before *State) Fields {
	var f Fields
	f.note(FieldSystem, differ(s.SystemText, before.SystemText))
	f.note(FieldMarkers, differ(s.SystemMarkers, before.SystemMarkers))
	f.note(FieldTools, differ(s.Tools, before.Tools) || differList(s.EachTool, before.EachTool))
	f.note(FieldFastMode, differ(s.FastMode, before.FastMode))
	f.note(FieldGlobalStrategy, differ(s.GlobalStrategy, before.GlobalStrategy))
	f.note(FieldBetas, differList(s.Betas, before.Betas))
	f.note(FieldAutoMode, differ(s.AutoMode, before.AutoMode))
	f.note(FieldOverage, differ(s.Overage, before.Overage))
	f.note(FieldCachedMicro, differ(s.CachedMicro, before.CachedMicro))
	f.note(FieldEffort, differ(s.Effort, before.Effort))
	f.note(FieldExtraBody, differ(s.ExtraBodyParams, before.ExtraBodyParams))
	return f
}

func (f *Fields) note(field Fields, changed bool) {
	if changed {
		*f |= field
	}
}

// differ reports whether two known values differ.
func differ[T comparable](a, b T) bool {
	var unknown T
	return a != b && a != unknown && b != unknown
}

func differList[T comparable](a, b []T) bool {
	return a != nil && b != nil && !slices.Equal(a, b)
}

// keep fills what is unknown in s from an earlier state, so that a value is
// compared with the last one that was known.
func (s *State) keep(before *State) {
	fill(&s.SystemText, before.SystemText)
	fill(&s.SystemMarkers, before.SystemMarkers)
	fill(&s.TTL, before.TTL)
	fill(&s.SystemChars, before.SystemChars)
	fill(&s.Tools, before.Tools)
	fill(&s.FastMode, before.FastMode)
	fill(&s.GlobalStrategy, before.GlobalStrategy)
	fill(&s.AutoMode, before.AutoMode)
	fill(&s.Overage, before.Overage)
	fill(&s.CachedMicro, before.CachedMicro)
	fill(&s.Effort, before.Effort)
	fill(&s.ExtraBodyParams, before.ExtraBodyParams)
	if s.EachTool == nil {
		s.EachTool = before.EachTool
	}
	if s.Betas == nil {
		s.Betas = before.Betas
	}
}

func fill[T comparable](v *T, before T) {
	var unknown T
	if *v == unknown {
		*v = before
	}
}

// Records makes calls of call records: the simulated ones of a session, in order
// of completion. The zero Records is ready to use.
//
// A record does not say that the messages were replaced. A client knows because
// it made the summary call: the call of the conversation behind one is taken for
// the first after a compaction.
type Records struct {
	compacted map[int32]bool // threads whose summary call has returned
}

// Call returns the call of a record.
func (r *Records) Call(c *results.CallRecord) Call {
	out := Call{
		Source: c.Source, Thread: c.Thread, Model: c.Model, At: c.Start, End: c.End,
		Read: c.Usage.Read, Context: c.Context,
	}
	switch {
	case c.Source == results.SourceCompact:
		if r.compacted == nil {
			r.compacted = map[int32]bool{}
		}
		r.compacted[c.Thread] = true
	case c.Round >= 0 && r.compacted[c.Thread]:
		out.Compacted = true
		delete(r.compacted, c.Thread)
	}
	return out
}

// Reason is what the detector says of a call: rows carry it, so it is theirs.
type Reason = confusion.Reason

// The reasons; see confusion.Reason.
const (
	ReasonNone      = confusion.None
	ReasonFirst     = confusion.First
	ReasonExcluded  = confusion.Excluded
	ReasonCompacted = confusion.Compacted
	ReasonDeleted   = confusion.Deleted
	ReasonModel     = confusion.Model
	ReasonState     = confusion.State
	ReasonExpiry5m  = confusion.Expiry5m
	ReasonExpiry1h  = confusion.Expiry1h
	ReasonServer    = confusion.Server
	ReasonUnknown   = confusion.Unknown
)

// NumReasons is the number of reasons, for tables indexed by Reason.
const NumReasons = confusion.NumReasons

// Confusion counts what the detector says against what the cache model knows.
type Confusion = confusion.Matrix
