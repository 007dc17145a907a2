package sim

import (
	"errors"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/facts"
)

// eager asks for a call ahead of every request and has no IntentResult.
type eager struct{}

func (eager) Name() string              { return "eager" }
func (l eager) Clone() strategies.Layer { return l }
func (eager) Reset()                    {}
func (eager) BeforeRequest(t *strategies.Turn) strategies.Outcome {
	return t.Call(prompt.Intent{Source: "eager"})
}

// late asks for a call where none can be waited for.
type late struct{}

func (late) Name() string              { return "late" }
func (l late) Clone() strategies.Layer { return l }
func (late) Reset()                    {}
func (late) AfterResponse(t *strategies.Turn) strategies.Outcome {
	return t.Call(prompt.Intent{Source: "late"})
}

// reckless looks at an entry before the first.
type reckless struct{}

func (reckless) Name() string              { return "reckless" }
func (l reckless) Clone() strategies.Layer { return l }
func (reckless) Reset()                    {}
func (reckless) BeforeRequest(t *strategies.Turn) strategies.Outcome {
	t.Context.At(-1 + t.Context.Len() - t.Context.Len())
	return strategies.Outcome{}
}

// A layer that breaks its contract, or panics, ends the simulation of the session with
// an error that says where, not with a panic and not in silence.
func TestLayersThatBreakTheirContract(t *testing.T) {
	s := newSession("s").turns(3, 0, 1000).session()
	for _, tc := range []struct {
		layer strategies.Layer
		says  string
	}{
		{eager{}, "layer eager asks for a call and has no IntentResult"},
		{late{}, "layer late after_response cannot wait for a call"},
		{reckless{}, "thread 0 round 0: invariant violated: runtime error: index out of range [-1] at "},
	} {
		c := testConfig(t, "none")
		c.Strategy = strategies.NewStrategy("own", "", tc.layer)
		l := NewLoop(c)
		_, err := l.Run(s)
		if !errors.Is(err, ErrInvariant) || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("error %v, want %q", err, tc.says)
		}
	}
}

// Sub-agents of a parent without calls are simulated all the same.
func TestChildrenOfAnEmptyThread(t *testing.T) {
	b := newSession("s")
	b.thread(traces.Thread{ID: "agent", Kind: traces.ThreadAgent, Parent: 0, ParentRound: -1})
	agent := &b.s.Threads[1]
	agent.Prefix.From = b.block(prompt.KindTools, 6000)
	agent.Prefix.To = agent.Prefix.From + 1
	b.turns(3, 0, 500)
	row, _ := run(t, testConfig(t, "none"), b.session())
	if row.N(measures.Calls) != 3 {
		t.Errorf("%d calls, want 3", row.N(measures.Calls))
	}
}

// The recorded summary calls are billed whatever window is asked for: they did
// happen.
func TestRecordedCallsAreKeptAtAnyWindow(t *testing.T) {
	build := func() *traces.Session {
		b := newSession("s").turns(10, 0, 4000)
		summary := b.block(prompt.KindSummary, 3000)
		b.s.Threads[0].Events = []traces.Event{{
			Kind: traces.EventCompact, Round: 10, Summary: traces.Span{From: summary, To: summary + 1}, Kept: 9000, Wait: minute,
		}}
		return b.turns(2, 0, 1000).session()
	}
	for _, window := range []int64{0, 30_000} {
		c := testConfig(t, "recorded")
		c.Window = window
		row, calls := run(t, c, build())
		if row.CallsBy(measures.SourceCompact) != 1 || row.Figures[measures.AddedLatency] != 60 || calls[11].Context != 16000+9000+300 {
			t.Errorf("window %d: %d summary calls, %g s, context %d after it", window,
				row.CallsBy(measures.SourceCompact), row.Figures[measures.AddedLatency], calls[11].Context)
		}
	}
}

// Through 1.x the client counts the last response alone, later what followed it
// too (client count by generation).
func TestClientCountByVersion(t *testing.T) {
	measured := func(version, measure string) []int64 {
		s := newSession("s").turns(4, 0, 4000).session()
		s.Versions = []string{version}
		c := written(t, "  - full-compact: {trigger: {measure: "+measure+", fixed: 167000}}\n")
		var o checks
		c.Observer = &o
		if _, err := NewLoop(c).Run(s); err != nil {
			t.Fatal(err)
		}
		return o.measured
	}
	alone, more := measured("1.0.62", "client_tokens"), measured("2.1.62", "client_tokens")
	for i, got := range measured("2.1.62", "tokens") { // what the server bills
		if want := 18000 + 300 + int64(i)*4200; got != want {
			t.Errorf("call %d: %d true tokens, want %d", i, got, want)
		}
	}
	for i := range alone {
		response := int64(0)
		if i > 0 {
			response = 18000 + 300 + 200 + int64(i-1)*(4000+200)
		}
		if alone[i] != response {
			t.Errorf("call %d: 1.0.62 counts %d, want %d", i, alone[i], response)
		}
		// A result of 4,000 tokens has 12,000 bytes: a quarter is 3,000.
		if want := response + 3000; i > 0 && more[i] != want {
			t.Errorf("call %d: 2.1.62 counts %d, want %d", i, more[i], want)
		}
	}
}

// checks is an observer that keeps what triggers measured.
type checks struct{ measured []int64 }

func (o *checks) Checked(_ Point, c strategies.Check)                      { o.measured = append(o.measured, c.Measured) }
func (*checks) Answered(Point, string, string, strategies.Outcome)         {}
func (*checks) Changed(Point, string, strategies.Boundary)                 {}
func (*checks) Served(Point, string, *exchange.Request, *exchange.Outcome) {}

// Codex counts the reasoning before the last prompt once more, a fifth above its tokens, and no reasoning behind a compaction.
func TestCodexCountsOldReasoning(t *testing.T) {
	s := newSession("s").turns(3, 0, 4000).turns(3, 0, 4000).turns(2, 0, 4000).session()
	s.Agent, s.Models[0] = facts.Codex, "gpt-5.5"
	c := written(t, "  - full-compact: {trigger: {fixed: 200000}}\n")
	var o checks
	c.Observer = &o
	if _, err := NewLoop(c).Run(s); err != nil {
		t.Fatal(err)
	}
	const thinking = 40                                   // a call
	for i, old := range []int64{0, 0, 0, 0, 3, 3, 3, 6} { // calls ahead of the last prompt, as of the last response
		want := int64(0)
		for k := range i {
			want += map[bool]int64{true: 300, false: 4000}[k == 0 || k == 3 || k == 6] + 200
		}
		if i > 0 {
			want += 18000 + old*thinking*6/5
		}
		want += map[bool]int64{true: 225, false: 3000}[i == 0 || i == 3 || i == 6] // a quarter of the bytes
		if got := o.measured[i]; got != want {
			t.Errorf("call %d: counts %d, want %d", i, got, want)
		}
	}
}
