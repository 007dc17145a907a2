package validate

import (
	"bytes"
	"context"
	"math"
	"slices"
	"testing"

	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/tools/tests/validatetest"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
	"github.com/compactsim/compactsim/traces/synthetic"
)

func fitted(t testing.TB) *profile.Profile {
	t.Helper()
	p, err := profile.Default()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func samples(t testing.TB) []*traces.Session {
	t.Helper()
	c, err := agents.ReadFS(context.Background(), traces.Options{}, synthetic.Samples())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c.Sessions
}

func atLeast(t *testing.T, name string, got *float64, want float64) {
	t.Helper()
	if got == nil || *got < want {
		t.Errorf("%s: %v, want at least %g", name, deref(got), want)
	}
}

func atMost(t *testing.T, name string, got *float64, want float64) {
	t.Helper()
	if got == nil || max(*got, -*got) > want {
		t.Errorf("%s: %v, want at most %g", name, deref(got), want)
	}
}

func deref(x *float64) any {
	if x == nil {
		return "none"
	}
	return *x
}

// The samples are written by a generator that keeps the cache's rules and makes
// neither hidden calls nor switches thinking: the plain model predicts them but
// for the sizes it does not know.
func TestSamplesArePredicted(t *testing.T) {
	r, err := Run(context.Background(), Options{Config: validatetest.Cell(t)}, samples(t))
	if err != nil {
		t.Fatal(err)
	}
	atLeast(t, "exact", r.Exact, 0.98)
	atLeast(t, "within 1 %", r.Within1, 0.98)
	atMost(t, "corpus cost", r.Corpus, 0.015)
}

// docs/validation.md states the figures; these are its tolerances.
func TestRecordingsArePredicted(t *testing.T) {
	sessions := validatetest.Recordings(t, "traces")
	o := Options{Config: validatetest.Cell(t).WithProfile(fitted(t)), Replications: 60, Calls: true}
	plain := validatetest.Cell(t)
	plain.Verify = false
	o.DrawnFor = func(_ *traces.Session) sim.Config { return Drawn(plain, o.Config.Profile) }
	r, err := Run(context.Background(), o, sessions)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range r.Calls() {
		if c.Predicted.Input() != c.Actual.Input() {
			t.Fatalf("%s:%d: a request of %d tokens is predicted as one of %d", c.File, c.Line, c.Actual.Input(), c.Predicted.Input())
		}
	}
	if r.Score.Calls != 3339 {
		t.Errorf("%d calls that are not first ones, the manifest has 3,339", r.Score.Calls)
	}
	atLeast(t, "within 1 %", r.Within1, 0.983)
	atMost(t, "session median", r.Median, 0.005)
	atMost(t, "corpus", r.Corpus, 0.015)
	atLeast(t, "bands", r.BandCoverage, 0.80)
	for _, g := range r.Classes {
		if g.Name == ClassToolResult.String() {
			atLeast(t, "exact after tool results", g.Score.Exact, 0.995)
		}
	}
	if *r.Within1 <= *r.Naive.Within1 || *r.TokenErr >= *r.Naive.TokenErr {
		t.Error("the naive rule is no worse")
	}
}

// What is learned inside a session comes from earlier calls only: changing how
// a call in its middle was served changes no prediction up to that call.
func TestPredictionsDoNotLookAhead(t *testing.T) {
	o := Options{Config: validatetest.Cell(t).WithProfile(fitted(t))}
	changes := 0
	for _, s := range samples(t) {
		before, _, _, err := o.session(s)
		if err != nil {
			t.Fatal(err)
		}
		changed := *s
		changed.Threads = append([]traces.Thread(nil), s.Threads...)
		main := &changed.Threads[0]
		main.Rounds = append([]traces.Round(nil), main.Rounds...)
		middle := len(main.Rounds) / 2
		u := &main.Rounds[middle].Usage
		if u.Read == 0 {
			continue
		}
		u.Read, u.Uncached = 0, u.Uncached+u.Read
		changes++
		after, _, _, err := o.session(&changed)
		if err != nil {
			t.Fatal(err)
		}
		for i := range middle + 1 {
			if before[i].Predicted != after[i].Predicted {
				t.Fatalf("session %s: call %d is predicted as %+v, as %+v when call %d was served otherwise",
					s.ID, i, before[i].Predicted, after[i].Predicted, middle)
			}
		}
	}
	if changes == 0 {
		t.Fatal("no sample has a call that read")
	}
}

// What is said beside a session counts its calls in words for one and for more.
func TestReasons(t *testing.T) {
	for want, got := range map[string]string{
		"3 calls whose input is recorded in sum are compared by the cost of the session alone, without 2 more calls that have no recorded usage": reasons(0, 2, 0, 3),
		"1 call whose input is recorded in sum is compared by the cost of the session alone, without 1 more call that has no recorded usage":     reasons(0, 1, 0, 1),
		"2 calls without recorded usage": reasons(0, 2, 0, 0),
	} {
		if got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

// Sessions that cannot be compared are listed with the reason.
func TestSkippedSessionsAreListed(t *testing.T) {
	r, err := Run(context.Background(), Options{Config: validatetest.Cell(t)}, []*traces.Session{{ID: "empty", Models: []string{"m"}}})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Skipped) != 1 || r.Skipped[0].Reason != "no calls" || r.Exact != nil {
		t.Errorf("skipped %+v, exact %v", r.Skipped, r.Exact)
	}
}

func BenchmarkValidate(b *testing.B) {
	sessions := samples(b)
	o := Options{Config: validatetest.Cell(b).WithProfile(fitted(b))}
	for b.Loop() {
		if _, err := Run(context.Background(), o, sessions); err != nil {
			b.Fatal(err)
		}
	}
}

// Of the calls that a client's sum shows and no line, the model predicts summaries. Titles and cut streams come about whatever
// is simulated: they are in neither sum, and beside them. A million plain tokens of Opus 4.5 cost $5 (pricing page).
func TestUnshownCallsArePredicted(t *testing.T) {
	list := samples(t)
	i := slices.IndexFunc(list, func(s *traces.Session) bool {
		return slices.ContainsFunc(s.Threads[0].Events, func(e traces.Event) bool { return e.Kind == traces.EventCompact })
	})
	s := *list[i]
	s.Summed = true
	at := slices.IndexFunc(s.Threads[0].Events, func(e traces.Event) bool { return e.Kind == traces.EventCompact })
	million := prompt.Usage{Uncached: 1e6}
	s.Unshown = []traces.UnshownCall{
		{Event: int32(at), Model: "claude-opus-4-5", Usage: million},
		{Event: -1, Cut: true, Model: "claude-opus-4-5", Usage: million}, {Event: -1, Model: "claude-opus-4-5", Usage: million},
	}
	with, err := Run(t.Context(), Options{Config: validatetest.Unverified(t)}, []*traces.Session{&s})
	if err != nil {
		t.Fatal(err)
	}
	s.Unshown = s.Unshown[:1]
	without, err := Run(t.Context(), Options{Config: validatetest.Unverified(t)}, []*traces.Session{&s})
	if err != nil {
		t.Fatal(err)
	}
	if u := with.Unshown; u.Sessions != 1 || u.BilledUSD != 5 || u.GivenUSD != 10 || math.Abs(u.ModelUSD-without.Unshown.ModelUSD) > 1e-9 || u.ModelUSD <= 0 {
		t.Errorf("%+v, want $5 billed, $10 given and what the model says without these, %+v", u, without.Unshown)
	}
}

// Sessions whose bodies are elsewhere are loaded one after the other, each once, and give the report of sessions in memory.
func TestRunLoadsBodies(t *testing.T) {
	whole := samples(t)
	loads := 0
	var heads []*traces.Session
	for _, s := range whole {
		h := s.Head()
		heads = append(heads, h.Without(func() (*traces.Session, error) { loads++; return s, nil }))
	}
	var texts [2]bytes.Buffer
	for i, sessions := range [][]*traces.Session{whole, heads} {
		r, err := Run(context.Background(), Options{Config: validatetest.Cell(t), Workers: 1}, sessions)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Document().Write(&texts[i], "json"); err != nil {
			t.Fatal(err)
		}
	}
	if texts[0].String() != texts[1].String() || loads != len(whole) {
		t.Errorf("%d loads of %d sessions; reports are equal: %v", loads, len(whole), texts[0].String() == texts[1].String())
	}
}

// Replications share a loop: a seed gives what it gives in a loop of its own, whatever ran before, and another seed another cost.
func TestReplicationsOfOneLoop(t *testing.T) {
	plain := validatetest.Cell(t)
	config, differ := Drawn(plain, fitted(t)), 0
	for _, s := range validatetest.Recordings(t, "traces")[:6] {
		shared := laterInput(config, s)
		var drawn []float64
		for _, seed := range []uint64{1, 2, 3, 2} {
			got, err := shared(seed)
			if err != nil {
				t.Fatal(err)
			}
			if want, err := laterInput(config, s)(seed); err != nil || got != want {
				t.Errorf("%s, seed %d: $%v in the shared loop, $%v in one of its own, %v", s.ID, seed, got, want, err)
			}
			drawn = append(drawn, got)
		}
		if drawn[0] != drawn[1] || drawn[0] != drawn[2] {
			differ++
		}
	}
	if differ == 0 {
		t.Error("no seed makes a difference")
	}
}
