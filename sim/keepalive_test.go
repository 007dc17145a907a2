package sim

import (
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/traces"
)

const keepalive = "  - keepalive: {}\n"

// gapSession leaves 19,500 tokens in the cache, for an hour or five minutes, and
// comes back with a prompt of 300 tokens behind a response of 200.
func gapSession(gap int64, hour bool) *traces.Session {
	s := newSession("gap").turns(2, 0, 1000).turns(1, gap, 0).session()
	for i := range s.Threads[0].Rounds {
		if u := &s.Threads[0].Rounds[i].Usage; hour {
			u.Write1h, u.Write5m = u.Write5m, 0
		}
	}
	return s
}

// Opus 4.5 bills a read of the 19,500 tokens with $0.00975 and their re-write
// for five minutes with $0.121875: an expiry costs $0.112125 more than a hit,
// and a keep-alive $0.00975 and a token of output at $25 a million, $0.009775.
// One keeps the prefix over six minutes and two over twelve, and even eleven
// over 54 pay. A gap below the lifetime needs none; behind eleven the layer gives
// up, and what it spent in a gap of three hours is lost.
func TestKeepalivePaysInSomeGaps(t *testing.T) {
	const expiry, each = 0.112125, 0.009775
	for _, tc := range []struct {
		gap   int64
		sent  int64
		saved float64
		given int // gaps given up
	}{
		{4 * minute, 0, 0, 0},
		{6 * minute, 1, expiry - each, 0},
		{12 * minute, 2, expiry - 2*each, 0},
		{54 * minute, 11, expiry - 11*each, 0},
		{180 * minute, 11, -11 * each, 1},
	} {
		s := gapSession(tc.gap, false)
		without, _ := run(t, testConfig(t, "none"), s)
		with, calls := run(t, written(t, keepalive), s)
		if n := int64(with.N(measures.Keepalives)); n != tc.sent || int64(with.CallsBy(measures.SourceKeepalive)) != tc.sent {
			t.Errorf("gap of %d min: %d keep-alives, want %d", tc.gap/minute, n, tc.sent)
		}
		if saved := without.CostUSD() - with.CostUSD(); !near(saved, tc.saved) {
			t.Errorf("gap of %d min: $%.6f saved, want $%.6f", tc.gap/minute, saved, tc.saved)
		}
		for _, c := range calls {
			if want := (prompt.Usage{Read: 19_500, Output: 1}); c.Source == measures.SourceKeepalive && c.Usage != want {
				t.Errorf("gap of %d min: a keep-alive of %+v, want %+v", tc.gap/minute, c.Usage, want)
			}
		}
		if n := with.Reasons["keepalive: enough in one gap"]; n != tc.given {
			t.Errorf("gap of %d min: given up %d times, want %d", tc.gap/minute, n, tc.given)
		}
	}
}

// A prefix of an hour needs one keep-alive at 55 minutes, none in a gap below.
func TestKeepaliveOfAnHour(t *testing.T) {
	for gap, want := range map[int64]int64{54 * minute: 0, 70 * minute: 1, 115 * minute: 2} {
		row, calls := run(t, written(t, keepalive), gapSession(gap, true))
		if n := int64(row.N(measures.Keepalives)); n != want {
			t.Errorf("gap of %d min: %d keep-alives, want %d", gap/minute, n, want)
		}
		if last := calls[len(calls)-1]; last.Miss != exchange.MissNone || last.Usage.Read != 19_500 {
			t.Errorf("gap of %d min: the prompt reads %d: %v", gap/minute, last.Usage.Read, last.Miss)
		}
		if row.Figures[measures.AddedLatency] != 0 {
			t.Errorf("gap of %d min: %g s of waiting", gap/minute, row.Figures[measures.AddedLatency])
		}
	}
}

// While a tool runs, what is sent again is the request that asked for it: no
// call stands without its result (Verify is on).
func TestKeepaliveWhileAToolRuns(t *testing.T) {
	b := newSession("tool").turns(2, 0, 1000)
	b.round(traces.TriggerToolResult, 6*minute, 1000)
	row, calls := run(t, written(t, keepalive), b.session())
	if row.N(measures.Keepalives) != 1 || calls[2].Source != measures.SourceKeepalive {
		t.Fatalf("%d keep-alives", row.N(measures.Keepalives))
	}
	if calls[3].Miss != exchange.MissNone {
		t.Errorf("the results' request misses: %v", calls[3].Miss)
	}
}

// The switches: off, at most one, a prompt of its own behind the request, small
// contexts and sub-agents left alone.
func TestKeepaliveSwitches(t *testing.T) {
	agent := func() *traces.Session {
		b := newSession("a").turns(2, 0, 1000)
		b.thread(traces.Thread{ID: "agent", Kind: traces.ThreadAgent, Parent: 0, ParentRound: 0})
		prefix := b.block(prompt.KindTools, 6000)
		b.s.Threads[1].Prefix = traces.Span{From: prefix, To: prefix + 1}
		b.turns(2, 0, 500).turns(1, 6*minute, 0)
		return b.session()
	}()
	long := gapSession(12*minute, false)
	for _, tc := range []struct {
		layer   string
		session *traces.Session
		sent    int64
		input   int64
	}{
		{"keepalive: {enabled: false}", long, 0, 0},
		{"keepalive: {at_most: 1}", long, 1, 19_500},
		{"keepalive: {every_5m: 2}", long, 5, 19_500},
		{"keepalive: {every_5m: 0}", long, 0, 0},
		{"keepalive: {instruction: 40}", long, 2, 19_540},
		{"keepalive: {min_tokens: 19701}", long, 0, 0}, // 19,700 with the response
		{"keepalive: {min_tokens: 19700}", long, 2, 19_500},
		{"keepalive: {}", agent, 0, 0},
		{"keepalive: {subagents: true}", agent, 1, 7_000},
	} {
		row, calls := run(t, written(t, "  - "+tc.layer+"\n"), tc.session)
		if n := int64(row.N(measures.Keepalives)); n != tc.sent {
			t.Errorf("%s: %d keep-alives, want %d", tc.layer, n, tc.sent)
		}
		for _, c := range calls {
			if c.Source == measures.SourceKeepalive && c.Usage.Input() != tc.input {
				t.Errorf("%s: %d tokens, want %d", tc.layer, c.Usage.Input(), tc.input)
			}
		}
	}
}
