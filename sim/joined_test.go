package sim

import (
	"fmt"
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/op"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/sim/results/recall"
	"github.com/compactsim/compactsim/tools/tests/needstest"
)

// editsTwo is a conversation that edits a file long after it was read, in the step before which it looks at another file, and uses
// a name of that file if the look was for this step.
func editsTwo(both bool) *needstest.Talk {
	var talk needstest.Talk
	talk.Person("go on")
	talk.Call("Read", `{"file_path":"/p/sum.go"}`, "1→func sum(a, b int) int {\n2→\treturn a + b\n3→}\n")
	for i := range 8 {
		talk.Call("Bash", fmt.Sprintf(`{"command":"step-%d"}`, i), fmt.Sprintf("unrelated_%d output", i))
	}
	talk.Waits(90)
	talk.Person("and now")
	talk.Call("Read", `{"file_path":"/p/difference.go"}`, "1→func subtract_both_7(a, b int) int {\n")
	by := "x"
	if both {
		by = "subtract_both_7(a, b)"
	}
	talk.Call("Edit", `{"file_path":"/p/sum.go","old_string":"func sum(a, b int) int {","new_string":"`+by+`"}`, "done")
	talk.Says("done")
	return &talk
}

// An agent that looks at a file which its next step uses asks, in the same answer, for the other file of that step that its context has lost: no
// round more, and the request of the step has the call and the result. A look that the next step does not use was for
// something else: the fetch is a round of its own.
func TestFetchesAreJoinedToLooks(t *testing.T) {
	for both, rounds := range map[bool]int{true: 0, false: 1} {
		c, s := withNeeds(t, written(t, "  - time-microcompact: {gap_minutes: 60, keep_recent: 5}\n"), editsTwo(both))
		open, before := run(t, c, s)
		c.Agent.Refetch = RefetchAlways
		row, calls := run(t, c, s)
		if n := row.N(measures.Calls) - open.N(measures.Calls); n != rounds || (*recall.Needs)(row.Figures[measures.Needs:])[recall.Fetches] != float64(rounds) {
			t.Errorf("both files %v: %d calls more, want %d", both, n, rounds)
		}
		var file int64 // the first recorded read and its result
		for i := range s.Blocks {
			if b := &s.Blocks[i]; b.Op == op.Read && b.Object >= 0 && s.Objects[b.Object] == "/p/sum.go" && (b.Kind == prompt.KindToolUse || b.Kind == prompt.KindToolResult) {
				file += int64(b.Tokens)
			}
		}
		// The edit is the last call but one; lines may not show all of a result.
		if more := calls[len(calls)-2].Context - before[len(before)-2].Context; more < file || more > 2*file {
			t.Errorf("both files %v: the request of the edit has %d tokens more, want %d to %d", both, more, file, 2*file)
		}
	}
}
