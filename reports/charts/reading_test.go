package charts

import (
	"slices"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/traces"
)

// Files that could not be read are named in the order of their names, whatever session they belong
// to, three files at most.
func TestUnreadFilesAreNamed(t *testing.T) {
	unread := func(name string) traces.Problem { return traces.Problem{File: name, Text: "torn", Unread: true} }
	c := &traces.Corpus{
		Problems: []traces.Problem{unread("d"), {File: "a", Text: "a bad line"}, unread("b")}, NumProblems: 6, BadLines: 1, Unread: 4, Lines: 1000,
		Sessions: []*traces.Session{{Problems: []traces.Problem{unread("c")}}, {Problems: []traces.Problem{unread("a")}}},
		Inputs:   &traces.Inputs{Files: make([]traces.Input, 8)},
	}
	var w results.Workload
	Remark(&w, c, &traces.Selection{}, "-v")
	want := []string{
		"1 line of 1,000 could not be read, wholly or in part; 6 problems while reading, the 5 told in these lines among them; -v lists them",
		"4 files could not be read to the end; what is missing is not in the figures; a: torn; b: torn; c: torn",
	}
	if !slices.Equal(w.Remarks, want) || !slices.Equal(w.Quality, []results.Share{{Of: "files", What: "unread", Value: 0.5}}) {
		t.Errorf("%q, %v; want %q", w.Remarks, w.Quality, want)
	}
	w = results.Workload{}
	Remark(&w, &traces.Corpus{NumProblems: 2, BadLines: 1, Lines: 10}, &traces.Selection{}, "-v")
	if len(w.Remarks) != 1 || !strings.Contains(w.Remarks[0], "; 2 problems while reading, the one told in these lines among them;") {
		t.Errorf("%q", w.Remarks)
	}
}

// Calls that no line shows stand by model, in one sentence for all sessions.
func TestUnshownCallsByModel(t *testing.T) {
	one := &traces.Session{Quality: traces.Quality{Unshown: []traces.Unshown{{Model: "a", Summaries: 1, Cut: 1}, {Model: "b", Others: 1}}}}
	two := &traces.Session{Quality: traces.Quality{Unshown: []traces.Unshown{{Model: "a", Summaries: 1}}}}
	got := unshown(&traces.Corpus{Sessions: []*traces.Session{one, two, {}}})
	const want = "the bill has 2 summary calls and 1 cut stream of a, and 1 other call of b that no line shows: " +
		"the clients' own sums have their tokens"
	if got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := unshown(&traces.Corpus{Sessions: []*traces.Session{{}}}); got != "" {
		t.Errorf("%q without such calls", got)
	}
}
