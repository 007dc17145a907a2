package validate

import (
	"fmt"
	"math"
	"testing"

	"github.com/compactsim/compactsim/internal/serving/needs/needstest"
	"github.com/compactsim/compactsim/internal/serving/profile"
)

// A compaction whose summary keeps one name of three: the second is shown again by a search before it is used, the
// third is used from nowhere.
func TestRefetch(t *testing.T) {
	var talk needstest.Talk
	talk.Person("go on")
	talk.Call("Bash", `{"command":"make"}`, "undefined: keptNameOne, lostNameTwo, lostNameThree")
	for i := range 10 {
		talk.Call("Bash", fmt.Sprintf(`{"command":"step-%d"}`, i), fmt.Sprintf("unrelated_%d output", i))
	}
	talk.Compacts("The build says undefined: keptNameOne.")
	talk.Person("continue")
	talk.Call("Bash", `{"command":"fix keptNameOne"}`, "ok")
	talk.Call("Grep", `{"pattern":"two"}`, "a.go: lostNameTwo")
	talk.Call("Bash", `{"command":"fix lostNameTwo"}`, "ok")
	talk.Call("Bash", `{"command":"fix lostNameThree"}`, "ok")
	corpus, _ := talk.Read(t)
	refetch, kept, err := FitRefetch(t.Context(), corpus)
	if err != nil {
		t.Fatal(err)
	}
	if got := refetch["all"]; len(refetch) != 1 || got.Value != 0.5 || got.N != 2 {
		t.Errorf("fetched: %+v, want a half of 2", refetch)
	}
	if got := kept["all"]; len(kept) != 1 || math.Abs(got.Value-1.0/3) > 1e-4 || got.N != 3 {
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
	if refetch, kept, err := FitRefetch(t.Context(), corpus); err != nil || refetch != nil || kept != nil {
		t.Errorf("%v, %v, %v, want nothing", refetch, kept, err)
	}
}

// Of what 40 % would have shown in any case, 70 % fetched are 50 % of the rest; what is below is nothing.
func TestExcess(t *testing.T) {
	got := excess(profile.Estimate{Value: 0.7, Low: 0.3, High: 1, N: 9}, 0.4)
	if got != (profile.Estimate{Value: 0.5, Low: 0, High: 1, N: 9}) {
		t.Errorf("%+v", got)
	}
}
