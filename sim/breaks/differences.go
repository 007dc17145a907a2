package breaks

import (
	"fmt"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/sim/results/confusion"
)

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
