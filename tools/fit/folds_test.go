package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/compactsim/compactsim/internal/kit/stats"
	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/sim/validate"
	"github.com/compactsim/compactsim/tools/tests/validatetest"
	"github.com/compactsim/compactsim/traces/facts"
)

// Sessions are generated whose cost lies by a known distribution around the
// predicted one. Bands made of what 30 sessions leave unexplained hold about nine
// tenths of 600 others: 87 to 93 % in the mean of 20 worlds, whatever the tails.
func TestBandsHoldTheirShare(t *testing.T) {
	for name, off := range map[string]func(*rand.Rand) float64{
		"normal": func(r *rand.Rand) float64 { return 0.1 * r.NormFloat64() },
		"skewed": func(r *rand.Rand) float64 { return 0.1 * (r.ExpFloat64() - 1) },
	} {
		source := rand.New(rand.NewPCG(5, 6))
		inside, all := 0, 0
		for range 20 {
			var known []validate.Call
			for i := range 30 {
				known = append(known, priced(fmt.Sprint(i), 1, math.Exp(off(source))))
			}
			residual := residuals(known)
			for range 30 {
				var draws []float64
				for range 200 {
					draws = append(draws, math.Exp(profile.At(residual, source.Float64())))
				}
				slices.Sort(draws)
				if cost := math.Exp(off(source)); cost >= stats.Quantile(draws, 0.05) && cost <= stats.Quantile(draws, 0.95) {
					inside++
				}
				all++
			}
		}
		if share := float64(inside) / float64(all); share < 0.87 || share > 0.93 {
			t.Errorf("%s: bands hold %d of %d", name, inside, all)
		}
	}
}

// Sessions predicted at $1 and $0.25 of expected losses cost $1.25. For Codex, whose residual counts from the expected cost, that leaves
// nothing unexplained; for Claude Code ln 1.25 = 0.22314.
func TestResidualOfExpectedCost(t *testing.T) {
	for agent, want := range map[string]float64{facts.Codex: 0, facts.ClaudeCode: 0.22314} {
		var list []validate.Call
		for i := range 2 * minResiduals {
			c := priced(fmt.Sprint(i), 1, 1.25)
			c.Agent, c.LossUSD = agent, 0.25
			list = append(list, c)
		}
		if got := residuals(list); profile.At(got, 0.5) != want {
			t.Errorf("%s: %v, want %v", agent, got, want)
		}
	}
}

// A handful of sessions say nothing of what stays unexplained.
func TestResidualsOfFewSessions(t *testing.T) {
	var calls []validate.Call
	for i := range minResiduals - 1 {
		calls = append(calls, priced(fmt.Sprint(i), 1, 2))
	}
	p := &profile.Profile{Residual: []float64{-1, 1}}
	setResiduals(p, calls)
	if len(p.Residual) != 2 {
		t.Errorf("residual %v of %d sessions", p.Residual, len(calls))
	}
	setResiduals(p, append(calls, priced("last", 1, 2)))
	if len(p.Residual) != residualSteps+1 || math.Abs(p.Residual[0]-math.Log(2)) > 1e-5 {
		t.Errorf("residual %v, want ln 2 throughout", p.Residual)
	}
}

// Each fifth of the sessions is predicted by a profile fitted on the remaining sessions.
func TestUnseenSessionsArePredicted(t *testing.T) {
	r, err := crossValidate(context.Background(), validate.Options{Config: validatetest.Unverified(t)}, fitted(t), validatetest.Recordings(t, "traces", "traces-3"), "session")
	if err != nil {
		t.Fatal(err)
	}
	atLeast(t, "within 1 %", r.Within1, 0.988)
	atMost(t, "session median", r.Median, 0.003)
	atMost(t, "corpus", r.Corpus, 0.015)
}

// The default profile is what this tool fits on the recordings.
func TestDefaultProfileIsReproduced(t *testing.T) {
	want := fitted(t)
	got := fitOn(t, validatetest.Unverified(t), want, validatetest.Recordings(t, "traces", "traces-2", "traces-3", "traces-5"))
	for i := range want.Static {
		if i >= len(got.Static) || got.Static[i] != want.Static[i] {
			t.Fatalf("static prefixes differ from row %d of the profile", i)
		}
	}
	if got.Shared != want.Shared || !reflect.DeepEqual(got.Losses, want.Losses) {
		t.Errorf("fitted %+v %+v, the profile says %+v %+v",
			got.Shared, got.Losses, want.Shared, want.Losses)
	}
}
