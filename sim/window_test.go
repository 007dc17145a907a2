package sim

import (
	"testing"
	"time"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/sim/internal/account"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/facts"
)

// A client of summer 2026 that sends two requests in a row above the threshold of
// 200,000, 167,000, has the window of a million that its log does not tell of; one
// such request may be the last response alone. Earlier clients may have had automatic
// compaction off, and sub-agents have windows of their own. One that compacts by itself
// below the threshold of a million has the smaller window.
func TestWindowThatTheRecordingShows(t *testing.T) {
	for name, tc := range map[string]struct {
		version string
		kind    traces.ThreadKind
		inputs  []int64
		auto    int32 // what the client counted at its own compaction, 0 without one, -1 where no line says
		want    int64
	}{
		"goes on":            {"2.1.219", traces.ThreadMain, []int64{150_000, 167_000, 168_000}, 0, 1_000_000},
		"just one":           {"2.1.219", traces.ThreadMain, []int64{150_000, 168_000, 40_000, 168_000}, 0, 200_000},
		"below":              {"2.1.219", traces.ThreadMain, []int64{166_999, 166_999}, 0, 200_000},
		"earlier":            {"2.1.62", traces.ThreadMain, []int64{168_000, 169_000}, 0, 200_000},
		"a sub-agent":        {"2.1.219", traces.ThreadAgent, []int64{168_000, 169_000}, 0, 200_000},
		"past all":           {"2.1.62", traces.ThreadMain, []int64{200_001}, 0, 1_000_000},
		"compacts by itself": {"2.1.226", traces.ThreadMain, []int64{168_000, 204_000}, 167_009, 200_000},
		"no size logged":     {"2.1.226", traces.ThreadMain, []int64{168_000, 204_000}, -1, 1_000_000},
		"compacts later":     {"2.1.226", traces.ThreadMain, []int64{168_000, 960_000}, 967_400, 1_000_000},
		"all of it":          {"2.1.62", traces.ThreadMain, []int64{200_000}, 0, 200_000},
		"the first of them":  {"2.1.204", traces.ThreadMain, []int64{167_000, 167_000}, 0, 1_000_000},
		"compacts at it":     {"2.1.226", traces.ThreadMain, []int64{168_000, 960_000}, 967_000, 1_000_000},
		"of the model":       {"2.1.219", traces.ThreadMain, nil, 0, 200_000},
	} {
		s := &traces.Session{Agent: facts.ClaudeCode, Versions: []string{tc.version}, Threads: []traces.Thread{{Kind: tc.kind}}}
		for _, n := range tc.inputs {
			s.Threads[0].Rounds = append(s.Threads[0].Rounds, traces.Round{Usage: prompt.Usage{Read: n}})
		}
		if tc.auto != 0 {
			s.Threads[0].Events = []traces.Event{{Kind: traces.EventCompact, PreTokens: max(0, tc.auto)}}
		}
		if got := recordedWindow(s, "claude-sonnet-4-6", 200_000); got != tc.want {
			t.Errorf("%s: %d, want %d", name, got, tc.want)
		}
	}
	// A model without a larger window keeps 200,000 whatever was reached, and one that has a million by itself has it,
	// unless the client compacts at the threshold of 200,000, that is at 167,000.
	for _, tc := range []struct {
		model       string
		known, peak int64
		auto        int32
		want        int64
	}{
		{"claude-opus-4-5", 200_000, 1_250_000, 0, 200_000},
		{"claude-opus-5", 1_000_000, 90_000, 0, 1_000_000},
		{"claude-opus-5", 1_000_000, 168_000, 166_612, 200_000},
		{"claude-opus-5", 1_000_000, 90_000, 90_000, 1_000_000}, // a setting, not a window
		{"claude-opus-5", 1_000_000, 495_000, 490_100, 1_000_000},
	} {
		s := &traces.Session{Agent: facts.ClaudeCode, Versions: []string{"2.1.332"}, Threads: []traces.Thread{{
			Rounds: []traces.Round{{Usage: prompt.Usage{Read: tc.peak}}},
		}}}
		if tc.auto != 0 {
			s.Threads[0].Events = []traces.Event{{Kind: traces.EventCompact, PreTokens: tc.auto}}
		}
		if got := recordedWindow(s, tc.model, tc.known); got != tc.want {
			t.Errorf("%s to %d, compacted at %d: window %d, want %d", tc.model, tc.peak, tc.auto, got, tc.want)
		}
	}
}

// A model that answers with 4,096 tokens at most keeps as much of its window of 200,000 free, where others keep 20,000: with 13,000
// more a client compacts at 182,904. One without a limit in the table has the client's own, 32,000.
func TestOutputLimitOfTheModel(t *testing.T) {
	table, err := costmodel.Default()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int64{"claude-3-haiku-20240307": 4096, "claude-3-5-haiku-20241022": 8192, "claude-opus-4-6": 32_000, "nobody": 32_000} {
		m := account.Models{Numbers: account.Numbers{}, Prices: table}
		m.Named(name, 0, time.Time{})
		if got := m.Of(0).MaxOutput; got != want {
			t.Errorf("%s: %d tokens of output, want %d", name, got, want)
		}
		reserve := int64(13_000)
		trigger := strategies.Trigger{Reserve: &reserve, ReserveOutput: true, OutputCap: 20_000}
		if n, ok := trigger.Value(&strategies.Reading{Window: 200_000, MaxOutput: want}); want == 4096 && (!ok || n != 182_904) {
			t.Errorf("%s: compacts at %d, want 182,904", name, n)
		}
	}
}
