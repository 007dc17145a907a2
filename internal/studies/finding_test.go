package studies

import (
	"testing"

	"github.com/compactsim/compactsim/sim/results"
)

// A claim is reproduced when all of its figures hold, refuted when none does;
// figures that nothing is claimed of do not count.
func TestVerdict(t *testing.T) {
	yes, no, free := Figure{Claimed: "x", Holds: true}, Figure{Claimed: "x"}, Figure{Holds: true}
	for _, tc := range []struct {
		figures []Figure
		want    Verdict
		text    string
	}{
		{[]Figure{yes, free, yes}, Reproduced, "reproduced"},
		{[]Figure{yes, no}, Partly, "partly"},
		{[]Figure{no, free}, Refuted, "refuted"},
	} {
		f := Finding{Figures: tc.figures}
		if got := f.Verdict(); got != tc.want || got.String() != tc.text {
			t.Errorf("%+v: %v, want %v", tc.figures, got, tc.want)
		}
	}
}

// What is said of the run without the mechanism counts for the verdict; the
// verdict on that run rests on what is claimed with it.
func TestVerdictWithout(t *testing.T) {
	both := Figure{Claimed: "x", Holds: true, Otherwise: "y", OtherwiseHolds: true}
	one := Figure{Claimed: "x", Holds: true, WithoutHolds: true, Otherwise: "y"}
	for _, tc := range []struct {
		figure        Figure
		with, without Verdict
	}{{both, Reproduced, Refuted}, {one, Partly, Reproduced}} {
		f := Finding{Figures: []Figure{tc.figure}}
		if f.Verdict() != tc.with || f.VerdictWithout() != tc.without {
			t.Errorf("%+v: %v, without %v", tc.figure, f.Verdict(), f.VerdictWithout())
		}
	}
	three := 3.0
	if x := (Figure{Without: &three, Unit: results.UnitCalls}); x.WithoutText() != "3 calls" || new(Figure).WithoutText() != "none" {
		t.Errorf("%q, %q", x.WithoutText(), new(Figure).WithoutText())
	}
}

// Figures with their units, for people.
func TestFigureText(t *testing.T) {
	for _, tc := range []struct {
		value float64
		unit  string
		want  string
	}{
		{0.061035, results.UnitUSD, "$0.0610"},
		{0.6, results.UnitUSD, "$0.600"},
		{-2.071, results.UnitUSD, "−$2.07"},
		{0, results.UnitUSD, "$0"},
		{1234567, results.UnitTokens, "1,234,567 tokens"},
		{-89820, results.UnitTokens, "−89,820 tokens"},
		{1, results.UnitCalls, "1 call"},
		{3, results.UnitCalls, "3 calls"},
		{49, results.UnitCount, "49"},
		{0.9674, results.UnitRatio, "96.7 %"},
		{0.0076, results.UnitRatio, "0.76 %"},
		{15, results.UnitSeconds, "15.0 s"},
	} {
		f := Figure{Value: tc.value, Unit: tc.unit}
		if got := f.Text(); got != tc.want {
			t.Errorf("%v %s: %q, want %q", tc.value, tc.unit, got, tc.want)
		}
	}
}

// A figure agrees with what was worked out by hand within its tolerance.
func TestFigureAgrees(t *testing.T) {
	for _, tc := range []struct {
		f    Figure
		want bool
	}{
		{Figure{Value: 5}, true},
		{Figure{Value: 5, Hand: "2 + 2", ByHand: 4}, false},
		{Figure{Value: 5, Hand: "2 + 2", ByHand: 4, Tolerance: 1}, true},
	} {
		if got := tc.f.Agrees(); got != tc.want {
			t.Errorf("%+v: %v", tc.f, got)
		}
	}
}
