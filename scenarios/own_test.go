package scenarios

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces"
)

// Each session is simulated under the generation of its own client: a cell of
// generations has the rows that its sessions have under theirs, and the notes say
// which stands for which. long-refactor is of 2.1.29, and is given another version
// to be another client's.
func TestOwnIsOfEachClient(t *testing.T) {
	for version, want := range map[string]struct{ preset, note string }{
		"2.1.10":  {"claude-code/2.1", "claude-code/2.1 for 1 session"},
		"2.1.40":  {"claude-code/2026-03", "claude-code/2026-03 for 1 session"},
		"2.1.150": {"claude-code/2026-08", "claude-code/2026-08 for 1 session, the nearest to claude-code 2.1.150"},
		"2.1.300": {"claude-code/2026-10", "claude-code/2026-10 for 1 session"},
	} {
		corpus := samples(t, "long-refactor")
		for _, s := range corpus.Sessions {
			s.Versions = []string{version}
		}
		set := ownOff(t, want.preset)
		d := expand(t, "strategies: [own, {name: same, preset: "+want.preset+", set: "+set+"}]")
		run, err := (&Plan{Registry: registry(t), Prices: prices(t), Design: d}).Run(context.Background(), corpus)
		if err != nil {
			t.Fatal(err)
		}
		own, same := run.Reference("own"), run.Reference("same")
		if own.Rows[0].CostUSD() != same.Rows[0].CostUSD() || own.Rows[0].N(results.Compactions) != same.Rows[0].N(results.Compactions) {
			t.Errorf("%s: $%f, %d compactions; %s has $%f, %d", version, own.Rows[0].CostUSD(), own.Rows[0].N(results.Compactions),
				want.preset, same.Rows[0].CostUSD(), same.Rows[0].N(results.Compactions))
		}
		if !slices.ContainsFunc(run.Notes, func(n results.Note) bool { return n.Cell == "own" && n.Text == want.note }) {
			t.Errorf("%s: notes %v, want %q", version, run.Notes, want.note)
		}
	}
}

// ownOff returns what own switches off in a preset, as a mapping.
func ownOff(t *testing.T, preset string) string {
	t.Helper()
	s, err := registry(t).Strategy(preset)
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
	f, err := Parse(registry(t), []byte("strategies: [own]"), "mine.yaml")
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
			s := d.Cells[2].Strategy.For(traces.AgentClaudeCode, version)
			if b := s.Params(strategies.CompactName).(strategies.CompactParams).Breaker; b != 9 {
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
	wrong, _ := Parse(registry(t), []byte("strategies: [{preset: own, set: {speculation.enabled: [a]}}]"), "mine.yaml")
	if _, err := wrong.Expand(); err == nil || !strings.Contains(err.Error(), "mine.yaml:1") {
		t.Errorf("a setting that is none: %v", err)
	}
}
