package scenarios

import (
	"database/sql"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/explain"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/sim/results/studies"
	"github.com/compactsim/compactsim/tools/tests/scenariostest"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
)

// labCall is a call as the server that answered it has it. Sessions of Claude Code have the counts under usage.
type labCall struct {
	Kind, Role              string
	Fresh, Read, Write, Out int64
	Usage                   struct {
		Input  int64 `json:"input_tokens"`
		Read   int64 `json:"cache_read_input_tokens"`
		Write  int64 `json:"cache_creation_input_tokens"`
		Output int64 `json:"output_tokens"`
	}
}

// labTruth returns the sum of what a server of the lab answered, without the calls of some roles: input, reads, writes and output.
func labTruth(t *testing.T, file string, without ...string) (sum [4]int64) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var truth struct{ Calls []labCall }
	if err := json.Unmarshal(text, &truth); err != nil {
		t.Fatal(err)
	}
	for _, c := range truth.Calls {
		if !slices.Contains(without, c.Kind+c.Role) {
			u := &c.Usage
			for i, n := range [...]int64{c.Fresh + u.Input, c.Read + u.Read, c.Write + u.Write, c.Out + u.Output} {
				sum[i] += n
			}
		}
	}
	return sum
}

// Sessions that real clients wrote while a server on loopback answered with counts of its own (2026-11-27). What any line holds is billed to
// the token; the roles without are calls that no line holds. The compactions are at the calls where the client made them. Under own the
// first comes before the same call; behind it the server's counts do not follow the context, so that later ones are not comparable. Calls
// beside the conversation are made there, and end later than the server's, which answered at once.
func TestLabSessions(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	root := filepath.Join("..", "..", "shared", "lab", "sessions")
	if _, err := os.Stat(root); err != nil {
		t.Skip("no sessions of the lab beside the module:", err)
	}
	for dir, tc := range map[string]struct {
		without  []string
		recorded []int  // rounds of the first session before which the client compacted
		own      int    // the round of the first compaction under own
		preset   string // of the first session
		output   int64  // estimated beyond what the server counted
	}{
		"claude-code/b1":           {[]string{"compact", "side"}, []int{6, 7, 8, 9, 10, 11, 12}, 6, "claude-code/1.0.128", 45}, // outputs are derived where the log has the stream's start
		"claude-code/cut":          {nil, nil, 0, "claude-code/2026-11", 9},                                                    // the client's estimate for streams that were cut
		"claude-code/delta":        {nil, nil, 0, "claude-code/2026-11", 0},
		"claude-code/micro-2.0.77": {[]string{"side"}, nil, 0, "claude-code/2.1.17", 196},
		"claude-code/over":         {nil, nil, 0, "claude-code/2026-11", 0},
		"claude-code/restore46":    {nil, []int{10, 13}, 10, "claude-code/2026-11", 0},
		"claude-code/resume":       {nil, nil, 0, "claude-code/2026-11", 0},
		"claude-code/sub1h":        {nil, nil, 0, "claude-code/2026-11", 0},
		"claude-code/tools":        {nil, nil, 0, "claude-code/2026-11", 0},

		"others/cline":              {[]string{"compact"}, []int{46}, 46, "cline/2026-11", 0},
		"others/codex-remote":       {[]string{"cut"}, []int{7}, 7, "codex/2026-08", 0},
		"others/copilot-cli":        {[]string{"cut"}, []int{6}, 5, "copilot-cli/2026-11", 0}, // made beside the conversation, after the call of 149,932 tokens
		"others/gemini-cli-resume":  {[]string{"compact", "compact-check"}, []int{7}, 7, "gemini-cli/2026-11", 0},
		"others/kilo":               {nil, []int{31}, 31, "opencode/2026-11", 0},
		"others/kimi-code":          {nil, []int{14, 15, 16, 17}, 14, "kimi-code", 0},
		"others/oh-my-pi":           {[]string{"compact"}, []int{44, 46, 48}, 41, "oh-my-pi", 0}, // written beside it from 145,000 on
		"others/opencode-anthropic": {[]string{"cut", "side"}, []int{7}, 7, "opencode/2026-11", 0},
		"others/opencode-db":        {[]string{"cut", "side"}, []int{7}, 7, "opencode/2026-11", 0},
		"others/opencode-responses": {[]string{"side"}, []int{12}, 10, "opencode/2026-11", 0}, // the server counted less than was said
		"others/pi":                 {nil, []int{44}, 44, "pi/2026-11", 0},
		"others/qwen-code":          {nil, []int{15}, 15, "qwen-code", 0},
	} {
		t.Run(dir, func(t *testing.T) {
			if stores, _ := filepath.Glob(filepath.Join(root, dir, "*.db")); len(stores) > 0 && !slices.Contains(sql.Drivers(), "sqlite") {
				t.Skip("a build without SQLite (-tags nosqlite) opens no database")
			}
			truth := labTruth(t, filepath.Join(root, dir, "truth.json"), tc.without...)
			corpus, err := agents.Read(t.Context(), traces.Options{}, filepath.Join(root, dir))
			if err != nil {
				t.Fatal(err)
			}
			defer corpus.Close()
			p := Plan{Registry: scenariostest.Registry(t), Prices: scenariostest.Prices(t), Seed: 1}
			if err := p.Prepare(t.Context(), corpus); err != nil {
				t.Fatal(err)
			}
			config, err := p.Config(measures.StrategyOwn, nil)
			if err != nil {
				t.Fatal(err)
			}
			recordedConfig, err := p.Config(measures.StrategyRecorded, nil)
			if err != nil {
				t.Fatal(err)
			}
			var billed prompt.Usage
			var recorded []int
			var usd, modelled float64
			for _, s := range corpus.Sessions {
				row := sim.Billed(s, p.Prices, s.StartTime())
				u := row.Usage()
				billed.Add(&u)
				if s.Summed {
					model, err := sim.NewLoop(recordedConfig).Run(s)
					if err != nil {
						t.Fatal(err)
					}
					usd, modelled = usd+row.CostUSD(), modelled+model.CostUSD()
				}
				for _, e := range s.Threads[0].Events {
					if e.Kind == traces.EventCompact {
						recorded = append(recorded, int(e.Round))
					}
				}
			}
			if got := [...]int64{billed.Uncached, billed.Read, billed.Writes(), billed.Output - tc.output}; got != truth {
				t.Errorf("billed %v, want %v", got, truth)
			}
			if !slices.Equal(recorded, tc.recorded) {
				t.Errorf("compactions at %v, want %v", recorded, tc.recorded)
			}
			if limit := map[string]float64{"claude-code/restore46": 1.06}[dir]; modelled > max(limit, 1.01)*usd { // its server counted 105,000 tokens for one answer
				t.Errorf("the model bills $%.4f of $%.4f", modelled, usd)
			}
			s := corpus.Sessions[0]
			if got := config.Strategy.For(s.Agent, s.Version(), s.Variant).Name; got != tc.preset {
				t.Errorf("own is %s, want %s", got, tc.preset)
			}
			e, err := explain.Session(config, s, 0)
			if err != nil {
				t.Fatal(err)
			}
			first := 0
			if i := slices.IndexFunc(e.Calls, func(c studies.ExplainedCall) bool { return c.Source == measures.SourceCompact.String() }); i >= 0 {
				first = e.Calls[i].Round
			}
			if first != tc.own {
				t.Errorf("own compacts at %d, want %d", first, tc.own)
			}
		})
	}
}
