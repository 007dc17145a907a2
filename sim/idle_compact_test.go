package sim

import (
	"testing"

	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/traces"
)

// idleSession is a conversation of 262,100 tokens, a pause, and a prompt. Its
// client asks for entries of one hour, or of five minutes.
func idleSession(hour bool, pause int64) *traces.Session {
	s := newSession("s").turns(59, 0, 4000).answer().turns(1, pause, 0).session()
	if hour {
		writeHours(s)
	}
	return s
}

// writeHours makes the client of a session ask for entries of one hour.
func writeHours(s *traces.Session) {
	for i := range s.Threads[0].Rounds {
		u := &s.Threads[0].Rounds[i].Usage
		u.Write1h, u.Write5m = u.Write5m, 0
	}
}

// Where entries live an hour, a conversation of 200,000 tokens or more is
// compacted after 54 idle minutes, on the warm cache: on return a few thousand
// tokens are written instead of all (E3: 19k–106k instead of 440k–884k).
func TestIdleCompaction(t *testing.T) {
	const all = 18_300 + 58*4200 + 200 + 300
	for name, tc := range map[string]struct {
		changes string
		hour    bool
		pause   int64
		compact bool
	}{
		"on, two hours":     {"idle: {enabled: true}", true, 120 * minute, true},
		"off":               {"idle: {enabled: false}", true, 120 * minute, false},
		"back in time":      {"idle: {enabled: true}", true, 50 * minute, false},
		"five minutes only": {"idle: {enabled: true}", false, 120 * minute, false},
		"too small":         {"idle: {enabled: true, min_tokens: 300000}", true, 120 * minute, false},
		"the floor holds":   {"idle: {enabled: true, min_tokens: 1, floor: 300000}", true, 120 * minute, false},
		"half the time":     {"idle: {enabled: true, share: 0.5}", true, 50 * minute, true},
	} {
		c := written(t, "  - full-compact: {trigger: {fixed: 900000}, attachments: {files: {count: 0}}, "+tc.changes+"}\n")
		c.Window = 1_000_000
		row, calls := run(t, c, idleSession(tc.hour, tc.pause))
		if got := row.N(measures.IdleCompactions) == 1; got != tc.compact || row.N(measures.Compactions) > 0 != tc.compact {
			t.Errorf("%s: %d idle compactions of %d", name, row.N(measures.IdleCompactions), row.N(measures.Compactions))
			continue
		}
		last := calls[len(calls)-1].Usage
		if !tc.compact {
			if want := tc.pause < 60*minute; (last.Read > all/2) != want || last.Input() != all {
				t.Errorf("%s: reads %d of %d on return", name, last.Read, last.Input())
			}
			continue
		}
		summary := calls[len(calls)-2]
		if summary.Source != measures.SourceCompact || summary.Usage.Read != all-500 || last.Input() > 25_000 {
			t.Errorf("%s: the summary call of %v reads %d, %d are sent on return", name, summary.Source, summary.Usage.Read, last.Input())
		}
	}
}

// A tool that takes two hours, or waits so long for a permission, leaves no gap: a summary
// call would hold its call without the result, which stands in the next request.
func TestIdleCompactionAtWork(t *testing.T) {
	b := newSession("s").turns(59, 0, 4000)
	b.round(traces.TriggerToolResult, 120*minute, 4000)
	s := b.session()
	writeHours(s)
	c := written(t, "  - full-compact: {trigger: {fixed: 900000}, idle: {enabled: true}}\n")
	c.Window = 1_000_000
	row, calls := run(t, c, s)
	if last := calls[len(calls)-1].Usage.Input(); row.N(measures.Compactions) != 0 || last != 18_300+59*4200 {
		t.Errorf("%d compactions, %d tokens behind the tool; want all %d", row.N(measures.Compactions), last, 18_300+59*4200)
	}
}

// Nobody waits for a compaction in a gap, unless they come back during it.
func TestIdleCompactionWaits(t *testing.T) {
	waits := func(pause int64) float64 {
		c := written(t, "  - full-compact: {trigger: {fixed: 900000}, idle: {enabled: true}}\n")
		c.Window = 1_000_000
		row, _ := run(t, c, idleSession(true, pause))
		if row.N(measures.IdleCompactions) != 1 {
			t.Fatalf("no idle compaction in a pause of %d s", pause/second)
		}
		return row.Figures[measures.AddedLatency]
	}
	if free, caught := waits(120*minute), waits(54*minute+10*second); free != 0 || !(caught > 5) {
		t.Errorf("%g s behind two hours, %g s on coming back in the middle of it", free, caught)
	}
}

// A timer that rings while another one's call is under way is asked again when
// that has ended: neither is lost, and neither rings for ever.
func TestIdleCompactionBesideKeepalives(t *testing.T) {
	c := written(t, "  - full-compact: {trigger: {fixed: 900000}, idle: {enabled: true, share: 0.5}}\n"+
		"  - keepalive: {every_1h: 30.1, at_most: 1}\n")
	c.Window = 1_000_000
	row, _ := run(t, c, idleSession(true, 120*minute))
	if row.N(measures.IdleCompactions) != 1 {
		t.Errorf("%d idle compactions", row.N(measures.IdleCompactions))
	}
}
