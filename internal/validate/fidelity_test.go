package validate

import (
	"context"
	"fmt"
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
	corpus, _ := talk.Read(t)
	f, err := CheckFidelity(context.Background(), corpus)
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Compactions) != 1 || len(f.Kinds) != 1 || f.Kinds[0].Kind != "name" {
		t.Fatalf("%+v", f)
	}
	k := f.Kinds[0]
	if k.Uses != 3 || k.Kept != 1 || k.Fetched.N != 2 || k.Fetched.Value != 0.5 {
		t.Errorf("%+v, want 3 uses, 1 kept, 2 lost, half of them fetched", k)
	}
	all := f.Compactions[0].Windows[2]
	if all.Uses != 3 || all.Lost != 2 || all.Fetched != 1 || all.Searches != 1 {
		t.Errorf("%+v, want 3 uses, 2 lost, 1 fetched, 1 search", all)
	}
	if got := f.Refetch()["all"]; got.Value != 0.5 || got.N != 2 {
		t.Errorf("%+v, want a half of 2", got)
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
