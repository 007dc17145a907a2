package breaks

import (
	"fmt"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/sim/results/confusion"
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

// Hash stands for content that is only compared. Zero means unknown.
type Hash uint64

// Tool is one tool definition.
type Tool struct {
	Name   string
	Schema Hash
}

// State is what a client sends before the conversation and beside it:
// everything that can change the cache key without a change of messages
// (000:604). A zero field is unknown, and a field that is unknown on either
// side of a comparison counts as unchanged.
type State struct {
	SystemText      Hash   // text of the system prompt
	SystemMarkers   Hash   // its cache markers: place, scope and lifetime
	TTL             string // that lifetime, to say how it changed
	SystemChars     int    // characters of the system prompt, to say by how much it changed
	Tools           Hash   // all tool definitions
	EachTool        []Tool // each tool, to say which changed; nil: unknown
	FastMode        Flag
	GlobalStrategy  string   // position of the globally scoped part of the prompt
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

// String names the fields of the set, separated by commas.
func (f Fields) String() string {
	var names []string
	for field := range confusion.Field(confusion.NumFields) {
		if f.Has(field) {
			names = append(names, field.String())
		}
	}
	return strings.Join(names, ", ")
}

// Has reports whether the set holds a field.
func (f Fields) Has(field confusion.Field) bool { return f>>field&1 != 0 }

// Changed returns the fields that differ between s and an earlier state.
func (s *State) Changed(before *State) Fields {
	var f Fields
	f.note(confusion.FieldSystem, differ(s.SystemText, before.SystemText))
	f.note(confusion.FieldMarkers, differ(s.SystemMarkers, before.SystemMarkers))
	f.note(confusion.FieldTools, differ(s.Tools, before.Tools) || differList(s.EachTool, before.EachTool))
	f.note(confusion.FieldFastMode, differ(s.FastMode, before.FastMode))
	f.note(confusion.FieldGlobalStrategy, differ(s.GlobalStrategy, before.GlobalStrategy))
	f.note(confusion.FieldBetas, differList(s.Betas, before.Betas))
	f.note(confusion.FieldAutoMode, differ(s.AutoMode, before.AutoMode))
	f.note(confusion.FieldOverage, differ(s.Overage, before.Overage))
	f.note(confusion.FieldCachedMicro, differ(s.CachedMicro, before.CachedMicro))
	f.note(confusion.FieldEffort, differ(s.Effort, before.Effort))
	f.note(confusion.FieldExtraBody, differ(s.ExtraBodyParams, before.ExtraBodyParams))
	return f
}

func (f *Fields) note(field confusion.Field, changed bool) {
	if changed {
		*f |= 1 << field
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

// keep fills unknown fields of s from an earlier state, so that a value is
// compared with the last known one.
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

// differences says how a call differs from the baseline, with old and new
// values (000:591, 614-618): the model first, then the fields in order.
func (b *baseline) differences(c *Call, changed Fields) string {
	now, before := &c.State, &b.state
	var list []string
	for f := range confusion.Field(confusion.NumFields) {
		if !changed.Has(f) {
			continue
		}
		text := f.String() + " changed"
		if values := difference(f, c.Model, b.model, now, before); values != "" {
			text += " (" + values + ")"
		}
		list = append(list, text)
	}
	return strings.Join(list, "; ")
}

// difference says how one field changed, "" if the values are unknown.
func difference(f confusion.Field, model, modelBefore string, now, before *State) string {
	switch f {
	case confusion.FieldModel:
		return arrow(modelBefore, model)
	case confusion.FieldSystem:
		return fmt.Sprintf("%+d chars", now.SystemChars-before.SystemChars)
	case confusion.FieldMarkers:
		if differ(now.TTL, before.TTL) {
			return "TTL " + arrow(before.TTL, now.TTL)
		}
		return "scope or place"
	case confusion.FieldTools:
		return toolsChanged(now.EachTool, before.EachTool)
	case confusion.FieldBetas:
		return arrow(strings.Join(before.Betas, ", "), strings.Join(now.Betas, ", "))
	case confusion.FieldGlobalStrategy:
		return arrow(before.GlobalStrategy, now.GlobalStrategy)
	case confusion.FieldEffort:
		return arrow(before.Effort, now.Effort)
	case confusion.FieldFastMode:
		return arrow(before.FastMode.String(), now.FastMode.String())
	case confusion.FieldAutoMode:
		return arrow(before.AutoMode.String(), now.AutoMode.String())
	case confusion.FieldOverage:
		return arrow(before.Overage.String(), now.Overage.String())
	case confusion.FieldCachedMicro:
		return arrow(before.CachedMicro.String(), now.CachedMicro.String())
	}
	return ""
}

// arrow shows an old and a new value; "none" stands for an empty one.
func arrow(from, to string) string {
	none := func(s string) string {
		if s == "" {
			return "none"
		}
		return s
	}
	return none(from) + " → " + none(to)
}

// toolsChanged says which and how many tools were added and removed, and which were
// redefined; "" if single tools are unknown.
func toolsChanged(now, before []Tool) string {
	if now == nil || before == nil {
		return ""
	}
	missing := func(from, in []Tool) []string {
		var names []string
		for _, t := range from {
			if !slices.ContainsFunc(in, func(o Tool) bool { return o.Name == t.Name }) {
				names = append(names, t.Name)
			}
		}
		return names
	}
	added, removed := missing(now, before), missing(before, now)
	text := fmt.Sprintf("+%d/-%d tools", len(added), len(removed))
	var named []string
	for _, name := range added {
		named = append(named, "+"+name)
	}
	for _, name := range removed {
		named = append(named, "-"+name)
	}
	for _, t := range now {
		if slices.ContainsFunc(before, func(o Tool) bool { return o.Name == t.Name && o.Schema != t.Schema }) {
			named = append(named, t.Name+" redefined")
		}
	}
	switch list := strings.Join(named, ", "); {
	case len(added)+len(removed) == 0 && list != "":
		return list
	case list != "":
		text += ": " + list
	}
	return text
}
