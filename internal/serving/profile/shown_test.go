package profile

import (
	"math"
	"strings"
	"testing"
)

// What sessions show is kept in a profile's file.
func TestShownIsKept(t *testing.T) {
	p, err := Default()
	if err != nil {
		t.Fatal(err)
	}
	p.Learn(nil, []FirstRead{{Session: "a", Model: "gpt-5.4", Shown: Shown{1, 20_000, 3, 90_000, 70_000}}})
	var text strings.Builder
	if err := p.Write(&text); err != nil {
		t.Fatal(err)
	}
	q, err := Parse([]byte(text.String()), "p")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := q.Codex.LossScale("b", "gpt-5.4"), p.Codex.LossScale("b", "gpt-5.4"); got != want || got <= 1 {
		t.Errorf("%g times as much read again, %g written", got, want)
	}
}

// By hand: other sessions were due 1,000,000 tokens in their first calls, of which a
// tenth loses a half, and 4,000,000 later, of which a twentieth loses a quarter. That
// is 100,000 tokens in 2 + 4 losses; 300,000 are missing: (8/6 + 3)/(8/6 + 1). What
// the session shows itself does not count, nor does another model's, nor one that
// the profile knew before.
func TestLossScale(t *testing.T) {
	share := func(v float64) Estimate { return Estimate{Value: v} }
	p := Profile{Codex: Codex{
		Losses: []CodexLoss{{Calls: EarlyCalls, Kept: 0.5, Estimate: share(0.1)}, {Kept: 0.75, Estimate: share(0.05)}},
		First:  []FirstRead{{Session: "known", Model: "gpt-5.4"}},
	}}
	if got := p.Codex.LossScale("a", "gpt-5.4"); got != 1 {
		t.Errorf("%g times as much where nothing is shown, want once", got)
	}
	half := Shown{10, 5e5, 40, 2e6, 150_000}
	p.Learn(nil, []FirstRead{
		{Session: "a", Model: "gpt-5.4", Shown: half}, {Session: "b", Model: "gpt-5.4", Shown: half},
		{Session: "c", Model: "gpt-5.4", Shown: Shown{10, 1e6, 9, 1e6, 9e5}}, {Session: "known", Model: "gpt-5.4", Shown: half},
	})
	if got, want := p.Codex.LossScale("c", "gpt-5.4"), 13.0/7; math.Abs(got-want) > 1e-12 {
		t.Errorf("%g times as much, want %g", got, want)
	}
	if got := p.Codex.LossScale("c", "gpt-5.5"); got != 1 {
		t.Errorf("%g times as much for another model, want once", got)
	}
	if one, all := p.Codex.LossScale("a", "gpt-5.4"), p.Codex.LossScale("known", "gpt-5.4"); one == all {
		t.Errorf("a session tells about itself: %g", one)
	}
}
