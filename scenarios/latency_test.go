package scenarios

import (
	"context"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/results"
)

// What a scenario says by default is what the models say, every setting has a
// key, and every key reaches the loop.
func TestLatencyAndLevelsReachTheLoop(t *testing.T) {
	s := Default()
	if s.Latency != costmodel.DefaultLatency() || s.Levels != sim.DefaultLevels() {
		t.Errorf("defaults %+v and %+v are not those of the models", s.Latency, s.Levels)
	}
	d := expand(t, `
latency: {base: 1s, per_fresh_token: 98us, per_cached_token: 7us, output_rate: 50}
levels: {warning: 30000, error: 10000, blocking: 5000, output_reserve: 8000, block: end}
strategies: [none]
`)
	c, err := (&Plan{Registry: registry(t), Prices: prices(t), Design: d}).config(&d.Cells[0])
	if err != nil {
		t.Fatal(err)
	}
	if want := (costmodel.Latency{Base: 1e9, PerFresh: 98e3, PerCached: 7e3, OutputRate: 50}); c.Latency != want {
		t.Errorf("latency %+v, want %+v", c.Latency, want)
	}
	if want := (sim.Levels{Warning: 30000, Error: 10000, Blocking: 5000, Output: 8000, Block: sim.BlockEnd}); c.Levels != want {
		t.Errorf("levels %+v, want %+v", c.Levels, want)
	}
}

// All problems at once, with the line and the nearest name.
func TestLatencyAndLevelsAreChecked(t *testing.T) {
	f, err := Parse(registry(t), []byte(`latency:
  base: -1s
  per_fresh_token: 2s
levels:
  warning: -5
  blok: end
  block: compat
`), "t.yaml")
	if err == nil {
		_, err = f.Expand()
	}
	if err == nil {
		t.Fatal("accepted")
	}
	for _, want := range []string{
		"latency.base -1s must lie in 0s…1h", "latency.per_fresh_token 2s must lie in 0s…1s",
		`t.yaml:6: unknown key "blok"`, `did you mean "block"?`, `unknown value "compat"`, `did you mean "compact"?`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nsays nothing of %s", err, want)
		}
	}
	_, err = Parse(registry(t), []byte("levels: {warning: 10000, error: 20000}\n"), "t.yaml")
	if f, e := Parse(registry(t), []byte("levels: {warning: 10000, error: 20000}\n"), "t.yaml"); e == nil {
		_, err = f.Expand()
	}
	if err == nil || !strings.Contains(err.Error(), "error 20000 lies further below the limit than warning 10000") {
		t.Errorf("error %v", err)
	}
}

// A sweep over the latency changes the waiting and not the cost of a strategy
// that makes no calls of its own.
func TestLatencySweep(t *testing.T) {
	d := expand(t, "strategies: [truncate-oldest]\nlatency: {per_fresh_token: [0s, 98us]}\n")
	run, err := (&Plan{Registry: registry(t), Prices: prices(t), Design: d}).Run(context.Background(), samples(t))
	if err != nil {
		t.Fatal(err)
	}
	var waits []float64
	for i := range run.Cells {
		if c := &run.Cells[i]; c.Strategy == "truncate-oldest" {
			waits = append(waits, c.Total.Waits[results.WaitFirstToken])
		}
	}
	if len(waits) != 2 || waits[0] == waits[1] {
		t.Errorf("waits %v under two latencies", waits)
	}
}

// A run whose sessions end at the blocking level says what it left out and is
// not compared with the recording.
func TestEndedSessionsAreSaid(t *testing.T) {
	d := expand(t, "strategies: [none]\nverify: true\nlevels: {blocking: 80000, block: end}\n")
	run, err := (&Plan{Registry: registry(t), Prices: prices(t), Design: d}).Run(context.Background(), samples(t))
	if err != nil {
		t.Fatal(err)
	}
	c := &run.Cells[len(run.Cells)-1]
	left := c.Total.Counts.Unsimulated
	if left == 0 || c.Total.Calls+int(left) < run.Workload.Calls {
		t.Fatalf("%d calls, %d left out of %d", c.Total.Calls, left, run.Workload.Calls)
	}
	if _, ok := run.VsRecorded(c); ok {
		t.Error("compared with the recording")
	}
	said := false
	for _, n := range run.Footnotes() {
		said = said || n.Cell == c.Cell && strings.Contains(n.Text, "not simulated behind the blocking level")
	}
	if !said {
		t.Errorf("no footnote among %v", run.Footnotes())
	}
}

// The report says what moves the times of calls.
func TestWaitingIsWorded(t *testing.T) {
	for text, want := range map[string]string{
		"schema: 1\n": "first tokens move by 30.4µs for a token computed and 7.6µs for one read from the cache",
		"latency: {per_fresh_token: 0s, per_cached_token: 0s}\n": "calls take as long as recorded",
		"latency: {base: [1s, 2s]}\n":                            "the latency is assumed as the cell says",
	} {
		if got := expand(t, text).waiting(); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
