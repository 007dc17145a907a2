package sim

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/compactsim/compactsim/internal/needs"
	"github.com/compactsim/compactsim/internal/needs/needstest"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/traces"
)

// editLater is a conversation that reads a file of about 1,000 tokens, runs commands, and edits the file at last.
func editLater() *needstest.Talk {
	var talk needstest.Talk
	talk.Person("Never lose the sum.")
	text := "1→func sum(a, b int) int {\n"
	for i := range 120 {
		text += fmt.Sprintf("%d→\tline_%d_of_it()\n", i+2, i)
	}
	talk.Call("Read", `{"file_path":"/p/sum.go"}`, text)
	for i := range 16 {
		talk.Call("Bash", fmt.Sprintf(`{"command":"step-%d"}`, i), fmt.Sprintf("unrelated_%d output", i))
	}
	talk.Says("so far")
	talk.Waits(90)
	talk.Person("and now")
	talk.Call("Edit", `{"file_path":"/p/sum.go","old_string":"func sum(a, b int) int {","new_string":"x"}`, "done")
	talk.Says("done")
	return &talk
}

// withNeeds makes a configuration measure what is forgotten of a conversation.
func withNeeds(t *testing.T, c Config, talk *needstest.Talk) (Config, *traces.Session) {
	t.Helper()
	corpus, s := talk.Read(t)
	library := needs.NewLibrary(context.Background(), corpus)
	c.Needs = library.Of
	t.Cleanup(func() {
		if err := library.Err(); err != nil {
			t.Error(err)
		}
	})
	return c, s
}

// With nothing taken out everything is there word for word, and the cost with fetches is the cost.
func TestNothingForgotten(t *testing.T) {
	c, s := withNeeds(t, testConfig(t, "none"), editLater())
	row, _ := run(t, c, s)
	n := row.Needs.Total()
	if n.Count == 0 || n.Verbatim != n.Weight || row.Needs.RefetchUSD != 0 || row.Needs.Removed != 0 {
		t.Errorf("%+v of %+v", n, row.Needs)
	}
}

// Measuring changes no other figure.
func TestMeasuringChangesNothing(t *testing.T) {
	for _, strategy := range []string{"recorded", "none", "truncate-oldest", "auto-compact/155k"} {
		c, s := withNeeds(t, testConfig(t, strategy), editLater())
		c.Window = 40_000
		with, _ := run(t, c, s)
		c.Needs = nil
		without, _ := run(t, c, s)
		if with.Needs.Total().Count == 0 {
			t.Errorf("%s: nothing was measured", strategy)
		}
		if with.Needs = (results.Needs{}); fmt.Sprint(with) != fmt.Sprint(without) {
			t.Errorf("%s: %+v, without needs %+v", strategy, with, without)
		}
	}
}

// All results but the newest five are cleared ahead of the edit, the file among them. The fetch is a call that reads
// what the request weighs and writes 80 tokens of its own and those of the file, which the call behind reads.
func TestFetchOfAClearedFile(t *testing.T) {
	var calls []results.CallRecord
	c, s := withNeeds(t, written(t, "  - time-microcompact: {gap_minutes: 60, keep_recent: 5}\n"), editLater())
	c.Record = func(r *results.CallRecord) { calls = append(calls, *r) }
	rows, err := NewLoop(c).RunCohort([]*traces.Session{s})
	if err != nil {
		t.Fatal(err)
	}
	row := rows[0]
	edit := row.Needs.Kinds[results.NeedEdit]
	if edit.Count != 1 || edit.Recoverable != edit.Weight || row.Needs.Fetches != 1 {
		t.Fatalf("%+v, %d fetches; want the edit to need one", edit, row.Needs.Fetches)
	}
	var file int64
	for i := range s.Blocks {
		if b := &s.Blocks[i]; b.Kind == prompt.KindToolResult && b.Op == prompt.OpRead {
			file = int64(b.Tokens)
		}
	}
	price, err := c.Prices.Lookup("claude-opus-4-6", s.StartTime())
	if err != nil {
		t.Fatal(err)
	}
	rate := price.Standard()
	u := calls[18].Usage // of the edit: the 19th call
	fetch := prompt.Usage{Read: u.Input(), Output: 80, Write5m: file + 80}
	if u.Write5m == 0 {
		t.Fatalf("the call writes with another lifetime: %+v", u)
	}
	cost, later := results.Cost(rate.Cost(fetch)), results.Cost(rate.Cost(prompt.Usage{Read: file}))
	if want := cost.Total() + later.Total(); math.Abs(row.Needs.RefetchUSD-want) > 1e-9 {
		t.Errorf("$%.6f, want $%.6f for the fetch and one call behind it", row.Needs.RefetchUSD, want)
	}
}
