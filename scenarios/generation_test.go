package scenarios

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/client"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/strategies/standard"
	"github.com/compactsim/compactsim/tools/tests/scenariostest"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/facts"
)

// Each session is simulated under the generation of its own client: a cell of
// generations has the rows that its sessions have under theirs, and the notes say
// which stands for which. long-refactor is of 2.1.29, and is given another version
// to be another client's.
func TestOwnIsOfEachClient(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	for version, want := range map[string]struct{ preset, note string }{
		"2.1.10":  {"claude-code/2.1.17", "claude-code/2.1.17 for 1 session"},
		"2.1.40":  {"claude-code/2.1.62", "claude-code/2.1.62 for 1 session"},
		"2.1.150": {"claude-code/2.1.91", "claude-code/2.1.91 for 1 session"},
		"0.1.9":   {"claude-code/1", "1 session under the generation nearest to a version whose own is not known"},
		"2.1.300": {"claude-code/2.1.280", "claude-code/2.1.280 for 1 session"},
	} {
		corpus := scenariostest.Samples(t, "long-refactor")
		for _, s := range corpus.Sessions {
			s.Versions = []string{version}
			for i := range s.Threads { // the sizes at which 2.1.29 compacted would be a setting of other versions
				for j := range s.Threads[i].Events {
					s.Threads[i].Events[j].PreTokens = 0
				}
			}
		}
		set := ownOff(t, want.preset)
		d := expand(t, "strategies: [own, {name: same, preset: "+want.preset+", set: "+set+"}]")
		run, err := (&Plan{Registry: scenariostest.Registry(t), Prices: scenariostest.Prices(t), Design: d}).Run(context.Background(), corpus)
		if err != nil {
			t.Fatal(err)
		}
		own, same := run.Reference("own"), run.Reference("same")
		if own.Rows.At(0).CostUSD() != same.Rows.At(0).CostUSD() || own.Rows.At(0).N(measures.Compactions) != same.Rows.At(0).N(measures.Compactions) {
			t.Errorf("%s: $%f, %d compactions; %s has $%f, %d", version, own.Rows.At(0).CostUSD(), own.Rows.At(0).N(measures.Compactions),
				want.preset, same.Rows.At(0).CostUSD(), same.Rows.At(0).N(measures.Compactions))
		}
		if !slices.ContainsFunc(run.Notes, func(n results.Note) bool { return n.Cell == "own" && n.Text == want.note }) {
			t.Errorf("%s: notes %v, want %q", version, run.Notes, want.note)
		}
	}
}

// ownOff returns what own switches off in a preset, as a mapping.
func ownOff(t *testing.T, preset string) string {
	t.Helper()
	s, err := scenariostest.Registry(t).Strategy(preset)
	if err != nil {
		t.Fatal(err)
	}
	var set []string
	for _, layer := range []string{"session-memory", "cached-microcompact", "memory-extraction", "dream", "tool-storage"} {
		if s.Params(layer) != nil {
			set = append(set, layer+".enabled: false")
		}
	}
	return "{" + strings.Join(set, ", ") + "}"
}

// What is set and swept in layers reaches every generation that has them, and the
// resolved scenario has it all.
func TestOwnTakesSettings(t *testing.T) {
	f, err := Parse(scenariostest.Registry(t), []byte("strategies: [own]"), "mine.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range []string{"full-compact.breaker=[1,9]", "session-memory.breaker=7"} {
		if err := f.Assign(a); err != nil {
			t.Fatal(err)
		}
	}
	d, err := f.Expand()
	if err != nil {
		t.Fatal(err)
	}
	check := func(d *Design) {
		if got := cellNames(d); !slices.Equal(got, []string{"recorded", "own breaker=1", "own breaker=9"}) {
			t.Fatalf("cells %v", got)
		}
		for _, version := range []string{"1.0.62", "2.1.10", "2.1.40", "2.1.219"} {
			s := d.Cells[2].Strategy.For(facts.ClaudeCode, version, "")
			if b := s.Params(standard.Compact).(strategies.CompactParams).Breaker; b != 9 {
				t.Errorf("%s: breaker %d", version, b)
			}
		}
	}
	check(d)
	text, err := d.Resolved()
	if err != nil {
		t.Fatal(err)
	}
	check(expand(t, string(text)))
	wrong, _ := Parse(scenariostest.Registry(t), []byte("strategies: [{preset: own, set: {speculation.enabled: [a]}}]"), "mine.yaml")
	if _, err := wrong.Expand(); err == nil || !strings.Contains(err.Error(), "mine.yaml:1") {
		t.Errorf("a setting that is none: %v", err)
	}
}

// wears returns who has a session of an agent's version under a preset.
func wears(t *testing.T, preset, around, agent, version string) sim.Person {
	t.Helper()
	d := expand(t, "strategies: ["+preset+"]\n"+around)
	people, err := d.Cells[1].people(nil)
	if err != nil || people == nil {
		t.Fatalf("%s: %v, people %v", preset, err, people != nil)
	}
	return people(0, &traces.Session{Agent: agent, Versions: []string{version}})
}

// A generation is a whole client (SPEC 0): 1 puts two markers on messages, counts
// the last response alone and stops no input (001:261 knows warning and error);
// later ones put one marker, and stop input at 197,000 (004:340) or 177,000 (E3) of
// 200,000.
func TestPresetIsAWholeClient(t *testing.T) {
	for preset, want := range map[string]struct {
		markers  int
		trailing bool
		levels   sim.Levels
	}{
		"claude-code/1":       {2, false, sim.Levels{Warning: 20_000, Error: 20_000, Blocking: 3000, Output: 20_000, Block: sim.BlockNone}},
		"claude-code/2.1":     {1, true, sim.Levels{Warning: 20_000, Error: 20_000, Blocking: 3000, Output: 0, Block: sim.BlockCompact}},
		"claude-code/2026-03": {1, true, sim.Levels{Warning: 20_000, Error: 20_000, Blocking: 3000, Output: 20_000, Block: sim.BlockCompact}},
		"claude-code/2026-08": {1, true, sim.Levels{Warning: 20_000, Error: 20_000, Blocking: 3000, Output: 20_000, Block: sim.BlockCompact}},
	} {
		p := wears(t, preset, "", facts.ClaudeCode, "0.1") // no generation holds it
		c, ok := p.Client.(*client.ClaudeCode)
		if !ok || c.MessageMarkers != want.markers || c.Count.Trailing != want.trailing || *p.Levels != want.levels {
			t.Errorf("%s: client %+v, levels %+v; want %+v", preset, p.Client, p.Levels, want)
		}
	}
}

// The prefix and the lifetimes of a recording stay unless the preset's are asked
// for: then it sends sections with scopes of their own, memoised and under the
// latched policy of lifetimes (000:60-80, 000:125-185), where version 1 sends one
// block for 5 minutes.
func TestPrefixOfThePreset(t *testing.T) {
	own := client.DefaultAssembly()
	if p := wears(t, "claude-code/2026-03", "", facts.ClaudeCode, "2.1.17"); !cmp.Equal(p.Assembly.System, own.System) || !cmp.Equal(p.Assembly.TTL, own.TTL) {
		t.Errorf("the recording's prefix has become %+v, %+v", p.Assembly.System, p.Assembly.TTL)
	}
	const asked = "client: {prefix: preset}"
	march := wears(t, "claude-code/2026-03", asked, facts.ClaudeCode, "2.1.17").Assembly
	if !march.System.Divided() || !march.System.Memoised || march.TTL.Choice != client.ChoicePolicy || !march.TTL.Latch {
		t.Errorf("2026-03: %+v, %+v", march.System, march.TTL)
	}
	first := wears(t, "claude-code/1", asked, facts.ClaudeCode, "2.1.17").Assembly
	if first.System.Divided() || first.System.Memoised || first.TTL.Choice != client.Choice5m {
		t.Errorf("1: %+v, %+v", first.System, first.TTL)
	}
}

// A version that the generation holds stays as it is, other agents keep their
// client, and what a scenario gives comes first.
func TestWhatComesAheadOfThePreset(t *testing.T) {
	if p := wears(t, "own", "", facts.ClaudeCode, "2.1.17"); p.Client != nil || p.Levels == nil {
		t.Errorf("2.1.17 counts the logged output, which no preset says: client %+v, levels %v", p.Client, p.Levels)
	}
	if p := wears(t, "claude-code/1", "", facts.Codex, "0.142"); p.Client != nil || p.Assembly != nil || p.Levels != nil {
		t.Errorf("a session of Codex has %+v of Claude Code", p)
	}
	p := wears(t, "claude-code/1", "client: {version: 2.1.40, prefix: preset, ttl: {choice: 1h}}\nlevels: {block: end}", facts.ClaudeCode, "1.0.62")
	if c := p.Client.(*client.ClaudeCode); c.MessageMarkers != 1 || p.Levels.Block != sim.BlockEnd || p.Assembly.TTL.Choice != client.Choice1h {
		t.Errorf("client %+v, levels %+v, lifetimes %+v", c, p.Levels, p.Assembly.TTL)
	}
}
