package audit

import (
	"fmt"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/internal/breaks"
	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/promptcache"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/summarizer"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces"
)

// watched replays sessions under a strategy and returns what the detector says of
// the conversation's calls against the cache model.
func watched(t *testing.T, strategy string, sessions []*traces.Session) *breaks.Confusion {
	t.Helper()
	registry, err := strategies.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	s, err := registry.Strategy(strategy)
	if err != nil {
		t.Fatal(err)
	}
	var c breaks.Confusion
	var d breaks.Detector
	var records breaks.Records
	loop := sim.NewLoop(sim.Config{
		Strategy: s, Summarizer: summarizer.Default(), Prices: auditPrices(t), Seed: 1,
		Server: func(traces.Cache) sim.Server { return promptcache.New(promptcache.Config{}) },
		Record: func(r *results.CallRecord) {
			call := records.Call(r)
			if v := d.See(&call); r.Round >= 0 {
				c.Add(v.Reason, r.Miss)
			}
		},
	})
	for _, s := range sessions {
		d.Reset()
		records = breaks.Records{}
		if _, err := loop.Run(s); err != nil {
			t.Fatal(err)
		}
	}
	return &c
}

// The detector against the cache model's own truth: the table of docs/breaks.md,
// which -v prints. What it names by the pause or the model is right in 85 of 100
// calls or more (the least is 13 of 15: two cuts of the context fell together
// with a pause); what it calls the server's doing never is, since the plain cache
// model never evicts.
func TestDetectorAgainstTheModel(t *testing.T) {
	for name, sessions := range corpora(t) {
		if name == "codex" {
			continue // a cache of other rules
		}
		for _, strategy := range []string{"recorded", "auto-compact/167k", "truncate-oldest", "none"} {
			c := watched(t, strategy, sessions)
			t.Logf("%s, %s:\n%s", name, strategy, confusionText(c))
			for _, r := range []breaks.Reason{breaks.ReasonExpiry5m, breaks.ReasonExpiry1h, breaks.ReasonModel, breaks.ReasonCompacted} {
				if p, ok := c.Precision(r); ok && p < 0.85 {
					t.Errorf("%s, %s: precision of %s is %.2f", name, strategy, r, p)
				}
			}
			if n := c.Right(breaks.ReasonServer); n > 0 {
				t.Errorf("%s, %s: %d evictions in a cache that never evicts", name, strategy, n)
			}
			if p, ok := c.Recall(breaks.ReasonExpiry5m); ok && p < 0.9 {
				t.Errorf("%s, %s: finds %.2f of the expiries", name, strategy, p)
			}
		}
	}
}

func confusionText(c *breaks.Confusion) string {
	var b strings.Builder
	for r := range breaks.NumReasons {
		said := breaks.Reason(r)
		recall, missed := c.Recall(said)
		if c.Said(said) == 0 && !missed {
			continue
		}
		fmt.Fprintf(&b, "%-10s said %5d", said, c.Said(said))
		if p, ok := c.Precision(said); ok && said.Broke() {
			fmt.Fprintf(&b, ", precision %.3f", p)
		}
		if missed {
			fmt.Fprintf(&b, ", recall %.3f of %d", recall, c.True(said))
		}
		b.WriteByte(':')
		for m, n := range c.Calls[r] {
			if n > 0 {
				fmt.Fprintf(&b, " %s:%d", prompt.MissClass(m), n)
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}
