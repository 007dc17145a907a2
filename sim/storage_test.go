package sim

import (
	"runtime"
	"testing"

	"github.com/compactsim/compactsim/traces"
)

// A loop that has simulated a large session and then a small one keeps what the
// large one needs.
func TestLoopKeepsItsStorage(t *testing.T) {
	c := testConfig(t, "claude-code/2026-03")
	c.Verify = false
	l := NewLoop(c)
	small, large := newSession("a").turns(5, 0, 1000).session(), branched()
	once := func(s *traces.Session) func() {
		return func() {
			if _, err := l.Run(s); err != nil {
				t.Fatal(err)
			}
		}
	}
	once(large)()
	apart := testing.AllocsPerRun(20, once(small)) + testing.AllocsPerRun(20, once(large))
	both := testing.AllocsPerRun(20, func() { once(small)(); once(large)() })
	if both > apart+10 {
		t.Errorf("%v allocations for both in turn, %v apart", both, apart)
	}
}

// Where nothing fires a call allocates nothing, whatever layers look at it: ten
// rounds more cost no allocation more.
func TestSteadyStateAllocatesNothing(t *testing.T) {
	for _, strategy := range []string{"none", "recorded", "claude-code/1", "claude-code/2.1", "claude-code/2026-03", "claude-code/2026-10"} {
		c := testConfig(t, strategy)
		c.Verify = false
		l := NewLoop(c)
		allocs := func(rounds int) float64 {
			s := newSession("s").turns(rounds, 0, 10).session()
			return testing.AllocsPerRun(50, func() {
				if row, err := l.Run(s); err != nil || len(row.Firings) > 0 {
					t.Fatal(err, row.Firings)
				}
			})
		}
		more := allocs(20)                   // the first run makes what later ones use again
		if few := allocs(10); more > few+5 { // one a call would be ten
			t.Errorf("%s: %v allocations in 20 rounds, %v in 10", strategy, more, few)
		}
	}
}

// What a client knows of the files on its disk takes the storage of the run before: a session of 1,000 calls with some 1,000 files takes
// 300 kB a run if each makes it anew, and 16 kB now.
func TestFilesTakeTheirStorageAgain(t *testing.T) {
	c := testConfig(t, "auto-compact/167k")
	c.Verify = false
	l, s := NewLoop(c), benchSession(1000, 1400).session()
	const runs = 5
	var before, after runtime.MemStats
	for range runs + 1 {
		if _, err := l.Run(s); err != nil {
			t.Fatal(err)
		}
		if before.TotalAlloc == 0 {
			runtime.ReadMemStats(&before)
		}
	}
	runtime.ReadMemStats(&after)
	if each := (after.TotalAlloc - before.TotalAlloc) / runs; each > 100_000 {
		t.Errorf("%d bytes a run", each)
	}
}

// A session without a date is priced as today's is, at one price throughout.
func TestUndatedSessionsHaveOnePrice(t *testing.T) {
	cost := func(start int64) float64 {
		b := newSession("s")
		b.s.Start, b.s.Models = start, []string{"claude-sonnet-4-5"}
		b.turns(60, 0, 4000)
		for i := range b.s.Threads[0].Rounds {
			b.s.Threads[0].Rounds[i].At = start
		}
		row, _ := run(t, testConfig(t, "none"), b.session())
		return row.CostUSD()
	}
	if undated, dated := cost(0), cost(1_790_000_000*second); undated != dated {
		t.Errorf("$%.4f without a date, $%.4f at the newest price", undated, dated)
	}
}
