package hidden

import (
	"math"
	"testing"

	"github.com/compactsim/compactsim/sim/internal/course"
	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/servers"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/facts"
)

// A session that loses its reads is expected to lose more of them, by its calls that have ended: not where the bill tells nothing, not on a
// server that was named, and not before its second call. By hand: three calls are due 0.3 losses and 3,000 tokens, and missed 60,000 or none.
func TestExpectsWhatTheSessionLost(t *testing.T) {
	rows := []profile.GapShare{{Seconds: 3600, Kept: 0.5, Estimate: profile.Estimate{Value: 0.1, N: 100}}}
	fitted := &profile.Profile{Losses: profile.Losses{Automatic: profile.Places{ToolResult: rows}}}
	call := func(read int64) traces.Round {
		return traces.Round{Trigger: traces.TriggerToolResult, Usage: prompt.Usage{Read: read, Uncached: 20_000 - read}}
	}
	for _, tc := range []struct {
		model Model
		reads []int64
		want  float64
	}{
		{Model{Fitted: fitted}, []int64{0}, 1},
		{Model{Fitted: fitted}, []int64{0, 0, 0, 0}, 6.35 / 0.65},
		{Model{Fitted: fitted}, []int64{0, 19_900, 19_900, 19_900}, 0.35 / 0.65},
		{Model{Fitted: fitted, Blind: true}, []int64{0, 0, 0, 0}, 1},
		{Model{Fitted: fitted, Named: new(servers.Server)}, []int64{0, 0, 0, 0}, 1},
	} {
		session := &traces.Session{Agent: facts.Pi, Models: []string{"gpt-5.5"}}
		trace := &traces.Thread{}
		for _, read := range tc.reads {
			trace.Rounds = append(trace.Rounds, call(read))
		}
		s := new(Session)
		s.Begin(tc.model, session, true)
		th := &Thread{}
		th.Bind(s, &course.Course{Session: session, Trace: trace, Scores: make([]course.Score, len(trace.Rounds)), Started: true})
		for i := range trace.Rounds {
			th.Round = int32(i)
			s.learnLost(th, &trace.Rounds[i])
		}
		if got := 10 * th.LossRate("gpt-5.5", 60*second); math.Abs(got-tc.want) > 1e-9 {
			t.Errorf("%+v: %g times, want %g", tc.reads, got, tc.want)
		}
		if got := 10 * th.LossRate("gpt-5.5", 11*minute); math.Abs(got-1) > 1e-9 {
			t.Errorf("%+v: %g times after a long pause, of which the calls tell nothing; want 1", tc.reads, got)
		}
	}
}

// A session that asks two providers expects of each what it lost there, and a copy goes on apart.
func TestEachProviderLosesItsOwn(t *testing.T) {
	s, c := new(Session), new(Session)
	s.Begin(Model{}, &traces.Session{Models: []string{"gpt-5.5", "deepseek-chat"}}, true)
	r := &traces.Round{}
	s.ownShown(r, "gpt-5.5").See(20_000, 20_000, true)
	if o := s.ownShown(r, "deepseek-chat"); o.Missing != 0 || o.Early != 0 {
		t.Errorf("DeepSeek's calls show %+v, want nothing: OpenAI lost", *o)
	}
	if o := s.ownShown(r, "gpt-5.4"); o.Missing != 20_000 {
		t.Errorf("another model of OpenAI's shows %+v, want 20,000 tokens missing", *o)
	}
	c.CopyFrom(s)
	c.ownShown(r, "gpt-5.5").See(20_000, 5_000, true)
	if s.ownShown(r, "gpt-5.5").Missing != 20_000 || c.ownShown(r, "gpt-5.5").Missing != 25_000 {
		t.Errorf("the copy shows %+v, its original %+v: want 25,000 and 20,000 tokens missing", *c.ownShown(r, "gpt-5.5"), *s.ownShown(r, "gpt-5.5"))
	}
}
