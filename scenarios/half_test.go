package scenarios

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/compactsim/compactsim/internal/loop"
	"github.com/compactsim/compactsim/internal/serving/client"
	"github.com/compactsim/compactsim/traces"
)

// wears returns who has a session of an agent's version under a preset.
func wears(t *testing.T, preset, around, agent, version string) loop.Person {
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
		levels   loop.Levels
	}{
		"claude-code/1":       {2, false, loop.Levels{Warning: 20_000, Error: 20_000, Blocking: 3000, Output: 20_000, Block: loop.BlockNone}},
		"claude-code/2.1":     {1, true, loop.Levels{Warning: 20_000, Error: 20_000, Blocking: 3000, Output: 0, Block: loop.BlockCompact}},
		"claude-code/2026-03": {1, true, loop.Levels{Warning: 20_000, Error: 20_000, Blocking: 3000, Output: 20_000, Block: loop.BlockCompact}},
		"claude-code/2026-08": {1, true, loop.Levels{Warning: 20_000, Error: 20_000, Blocking: 3000, Output: 20_000, Block: loop.BlockCompact}},
	} {
		p := wears(t, preset, "", traces.AgentClaudeCode, "0.1") // no generation holds it
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
	if p := wears(t, "claude-code/2026-03", "", traces.AgentClaudeCode, "2.1.17"); !cmp.Equal(p.Assembly.System, own.System) || !cmp.Equal(p.Assembly.TTL, own.TTL) {
		t.Errorf("the recording's prefix has become %+v, %+v", p.Assembly.System, p.Assembly.TTL)
	}
	const asked = "client: {prefix: preset}"
	march := wears(t, "claude-code/2026-03", asked, traces.AgentClaudeCode, "2.1.17").Assembly
	if !march.System.Divided() || !march.System.Memoised || march.TTL.Choice != client.ChoicePolicy || !march.TTL.Latch {
		t.Errorf("2026-03: %+v, %+v", march.System, march.TTL)
	}
	first := wears(t, "claude-code/1", asked, traces.AgentClaudeCode, "2.1.17").Assembly
	if first.System.Divided() || first.System.Memoised || first.TTL.Choice != client.Choice5m {
		t.Errorf("1: %+v, %+v", first.System, first.TTL)
	}
}

// A version that the generation holds stays as it is, other agents keep their
// client, and what a scenario gives comes first.
func TestWhatComesAheadOfThePreset(t *testing.T) {
	if p := wears(t, "own", "", traces.AgentClaudeCode, "2.1.17"); p.Client != nil || p.Levels == nil {
		t.Errorf("2.1.17 counts the logged output, which no preset says: client %+v, levels %v", p.Client, p.Levels)
	}
	if p := wears(t, "claude-code/1", "", traces.AgentCodex, "0.142"); p.Client != nil || p.Assembly != nil || p.Levels != nil {
		t.Errorf("a session of Codex has %+v of Claude Code", p)
	}
	p := wears(t, "claude-code/1", "client: {version: 2.1.40, prefix: preset, ttl: {choice: 1h}}\nlevels: {block: end}", traces.AgentClaudeCode, "1.0.62")
	if c := p.Client.(*client.ClaudeCode); c.MessageMarkers != 1 || p.Levels.Block != loop.BlockEnd || p.Assembly.TTL.Choice != client.Choice1h {
		t.Errorf("client %+v, levels %+v, lifetimes %+v", c, p.Levels, p.Assembly.TTL)
	}
}
