package needs

import (
	"context"
	"math"
	"testing"

	"github.com/compactsim/compactsim/sim/needs/needstest"
)

// An agent that reads files at the same rate whether a compaction removed them or not reads none because of it; one that never reads what it has
// reads all because of it. Five reads of the agent count as much as the share of others. Files of another age say nothing.
func TestDue(t *testing.T) {
	type class = struct{ read, could [2]int }
	for name, tc := range map[string]struct {
		habit habit
		want  float64
	}{
		"no compaction":      {habit{2: class{[2]int{4, 0}, [2]int{40, 0}}}, 0.8},
		"as often":           {habit{2: class{[2]int{10, 5}, [2]int{100, 50}}}, 0.4}, // (5 × 0.8 + 0) / 10
		"only what it lacks": {habit{2: class{[2]int{0, 5}, [2]int{100, 50}}}, 0.9},  // (5 × 0.8 + 5) / 10
		"half of them":       {habit{2: class{[2]int{5, 5}, [2]int{100, 50}}}, 0.65}, // 2.5 of 5 in any case
		"another age":        {habit{2: class{read: [2]int{9, 0}, could: [2]int{9, 0}}, 5: class{[2]int{0, 5}, [2]int{1, 50}}}, 0.9},
	} {
		x := Index{habit: tc.habit}
		if got := x.Due(0.8, 5); math.Abs(got-tc.want) > 1e-9 {
			t.Errorf("%s: %.3f, want %.3f", name, got, tc.want)
		}
	}
}

// Two files are shown and a compaction removes them; one is read again twice, at first because it is gone.
func TestWatch(t *testing.T) {
	var talk needstest.Talk
	talk.Person("go on")
	talk.Call("Read", `{"file_path":"/p/a.go"}`, file("func first() {"))
	talk.Call("Read", `{"file_path":"/p/b.go"}`, file("func other() {"))
	talk.Compacts("All goes well.")
	talk.Call("Read", `{"file_path":"/p/a.go"}`, file("func first() {"))
	talk.Call("Read", `{"file_path":"/p/a.go"}`, file("func first() {"))
	talk.Says("done")
	corpus, s := talk.Read(t)
	x, err := Build(context.Background(), corpus, s)
	if err != nil {
		t.Fatal(err)
	}
	var sum struct{ read, could [2]int }
	for _, age := range x.habit {
		for where := range sum.read {
			sum.read[where] += age.read[where]
			sum.could[where] += age.could[where]
		}
	}
	// Three answers behind the compaction: a and b are gone, then a is there and b is gone, twice.
	if sum.read != [2]int{1, 1} || sum.could != [2]int{2, 4} {
		t.Errorf("read %v of %v", sum.read, sum.could)
	}
}
