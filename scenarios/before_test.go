package scenarios

import (
	"testing"

	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/tools/tests/scenariostest"
)

// The sample sessions have windows of 200,000 tokens: at that window a run takes their rows from the run before, but for those in which
// the client's own threshold may hold, and at another window it takes none. All rows equal the rows of a run that begins anew.
func TestBefore(t *testing.T) {
	t.Parallel()
	c := scenariostest.Samples(t)
	calls := 0
	run := func(before *results.Run, set ...string) (*results.Run, string) {
		t.Helper()
		p := threeCells(t)
		p.Workers, p.Before = 1, before
		var err error
		if p.Design, err = p.expand("test", []string{"own", "claude-code/2.1", "auto-compact/155k", "none"}, set); err != nil {
			t.Fatal(err)
		}
		calls, p.record = 0, func(string, *results.CallRecord) { calls++ }
		run, err := p.Run(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		return run, encode(t, run)
	}
	before, _ := run(nil)
	for window, held := range map[string]bool{"client.window=200000": true, "client.window=190000": false} {
		_, want := run(nil, window)
		all := calls
		if _, got := run(before, window); got != want {
			t.Errorf("%s: rows differ where a run before has them", window)
		}
		if held && calls > all/2 || !held && calls != all {
			t.Errorf("%s: %d calls of %d are simulated again", window, calls, all)
		}
	}
}
