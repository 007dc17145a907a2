package compare

import (
	"slices"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
)

// seeded is a run of one cell under a seed, whose cost and rows can be changed.
func seeded(strategy string, seed uint64, usd float64, change func(*results.Row)) *results.Run {
	r := run(named("c", strategy, nil, "abcdefgh", usd))
	r.Provenance.Seed = seed
	if change != nil {
		for i := range r.Cells[0].Rows.Len() {
			r.Cells[0].Rows.Edit(i, change)
		}
	}
	return r
}

// summarised makes rows ones in which summaries were written.
func summarised(r *results.Row) {
	r.Figures[measures.CallsBySource+measures.ID(measures.SourceCompact)] = 1
}

// Figures are exact where nothing was drawn, in the cell and not by their metric
// alone: sizes of summaries are, but for the recording's summaries, and evictions.
func TestDrawn(t *testing.T) {
	for _, tc := range []struct {
		what, strategy string
		change         func(*results.Row)
		exact          bool
	}{
		{"without summaries", "p", nil, true},
		{"with summaries", "p", summarised, false},
		{"the recording's summaries", measures.StrategyRecorded, summarised, true},
		{"a summary that failed", "p", func(r *results.Row) { r.Figures[measures.FailedCompactions] = 1 }, false},
		{"an eviction", measures.StrategyRecorded,
			func(r *results.Row) { r.Figures[measures.MissesByClass+measures.ID(exchange.MissEviction)] = 1 }, false},
		{"a model's own summary", "p", func(r *results.Row) { r.Figures[measures.LiveCalls] = 1 }, false},
		{"what is read back", "p", func(r *results.Row) { r.Figures[measures.RereadResults] = 1 }, false},
		{"suggestions", "p", func(r *results.Row) {
			r.Figures[measures.CallsBySource+measures.ID(measures.SourceOf("prompt_suggestion"))] = 1
		}, false},
		{"calls no log shows", "p", func(r *results.Row) { r.Figures[measures.CallsBySource+measures.ID(measures.SourceOther)] = 1 }, true},
		{"keep-alives", "p", func(r *results.Row) { r.Figures[measures.CallsBySource+measures.ID(measures.SourceKeepalive)] = 1 }, true},
	} {
		plain := seeded(tc.strategy, 1, 2, nil)
		drawn := seeded(tc.strategy, 1, 3, tc.change)
		for _, sides := range [][2]*results.Run{{plain, drawn}, {drawn, plain}} {
			if f := figure(t, sides[0], sides[1], "cost_usd"); f.Exact != tc.exact {
				t.Errorf("%s: exact %v", tc.what, f.Exact)
			}
			if figure(t, sides[0], sides[1], "added_latency_seconds").Exact {
				t.Errorf("%s: waits are estimates", tc.what)
			}
		}
	}
}

// A setting that leaves something to chance does so in every simulated cell, under
// whatever name the cell has it.
func TestDrawnBySettings(t *testing.T) {
	for _, tc := range []struct {
		strategy, path, value string
		exact                 bool
	}{
		{"none", "client.system.uncached_change", "0.5", false},
		{"none", "server.evict_per_call", "0.01", false},
		{"none", "server.evict_per_call", "0", true},
		{"none", "server.lookback", "30", true},
		{measures.StrategyRecorded, "client.system.uncached_change", "0.5", false},
		{measures.StrategyBilled, "client.system.uncached_change", "0.5", true},
	} {
		for _, swept := range []bool{false, true} {
			sides := []*results.Run{seeded(tc.strategy, 1, 2, nil), seeded(tc.strategy, 2, 3, nil)}
			for _, r := range sides {
				if swept {
					r.Cells[0].Params = map[string]string{tc.path: tc.value}
				} else {
					r.Provenance.Switches = map[string]string{tc.path: tc.value}
				}
			}
			if f := figure(t, sides[0], sides[1], "cost_usd"); f.Exact != tc.exact {
				t.Errorf("%+v, swept %v: exact %v", tc, swept, f.Exact)
			}
		}
	}
}

// A headline speaks of about so much where summaries were drawn, and of nothing
// that could not be chance where only the draws differ: a verdict takes six sessions.
func TestHeadlineOfDraws(t *testing.T) {
	for _, tc := range []struct {
		what          string
		change        func(*results.Row)
		seed          uint64
		only          string // sessions
		want, without string
	}{
		{"exact", nil, 1, "abcdefgh", "**y costs 50.0 % more than x** on the same 8 sessions", "≈"},
		{"exact under another seed", nil, 2, "abcde", "**y costs 50.0 % more than x** on the same 5 sessions", "seeds"},
		{"drawn", summarised, 1, "abcdefgh", "**y costs ≈ 50.0 % more than x** on the same 8 sessions", "seeds"},
		{"drawn, with a verdict", summarised, 2, "abcdefgh", "**y costs ≈ 50.0 % more than x**", "could not be chance"},
		{"drawn, few", summarised, 2, "abcde", "**No difference in cost between x and y that could not be chance** on the same 5 sessions: $15.00 against $10.00", "more than"},
		{"one session", nil, 1, "a", "**y costs 50.0 % more than x** on the same session: ", "1 session:"},
	} {
		x, y := seeded("p", 1, 2, tc.change), seeded("p", tc.seed, 3, tc.change)
		for _, r := range []*results.Run{x, y} {
			r.Cells[0].Rows = results.Rows{}.With(r.Cells[0].Rows.List()[:len(tc.only)]...)
			r.Sum()
		}
		var b strings.Builder
		r := compared(t, Options{}, Input{"x", x}, Input{"y", y})
		if err := Write(&b, "markdown", r); err != nil {
			t.Fatal(err)
		}
		head, _, _ := strings.Cut(b.String(), "\n")
		if !strings.Contains(head, tc.want) || strings.Contains(head, tc.without) {
			t.Errorf("%s: %s", tc.what, head)
		}
		if got := slices.Contains(r.Notes, "The runs have different seeds: x 1, y 2."); got != (tc.seed == 2 && tc.change != nil) {
			t.Errorf("%s: notes %q", tc.what, r.Notes)
		}
	}
}

// Seeds that both runs have are compared, whatever the first seed of each.
func TestSharedSeedsDoNotDiffer(t *testing.T) {
	sweep := func(seeds ...string) *results.Run {
		var cells []results.Cell
		for _, seed := range seeds {
			c := named("c seed="+seed, "c", map[string]string{"seed": seed}, "abcdefgh", 2)
			for i := range c.Rows.Len() {
				c.Rows.Edit(i, summarised)
			}
			cells = append(cells, c)
		}
		return run(cells...)
	}
	x, y := sweep("1", "2", "3"), sweep("2", "3", "4")
	y.Provenance.Seed = 2
	if r := compared(t, Options{}, Input{"x", x}, Input{"y", y}); len(r.Notes) > 0 {
		t.Errorf("notes %q", r.Notes)
	}
}
