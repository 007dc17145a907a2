package strategies

import (
	"strings"
	"testing"

	"github.com/compactsim/compactsim/internal/kit/spec"
)

func reserve(n int64) *int64 { return &n }

// Effective thresholds at a window of 200,000 and an output limit of 32,000
// (recordings; table of other agents' triggers).
func TestTriggerValues(t *testing.T) {
	r := &Reading{Window: 200_000, MaxOutput: 32_000, NamedOutput: 64_000}
	for _, tc := range []struct {
		name    string
		trigger Trigger
		want    int64
	}{
		{"Claude Code from 2.1.25", Trigger{Reserve: reserve(13_000), ReserveOutput: true, OutputCap: 20_000}, 167_000},
		{"Claude Code through 2.1.20", Trigger{Reserve: reserve(13_000), ReserveOutput: true, OutputCap: 32_000}, 155_000},
		{"Claude Code 1", Trigger{Reserve: reserve(13_000)}, 187_000},
		{"80 % of the window", Trigger{Fraction: 0.8}, 160_000},
		{"80 %, never above the default", Trigger{Fraction: 0.8, Reserve: reserve(50_000)}, 150_000},
		{"pi", Trigger{Reserve: reserve(16_384)}, 183_616},
		{"OpenCode", Trigger{ReserveOutput: true}, 168_000},
		{"fixed", Trigger{Fixed: 100_000}, 100_000},
		// deepagents 0.7.32, _input_budget: 0.95 of the profile's 200,000 less the 64,000 that langchain-anthropic asks for.
		{"deepagents", Trigger{ReserveShare: 0.05, NamedOutput: true}, 126_000},
		// 001:303: "Override 80% = 160k": of the raw window.
		{"Claude Code 1, override 80", Trigger{Reserve: reserve(13_000), PctOverride: 80}, 160_000},
		{"Claude Code 1, override 100: min with the default", Trigger{Reserve: reserve(13_000), PctOverride: 100}, 187_000},
		// 004, xs2: of the window less the output kept free.
		{"Claude Code 2.1, override 80", Trigger{Reserve: reserve(13_000), ReserveOutput: true, OutputCap: 32_000, PctOverride: 80}, 134_400},
		{"later, override 80", Trigger{Reserve: reserve(13_000), ReserveOutput: true, OutputCap: 20_000, PctOverride: 80}, 144_000},
		{"later, override 0.8: per cent, not a share", Trigger{Reserve: reserve(13_000), ReserveOutput: true, OutputCap: 20_000, PctOverride: 0.8}, 1_440},
		{"an override above 100 is ignored", Trigger{Reserve: reserve(13_000), PctOverride: 150}, 187_000},
		{"a negative override is ignored", Trigger{Reserve: reserve(13_000), PctOverride: -5}, 187_000},
		// 004, section 3: warning = limit − 20k; E3: 147k at 200k.
		{"warning level of later clients", Trigger{Reserve: reserve(13_000), ReserveOutput: true, OutputCap: 20_000, Less: 20_000}, 147_000},
	} {
		if got, ok := tc.trigger.Value(r); !ok || got != tc.want {
			t.Errorf("%s: %d, %v; want %d", tc.name, got, ok, tc.want)
		}
	}
	// OpenCode 1.18.33: 901,990 of gpt-5.5 goes on, 902,005 does not; where the catalogue has no input limit 168,000 of 200,000 does not.
	opencode := Trigger{ReserveOutput: true, OutputCap: 32_000, InputReserve: reserve(20_000)}
	for want, r := range map[int64]*Reading{
		902_000: {Window: 1_050_000, MaxInput: 922_000, MaxOutput: 32_000},
		267_904: {Window: 400_000, MaxInput: 272_000, MaxOutput: 4096},
		168_000: {Window: 200_000, MaxOutput: 32_000},
	} {
		if got, _ := opencode.Value(r); got != want {
			t.Errorf("OpenCode, %+v: %d, want %d", *r, got, want)
		}
	}
	for _, none := range []Trigger{{}, {PctOverride: 150}, {PctOverride: -5}} {
		if got, ok := none.Value(r); ok {
			t.Errorf("a trigger without a value has one: %+v, %d", none, got)
		}
	}
}

// All comparisons are ≥, and whoever watches sees what was measured.
func TestCheckReportsWhatItMeasured(t *testing.T) {
	tr := Trigger{Fixed: 1000}
	for measured, want := range map[int64]bool{999: false, 1000: true, 1001: true} {
		var turn Turn
		turn.Reading.Values[MeasureClientTokens] = measured
		var seen []Check
		turn.Watch(func(c Check) { seen = append(seen, c) })
		if got := turn.Check("layer", &tr); got != want {
			t.Errorf("%d against 1000: fired %v, want %v", measured, got, want)
		}
		if w := (Check{"layer", MeasureClientTokens, measured, 1000, want}); len(seen) != 1 || seen[0] != w {
			t.Errorf("reported %+v, want %+v", seen, w)
		}
	}
}

func TestTriggerValidate(t *testing.T) {
	for name, tr := range map[string]Trigger{
		"no value":          {},
		"negative fixed":    {Fixed: -1},
		"fraction above 1":  {Fraction: 1.5},
		"negative reserve":  {Reserve: reserve(-1)},
		"negative fraction": {Fraction: -0.1},
		"all of the window": {Fraction: 1},
		"nothing kept free": {Reserve: reserve(0)},
		"less than nothing": {Fixed: 10_000, Less: 20_000},
		"override over 100": {Fixed: 10_000, PctOverride: 101},
		"a cap on nothing":  {Fixed: 10_000, OutputCap: 5},
	} {
		if len(spec.Validate(&tr)) == 0 {
			t.Errorf("%s is accepted", name)
		}
	}
}

func TestMeasureNamesTheNearest(t *testing.T) {
	var tr Trigger
	err := spec.Decode([]byte("measure: client_token\nfixed: 5\n"), "p.yaml", &tr)
	if err == nil || !strings.Contains(err.Error(), `did you mean "client_tokens"?`) {
		t.Errorf("error %v", err)
	}
}

// What is contradictory only at a window is found for that window: a threshold
// that is always reached, or not below the window.
func TestTriggerValidateFor(t *testing.T) {
	for _, tc := range []struct {
		trigger Trigger
		window  int64
		errors  int
	}{
		{Trigger{Fixed: 300_000}, 200_000, 1},
		{Trigger{Fixed: 300_000}, 1_000_000, 0},
		{Trigger{Reserve: reserve(250_000)}, 200_000, 1},
		{Trigger{Reserve: reserve(250_000)}, 1_000_000, 0},
		{Trigger{Measure: MeasureIdle, Fixed: 3_600_000_000_000}, 200_000, 0},
	} {
		if got := tc.trigger.ValidateFor(&Reading{Window: tc.window, MaxOutput: 32_000}); len(got) != tc.errors {
			t.Errorf("%+v at %d: %v, want %d errors", tc.trigger, tc.window, got, tc.errors)
		}
	}
}

// What a chart calls the value of a trigger, and where it is out of place: at 0, at the window,
// or behind a value that comes first.
func TestValuesOfTriggers(t *testing.T) {
	for _, tc := range []struct {
		key        string
		measure    Measure
		name, unit string
	}{
		{"fixed", MeasureClientTokens, "threshold", "tokens"}, {"fixed", MeasureTokens, "threshold", "tokens"},
		{"fixed", MeasureIdle, "threshold", "ns"}, {"fixed", MeasureRounds, "threshold", "rounds"},
		{"fraction", MeasureTokens, "threshold", "share of the window"}, {"shift", MeasureTokens, "", ""},
	} {
		tr := Trigger{Measure: tc.measure}
		if name, unit := tr.Label(tc.key); name != tc.name || unit != tc.unit {
			t.Errorf("%s of %v: %q in %q", tc.key, tc.measure, name, unit)
		}
	}
	r := &Reading{Window: 200_000, MaxOutput: 32_000}
	for fixed, want := range map[int64]int{1: 0, 199_999: 0, 200_000: 1} {
		if tr := (Trigger{Fixed: fixed}); len(tr.ValidateFor(r)) != want {
			t.Errorf("fixed at %d: %v", fixed, tr.ValidateFor(r))
		}
	}
	for fixed, want := range map[int64]int{167_000: 0, 167_001: 1} {
		if tr := (Trigger{Fixed: fixed, Reserve: reserve(33_000)}); len(tr.ValidateFor(r)) != want {
			t.Errorf("fixed at %d beside 167,000: %v", fixed, tr.ValidateFor(r))
		}
	}
	for less, want := range map[int64]int{167_000: 1, 166_999: 0} {
		if tr := (Trigger{Reserve: reserve(33_000), Less: less}); len(tr.ValidateFor(r)) != want {
			t.Errorf("167,000 less %d: %v", less, tr.ValidateFor(r))
		}
	}
}

// A hundred per cent of the window is a value; more is none. What is taken off a trigger is
// taken off both values that are compared.
func TestOverriddenAndLess(t *testing.T) {
	r := &Reading{Window: 200_000, MaxOutput: 32_000}
	for per, want := range map[float64]bool{100: true, 100.5: false} {
		if v, ok := (&Trigger{PctOverride: per}).Value(r); ok != want || ok && v != 200_000 {
			t.Errorf("%v %%: %d, %v", per, v, ok)
		}
	}
	for fixed, want := range map[int64]string{160_000: "", 167_001: "here 167000 at"} {
		errs := (&Trigger{Fixed: fixed, Reserve: reserve(33_000), Less: 20_000}).ValidateFor(r)
		if (len(errs) == 0) != (want == "") || len(errs) > 0 && !strings.Contains(errs[0].Error(), want) {
			t.Errorf("fixed at %d: %v, want %q", fixed, errs, want)
		}
	}
}
