package strategies

import (
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/compactsim/compactsim/internal/kit/spec"
)

// The effective trigger of every preset of another program, at a window of 200,000 and 32,000
// tokens of output, as its source gives it; of several layers in order. Values are in the
// unit of the measure: tokens, messages, results, prompts or ns.
var rivals = map[string][]int64{
	"codex/local": {189_474}, "codex/token-budget": {190_000},
	"gemini-cli/mask": {30_000}, "gemini-cli/graph": {1, 150_000, 150_000},
	"qwen-code": {1, 167_000}, "opencode/2": {168_000}, "opencode/prune": {20_001}, "kilo": {20_001, 168_000},
	"oh-my-pi": {170_000}, "kit": {183_616}, "openclaw": {183_616}, "openclaw/cache-ttl": {5 * minutes},
	"cline/2026-08": {180_000}, "cline/2026-11": {180_000}, "cline/2026-08-basic": {180_000}, "cline/2026-05": {160_000, 160_000},
	"roo": {171_808}, "continue": {153_000}, "goose": {160_000}, "crush": {160_000}, "hermes": {100_000, 100_000},
	"kimi-cli": {150_000}, "kimi-code": {150_000}, "kimi-code/micro": {60 * minutes},
	"grok-build":       {170_000},
	"deepseek-harness": {160_000, 160_000}, "deepseek-harness/later": {102_464, 102_464},
	"mistral-vibe": {168_000}, "zed": {180_000}, "mux": {140_000}, "yoagent": {1, 160_000},
	"copilot-cli": {134_400}, "copilot-cli/2026-11": {160_000}, "vscode-copilot": {170_000}, "vscode-copilot/beside": {150_000},
	"amp": {180_000}, "amp/handoff": nil, "kombai": {185_000}, "duoduo": {167_000}, "agentcore": {150_000},
	"langgraph-idle": {59 * minutes}, "amazon-q": nil, "aider": {8192}, "gptme": {100_000, 180_000},
	"docker-agent": {180_000}, "zeph": {140_000, 180_000}, "bash-agent": {98_000}, "oh-my-pi/replay-budget": {183_616}, "stella": {3000},

	"openhands": {80}, "openhands/planning": {100}, "openhands/class": {240}, "openhands/0-masking": {1}, "openhands/0-browser": {1},
	"openhands/0-recent": {1, 100}, "openhands/0-amortised": {1, 100}, "openhands/0-window": {1},
	"langchain/summarization": {160_000}, "langchain/clear-tools": {100_000}, "langmem": {100_000},
	"deepagents": {170_000, 170_000}, "deepagents/no-profile": {20, 170_000},
	"microsoft/context-window": {82_320, 131_544}, "microsoft/summarization": {7}, "semantic-kernel": {15}, "semantic-kernel/per-prompt": {15},
	"autogen/token-limit": {180_000}, "autogen/buffered": {41}, "adk": {5},
	"strands/window": {41}, "strands/summary": {140_000},
	"openai-agents/session": {10}, "openai-agents/sandbox": {180_000}, "openai-agents/trimmer": {1},
	"pydantic-ai": {150_000}, "agno": {3}, "agno/default": {2}, "crewai": {1, 170_000}, "llama-index": {21_000}, "haystack/prune": {140_000}, "haystack/window": {140_000}, "haystack/summary": {140_000}, "ai-sdk/prune": {1}, "smolagents": {1}, "swe-agent": {1}, "mini-swe-agent": {1},
	"letta": {1, 180_000}, "letta-code": {183_616}, "mastra": {30_000},
	"anthropic/compact": {150_000}, "anthropic/clear-tools": {100_000}, "openai/compact": {160_000},

	"complexity-trap/mask": {1}, "complexity-trap/mask-58": {1}, "complexity-trap/summary": {62}, "complexity-trap/hybrid": {1, 62},
	"resum": {190_000}, "supo": {190_000}, "mem1": {1}, "agentfold": {1}, "context-folding": {2}, "acon": {2}, "swe-pruner": {1},
	"agentdiet": {3}, "llmlingua": {100_000}, "tokenpilot": {10_000}, "cwl": {5000},

	"openhands/0-attention": nil, "selfcompact": nil, "rlm": nil, "dtoc": nil, "cursor": nil, "anthropic/memory-tool": nil, "codex/new-window": nil,
}

// Each preset of another program acts where its source says, and says what that is, of when
// and how sure it is. Those whose model decides are not run.
func TestRivals(t *testing.T) {
	r := builtin(t)
	date := regexp.MustCompile(`^20\d\d(-\d\d(-\d\d)?)?$`)
	for _, name := range r.Presets() {
		s := preset(t, r, name)
		want, ok := rivals[name]
		if ok != (s.Group != "") {
			t.Errorf("%s of group %q: in the table: %v", name, s.Group, ok)
		}
		if s.Group == "" {
			continue
		}
		var got []int64
		for _, th := range s.Thresholds(&Reading{Window: 200_000, MaxOutput: 32_000}) {
			got = append(got, th.Value)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s acts at %v, want %v", name, got, want)
		}
		if err := s.ValidateFor(&Reading{Window: 200_000, MaxOutput: 32_000}); err != nil {
			t.Error(err)
		}
		if o := s.Origin; o.Source == "" || !date.MatchString(o.AsOf) || o.Certainty == certainOwn || (o.NotRun != "") != (len(s.layers) == 0) {
			t.Errorf("%s: origin %+v with %d layers", name, o, len(s.layers))
		}
	}
}

// Presets with the same schedule say so: one names the other, or all have the algorithm of pi.
func TestSameSchedules(t *testing.T) {
	r := builtin(t)
	ofPi := func(s *Strategy) bool {
		return s.Name == "pi/2026-11" || strings.Contains(s.Doc, "the algorithm of pi")
	}
	var same []string
	for i, name := range r.Presets() {
		for _, first := range r.Presets()[:i] {
			a, b := preset(t, r, first), preset(t, r, name)
			if !b.Same(a) {
				continue
			}
			same = append(same, first+" "+name)
			if !strings.Contains(b.Doc, first) && !strings.Contains(a.Doc, name) && !(ofPi(a) && ofPi(b)) {
				t.Errorf("%s is the schedule of %s, and neither says so", name, first)
			}
		}
	}
	if !slices.Contains(same, "pydantic-ai anthropic/compact") || slices.Contains(same, "codex/local codex/2026-08") {
		t.Errorf("the same are %q", same)
	}
}

// A word stands for all presets that can be run, for the presets of a pattern, or for itself.
func TestMatch(t *testing.T) {
	r := builtin(t)
	for word, want := range map[string][]string{
		"none": {"none"}, "nonsense": {"nonsense"},
		"kimi*":      {"kimi-cli", "kimi-code", "kimi-code/micro"},
		"codex/*":    {"codex/2026-08", "codex/local", "codex/token-budget"},
		"strands/x*": nil,
	} {
		got, err := r.Match(word)
		if !slices.Equal(got, want) || (err != nil) != (want == nil) {
			t.Errorf("%s: %v, %v; want %v", word, got, err, want)
		}
	}
	all, err := r.Match(AllStrategies)
	if err != nil || len(all) < 90 || slices.Contains(all, "cursor") || !slices.Contains(all, "kimi-code/micro") {
		t.Errorf("all: %d, %v", len(all), err)
	}
	if _, err := r.Match("[x"); err == nil {
		t.Error("a broken pattern is taken")
	}
}

// Every constant of a preset is held: the file has, for each preset, the parameters in which its
// layers differ from their defaults, what excludes what, and its client. SIM_UPDATE_DOCS=1 writes
// it; read the difference against
// docs/strategies.md and its source.
func TestConstantsOfPresets(t *testing.T) {
	const file = "testdata/presets.txt"
	r := builtin(t)
	var b strings.Builder
	for _, name := range r.Presets() {
		b.WriteString(name + "\n" + constants(preset(t, r, name)))
	}
	if os.Getenv("SIM_UPDATE_DOCS") != "" {
		if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != b.String() {
		t.Errorf("%v: constants differ from %s:\n%s", err, file, cmp.Diff(string(text), b.String()))
	}
}

// constants returns what makes a preset what it is, a layer a line.
func constants(s *Strategy) string {
	var b strings.Builder
	for _, c := range s.layers {
		fmt.Fprintf(&b, "  %s", c.def.Name)
		if c.group > 0 {
			fmt.Fprintf(&b, " (first of %d)", c.group)
		}
		if c.given != nil {
			b.WriteString(" " + spec.Flow(c.given))
		} else {
			for _, d := range spec.Diff(c.def.Params(), reflect.ValueOf(c.params).Elem().Interface()) {
				fmt.Fprintf(&b, " %s=%s", d.Path, d.B)
			}
		}
		b.WriteString("\n")
	}
	if s.exclusive != nil {
		fmt.Fprintf(&b, "  exclusive %v\n", s.exclusive)
	}
	if s.Generation.Agent != "" {
		fmt.Fprintf(&b, "  generation %+v\n", s.Generation)
	}
	if s.client != nil {
		fmt.Fprintf(&b, "  client %s\n", spec.Flow(s.client))
	}
	return b.String()
}
