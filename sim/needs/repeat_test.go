package needs

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/sim/results/recall"
	"github.com/compactsim/compactsim/tools/tests/needstest"
)

// file returns thirty lines of a file as a tool shows them; a first line stands before them.
func file(first string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "1→%s\n", first)
	for i := range 30 {
		fmt.Fprintf(&b, "%d→\tline_%d_of_it()\n", i+2, i)
	}
	return b.String()
}

// A file that is read again is a repeat, also after the agent's own edit, and lost where a compaction removed it; one
// that changed otherwise is none. What is used behind a compaction was at hand if it was read again, and was not if it
// stood ahead of the compaction alone.
func TestRepeats(t *testing.T) {
	var talk needstest.Talk
	talk.Person("go on")
	talk.Call("Read", `{"file_path":"/p/a.go"}`, file("func first() {"))                                              // call 1
	talk.Call("Bash", `{"command":"make names","description":"Names"}`, "frobnicateAll_1 is a name of it")            // 2
	talk.Call("Edit", `{"file_path":"/p/a.go","old_string":"func first() {","new_string":"func second() {"}`, "done") // 3
	talk.Call("Read", `{"file_path":"/p/a.go"}`, file("func second() {"))                                             // 4
	talk.Compacts("All goes well.")
	talk.Call("Read", `{"file_path":"/p/a.go"}`, file("func second() {"))                                    // 5
	talk.Call("Edit", `{"file_path":"/p/a.go","old_string":"func second() {","new_string":"third"}`, "done") // 6
	talk.Call("Bash", `{"command":"grep frobnicateAll_1"}`, "nothing there")                                 // 7
	talk.Call("Bash", `{"command":"make names","description":"Again"}`, "frobnicateAll_1 is a name of it")   // 8
	talk.Call("Read", `{"file_path":"/p/a.go"}`, strings.ReplaceAll(file("third"), "_of_it", "_of_that"))    // 9
	talk.Says("done")
	corpus, s := talk.Read(t)
	x, err := Build(context.Background(), corpus, s)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for r := range int32(len(s.Threads[0].Rounds)) {
		for _, p := range x.Repeats(0, r) {
			got = append(got, fmt.Sprintf("%d of %d, lost %v", p.Call, s.Blocks[p.Source].Call, p.Lost))
		}
	}
	want := []string{"4 of 1, lost false", "5 of 4, lost true", "8 of 2, lost true"}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", got, want)
	}
	had := map[recall.NeedKind][]bool{}
	for _, n := range x.Thread(0) {
		had[n.Kind] = append(had[n.Kind], n.Had)
	}
	if fmt.Sprint(had[recall.NeedEdit]) != "[true true]" || fmt.Sprint(had[recall.NeedName]) != "[false]" {
		t.Errorf("edits %v, names %v were at hand", had[recall.NeedEdit], had[recall.NeedName])
	}
}
