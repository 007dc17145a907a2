package sim

import (
	"context"
	"math"
	"testing"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/sim/summarizer"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
	"github.com/compactsim/compactsim/traces/synthetic"
)

// near reports whether two times are equal to a microsecond, s.
func near(a, b float64) bool { return math.Abs(a-b) < 1e-6 }

// latencySession has three calls with the usage the plain cache gives them: the
// third, a prompt after a pause, reads what the second left when it comes in
// time.
func latencySession(pause int64) *traces.Session {
	b := newSession("latency").turns(2, 0, 1000).turns(1, pause, 0)
	rounds := b.s.Threads[0].Rounds
	rounds[0].Usage = prompt.Usage{Write5m: 18_300, Output: 200}
	rounds[1].Usage = prompt.Usage{Read: 18_300, Write5m: 1_200, Output: 200}
	rounds[2].Usage = prompt.Usage{Read: 19_500, Write5m: 500, Output: 200}
	return b.session()
}

// A call that reads as much as the recorded one takes as long. One whose prefix
// has expired computes 19,500 tokens that the recorded one read: at 30.4 − 7.6
// µs each that is 0.4446 s until its first token and until its end.
func TestShiftedFirstTokens(t *testing.T) {
	for _, tc := range []struct {
		pause int64
		shift float64
	}{{minute, 0}, {6 * minute, 0.4446}} {
		c := testConfig(t, "none")
		c.Latency = costmodel.DefaultLatency()
		row, calls := run(t, c, latencySession(tc.pause))
		if took := float64(calls[2].End-calls[2].Start) / 1e9; !near(took, 5+tc.shift) {
			t.Errorf("pause of %d s: the call takes %g s, want 5 and %g", tc.pause/second, took, tc.shift)
		}
		want := [3]float64{measures.WaitFirstToken: tc.shift}
		if !near(row.WaitFor(measures.WaitFirstToken), tc.shift) || !near(row.Figures[measures.AddedLatency], tc.shift) {
			t.Errorf("pause of %d s: %g s added, %v, want %v", tc.pause/second, row.Figures[measures.AddedLatency],
				row.Figures[measures.Waits:measures.SecondsAt], want)
		}
	}
}

// A recorded miss that the simulation does not have gives time back, but no
// first token comes ahead of the base: 19,500 × 22.8 µs = 0.4446 s before 2 s
// would be 1.5554 s, and the base is 1.71 s.
func TestNoFirstTokenAheadOfTheBase(t *testing.T) {
	s := latencySession(minute)
	s.Threads[0].Rounds[2].Usage = prompt.Usage{Write5m: 20_000, Output: 200}
	c := testConfig(t, "none")
	c.Latency = costmodel.DefaultLatency()
	row, _ := run(t, c, s)
	if !near(row.Figures[measures.AddedLatency], 1.71-2) {
		t.Errorf("%g s added, want 1.71 − 2", row.Figures[measures.AddedLatency])
	}
	c.Latency.Base = 0
	if row, _ = run(t, c, s); !near(row.Figures[measures.AddedLatency], -0.4446) {
		t.Errorf("without a base %g s added, want −0.4446", row.Figures[measures.AddedLatency])
	}
	c.Latency = costmodel.Latency{}
	if row, _ = run(t, c, s); row.Figures[measures.AddedLatency] != 0 {
		t.Errorf("without a model %g s added", row.Figures[measures.AddedLatency])
	}
}

// Nothing is known of a recorded call without usage: its time stays.
func TestShiftNeedsRecordedUsage(t *testing.T) {
	s := latencySession(6 * minute)
	s.Threads[0].Rounds[2].Usage = prompt.Usage{Output: 200}
	c := testConfig(t, "none")
	c.Latency = costmodel.DefaultLatency()
	if row, _ := run(t, c, s); row.Figures[measures.AddedLatency] != 0 {
		t.Errorf("%g s added", row.Figures[measures.AddedLatency])
	}
}

// The recording's own waiting for a compaction is taken out of its pauses and
// put in again by its replay: 60 s. The same holds with the latency model where
// the cache does as recorded.
func TestRecordedCompactionWaits(t *testing.T) {
	b := newSession("s").turns(1, 0, 0)
	summary := b.block(prompt.KindSummary, 3000)
	b.s.Threads[0].Events = []traces.Event{{
		Kind: traces.EventCompact, Round: 1, Summary: traces.Span{From: summary, To: summary + 1}, Kept: 9000, Wait: minute,
	}}
	b.turns(1, 10*second, 0)
	b.s.Threads[0].Rounds[0].Usage = prompt.Usage{Write5m: 18_300, Output: 200}
	b.s.Threads[0].Rounds[1].Usage = prompt.Usage{Read: 16_000, Write5m: 9_300, Output: 200}
	for _, latency := range []costmodel.Latency{{}, costmodel.DefaultLatency()} {
		c := testConfig(t, "recorded")
		c.Latency = latency
		row, calls := run(t, c, b.session())
		if want := [3]float64{measures.WaitCompaction: 60}; [3]float64(row.Figures[measures.Waits:measures.SecondsAt]) != want ||
			row.Figures[measures.AddedLatency] != 60 {
			t.Errorf("waits %v of %g s, want %v", row.Figures[measures.Waits:measures.SecondsAt], row.Figures[measures.AddedLatency], want)
		}
		// The prompt comes 10 s behind the first response, as recorded, and waits.
		if at := (calls[2].Start - calls[0].End) / second; at != 70 {
			t.Errorf("the call behind the compaction begins %d s after the response, want 10 + 60", at)
		}
	}
}

// rereader asks once for a call whose time nobody gives.
type rereader struct{ done bool }

func (*rereader) Name() string            { return "rereader" }
func (*rereader) Clone() strategies.Layer { return &rereader{} }
func (l *rereader) Reset()                { l.done = false }
func (l *rereader) BeforeRequest(t *strategies.Turn) strategies.Outcome {
	if l.done || t.Round < 1 {
		return strategies.Outcome{}
	}
	l.done = true
	return t.Call(prompt.Intent{Source: "reread", Instruction: 100, Known: &prompt.Answer{Output: 150}})
}
func (*rereader) IntentResult(*strategies.Turn, *prompt.Result) strategies.Outcome {
	return strategies.Outcome{Verdict: strategies.Done}
}

// A call without a time takes what the model says, and the person waits for it:
// 18,300 tokens read, 200 + 1,000 + 100 computed and 150 written are 1.71 +
// 0.13908 + 0.03952 + 2 s. It is no compaction.
func TestTimeOfALayersCall(t *testing.T) {
	c := testConfig(t, "none")
	c.Strategy = strategies.NewStrategy("own", "", &rereader{})
	c.Latency = costmodel.DefaultLatency()
	row, _ := run(t, c, latencySession(minute))
	if want := 1.71 + 0.13908 + 0.03952 + 2; !near(row.WaitFor(measures.WaitOther), want) {
		t.Errorf("%g s, want %g", row.WaitFor(measures.WaitOther), want)
	}
	if row.WaitFor(measures.WaitCompaction) != 0 {
		t.Errorf("%g s of compactions", row.WaitFor(measures.WaitCompaction))
	}
}

// gapCaller compacts for a minute from ten seconds into the first gap on.
type gapCaller struct{ done bool }

func (*gapCaller) Name() string            { return "gap-caller" }
func (*gapCaller) Clone() strategies.Layer { return &gapCaller{} }
func (l *gapCaller) Reset()                { l.done = false }
func (l *gapCaller) Wake(t *strategies.Turn) int64 {
	if l.done || t.Usage.Input() == 0 {
		return 0
	}
	return t.Now - t.Idle + 10*second
}
func (l *gapCaller) Timer(t *strategies.Turn) strategies.Outcome {
	l.done = true
	return t.Call(prompt.Intent{Source: "compact", Instruction: 100, Known: &prompt.Answer{Output: 1, First: second, Total: minute}})
}
func (*gapCaller) IntentResult(*strategies.Turn, *prompt.Result) strategies.Outcome {
	return strategies.Outcome{Verdict: strategies.Done}
}

// A compaction in a gap costs the person what is left of the compaction when the prompt
// comes: 40 s of a minute behind 30 s, nothing behind two minutes.
func TestWaitForACompactionInAGap(t *testing.T) {
	for pause, want := range map[int64]float64{30 * second: 40, 2 * minute: 0} {
		s := newSession("s").turns(1, 0, 0).turns(1, pause, 0).session()
		c := testConfig(t, "none")
		c.Strategy = strategies.NewStrategy("own", "", &gapCaller{})
		row, _ := run(t, c, s)
		if row.WaitFor(measures.WaitCompaction) != want || row.Figures[measures.AddedLatency] != want {
			t.Errorf("pause of %d s: waits %v of %g s, want %g", pause/second, row.Figures[measures.Waits:measures.SecondsAt],
				row.Figures[measures.AddedLatency], want)
		}
	}
}

// A summary takes the summariser's time and the time of its input: with 1 s to the first token, 10
// tokens a second and 100 tokens that is 11 s, and for every token computed 30.4 µs, where the
// fork reads most tokens at 7.6 µs.
func TestColdSummariesTakeLonger(t *testing.T) {
	s := newSession("s").turns(20, 0, 4000).session()
	var took [2]float64
	for i, way := range []string{"fork", "streaming"} {
		c := written(t, "  - full-compact: {trigger: {fixed: 60000}, call: ["+way+"]}\n")
		c.Latency = costmodel.DefaultLatency()
		c.Summarizer = &summarizer.Stub{Sizing: summarizer.Fixed, Median: 100, BytesPerToken: 4, FirstToken: 1e9, OutputRate: 10}
		_, calls := run(t, c, s)
		for _, r := range calls {
			if r.Source != measures.SourceCompact {
				continue
			}
			took[i] = float64(r.End-r.Start) / 1e9
			fresh := r.Usage.Input() - r.Usage.Read
			if want := 11 + 30.4e-6*float64(fresh) + 7.6e-6*float64(r.Usage.Read); !near(took[i], want) {
				t.Errorf("%s: %g s, want %g for %d fresh and %d cached tokens", way, took[i], want, fresh, r.Usage.Read)
			}
			break
		}
	}
	if took[1]-took[0] < 0.5 {
		t.Errorf("the fork takes %g s, the cold call %g", took[0], took[1])
	}
}

// Whatever the strategy, the parts of the added time are the whole.
func TestWaitsAddUp(t *testing.T) {
	corpus, err := agents.ReadFS(context.Background(), traces.Options{}, synthetic.Samples())
	if err != nil {
		t.Fatal(err)
	}
	defer corpus.Close()
	for _, name := range []string{"none", "recorded", "auto-compact/155k", "auto-compact/167k", "truncate-oldest"} {
		c := testConfig(t, name)
		c.Latency, c.Levels = costmodel.DefaultLatency(), DefaultLevels()
		l := NewLoop(c)
		for _, s := range corpus.Sessions {
			row, err := l.Run(s)
			if err != nil {
				t.Fatal(err)
			}
			sum := 0.0
			for _, v := range row.Figures[measures.Waits:measures.SecondsAt] {
				sum += v
			}
			if !near(sum, row.Figures[measures.AddedLatency]) {
				t.Errorf("%s: waits %v of %g s", name, row.Figures[measures.Waits:measures.SecondsAt], row.Figures[measures.AddedLatency])
			}
		}
	}
}
