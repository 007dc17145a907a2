package promptcache_test

import (
	"runtime"
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/promptcache"
)

// day sends calls calls of each of sessions conversations, which begin evenly over
// a day and call every 20 s, and returns the most entries that were stored at once.
func day(a *promptcache.Anthropic, sessions, calls int) int {
	s := newSession(calls)
	markers := []exchange.Marker{{Position: 0}, {Position: 1}, {}}
	r := exchange.Request{MinTokens: 1024, Markers: markers, Change: prompt.NoChange}
	gap := 86400 * second / int64(sessions)
	most := 0
	for t := int64(0); t < 86400*second+int64(calls)*20*second; t += gap {
		now := t
		for k := range calls {
			i := (t - int64(k)*20*second) / gap
			if t < int64(k)*20*second || i >= int64(sessions) {
				continue
			}
			end := s.ends[k]
			r.Thread, r.Owner, r.Entries = uint32(i), uint32(i), s.entries[:end]
			markers[2].Position = int32(end - 1)
			o := a.Begin(now, &r)
			a.FirstToken(now, o.Ticket)
			a.End(now, o.Ticket, 0)
		}
		most = max(most, a.Entries())
	}
	return most
}

// What has expired is released: a day of 2,000 conversations of 20 calls writes
// 44,000 entries. One begins every 43.2 s and its entries, 22 at the end, live
// until 680 s later, so at most 16 conversations have at most 352 at any time. The
// table is swept when it is half full and grows when the sweep leaves a quarter:
// less than four times as many are stored, the entries of the next request included.
func TestADayKeepsWhatLives(t *testing.T) {
	const most = 4 * (352 + exchange.MaxMarkers)
	a := promptcache.New(promptcache.Config{})
	if n := day(a, 2000, 20); n < 128 || n > most {
		t.Errorf("%d entries are stored at most, want 128 to %d", n, most)
	}
	a.Sweep(48 * 3600 * second)
	if a.Entries() != 0 || a.Lineages() != 0 {
		t.Errorf("%d entries and %d lineages stay when all have expired", a.Entries(), a.Lineages())
	}
}

// BenchmarkDay is a day of 10,000 conversations of 100 calls on one cache, and what stays on its
// heap.
func BenchmarkDay(b *testing.B) {
	const sessions, calls = 10_000, 100
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var a *promptcache.Anthropic
	most := 0
	for b.Loop() {
		a = promptcache.New(promptcache.Config{})
		most = day(a, sessions, calls)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	size := float64(after.HeapAlloc - before.HeapAlloc)
	b.ReportMetric(size/1e6, "MB")
	b.ReportMetric(float64(most), "entries")
	b.ReportMetric(size/float64(most), "bytes/entry")
	b.ReportMetric(float64(b.N)*sessions*calls/b.Elapsed().Seconds(), "calls/s")
	runtime.KeepAlive(a)
}
