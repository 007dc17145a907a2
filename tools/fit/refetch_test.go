package main

import (
	"fmt"
	"math"
	"testing"

	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/tools/tests/needstest"
)

// A compaction whose summary keeps one name of three, and which removes two outputs of tools that are used behind it: the
// first is asked for again before, the second is not.
func TestRefetch(t *testing.T) {
	var talk needstest.Talk
	talk.Person("go on")
	talk.Call("Bash", `{"command":"make"}`, "undefined: keptNameOne")
	talk.Call("Bash", `{"command":"list two"}`, "a.go: lostNameTwo")
	talk.Call("Bash", `{"command":"list three"}`, "a.go: lostNameThree")
	for i := range 10 {
		talk.Call("Bash", fmt.Sprintf(`{"command":"step-%d"}`, i), fmt.Sprintf("unrelated_%d output", i))
	}
	talk.Compacts("The build says undefined: keptNameOne.")
	talk.Person("continue")
	talk.Call("Bash", `{"command":"fix keptNameOne"}`, "ok")
	talk.Call("Bash", `{"command":"list two"}`, "a.go: lostNameTwo")
	talk.Call("Bash", `{"command":"fix lostNameTwo"}`, "ok")
	talk.Call("Bash", `{"command":"fix lostNameThree"}`, "ok")
	corpus, _ := talk.Read(t)
	var p profile.Profile
	if err := fitRefetch(t.Context(), corpus, &p); err != nil {
		t.Fatal(err)
	}
	if got := p.Refetch["all"]; len(p.Refetch) != 1 || got.Value != 0.5 || got.N != 2 {
		t.Errorf("fetched: %+v, want a half of 2", p.Refetch)
	}
	if kept, got := p.Kept, p.Kept["all"]; len(kept) != 1 || math.Abs(got.Value-1.0/3) > 1e-4 || got.N != 3 {
		t.Errorf("kept: %+v, want a third of 3", kept)
	}
}

// What a clearing takes is no compaction's, and ends what is looked at behind one.
func TestRefetchEndsAtAClearing(t *testing.T) {
	var talk needstest.Talk
	talk.Person("go on")
	talk.Call("Bash", `{"command":"list"}`, "forgottenBefore")
	talk.Compacts("Nothing of note.")
	talk.Person("continue")
	talk.Call("Bash", `{"command":"make"}`, "undefined: clearedName")
	talk.Clears(1)
	talk.Call("Grep", `{"pattern":"cleared"}`, "a.go: clearedName")
	talk.Call("Bash", `{"command":"fix clearedName forgottenBefore"}`, "ok")
	corpus, _ := talk.Read(t)
	var p profile.Profile
	if err := fitRefetch(t.Context(), corpus, &p); err != nil || p.Kept != nil || p.Reread != nil {
		t.Errorf("%+v, %+v, %v, want nothing", p.Kept, p.Reread, err)
	}
}

// As often as what was lost as what was not: none is due to the loss. Three times as often: two thirds of them are, as 30 of 60 at odds of 1 to 3
// say; the logarithm of 3 is 1.10.
func TestRepeatsDue(t *testing.T) {
	if got := (repeats{{10, 40, 1. / 3}}).due(); got.Value != 0 || got.Low != 0 || got.N != 40 {
		t.Errorf("as often: %+v", got)
	}
	got := repeats{{30, 60, 1. / 3}}.due()
	if math.Abs(got.Value-2./3) > 0.005 || got.Low < 0.4 || got.Low > 0.55 || got.High < 0.75 || got.High > 0.85 {
		t.Errorf("three times as often: %+v", got)
	}
	if got := (repeats{}).due(); got != nil {
		t.Errorf("no repeats: %+v", got)
	}
}

// Of what 40 % would have shown in any case, 70 % fetched are 50 % of the rest; what is below is nothing.
func TestExcess(t *testing.T) {
	got := excess(profile.Estimate{Value: 0.7, Low: 0.3, High: 1, N: 9}, 0.4)
	if got != (profile.Estimate{Value: 0.5, Low: 0, High: 1, N: 9}) {
		t.Errorf("%+v", got)
	}
}
