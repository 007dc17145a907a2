package audit

import (
	"fmt"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/breaks"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/promptcache"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/confusion"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/sim/summarizer"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/facts"
)

// watched replays sessions under a strategy and returns what the detector says of
// the conversation's calls against the cache model.
func watched(t *testing.T, strategy string, sessions []*traces.Session) *confusion.Matrix {
	t.Helper()
	registry, err := strategies.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	s, err := registry.Strategy(strategy)
	if err != nil {
		t.Fatal(err)
	}
	var c confusion.Matrix
	var d breaks.Detector
	var records summaryCalls
	loop := sim.NewLoop(sim.Config{
		Strategy: s, Summarizer: summarizer.Default(), Prices: auditPrices(t), Seed: 1,
		Server: func(facts.Cache) sim.Server { return promptcache.New(promptcache.Config{}) },
		Watch: sim.Watch{Record: func(r *results.CallRecord) {
			call := records.Call(r)
			if v := d.See(&call); r.Round >= 0 {
				c.Add(v.Reason, r.Miss)
			}
		}},
	})
	for _, s := range sessions {
		d.Reset()
		records = summaryCalls{}
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
			for _, r := range []confusion.Reason{confusion.Expiry5m, confusion.Expiry1h, confusion.Model, confusion.Compacted} {
				if p, ok := c.Precision(r); ok && p < 0.85 {
					t.Errorf("%s, %s: precision of %s is %.2f", name, strategy, r, p)
				}
			}
			if n := c.Right(confusion.Server); n > 0 {
				t.Errorf("%s, %s: %d evictions in a cache that never evicts", name, strategy, n)
			}
			if p, ok := c.Recall(confusion.Expiry5m); ok && p < 0.9 {
				t.Errorf("%s, %s: finds %.2f of the expiries", name, strategy, p)
			}
		}
	}
}

func confusionText(c *confusion.Matrix) string {
	var b strings.Builder
	for r := range confusion.NumReasons {
		said := confusion.Reason(r)
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
		for m, n := range c.Calls(said) {
			if n > 0 {
				fmt.Fprintf(&b, " %s:%d", exchange.MissClass(m), n)
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// summaryCalls makes calls of call records: the simulated ones of a session, in order
// of completion. The zero value is ready to use.
//
// A record does not say that the messages were replaced. A client knows because
// it made the summary call: the call of the conversation behind one is taken for
// the first after a compaction.
type summaryCalls struct {
	compacted map[int32]bool // threads whose summary call has returned
}

// Call returns the call of a record.
func (r *summaryCalls) Call(c *results.CallRecord) breaks.Call {
	out := breaks.Call{
		Source: c.Source, Thread: c.Thread, Model: c.Model, At: c.Start, End: c.End,
		Read: c.Usage.Read, Context: c.Context,
	}
	switch {
	case c.Source == measures.SourceCompact:
		if r.compacted == nil {
			r.compacted = map[int32]bool{}
		}
		r.compacted[c.Thread] = true
	case c.Round >= 0 && r.compacted[c.Thread]:
		out.Compacted = true
		delete(r.compacted, c.Thread)
	}
	return out
}

// The call behind a summary call is the first after a compaction, on its own
// thread only.
func TestRecords(t *testing.T) {
	var r summaryCalls
	record := func(source measures.Source, thread, round int32) *results.CallRecord {
		return &results.CallRecord{Source: source, Thread: thread, Round: round, Model: "m", Start: 1, End: 2, Usage: prompt.Usage{Read: 7}, Context: 9}
	}
	for i, step := range []struct {
		record *results.CallRecord
		want   bool
	}{
		{record(measures.SourceMain, 0, 0), false},
		{record(measures.SourceCompact, 0, -1), false},
		{record(measures.SourceAgent, 1, 0), false},
		{record(measures.SourceOf("prompt_suggestion"), 0, -1), false},
		{record(measures.SourceMain, 0, 1), true},
		{record(measures.SourceMain, 0, 2), false},
	} {
		c := r.Call(step.record)
		if c.Compacted != step.want {
			t.Errorf("record %d: compacted %v, want %v", i, c.Compacted, step.want)
		}
		if c.Read != 7 || c.Context != 9 || c.At != 1 || c.End != 2 || c.Model != "m" {
			t.Errorf("record %d became %+v", i, c)
		}
	}
}
