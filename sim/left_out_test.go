package sim

import (
	"fmt"
	"testing"

	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/sim/results/recall"
	"github.com/compactsim/compactsim/tools/tests/needstest"
)

// readsAgain is a conversation whose client compacts after a file was read and a command had shown a name. Behind the
// compaction the agent reads the file again and edits it, and uses the name without having seen it again.
func readsAgain() *needstest.Talk {
	var talk needstest.Talk
	text := "1→func sum(a, b int) int {\n"
	for i := range 120 {
		text += fmt.Sprintf("%d→\tline_%d_of_it()\n", i+2, i)
	}
	read := func() { talk.Call("Read", `{"file_path":"/p/sum.go"}`, text) }
	talk.Person("go on")
	read()
	talk.Call("Bash", `{"command":"make names"}`, "frobnicateAll_1 is a name of it")
	talk.Compacts("All goes well.")
	talk.Call("Bash", `{"command":"make"}`, "all made")
	read()
	talk.Call("Edit", `{"file_path":"/p/sum.go","old_string":"func sum(a, b int) int {","new_string":"x"}`, "done")
	talk.Waits(90)
	talk.Person("and now")
	talk.Call("Bash", `{"command":"grep frobnicateAll_1"}`, "nothing there")
	talk.Says("done")
	return &talk
}

// Where the recorded context had lost a file and the simulated one has not, the call that reads it again is not made,
// and the requests behind it do not have it. Where both have lost a thing, the recording shows what the agent did.
func TestLeftOut(t *testing.T) {
	for _, tc := range []struct {
		what, layers  string
		how           Refetch
		share         float64
		left, fetches int
	}{
		{"nothing is lost", "", RefetchAlways, 0, 1, 0},
		{"in an open loop", "", RefetchNever, 1, 0, 0},
		{"agents read again for that reason", "", RefetchFitted, 1, 1, 0},
		{"agents read again for another", "", RefetchFitted, 0, 0, 0},
		{"the name is lost in both", "  - time-microcompact: {gap_minutes: 60, keep_recent: 1}\n", RefetchAlways, 1, 1, 0},
	} {
		c, s := withNeeds(t, written(t, tc.layers), readsAgain())
		c.Agent.Refetch, c.Profile = tc.how, &profile.Profile{Reread: &profile.Estimate{Value: tc.share}}
		row, calls := run(t, c, s)
		n := (*recall.Needs)(row.Figures[measures.Needs:])
		if n[recall.LeftOut] != float64(tc.left) || n[recall.Fetches] != float64(tc.fetches) || len(calls) != s.NumCalls()-tc.left {
			t.Errorf("%s: %g of %d calls left out, %g fetches, %d calls; want %d and %d", tc.what, n[recall.LeftOut], s.NumCalls(),
				n[recall.Fetches], len(calls), tc.left, tc.fetches)
		}
		c.Agent.Refetch = RefetchNever
		_, whole := run(t, c, s)
		var file int64
		for i := range s.Blocks {
			if b := &s.Blocks[i]; b.Object >= 0 && s.Objects[b.Object] == "/p/sum.go" && b.Call == 4 {
				file += int64(b.Tokens)
			}
		}
		// The edit is the third call from the end of those that both make; its request lacks the call and the result.
		if less := whole[len(whole)-3].Context - calls[len(calls)-3].Context; tc.layers == "" && less < int64(tc.left)*file {
			t.Errorf("%s: the requests behind have %d tokens less, want %d", tc.what, less, int64(tc.left)*file)
		}
	}
}

// The recording replayed leaves out nothing and fetches nothing.
func TestRecordedKeepsItsReads(t *testing.T) {
	c, s := withNeeds(t, testConfig(t, "recorded"), readsAgain())
	c.Agent.Refetch = RefetchAlways
	row, _ := run(t, c, s)
	if n := (*recall.Needs)(row.Figures[measures.Needs:]); n[recall.LeftOut] != 0 || n[recall.Fetches] != 0 || row.OwnCalls() != s.NumCalls() {
		t.Errorf("%g left out, %g fetched, %d of %d calls", n[recall.LeftOut], n[recall.Fetches], row.OwnCalls(), s.NumCalls())
	}
}
