package sim

import (
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/sim/summarizer"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces"
)

// boundaries keeps what layers did to the context.
type boundaries struct{ list []strategies.Boundary }

func (*boundaries) Checked(Point, strategies.Check)                            {}
func (*boundaries) Answered(Point, string, string, strategies.Outcome)         {}
func (*boundaries) Served(Point, string, *exchange.Request, *exchange.Outcome) {}
func (b *boundaries) Changed(_ Point, _ string, changed strategies.Boundary) {
	b.list = append(b.list, changed)
}
func (b *boundaries) last() strategies.Boundary { return b.list[len(b.list)-1] }

// A model writes 4,500 tokens, 3,000 for the summary. Version 1 keeps the
// analysis of 1,500 as text, and takes the usage of the call for the size
// afterwards (001:687, 001:1181); later ones throw it away and count the context.
func TestNamesOfAnalysisAndReport(t *testing.T) {
	after := map[string]int64{}
	for _, names := range []string{"analysis: strip, report: context", "analysis: keep, report: call"} {
		c := written(t, "  - full-compact: {trigger: {fixed: 150000}, attachments: {files: {count: 0}}, "+names+"}\n")
		c.Summarizer = &summarizer.Stub{Sizing: summarizer.Fixed, Median: 3000, Stripped: 0.5, BytesPerToken: 4}
		var o boundaries
		c.Observer = &o
		row, _ := run(t, c, newSession("s").turns(40, 0, 4000).session())
		b := o.last()
		after[names] = b.After
		u := row.UsageBy(measures.SourceCompact)
		want := b.After
		if names == "analysis: keep, report: call" {
			want = u.Input() + u.Output
		}
		if b.Reported != want || u.Output != 4500 {
			t.Errorf("%s: %d reported, want %d; %d tokens of output", names, b.Reported, want, u.Output)
		}
	}
	if d := after["analysis: keep, report: call"] - after["analysis: strip, report: context"]; d != 1500 {
		t.Errorf("an analysis that is kept is %d tokens more, want 1,500", d)
	}
}

// Results of 4,000 tokens and 24,000 bytes, which a client estimates as 8,000: of
// at least 20,000 tokens to keep five rounds are truly that, three are by the
// estimate. A round is 4,200 tokens.
func TestNamesOfCounts(t *testing.T) {
	session := func() *traces.Session {
		s := memorySession()
		for i := range s.Blocks {
			if b := &s.Blocks[i]; b.Kind == prompt.KindToolResult {
				b.Bytes = 24_000
			}
		}
		return s
	}
	behind := func(count string) int64 {
		return behindCompaction(t, notesAndSummary(", count: "+count+", keep: {min_tokens: 20000, min_texts: 0}, extract: {growth: 1, tool_calls: 1, turns: 1, seconds: 0.1}"), session())
	}
	if d := behind("true") - behind("estimate"); d != 2*4200 {
		t.Errorf("counted truly %d tokens more stay, want two rounds, 8,400", d)
	}
}

// The summary call of a recorded compaction reads the 56,100 tokens of the
// conversation, or is made under a prompt of its own; which of the two a version did is assumed by
// its generation.
func TestNamesOfRecordedPrefixes(t *testing.T) {
	for _, tc := range []struct {
		prefix, version string
		read            int64
	}{
		{"shared", "2.1.20", 56_100}, {"own", "2.1.86", 0}, {"by_version", "2.1.86", 56_100}, {"by_version", "2.1.85", 0},
	} {
		b := newSession("s").turns(10, 0, 4000)
		b.s.Versions = []string{tc.version}
		summary := b.block(prompt.KindSummary, 3000)
		b.s.Threads[0].Events = []traces.Event{{
			Kind: traces.EventCompact, Round: 10, Summary: traces.Span{From: summary, To: summary + 1}, Kept: 9000, Wait: minute, PreTokens: 57_000,
		}}
		row, _ := run(t, written(t, "  - recorded: {prefix: "+tc.prefix+"}\n"), b.turns(3, 0, 1000).session())
		if got := row.UsageBy(measures.SourceCompact).Read; got != tc.read || row.CallsBy(measures.SourceCompact) != 1 {
			t.Errorf("%s of %s: the summary call reads %d, want %d", tc.prefix, tc.version, got, tc.read)
		}
	}
}
