package servers

import (
	"testing"

	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/signs"
)

// Reads by hand behind a request of 40,000 tokens, by agent and model. Codex: 384 modulo 512 is 39,808, 768 modulo 1,024 at
// least 116 before is 39,680. Others: 0 modulo 512 at least 64 before is 39,936, 512 modulo 1,024 is 39,424, and 128 modulo
// 128 is 39,936; at least 72 before it is 39,808, and through GitHub Copilot, at least 64 before, 39,936. A later version is served as the newest, an unknown provider by the documented steps, for the shortest documented time. Google: 40,000 / 0.965
// are 41,450 of its own, five blocks of 8,192, reported as 39,526.
func TestServingOf(t *testing.T) {
	for _, tt := range []struct {
		agent, gateway, model string
		read                  int64
		seconds               int64
		fromStart             bool
	}{
		{"codex", "", "gpt-5.5", 39_808, 3600, false},
		{"codex", "", "gpt-5.4", 39_808, 3600, false},
		{"codex", "", "gpt-5.6-sol", 39_680, 3600, false},
		{"codex", "", "gpt-6-sol", 39_680, 3600, false},
		{"codex", "", "gpt-5.3-codex", 39_936, 600, false},
		{"pi", "", "gpt-5.5", 39_936, 3600, false},
		{"opencode", "", "openai/gpt-5.6-sol", 39_424, 3600, false},
		{"opencode", "", "gpt-5.6-luna", 39_424, 180, true},
		{"pi", "", "gpt-5.4", 39_808, 3600, false},
		{"pi", "github-copilot", "gpt-5.4", 39_936, 3600, false},
		{"pi", "", "gpt-5-mini", 39_936, 3600, false},
		{"pi", "", "gemini-3-flash", 39_526, 600, false},
		{"pi", "", "ling-2.6-flash", 39_936, 300, false},
	} {
		way := ServingOf(Caller{tt.agent, tt.gateway}, tt.model)
		if got := way.Floor(40_000, 1024); got != tt.read || way.Retention != tt.seconds*1e9 || way.FromStart != tt.fromStart {
			t.Errorf("%s via %q of %s reads %d for %d s, want %d for %d: %+v", tt.agent, tt.gateway, tt.model, got, way.Retention/1e9, tt.read, tt.seconds, way)
		}
	}
}

// The grids of a provider are its own, each once; of one that is not known all.
func TestGrids(t *testing.T) {
	all := Grids("unheard-of")
	if len(all) > MaxGrids {
		t.Fatalf("%d grids, at most %d have a place", len(all), MaxGrids)
	}
	for _, model := range []string{"gpt-5.5", "deepseek-v4-flash", "gemini-3-flash"} {
		own := Grids(model)
		if len(own) == 0 || len(own) >= len(all) {
			t.Errorf("%s has %d of %d grids", model, len(own), len(all))
		}
		begun := ServingOf(Caller{Agent: "codex"}, model)
		begun.Retention, begun.Forgets = 0, false
		found := false
		for _, g := range own {
			found = found || g == begun
		}
		if !found {
			t.Errorf("what %s begins with is none of its grids: %+v", model, begun)
		}
	}
	if (exchange.Serving{}) == all[0] {
		t.Error("a grid has no step")
	}
}

// A provider under a name of its own is no gateway.
func TestCallerOf(t *testing.T) {
	s := &traces.Session{Agent: "pi", Models: []string{"gpt-5.4"}, Tools: []string{"", signs.NameGateway.Of("openai-codex"), signs.NameGateway.Of("github-copilot")}}
	for gateway, want := range []string{"", "", "github-copilot"} {
		if got := CallerOf(s, &traces.Round{Gateway: uint16(gateway)}); got != (Caller{"pi", want}) {
			t.Errorf("%+v, want the gateway %q", got, want)
		}
	}
}

// By the counts beside them, 51 calls behind nothing and 335 behind a read, Google's factors leave the average as it is.
func TestLossesBehind(t *testing.T) {
	const gemini = "gemini-3-flash"
	none, read := LossesOf(gemini).Behind(true), LossesOf(gemini).Behind(false)
	if mean := (51*none + 335*read) / 386; mean < 0.99 || mean > 1.01 || none <= read {
		t.Errorf("%g behind nothing and %g behind a read are %g on average, want 1", none, read, mean)
	}
	for _, model := range []string{"gpt-5.5", "unheard-of"} {
		if LossesOf(model).Behind(true) != 1 || LossesOf(model).Behind(false) != 1 {
			t.Errorf("losses of %s depend on the call before", model)
		}
	}
}
