package charts

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
)

// TestContextChart: 120 calls of the conversation. Its context begins at 20,000
// tokens and grows by 1,500: at call 99 it reaches 167,000, at call 100 it would
// pass it. Under a threshold of 100,000 the first compaction is ahead of call
// 55, and 53 calls of growth from 21,500 pass it again ahead of call 108. The
// cache expires ahead of calls 41, 81 (and 121).
func TestContextChart(t *testing.T) {
	svg := drawn(t, "context.svg", func(w io.Writer, format string) error {
		return contextDrawing(sweepRun(), twoCells(120)).Draw(w, format)
	})
	wantTexts(t, svg, "Context over the calls of session 5f2c", "Context (tokens)", "Read from the cache (% of input)", "call",
		"session 5f2c · 120 calls of the main conversation · claude-opus-4-6",
		"recorded, 1 compaction", "auto-compact/100000, 2 compactions", "compaction")
}

// TestTrace: places are call numbers; a compaction stands ahead of the call
// after it.
func TestTrace(t *testing.T) {
	calls := twoCells(120)[1]
	tr := newTrace(&calls, "5f2c")
	if diff := cmp.Diff([]shrink{{54.5, 99500}, {107.5, 99500}}, tr.compactions, cmp.AllowUnexported(shrink{})); diff != "" {
		t.Errorf("compactions (-want +got):\n%s", diff)
	}
	if len(tr.calls) != 120 {
		t.Errorf("%d calls, want 120", len(tr.calls))
	}
}

// TestTellingSession: the session with the most calls of the main conversation is shown, but one in which the cells
// differ before one in which they do not: a session of 60 calls never compacts, one of 50 does in one of two cells.
func TestTellingSession(t *testing.T) {
	calls := []results.CellCalls{{}, {Calls: append(conversation("a", 60, 0), conversation("b", 65, 0)...)}}
	if got := tellingSession(calls); got != "b" {
		t.Errorf("session %q, want b: 65 calls against 60", got)
	}
	compacts := func(at int64) []results.CallRecord {
		return append(conversation("a", 60, 0), conversation("b", 50, at)...)
	}
	if got := tellingSession([]results.CellCalls{{Calls: compacts(0)}, {Calls: compacts(60_000)}}); got != "b" {
		t.Errorf("session %q, want b: only there the cells differ", got)
	}
	if got := tellingSession([]results.CellCalls{{Calls: compacts(60_000)}, {Calls: compacts(60_000)}}); got != "a" {
		t.Errorf("session %q, want a: the cells differ nowhere", got)
	}
}

// TestHitChart: 200 calls two minutes apart and a night of twelve hours take 19
// hours. The calls are 200, ten for agents and the summaries' calls.
func TestHitChart(t *testing.T) {
	svg := drawn(t, "hits.svg", func(w io.Writer, format string) error {
		return hitDrawing(sweepRun(), twoCells(200)).Draw(w, format)
	})
	wantTexts(t, svg, "Cache hit ratio over time, session 5f2c", "hours since the start of the session", "recorded", "auto-compact/100000",
		"1 session · weighted by tokens, in steps of 1 hour since the start of each session")
}

// TestBuckets: at most 60 spans, of a width people name.
func TestBuckets(t *testing.T) {
	for _, test := range []struct {
		last time.Duration
		want string
	}{
		{0, "5 minutes"}, {4 * time.Hour, "5 minutes"}, {5 * time.Hour, "15 minutes"}, {59 * time.Hour, "1 hour"},
		{60 * time.Hour, "6 hours"}, {20 * 24 * time.Hour, "1 day"}, {100 * 24 * time.Hour, "7 days"},
		{1000 * 24 * time.Hour, "30 days"},
	} {
		w := bucketOf([]results.CellCalls{{Calls: []results.CallRecord{{Start: int64(test.last)}}}})
		if got := document.Count(w.n, w.name); got != test.want || test.last/w.width() >= maxBuckets {
			t.Errorf("last call at %v: buckets of %s, want %s", test.last, got, test.want)
		}
	}
	got := bucket([]results.CallRecord{
		{Start: 0, Usage: prompt.Usage{Read: 1}}, {Start: 299e9, Usage: prompt.Usage{Read: 2}}, {Start: 900e9, Usage: prompt.Usage{Read: 4}},
	}, 5*time.Minute)
	var reads []int64
	for _, b := range got {
		reads = append(reads, b.Read)
	}
	if diff := cmp.Diff([]int64{3, 0, 0, 4}, reads); diff != "" {
		t.Errorf("reads by bucket (-want +got):\n%s", diff)
	}
}

// TestCallChartErrors: what cannot be drawn is an error that says what is wrong.
func TestCallChartErrors(t *testing.T) {
	for _, test := range []struct {
		context, hits string
		calls         []results.CellCalls
	}{
		{"no session has calls", "no call has input tokens", nil},
		{"no session has calls", "no call has input tokens", []results.CellCalls{{Cell: "c"}}},
		{"no call has a context", "no call has input tokens", []results.CellCalls{{Cell: "c", Calls: []results.CallRecord{{Session: "s"}}}}},
	} {
		err := contextDrawing(sweepRun(), test.calls).Draw(io.Discard, "svg")
		if err == nil || !strings.Contains(err.Error(), test.context) {
			t.Errorf("context: error %v, want one about %q", err, test.context)
		}
		err = hitDrawing(sweepRun(), test.calls).Draw(io.Discard, "svg")
		if err == nil || !strings.Contains(err.Error(), test.hits) {
			t.Errorf("hits: error %v, want one about %q", err, test.hits)
		}
	}
}

// TestOneCall: a session of a single call is drawn.
func TestOneCall(t *testing.T) {
	var b bytes.Buffer
	if err := contextDrawing(sweepRun(), twoCells(1)).Draw(&b, "svg"); err != nil {
		t.Fatal(err)
	}
	wantTexts(t, b.Bytes(), "session 5f2c · 1 call of the main conversation · claude-opus-4-6")
	if err := hitDrawing(sweepRun(), twoCells(1)).Draw(io.Discard, "png"); err != nil {
		t.Fatal(err)
	}
}

// Of 700 calls the share of reads has a point for three at a time, and yet the one that read nothing is there, at its
// call.
func TestEveryMissShows(t *testing.T) {
	calls := make([]results.CallRecord, 700)
	for i := range calls {
		calls[i].Usage = prompt.Usage{Read: 90, Uncached: 10}
	}
	calls[72].Usage = prompt.Usage{Write5m: 100}
	calls[400].Usage = prompt.Usage{} // nothing was sent
	line := shareLine(calls, 3)
	at := slices.Index(line.X, 73)
	if len(line.X) != 234 || at < 0 || line.Y[at] != 0 {
		t.Fatalf("%d points, want 234; one at call 73: %v of %v", len(line.X), at, line.X)
	}
	for i, y := range line.Y {
		if want := 0.9; i != at && y != want {
			t.Errorf("call %v: %v, want %v", line.X[i], y, want)
		}
	}
}

func contextDrawing(run *results.Run, calls []results.CellCalls) Drawing {
	return drawing("context", func() (*document.Chart, error) { return contextChart(run, calls) })
}

func hitDrawing(run *results.Run, calls []results.CellCalls) Drawing {
	return drawing("hit", func() (*document.Chart, error) { return hitChart(run, calls) })
}
