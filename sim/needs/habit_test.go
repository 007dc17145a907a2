package needs

import (
	"context"
	"testing"

	"github.com/compactsim/compactsim/tools/tests/needstest"
)

// Two files are shown and a compaction removes them; one is read again twice, at first because it is gone, and then a name of it is used; the
// other is read again for nothing, and counts as no repeat. Commands that show a file count alike.
func TestWatch(t *testing.T) {
	for tool, calls := range map[string][2]string{
		"Read": {`{"file_path":"/p/a.go"}`, `{"file_path":"/p/b.go"}`},
		"Bash": {`{"command":"sed -n 1,200p a.go"}`, `{"command":"sed -n 1,200p b.go"}`},
	} {
		t.Run(tool, func(t *testing.T) { testWatch(t, tool, calls) })
	}
}

func testWatch(t *testing.T, tool string, calls [2]string) {
	var talk needstest.Talk
	talk.Person("go on")
	talk.Call(tool, calls[0], file("func first() {"))
	talk.Call(tool, calls[1], file("func other() {"))
	talk.Compacts("All goes well.")
	talk.Call(tool, calls[0], file("func first() {"))
	talk.Call(tool, calls[0], file("func first() {"))
	talk.Call("Bash", `{"command":"grep line_3_of_it"}`, "nothing there")
	talk.Call(tool, calls[1], file("func other() {"))
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
	// a is there when b is read. Five answers behind the compaction: a and b are gone, then a is there and b is gone, three times, and at the end
	// both are there. What the search printed is there in the last two.
	if sum.read != [2]int{1, 1} || sum.could != [2]int{8, 5} {
		t.Errorf("read %v of %v", sum.read, sum.could)
	}
}
