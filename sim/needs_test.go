package sim

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/sim/needs"
	"github.com/compactsim/compactsim/sim/prompt/op"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/sim/results/recall"
	"github.com/compactsim/compactsim/tools/tests/needstest"
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
	n := (*recall.Needs)(row.Figures[measures.Needs:]).Total()
	if n[recall.Count] == 0 || n[recall.Verbatim] != n[recall.Weight] || (*recall.Needs)(row.Figures[measures.Needs:])[recall.Removed] != 0 {
		t.Errorf("%+v of %+v", n, (*recall.Needs)(row.Figures[measures.Needs:]))
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
		if (*recall.Needs)(with.Figures[measures.Needs:]).Total()[recall.Count] == 0 {
			t.Errorf("%s: nothing was measured", strategy)
		}
		if *(*recall.Needs)(with.Figures[measures.Needs:]) = (recall.Needs{}); fmt.Sprint(with) != fmt.Sprint(without) {
			t.Errorf("%s: %+v, without needs %+v", strategy, with, without)
		}
	}
}

// Of odd sessions is measured what can be, with its n; where nothing is, recall has no value, and never 100 %. A need
// that is measured is there word for word while nothing is taken out, and gone where all results are cleared.
func TestOddSessions(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	result := func(text, command string) func(*needstest.Talk) {
		return func(talk *needstest.Talk) {
			talk.Call("Bash", `{"command":"first"}`, text)
			for i := range 12 {
				talk.Call("Bash", fmt.Sprintf(`{"command":"step-%d"}`, i), fmt.Sprintf("unrelated_%d output", i))
			}
			talk.Says("so far")
			talk.Waits(90)
			talk.Person("and now")
			talk.Call("Bash", `{"command":"`+command+`"}`, "ok")
		}
	}
	minified := "var " + strings.Repeat("a=b(c,d)||{e:1};", 1<<16) + "zapAllCaches=1"
	for _, tt := range []struct {
		name  string
		talk  func(*needstest.Talk)
		needs int64
	}{
		{"no calls of tools", func(talk *needstest.Talk) { talk.Says("hello"); talk.Person("and"); talk.Says("good bye") }, 0},
		{"usage alone", func(talk *needstest.Talk) { talk.Says(""); talk.Person(""); talk.Says("") }, 0},
		{"an empty result", result("", "grep frobnicateAll"), 0},
		{"a binary result", result(strings.Repeat("\uFFFD\x00\x01", 1<<16), "grep frobnicateAll"), 0},
		{"an edit whose text stands nowhere", func(talk *needstest.Talk) {
			result("ok", "make")(talk)
			talk.Fails("Edit", `{"file_path":"/p/x.go","old_string":"seen by nobody","new_string":"y"}`, "not found")
		}, 0},
		{"paths that differ by a prefix", result("/home/me/p/internal/cache/store.go", "vet internal/cache/store.go"), 1},
		{"paths that differ in a folder", result("/home/me/p/internal/cache/store.go", "vet internal/disk/stored.go"), 0},
		{"an identifier beyond ASCII", result("undefined: größeBerechnen", "grep größeBerechnen"), 1},
		{"10 MB", result(strings.Repeat("nothing of note here\n", 1<<19)+"frobnicateAll", "grep frobnicateAll"), 1},
		{"minified code", result(minified, "grep zapAllCaches"), 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			talk := needstest.Talk{}
			talk.Person("go on")
			tt.talk(&talk)
			for layers, share := range map[string]float64{
				"": 1, "  - time-microcompact: {gap_minutes: 60, keep_recent: 1}\n": 0,
			} {
				c, s := withNeeds(t, written(t, layers), &talk)
				c.Window = 1 << 24
				row, _ := run(t, c, s)
				if n := int64((*recall.Needs)(row.Figures[measures.Needs:]).Total()[recall.Count]); n != tt.needs {
					t.Errorf("%d needs, want %d", n, tt.needs)
				}
				recall, _ := results.LookupMetric("needed_verbatim")
				if got, measured := recall.Value(&row); measured != (tt.needs > 0) || measured && got != share {
					t.Errorf("layers %q: %g, measured %v; want %g", layers, got, measured, share)
				}
			}
		})
	}
}

// In a closed loop the fetch is a round of its own: a call more, whose result weighs what the file weighed and stays in
// the context. Nothing is fetched where nobody fetches.
func TestClosedLoop(t *testing.T) {
	layers := "  - time-microcompact: {gap_minutes: 60, keep_recent: 5}\n"
	c, s := withNeeds(t, written(t, layers), editLater())
	c.Latency = costmodel.DefaultLatency()
	open, before := run(t, c, s)
	c.Agent.Refetch = RefetchAlways
	row, calls := run(t, c, s)
	if row.N(measures.Calls) != open.N(measures.Calls)+1 || row.CallsBy(measures.SourceReread) != 1 ||
		(*recall.Needs)(row.Figures[measures.Needs:])[recall.Fetches] != 1 {
		t.Fatalf("%d calls, %d of them fetch; want one more than %d", row.N(measures.Calls),
			row.CallsBy(measures.SourceReread), open.N(measures.Calls))
	}
	var file int64 // the recorded call and its result
	for i := range s.Blocks {
		if b := &s.Blocks[i]; b.Op == op.Read {
			file += int64(b.Tokens)
		}
	}
	// The call of the fetch is the request as it was, the call of the edit has the call and the file behind it, and what no
	// line shows of a file.
	unseen := file
	if more := calls[19].Context - before[18].Context; calls[18].Context != before[18].Context || more < file || more > file+unseen || calls[18].Round != -1 {
		t.Errorf("%d and %d tokens, want %d and %d to %d more", calls[18].Context, calls[19].Context, before[18].Context, file, file+unseen)
	}
	if row.CostUSD() <= open.CostUSD() || row.Figures[measures.AddedLatency] <= open.Figures[measures.AddedLatency] {
		t.Errorf("$%f and %f s, the open loop $%f and %f s", row.CostUSD(), row.Figures[measures.AddedLatency], open.CostUSD(),
			open.Figures[measures.AddedLatency])
	}
	c.Agent.Refetch, c.Profile = RefetchFitted, nil // no profile, no evidence that anybody fetches
	if row, _ = run(t, c, s); row.N(measures.Calls) != open.N(measures.Calls) {
		t.Errorf("%d calls without evidence, want %d", row.N(measures.Calls), open.N(measures.Calls))
	}
	c, s = withNeeds(t, testConfig(t, "recorded"), editLater())
	c.Agent = Agent{Refetch: RefetchAlways, Elongation: 1}
	if row, _ = run(t, c, s); row.N(measures.Calls) != s.NumCalls() {
		t.Errorf("the recording has %d calls and is replayed with %d", s.NumCalls(), row.N(measures.Calls))
	}
}

// With 20 % more rounds behind a compaction there is one more for every five: of 40 rounds of which all but the first
// few stand behind one.
func TestElongation(t *testing.T) {
	c := testConfig(t, "auto-compact/155k")
	c.Window = 60_000
	s := newSession("s").turns(60, second, 1500).session()
	plain, calls := run(t, c, s)
	first := 0
	for i := range calls {
		if calls[i].Source == measures.SourceCompact {
			first = i
			break
		}
	}
	if plain.N(measures.Compactions) == 0 || first == 0 {
		t.Fatalf("%d compactions", plain.N(measures.Compactions))
	}
	c.Agent.Elongation = 0.2
	row, _ := run(t, c, s)
	extra := row.CallsBy(measures.SourceReread)
	if want := (60 - first) / 5; extra != want {
		t.Errorf("%d rounds more behind %d of 60, want %d", extra, first, want)
	}
}
