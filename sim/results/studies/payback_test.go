package studies

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
)

// Prices of Opus 4.5, USD a token: read 0.5, written for five minutes 6.25, for
// an hour 10 a million.
const (
	opusRead    = 0.5e-6
	opusWrite5m = 6.25e-6
)

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-9 {
		t.Errorf("%s %.6f, want %.6f", what, got, want)
	}
}

// A compaction from 160,000 to 40,000 tokens whose call cost $0.20. The next
// request would have read 150,000 tokens and reads 18,000: of its prefix it
// writes 150,000 − 18,000 − 120,000 = 12,000 that it would have read, at
// $5.75 a million above reading: $0.069. Every call saves 120,000 reads: $0.06.
// $0.269 take 4.48 calls: it is paid behind the fifth.
func TestPaybackOfACompaction(t *testing.T) {
	p := Payback{Saved: 120_000, Calls: 1, CallCost: results.Cost{measures.ClassOutput: 0.2}, Front: 18_000}
	call := LaterCall{Read: 18_000, Context: 41_000, ReadPrice: opusRead, WritePrice: opusWrite5m}
	p.Next(&call, 150_000)
	if p.Rewritten != 12_000 {
		t.Errorf("%d tokens written again, want 12,000", p.Rewritten)
	}
	near(t, "re-writing", p.RewriteUSD, 0.069)
	near(t, "net behind one call", p.NetUSD(), 0.06-0.269)
	call.Read, call.Context = 41_000, 43_000
	for range 3 {
		p.Add(&call)
	}
	if p.PaidAfter != 0 {
		t.Errorf("paid after %d calls, $%.3f of $0.269 are in", p.PaidAfter, p.GainUSD)
	}
	p.Add(&call)
	p.Add(&call)
	if p.PaidAfter != 5 || p.Later != 6 || p.Context != 43_000 {
		t.Errorf("paid after %d of %d calls at %d tokens, want 5 of 6 at 43,000", p.PaidAfter, p.Later, p.Context)
	}
	near(t, "net", p.NetUSD(), 6*0.06-0.269)
	needed, ok := p.Needed()
	if !ok {
		t.Fatal("no break-even")
	}
	near(t, "break-even", needed, 0.269/0.06)
}

// On a cold cache the context would have been written whole: the tokens saved
// are saved at the price of writing, at once (S §4, closed form 2).
func TestPaybackOnAColdCache(t *testing.T) {
	p := Payback{Saved: 120_000, Front: 18_000}
	cold := LaterCall{Read: 0, Context: 40_000, ReadPrice: opusRead, WritePrice: opusWrite5m}
	p.Next(&cold, 0)
	near(t, "gain of the next call", p.GainUSD, 0.75)
	if p.RewriteUSD != 0 || p.PaidAfter != 1 {
		t.Errorf("$%.4f for re-writing, paid after %d calls; want nothing and 1", p.RewriteUSD, p.PaidAfter)
	}
	warm := cold
	warm.Read = 40_000
	p.Add(&warm)
	near(t, "gain with a warm call", p.GainUSD, 0.81)
	static := cold
	static.Read = 18_000 // what stands ahead of the change, shared with other sessions
	p.Add(&static)
	near(t, "gain with an expired call", p.GainUSD, 1.56)
}

// A context that grew never pays back, and has no break-even.
func TestPaybackOfAContextThatGrew(t *testing.T) {
	p := Payback{Saved: -20_000, CallCost: results.Cost{measures.ClassRead: 0.05}, Front: 18_000}
	call := LaterCall{Read: 18_000, ReadPrice: opusRead, WritePrice: opusWrite5m}
	p.Next(&call, 60_000) // 42,000 of its own and 20,000 new ones are written
	if p.Rewritten != 62_000 {
		t.Errorf("%d tokens written again, want 62,000", p.Rewritten)
	}
	if _, ok := p.Needed(); ok || p.PaidAfter != 0 || p.NetUSD() >= 0 {
		t.Errorf("net $%.4f, paid after %d", p.NetUSD(), p.PaidAfter)
	}
}

// The balance of the next request is the difference of two bills: with R of M
// tokens read, and with W of M + Saved.
func TestPaybackIsTheDifferenceOfTwoBills(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string, low, high int64) int64 { return rapid.Int64Range(low, high).Draw(t, name) }
		m := draw("context", 1000, 200_000)
		saved := draw("saved", -m/2, 800_000)
		read := draw("read", 0, m)
		would := draw("would", 0, m+saved)
		c := LaterCall{Read: read, Context: m, ReadPrice: opusRead, WritePrice: opusWrite5m}
		p := Payback{Saved: saved}
		p.Next(&c, would)
		bill := func(read, context int64) float64 {
			return float64(read)*c.ReadPrice + float64(context-read)*c.WritePrice
		}
		if want := bill(would, m+saved) - bill(read, m); math.Abs(p.NetUSD()-want) > 1e-9 {
			t.Fatalf("net $%.9f, the bills differ by $%.9f", p.NetUSD(), want)
		}
	})
}
