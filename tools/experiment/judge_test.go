package main

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
)

// Limits only get tighter, name what is worse, and are asked for where there are none.
func TestLimits(t *testing.T) {
	at := func(cost float64, first int) []*line {
		return []*line{{group: "g", pairs: 4, cost: [2]float64{cost, cost}, worst: [2]float64{cost, cost}, first: first}}
	}
	l := limits{}
	if got := l.check(at(.1, 3)); len(got) != 1 || !strings.HasPrefix(got[0], "5 measures have no limit") {
		t.Errorf("%q, want five measures without a limit", got)
	}
	l.tighten(at(.1, 3))
	l.tighten(at(.2, 2))
	if l["g"]["cost, open"] != .1 || l["g"]["first compaction, right"] != .75 {
		t.Errorf("limits became wider: %v", l)
	}
	if worse := l.check(at(.1, 3)); worse != nil {
		t.Errorf("worse than itself: %v", worse)
	}
	if worse := l.check(at(.11, 2)); len(worse) != 5 {
		t.Errorf("%q, want all five", worse)
	}
	l.tighten(at(.05, 4))
	if l["g"]["worst, closed"] != .05 || l["g"]["first compaction, right"] != 1 {
		t.Errorf("limits did not follow: %v", l)
	}
}

// Each kind of pair is told what it asks, and a recording under a limit is asked for the way back.
func TestPairs(t *testing.T) {
	told := map[string][]string{}
	for _, p := range pairs(func(r *run) bool {
		return r.Name == "claude-survey-A" || r.Name == "claude-survey-P60" || r.Name == "pi-mend-A"
	}) {
		told[p.kind()+" "+p.name()] = p.sets
	}
	for name, want := range map[string][]string{
		"A from A claude-survey-A":        nil,
		"B from A claude-survey-A → W150": {"client.env.CLAUDE_CODE_AUTO_COMPACT_WINDOW=150000"},
		"B from B claude-survey-P60":      nil,
		"A from B claude-survey-P60 → A":  {"client.env.CLAUDE_AUTOCOMPACT_PCT_OVERRIDE=100"},
		"B from A pi-mend-A → R110":       {"full-compact.trigger.reserve=110000"},
		"B from A pi-mend-A → K8":         {"full-compact.keep.tokens=8000"},
	} {
		if got, ok := told[name]; !ok || !slices.Equal(got, want) {
			t.Errorf("%s is told %q, want %q", name, got, want)
		}
	}
	if len(told) != 8 {
		t.Errorf("%d pairs, want 8: %v", len(told), told)
	}
}

// Places are counted in main calls of the first thread; a compaction of two calls is one.
func TestFollow(t *testing.T) {
	call := func(thread, round int32, s measures.Source, tokens int64) results.CallRecord {
		return results.CallRecord{Session: "s", Thread: thread, Round: round, Source: s, Usage: prompt.Usage{Read: tokens}}
	}
	var p prediction
	p.follow([]results.CallRecord{
		call(0, 0, measures.SourceMain, 10), call(1, 0, measures.SourceAgent, 5), call(0, 1, measures.SourceMain, 20),
		call(0, -1, measures.SourceCompact, 21), call(0, -1, measures.SourceCompact, 3), call(0, 2, measures.SourceMain, 7),
		call(0, -1, measures.SourceReread, 8), call(0, 4, measures.SourceMain, 9),
	})
	if !slices.Equal(p.places, []compaction{{2, 20, 7}}) || !slices.Equal(p.rounds, []int{4}) || !slices.Equal(p.left, []int{3}) {
		t.Errorf("compactions %v, fetches %v and %v left out; want one behind the second main call, one ahead of round 4, and round 3", p.places, p.rounds, p.left)
	}
}

// A look that is left out where the agent really looked less often is as right as a further one where it looked more often. The
// recording looks before steps 1 and 2 (calls 1 and 3), the other run before steps 1, 3 and 3 (calls 1, 4 and 5).
func TestForetold(t *testing.T) {
	o := &outcome{real: &bill{Rounds: []int{1, 4, 5}}, looks: []int{1, 3}, rule: &prediction{rounds: []int{5, 6}, left: []int{3, 1}}}
	if all, right := o.foretold(); all != 4 || right != 2 { // before steps 3 and 4, and less before 2 and 1
		t.Errorf("%d rounds, %d of them right; want 4 and 2", all, right)
	}
}

// What is told is the mean of the summaries that the server writes: the first of mid has 831 tokens (counted 2026-11-29), and all have 400 to 1,200.
func TestToldLength(t *testing.T) {
	s := newScript("mid")
	least, most := math.MaxInt, 0
	for k := range maxSummaries {
		n := tokens(s.Threads[0].summary(k), s.Density)
		least, most = min(least, n), max(most, n)
	}
	if first := tokens(s.Threads[0].summary(0), s.Density); first != 831 {
		t.Errorf("the first summary has %d tokens, want 831", first)
	}
	if got := s.summaryTokens(); got <= least || got >= most || least < 400 || most > 1200 {
		t.Errorf("told %d tokens of summaries of %d to %d", got, least, most)
	}
}
