package summarizer

import (
	"math"
	"slices"
	"testing"

	"github.com/compactsim/compactsim/internal/kit/draws"
	"github.com/compactsim/compactsim/internal/kit/spec"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/ask"
)

func answers(s *Stub, in prompt.Intent, n int) []prompt.Answer {
	var all []prompt.Answer
	for i := range n {
		all = append(all, s.Summarize(&in, draws.Source{Seed: 1}, uint64(i), prompt.Digest{Hi: 1}))
	}
	return all
}

// The default stub reproduces what it was fitted to: a median of 3,070 tokens
// and of 62 s, and never more than the cap of 20,000 output tokens.
func TestDefaultFit(t *testing.T) {
	all := answers(Default(), prompt.Intent{Summarised: 150_000, MaxOutput: 20_000}, 4001)
	var size, wait []float64
	for _, a := range all {
		size, wait = append(size, float64(a.Summary)), append(wait, float64(a.Total)/1e9)
		if a.Output > 20_000 || a.Summary > a.Output {
			t.Fatalf("summary of %d tokens from %d output tokens", a.Summary, a.Output)
		}
	}
	slices.Sort(size)
	slices.Sort(wait)
	if m := size[2000]; math.Abs(m-3070) > 60 {
		t.Errorf("median summary %.0f tokens, want 3070 ± 60", m)
	}
	if m := wait[2000]; math.Abs(m-62) > 2.5 {
		t.Errorf("median wait %.1f s, want 62 ± 2.5", m)
	}
	if spread := size[2000*1683/1000] / size[2000]; math.Abs(math.Log(spread)-0.29) > 0.03 {
		t.Errorf("84 %% quantile is e^%.3f of the median, want e^0.29", math.Log(spread))
	}
}

// 002:97: the analysis is written ahead of the summary. A limit of 4,000 on an answer of
// 3,000 + 1,800 of analysis takes 800 off the summary's end; one within the analysis leaves
// next to nothing.
func TestLimitCutsTheSummarysEnd(t *testing.T) {
	s := Default()
	s.Sizing, s.Share, s.Stripped = Fraction, 0.1, 0.6
	for limit, want := range map[int32][2]int32{0: {3000, 4800}, 4800: {3000, 4800}, 4000: {2200, 4000}, 1800: {1, 1800}} {
		a := answers(s, prompt.Intent{Summarised: 30_000, MaxOutput: limit}, 1)[0]
		if got := [2]int32{a.Summary, a.Output}; got != want {
			t.Errorf("limit %d: summary and output %v, want %v", limit, got, want)
		}
	}
}

func TestSizings(t *testing.T) {
	in := prompt.Intent{Summarised: 100_000}
	for name, tc := range map[string]struct {
		stub Stub
		want int32
	}{
		"fixed":                             {Stub{Sizing: Fixed, Median: 4000}, 4000},
		"fraction":                          {Stub{Sizing: Fraction, Share: 0.05}, 5000},
		"no larger than what it stands for": {Stub{Sizing: Fixed, Median: 200_000}, 100_000},
	} {
		if got := answers(&tc.stub, in, 1)[0].Summary; got != tc.want {
			t.Errorf("%s: %d tokens, want %d", name, got, tc.want)
		}
	}
}

func TestKnownAnswersAreNotDrawn(t *testing.T) {
	known := prompt.Answer{Summary: 77, Total: 5}
	if got := answers(Default(), prompt.Intent{Known: &known, Summarised: 9}, 1)[0]; got != known {
		t.Errorf("%+v, want %+v", got, known)
	}
}

func TestFailureRate(t *testing.T) {
	s := Default()
	s.FailureRate = 0.3
	failed := 0
	for _, a := range answers(s, prompt.Intent{Summarised: 1000}, 4000) {
		if a.Failed != "" {
			failed++
		}
	}
	// Binomial(4000, 0.3): standard deviation 29, four standard deviations either way.
	if failed < 1084 || failed > 1316 {
		t.Errorf("%d of 4000 failed, want 1200 ± 116", failed)
	}
}

// Each way of making a call fails at its own rates and in its own manner; a
// call the server refuses is marked as such.
func TestFailuresByWay(t *testing.T) {
	s := Default()
	s.Failures = map[string]Failures{"fork": {ToolCall: 0.1, Empty: 0.2, API: 0.3, TooLong: 0.4}}
	counts := map[string]int{}
	for _, a := range answers(s, prompt.Intent{Summarised: 1000, Way: "fork"}, 4000) {
		counts[a.Failed]++
		if want := a.Failed == ask.FailAPI || a.Failed == ask.FailTooLong; a.Refused() != want {
			t.Fatalf("%q: refused %v", a.Failed, a.Refused())
		}
		if a.Summary != 0 {
			t.Fatalf("a failed call gave a summary of %d tokens", a.Summary)
		}
	}
	// Binomial: the standard deviation is at most 31, four standard deviations either way.
	for reason, want := range map[string]int{
		ask.FailToolCall: 400, ask.FailEmpty: 800, ask.FailAPI: 1200, ask.FailTooLong: 1600, "": 0,
	} {
		if n := counts[reason]; n < want-min(want, 124) || n > want+124 || want == 0 && n != 0 {
			t.Errorf("%q: %d of 4000, want %d ± 124", reason, n, want)
		}
	}
	for _, a := range answers(s, prompt.Intent{Summarised: 1000, Way: "streaming"}, 1000) {
		if a.Failed != "" {
			t.Fatalf("a streaming call failed (%s) at the fork's rates", a.Failed)
		}
	}
}

// A script fails the calls it names, whatever is drawn: the first and the third
// of a session.
func TestScript(t *testing.T) {
	for _, as := range []string{"", ask.FailAPI} {
		s := Default()
		s.Script = Script{Calls: []int{1, 3}, As: as}
		want := ask.FailEmpty
		if as != "" {
			want = as
		}
		for n, fails := range map[int32]bool{1: true, 2: false, 3: true, 4: false} {
			got := answers(s, prompt.Intent{Summarised: 1000, Number: n}, 1)[0].Failed
			if (got == want) != fails || (got == "") == fails {
				t.Errorf("call %d: failure %q", n, got)
			}
		}
	}
}

func TestValidate(t *testing.T) {
	if problems := spec.Validate(Default()); len(problems) > 0 {
		t.Error(problems)
	}
	for name, s := range map[string]Stub{
		"negative median": {Median: -1}, "NaN": {Sigma: math.NaN()}, "rate above 1": {FailureRate: 1.5},
		"rates that add up to more than 1": {Failures: map[string]Failures{"fork": {API: 0.7, Empty: 0.6}}},
		"negative rate":                    {Failures: map[string]Failures{"fork": {API: -0.1}}},
		"call 0":                           {Script: Script{Calls: []int{0}}},
		"unknown failure":                  {Script: Script{Calls: []int{1}, As: "bad mood"}},
	} {
		if len(spec.Validate(&s)) == 0 {
			t.Errorf("%s is accepted", name)
		}
	}
}

// A session's own summaries take the place of drawn ones, by default and where no other sizing is asked for; a client that
// asks for no analysis is billed for the summary alone.
func TestRecordedSizes(t *testing.T) {
	none := 0.0
	plain := prompt.Intent{Summarised: 100_000, Analysis: &none}
	own := plain
	own.Recorded, own.Around = 7000, true
	output := own
	output.RecordedOutput = 9000
	for name, tc := range map[string]struct {
		stub            Stub
		in              prompt.Intent
		summary, output int32
		around          bool
	}{
		"fixed":                   {Stub{Sizing: Fixed, Median: 3000, Stripped: 0.6}, prompt.Intent{Summarised: 100_000}, 3000, 4800, false},
		"no analysis":             {Stub{Sizing: Fixed, Median: 3000, Stripped: 0.6}, plain, 3000, 3000, false},
		"recorded":                {*Default(), own, 7000, 7000, true},
		"recorded output":         {*Default(), output, 7000, 9000, true},
		"fixed whatever is known": {Stub{Sizing: Fixed, Median: 3000, Recorded: true}, output, 3000, 3000, false},
		"off":                     {Stub{Median: 3000, Stripped: 0.6}, output, 3000, 3000, false},
	} {
		a := tc.stub.Summarize(&tc.in, draws.Source{}, 1, prompt.Digest{})
		if a.Summary != tc.summary || a.Output != tc.output || a.Around != tc.around {
			t.Errorf("%s: %d tokens of %d, around %v; want %d of %d, %v", name, a.Summary, a.Output, a.Around, tc.summary, tc.output, tc.around)
		}
	}
}
