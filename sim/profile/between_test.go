package profile

import (
	"math"
	"testing"
)

// Behind nothing 10 of 100 prompts and 2 of 1,000 other calls fall. Behind an event 6 of 10 prompts and no one of 100 others
// fell, where 1.2 were expected: a lift of 5, which luck does not give.
func TestLift(t *testing.T) {
	tallies := Tallies{
		Nothing:                {{Agent: "a", From: "1", Prompts: [2]int{10, 100}, Others: [2]int{2, 1000}}},
		KindHook.String():      {{Agent: "a", From: "1", Prompts: [2]int{6, 10}}, {Agent: "a", From: "2", Others: [2]int{0, 100}}},
		KindPrompt.String():    {{Agent: "a", From: "1", Prompts: [2]int{10, 100}}},
		KindListing.String():   {{Agent: "a", From: "1", Prompts: [2]int{1, 1}}},
		KindRetry.String():     {{Agent: "a", From: "2", Prompts: [2]int{0, 50}}, {Agent: "a", From: "1", Prompts: [2]int{40, 50}}},
		KindLookBack.String():  {{Agent: "b", From: "", Others: [2]int{3, 10}}},
		KindOpening.String():   {{Agent: "a", From: "1", Others: [2]int{1, 400}}},
		KindEffort.String():    {{Agent: "a", From: "1", Prompts: [2]int{2, 10}}},
		"none of these at all": nil,
	}
	for _, test := range []struct {
		kind            Kind
		epoch           string
		fell            int
		expected, value float64
		named           bool
	}{
		{KindHook, "1", 6, 1.2, 5, true},
		{KindHook, "3", 6, 1.2, 5, true},       // no calls of the epoch: as elsewhere
		{KindHook, "2", 6, 1.2, 5, false},      // here none of 100 fell, where 0.2 were expected: (0 + 5×0.011) / (0.2 + 0.011)
		{KindPrompt, "1", 10, 0.2, 50, true},   // compared with calls that are no prompts
		{KindListing, "1", 1, 0.1, 10, false},  // one fall may be luck: 1 − e^−0.1 is 9.5 %
		{KindRetry, "1", 40, 10, 4, true},      // a lift of 4 over all, 8 here
		{KindRetry, "2", 40, 10, 4, false},     // and next to none here
		{KindLookBack, "", 3, 0.02, 150, true}, // of another agent: the base of all
		{KindOpening, "1", 1, 0.8, 1.25, false},
		{KindEffort, "1", 2, 1, 2, false},
		{KindTeam, "1", 0, 0, 0, false},
	} {
		l := tallies.Of(test.kind, "a", test.epoch)
		if l.Fell != test.fell || math.Abs(l.Expected-test.expected) > 1e-9 || math.Abs(l.Value-test.value) > 1e-9 || l.Named() != test.named {
			t.Errorf("%s in %q: %+v named %v, want %d fell, %g expected, lift %g, named %v", test.kind, test.epoch, l, l.Named(), test.fell, test.expected,
				test.value, test.named)
		}
		if l.Calls > 0 && (l.Low > l.Value || l.High < l.Value) {
			t.Errorf("%s: the lift %g lies outside %g…%g", test.kind, l.Value, l.Low, l.High)
		}
	}
}

// The lifts that come with the program name kinds alone, and every kind has a name.
func TestDefaultLifts(t *testing.T) {
	l, err := DefaultLifts()
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{Nothing: true}
	for k := range NumKinds {
		known[k.String()] = true
	}
	if len(known) != int(NumKinds)+1 {
		t.Errorf("%d names for %d kinds", len(known)-1, NumKinds)
	}
	for _, of := range []Tallies{l.Marked, l.Automatic} {
		for name, rows := range of {
			for _, x := range rows {
				if !known[name] || x.Prompts[0] > x.Prompts[1] || x.Others[0] > x.Others[1] {
					t.Errorf("%s: %+v", name, x)
				}
			}
		}
	}
}
