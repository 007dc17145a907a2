package scenarios

import (
	"context"
	"reflect"
	"sync/atomic"
	"testing"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/studies"
	"github.com/compactsim/compactsim/tools/tests/scenariostest"
	"github.com/compactsim/compactsim/traces/store"
)

// Sessions that are loaded a part at a time have the figures, the compactions and the calls of those that are all in
// memory, alone and in cohorts that share a cache: 36 sessions of some 250 calls are more than a part.
func TestRowsFromStore(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long")
	}
	type outcome struct {
		rows   string
		calls  []results.CellCalls
		chains []studies.Chains
	}
	cohorts := []string{"session", "project"}
	got := map[string]*[2]outcome{"session": {}, "project": {}}
	c := scenariostest.Made(t, 36)
	for i := range 2 {
		if i > 0 {
			c, _ = scenariostest.Stored(t, c)
		}
		for _, cohort := range cohorts {
			p := threeCells(t)
			p.Workers = 1 + i
			var err error
			if p.Design, err = p.expand("test", []string{"none", "auto-compact/167k"}, []string{"sessions.cohort=" + cohort}); err != nil {
				t.Fatal(err)
			}
			run, err := p.Run(context.Background(), c)
			if err != nil {
				t.Fatal(err)
			}
			x := &got[cohort][i]
			x.rows = encode(t, run)
			if x.calls, x.chains, err = p.Follow(context.Background(), c, run); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, cohort := range cohorts {
		memory, kept := &got[cohort][0], &got[cohort][1]
		if memory.rows != kept.rows {
			t.Errorf("cohort %s: rows from a store:\n%s\nwant\n%s", cohort, kept.rows, memory.rows)
		}
		if len(memory.calls) == 0 || !reflect.DeepEqual(memory.calls, kept.calls) {
			t.Errorf("cohort %s: other calls from a store", cohort)
		}
		if len(memory.chains) == 0 || !reflect.DeepEqual(memory.chains, kept.chains) {
			t.Errorf("cohort %s: other compactions from a store", cohort)
		}
	}
}

// sightsFound counts the sights that a store has.
type sightsFound struct {
	*store.Store
	n atomic.Int32
}

func (s *sightsFound) Get(key string, into any) bool {
	ok := s.Store.Get(key, into)
	if list, is := into.(*[]keptSight); is && ok {
		s.n.Add(int32(len(*list)))
	}
	return ok
}

// A run over sessions that an earlier one has seen takes what was seen. It bills anew what has changed: prices, their
// date, a session, or the id that a session has beside others.
func TestSightsOfTheLastRun(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long")
	}
	c, kept := scenariostest.Stored(t, scenariostest.Made(t, 17))
	aliases, err := threeCells(t).Prices.WithAliases(map[string]string{c.Sessions[0].Models[0]: "claude-haiku-4-5"})
	if err != nil {
		t.Fatal(err)
	}
	grow := func() {
		whole, err := c.Sessions[7].Load()
		if err != nil {
			t.Fatal(err)
		}
		whole.Threads[0].Rounds[0].Usage.Uncached += 100_000
		head := whole.Head()
		if !whole.Keep(kept, "grown") {
			t.Fatal("the session is not kept")
		}
		c.Sessions[7] = head.FromStore(kept, "grown", nil)
	}
	for i, test := range []struct {
		prices *costmodel.Table
		date   string
		change func()
		found  int32
	}{
		{}, {found: 17}, {prices: aliases}, {prices: aliases, found: 17}, {date: "2026-10-01"}, {date: "2026-10-01", found: 17},
		{change: grow, found: 17}, {found: 17}, {change: func() { c.Sessions[3].ID += "-2" }, found: 17},
	} {
		if test.change != nil {
			test.change()
		}
		var rows [2]string
		from := &sightsFound{Store: kept}
		for k := range rows {
			p := threeCells(t)
			if test.prices != nil {
				p.Prices = test.prices
			}
			if test.date != "" {
				if p.Design, err = p.expand("test", []string{"none"}, []string{"prices.at=" + test.date}); err != nil {
					t.Fatal(err)
				}
			}
			if c.Keep(nil, nil); k == 0 {
				c.Keep(from, nil)
			}
			run, err := p.Run(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			rows[k] = encode(t, run)
		}
		if rows[0] != rows[1] {
			t.Errorf("run %d: rows with a store:\n%s\nwant\n%s", i, rows[0], rows[1])
		}
		if n := from.n.Load(); n != test.found {
			t.Errorf("run %d: %d sights found, want %d", i, n, test.found)
		}
	}
}
