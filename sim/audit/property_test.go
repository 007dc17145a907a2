package audit

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/op"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/facts"
	"github.com/compactsim/compactsim/traces/signs"
)

// drawScene makes a session that nobody recorded: clocks that run back, calls
// without times, tokens or prices, results and events anywhere.
func drawScene(t *rapid.T) *scene {
	k := newScene(rapid.StringMatching(`[a-c]`).Draw(t, "id"))
	k.s.Agent = rapid.SampledFrom([]string{facts.ClaudeCode, facts.Codex}).Draw(t, "agent")
	k.s.Models = append(k.s.Models, "nobody-1")
	count := rapid.Int64Range(0, 200_000)
	for range rapid.IntRange(0, 8).Draw(t, "calls") {
		if rapid.IntRange(0, 3).Draw(t, "acts") == 0 {
			k.event(traces.Event{
				Kind:  traces.EventKind(rapid.IntRange(0, traces.NumEventKinds-1).Draw(t, "kind")),
				Saved: rapid.Int32Range(0, 100_000).Draw(t, "saved"), Kept: rapid.Int32Range(0, 50_000).Draw(t, "kept"),
			})
		}
		u := prompt.Usage{
			Uncached: count.Draw(t, "uncached"), Read: count.Draw(t, "read"), Write5m: count.Draw(t, "5m"),
			Write1h: count.Draw(t, "1h"), Output: count.Draw(t, "output"),
		}
		if rapid.IntRange(0, 4).Draw(t, "counted") == 0 {
			u = prompt.Usage{}
		}
		pause := rapid.Int64Range(-30, 120).Draw(t, "pause") * minute
		r := k.call(pause, u)
		r.Wait = max(0, pause)
		r.Model = uint16(rapid.IntRange(0, 1).Draw(t, "model"))
		if rapid.IntRange(0, 4).Draw(t, "timed") == 0 {
			r.At, r.Flags = 0, signs.NoTime
		}
		for range rapid.IntRange(0, 2).Draw(t, "results") {
			k.result(1, op.Op(rapid.IntRange(0, 3).Draw(t, "op")), rapid.Int32Range(0, 30_000).Draw(t, "tokens"))
		}
	}
	return k
}

// Whatever was recorded, every figure is a number, no cost is negative, no
// call is lost, and results of tools cost no more than was billed.
func TestAnySession(t *testing.T) {
	prices := auditPrices(t)
	rapid.Check(t, func(t *rapid.T) {
		var sessions []*traces.Session
		calls := 0
		for range rapid.IntRange(0, 3).Draw(t, "sessions") {
			k := drawScene(t)
			sessions = append(sessions, k.s)
			calls += k.s.NumCalls()
		}
		r := ran(t, sessions, Options{Prices: prices})
		if r.Total.Calls != calls {
			t.Fatalf("%d calls of %d", r.Total.Calls, calls)
		}
		if _, err := json.Marshal(r); err != nil { // refuses what is no number
			t.Fatal(err)
		}
		for _, s := range r.Splits[1:] {
			var sum Sum
			for i := range s.Lines {
				sum.Plus(&s.Lines[i].Sum)
			}
			if sum.Calls != calls || math.Abs(sum.USD-r.Total.USD) > 1e-6 {
				t.Fatalf("by %s: %+v of %+v", s.By, sum, r.Total)
			}
		}
		large := 0.0
		for _, f := range r.Findings {
			if strings.HasPrefix(f.Name, "large_") && f.Name != "large_context" {
				large += f.USD
			}
			if f.USD < 0 || f.Count <= 0 || f.Tokens < 0 {
				t.Fatalf("finding %+v", f)
			}
		}
		if large > r.Total.USD+1e-9 {
			t.Fatalf("large results cost $%g of $%g", large, r.Total.USD)
		}
		for _, c := range r.Content {
			if c.Tokens < 0 || c.Final < 0 || c.USD < -1e-9 {
				t.Fatalf("content %+v", c)
			}
		}
	})
}
