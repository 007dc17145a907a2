package validate

import (
	"context"
	"fmt"
	"maps"
	"math"
	"testing"

	"github.com/compactsim/compactsim/internal/needs/needstest"
	"github.com/compactsim/compactsim/internal/profile"
)

// A compaction whose summary keeps one name of three: the second is shown again by a search before it is used, the
// third is used from nowhere.
func TestFidelity(t *testing.T) {
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
	f := check(t, &talk)
	if len(f.Compactions) != 1 || len(f.Kinds) != 1 || f.Kinds[0].Kind != "name" {
		t.Fatalf("%+v", f)
	}
	k := f.Kinds[0]
	if k.Uses != 3 || k.Summary.N != 3 || k.Lost != 2 || k.Fetched.N != 2 || k.Fetched.Value != 0.5 {
		t.Errorf("%+v, want 3 uses, 1 in the summary, 2 lost, half of them fetched", k)
	}
	all := f.Compactions[0].Windows[2]
	if all.Uses != 3 || all.Lost != 2 || all.Fetched != 1 || all.Searches != 1 {
		t.Errorf("%+v, want 3 uses, 2 lost, 1 fetched, 1 search", all)
	}
	if got := f.Refetch()["all"]; got.Value != 0.5 || got.N != 2 {
		t.Errorf("%+v, want a half of 2", got)
	}
	if got := f.Kept()["all"]; math.Abs(got.Value-1.0/3) > 1e-4 || got.N != 3 {
		t.Errorf("%+v, want a third of 3", got)
	}
}

func check(t *testing.T, talk *needstest.Talk) *Fidelity {
	t.Helper()
	corpus, _ := talk.Read(t)
	f, err := CheckFidelity(context.Background(), corpus)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// A clearing takes the first of two results: what it had is lost, and shown again by a search before it is used. What
// an earlier compaction took is not the clearing's.
func TestClearing(t *testing.T) {
	var talk needstest.Talk
	talk.Person("go on")
	talk.Call("Bash", `{"command":"list"}`, "forgottenBefore")
	talk.Compacts("Nothing of note.")
	talk.Person("continue")
	talk.Call("Bash", `{"command":"make"}`, "undefined: clearedName")
	talk.Call("Bash", `{"command":"vet"}`, "undefined: stayingName")
	for i := range 10 {
		talk.Call("Bash", fmt.Sprintf(`{"command":"step-%d"}`, i), fmt.Sprintf("unrelated_%d output", i))
	}
	talk.Clears(2)
	talk.Call("Bash", `{"command":"fix stayingName"}`, "ok")
	talk.Call("Grep", `{"pattern":"cleared"}`, "a.go: clearedName")
	talk.Call("Bash", `{"command":"fix clearedName"}`, "ok")
	talk.Call("Bash", `{"command":"fix forgottenBefore"}`, "ok")
	f := check(t, &talk)
	if c := f.Cleared; len(f.Clearings) != 1 || c.Uses != 2 || c.Lost != 1 || c.Fetched.N != 1 || c.Fetched.Value != 1 {
		t.Errorf("%d clearings, %+v; want one, of two uses one lost and fetched", len(f.Clearings), c)
	}
	if n := f.Compactions[0].Windows[2].Uses; n != 0 {
		t.Errorf("%d uses behind the compaction, want none: its end is the clearing", n)
	}
}

// A summary that has the path without the folder of the project and one of two directions, and not the command.
func TestWhatSummariesKeep(t *testing.T) {
	var talk needstest.Talk
	talk.Person("Never push to the main branch. Always run the tests first.")
	talk.Call("Read", `{"file_path":"/p/store/cache.go"}`, "package store")
	talk.Call("Bash", `{"command":"go test ./store"}`, "ok")
	talk.Compacts("The user said: never touch generated files. Never push to the main  branch. Files: store/cache.go")
	talk.Person("continue")
	talk.Call("Bash", `{"command":"ls"}`, "ok")
	got := map[string][2]int{}
	for _, s := range check(t, &talk).Summaries {
		got[s.Kind] = [2]int{int(math.Round(s.Kept.Value * float64(s.Kept.N))), s.Kept.N}
	}
	want := map[string][2]int{"path": {1, 1}, "command": {0, 1}, "sentence": {1, 2}, "direction": {1, 2}}
	if !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// Of what 40 % would have shown in any case, 70 % fetched are 50 % of the rest; what is below is nothing.
func TestExcess(t *testing.T) {
	got := excess(profile.Estimate{Value: 0.7, Low: 0.3, High: 1, N: 9}, 0.4)
	if got != (profile.Estimate{Value: 0.5, Low: 0, High: 1, N: 9}) {
		t.Errorf("%+v", got)
	}
}

// By hand: ranks 1, 2.5, 2.5, 4 against 1, 2, 3, 4 give 0.9487 (4.5/√(4.5·5)).
func TestSpearman(t *testing.T) {
	for _, tt := range []struct {
		a, b []float64
		want float64
	}{
		{[]float64{1, 2, 2, 9}, []float64{1, 2, 3, 4}, 4.5 / math.Sqrt(4.5*5)},
		{[]float64{1, 2, 3}, []float64{9, 5, 1}, -1},
		{[]float64{1, 1, 1}, []float64{9, 5, 1}, 0},
		{[]float64{1, 2}, []float64{1, 2}, 0},
	} {
		if got := spearman(tt.a, tt.b); math.Abs(got-tt.want) > 1e-12 {
			t.Errorf("%v, %v: %g, want %g", tt.a, tt.b, got, tt.want)
		}
	}
}
