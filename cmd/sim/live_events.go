package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/internal/live"
	"github.com/compactsim/compactsim/internal/live/cassette"
	"github.com/compactsim/compactsim/internal/live/wire"
	"github.com/compactsim/compactsim/internal/nearest"
	"github.com/compactsim/compactsim/sim/client"
)

// eventDefault is the value of an event that takes back what others have set.
const eventDefault = "default"

// checkEvents refuses values of events about thinking and effort that no real call
// can say: a simulated request takes any text.
func (f *liveFlags) checkEvents(events []client.Event) error {
	var errs []error
	for i := range events {
		e := &events[i]
		if e.Value == "" || e.Value == eventDefault {
			continue
		}
		var want string
		switch e.Do {
		case client.ActionEffort.String():
			if known := efforts[f.provider]; !slices.Contains(known, e.Value) {
				want = nearest.Hint(e.Value, known) + ": real calls take " + eventDefault + ", " + strings.Join(known, ", ")
			}
		case client.ActionThinking.String():
			if _, err := live.ParseThinking(e.Value); err != nil && e.Value != live.ThinkingOn {
				want = ": real calls take " + eventDefault + ", " + live.ThinkingOn + ", " + live.ThinkingWords
			}
		}
		if want != "" {
			errs = append(errs, fmt.Errorf("event %d of the scenario: %s %q%s", i+1, e.Do, e.Value, want))
		}
	}
	return errors.Join(errs...)
}

// mute says which events of the scenario change no real call though they change
// simulated ones, "" for none.
func (f *liveFlags) mute(events []client.Event) string {
	var unnamed []string
	thinks := false
	for i := range events {
		switch e := &events[i]; {
		case e.Do == client.ActionThinking.String() && f.provider == providerOpenAI:
			thinks = true
		case e.Value == "" && (e.Do == client.ActionThinking.String() || e.Do == client.ActionEffort.String()):
			unnamed = append(unnamed, fmt.Sprintf("%d (%s)", i+1, e.Do))
		}
	}
	var parts []string
	if thinks {
		parts = append(parts, "the scenario's events of thinking do not reach real calls: chat completions have no word for it")
	}
	if len(unnamed) > 0 {
		parts = append(parts, fmt.Sprintf("event %s of the scenario names no value: real calls behind it say what they would without it", strings.Join(unnamed, ", ")))
	}
	return strings.Join(parts, "; ")
}

// spoken is what a call to be made says of thinking or effort, and to whom.
type spoken struct{ model, name, value string }

// spokenBy returns what a call says of thinking and effort.
func spokenBy(call *cassette.Call) []spoken {
	var list []spoken
	for _, p := range call.Params {
		if name, value, _ := strings.Cut(p, "="); name == "thinking" || name == "effort" {
			list = append(list, spoken{call.Model, name, value})
		}
	}
	return list
}

// checkSpoken refuses what events make calls say to models that are known not to take
// it.
func (c *liveCalls) checkSpoken() error {
	var errs []error
	for _, s := range slices.SortedFunc(maps.Keys(c.spoken), func(a, b spoken) int {
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.model, b.model), cmp.Compare(a.value, b.value))
	}) {
		mode, _, _ := strings.Cut(s.value, "/")
		switch {
		case s.name == "thinking" && !live.Takes(s.model, wire.Mode(mode)):
			errs = append(errs, fmt.Errorf("an event of the scenario: thinking %s: %s does not take it; from 4.6 on models take adaptive, up to 4.6 a number of tokens, and on is the one that a model takes", s.value, s.model))
		case s.name == "effort" && c.flags.provider != providerOpenAI && !live.TakesEffort(s.model):
			errs = append(errs, fmt.Errorf("an event of the scenario: effort %s: %s does not take it; Opus does from 4.5 on, the others from 4.6 on", s.value, s.model))
		}
	}
	if len(errs) > 0 {
		return usageError{errors.Join(errs...)}
	}
	return nil
}
