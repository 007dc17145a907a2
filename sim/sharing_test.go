package sim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/compactsim/compactsim/internal/kit/spec"
	"github.com/compactsim/compactsim/sim/client"
	"github.com/compactsim/compactsim/sim/promptcache"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/sim/summarizer"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces"
	"gopkg.in/yaml.v3"
	"pgregory.net/rapid"
)

// relatives draws strategies that differ from one in what its layers poll.
func relatives(rt *rapid.T, registry *strategies.Registry, s *strategies.Strategy) []*strategies.Strategy {
	text, err := s.YAML()
	if err != nil {
		rt.Fatal(err)
	}
	list := []*strategies.Strategy{s}
	if len(s.Members()) > 1 {
		for _, name := range rapid.SliceOfN(rapid.SampledFrom([]string{"own", "own/lower", "own/higher"}), 1, 3).Draw(rt, "own") {
			r, err := registry.Strategy(name)
			if err != nil {
				rt.Fatal(err)
			}
			list = append(list, r)
		}
		return list
	}
	for range rapid.IntRange(1, 6).Draw(rt, "relatives") {
		var node yaml.Node
		if err := yaml.Unmarshal(text, &node); err != nil {
			rt.Fatal(err)
		}
		for _, layer := range s.LayerNames() {
			for _, path := range s.Traits(layer).Polls {
				at := append([]string{layer}, strings.Split(path, ".")...)
				values := []int{0, 1, 2, 5, 20, 70}
				switch path {
				case "trigger":
					at, values = append(at, "fixed"), []int{25_000, 40_000, 41_000, 60_000, 90_000, 91_000, 150_000}
				case "threshold", "min_saved":
					values = []int{1, 300, 4_000, 20_000}
				}
				v := spec.Find(layerNode(&node, layer), at[1:]...)
				if v != nil {
					v.SetString(fmt.Sprint(rapid.SampledFrom(values).Draw(rt, layer+"."+path)))
					v.Tag = "!!int"
				}
			}
		}
		if r, err := registry.Compose(s.Name, node.Content[0], "relative"); err == nil {
			list = append(list, r)
		}
	}
	return list
}

// layerNode returns the parameters of a layer of a strategy as YAML.
func layerNode(n *yaml.Node, layer string) *yaml.Node {
	for i := range n.Content {
		if n.Kind == yaml.MappingNode && n.Content[i].Value == layer && i%2 == 0 {
			return n.Content[i+1]
		}
		if found := layerNode(n.Content[i], layer); found != nil {
			return found
		}
	}
	return nil
}

// Cells that share what they have in common have the rows that each has by itself: over all presets and mixtures of
// layers, beside other presets, with values of all that layers poll, other lifetimes, windows that thresholds are counted from, generations and clients that stop at a level or do not.
func TestRowsOfSharedRunsAreThoseOfEachByItself(t *testing.T) {
	registry, err := strategies.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	base := testConfig(t, "none")
	draws, shared, rested := 0, 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		draws++
		s := mixture(rt, registry)
		if name := rapid.SampledFrom(append([]string{""}, registry.Presets()...)).Draw(rt, "preset"); name != "" || s == nil {
			s, err = registry.Strategy(cmp.Or(name, "none"))
			if err != nil {
				rt.Fatal(err)
			}
		}
		stub := *summarizer.Default()
		stub.FailureRate = rapid.SampledFrom([]float64{0, 0.3}).Draw(rt, "failures")
		c := base
		c.Summarizer, c.Breaks, c.Around = &stub, true, &stub
		c.Window = rapid.SampledFrom([]int64{0, 60_000, 110_000}).Draw(rt, "window")
		c.Levels = DefaultLevels()
		c.Levels.Block = rapid.SampledFrom([]Block{BlockOff, BlockOff, BlockCompact, BlockEnd}).Draw(rt, "block")
		var cells []Config
		strangers := rapid.SliceOfN(rapid.SampledFrom(registry.Presets()), 0, 30).Draw(rt, "strangers")
		list := relatives(rt, registry, s)
		for _, name := range strangers {
			if r, err := registry.Strategy(name); err == nil && r.Origin.NotRun == "" {
				list = append(list, r)
			}
		}
		for _, r := range list {
			assembly := client.DefaultAssembly()
			assembly.Env.AutoCompactWindow = rapid.SampledFrom([]string{"", "100000", "100000", "120000", "150000"}).Draw(rt, "auto window")
			c.Strategy, c.Assembly = r, &assembly
			c.Lifetimes = promptcache.Lifetimes{
				rapid.SampledFrom([]time.Duration{0, time.Minute, 5 * time.Minute, 10 * time.Minute, 20 * time.Minute}).Draw(rt, "5m"),
				rapid.SampledFrom([]time.Duration{0, 20 * time.Minute, time.Hour}).Draw(rt, "1h"),
			}
			cells = append(cells, c)
		}
		sessions := []*traces.Session{mixedSession(rt, "a"), mixedSession(rt, "b"), mixedSession(rt, "c")}
		for _, s := range sessions {
			s.Versions = []string{rapid.SampledFrom([]string{"2.1.25", "2.1.25", "2.0.1", "2.1.230"}).Draw(rt, "version")}
		}
		runner := Runner{Workers: 1, Cohorts: [][]int{{0, 1}, {2}}}
		for _, g := range runner.groupCells(cells, sessions) {
			if g.rests {
				rested++
			} else if len(g.cells) > 1 {
				shared++
			}
		}
		got, err := runner.Run(context.Background(), sessions, cells)
		if err != nil {
			rt.Fatal(err)
		}
		for i, cell := range cells {
			cell.Around = nil
			want, err := runner.Run(context.Background(), sessions, []Config{cell})
			if err != nil {
				rt.Fatal(err)
			}
			for k := range sessions {
				if a, b := differing(&got[i][k], &want[0][k]); a != "" {
					rt.Fatalf("cell %d, session %d has %s and by itself %s", i, k, a, b)
				}
			}
		}
	})
	if draws >= 100 && (shared == 0 || rested == 0) { // the 20 draws of a run with the race detector may have none
		t.Errorf("%d runs of strategies of one kind and %d of strategies that rest, want some of both", shared, rested)
	}
}

// differing returns the first part of two rows that differs, "" for equal ones.
func differing(r, s *results.Row) (string, string) {
	a, b := strings.SplitAfter(fmt.Sprintf("%+v", *r), " "), strings.SplitAfter(fmt.Sprintf("%+v", *s), " ")
	for i := range a {
		if i == len(b) || a[i] != b[i] {
			return strings.Join(a[max(0, i-4):i+1], ""), strings.Join(b[max(0, i-4):min(len(b), i+1)], "")
		}
	}
	return "", ""
}

// thresholds are cells of one kind that compact at levels, in tokens.
func thresholds(t *testing.T, levels ...int) (cells []Config) {
	stub := summarizer.Default()
	for _, n := range levels {
		c := written(t, fmt.Sprintf("  - full-compact: {trigger: {fixed: %d}}\n", n))
		c.Summarizer, c.Around = stub, stub
		cells = append(cells, c)
	}
	return cells
}

// Cells whose thresholds are counted from windows of other sizes are one simulation until the smallest is full, and have the rows that each
// has by itself: the session's results alone are 160,000 tokens. A cell without a size is another simulation.
func TestWindowsShareTheBeginning(t *testing.T) {
	stub := summarizer.Default()
	var cells []Config
	for _, size := range []string{"", "100000", "150000", "180000"} {
		c, assembly := testConfig(t, "auto-compact/167k"), client.DefaultAssembly()
		assembly.Env.AutoCompactWindow = size
		c.Strategy, c.Assembly, c.Summarizer, c.Around = testConfig(t, "auto-compact/167k").Strategy, &assembly, stub, stub
		cells = append(cells, c)
	}
	session := newSession("a").turns(40, 0, 4000).session()
	groups := (Runner{}).groupCells(cells, []*traces.Session{session})
	if len(groups) != 2 || !slices.Equal(groups[1].cells, []int{1, 2, 3}) {
		t.Fatalf("groups %v, want the cell without a size and the three with one", groups)
	}
	rows, err := Runner{}.Run(context.Background(), []*traces.Session{session}, cells)
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range cells {
		c.Around = nil
		want, err := Runner{}.Run(context.Background(), []*traces.Session{session}, []Config{c})
		if err != nil {
			t.Fatal(err)
		}
		if a, b := differing(&rows[i][0], &want[0][0]); a != "" {
			t.Errorf("cell %d has %s and by itself %s", i, a, b)
		}
	}
	if a, b := rows[1][0].Figures[measures.Compactions], rows[3][0].Figures[measures.Compactions]; a <= b {
		t.Errorf("%v compactions where thresholds are counted from 100,000 tokens and %v from 180,000, want fewer", a, b)
	}
}

// A session that breaks an invariant is left out under every strategy of a shared run, and all
// other sessions are what they are without it.
func TestBrokenSessionsOfASharedRun(t *testing.T) {
	a := newSession("a").turns(40, 0, 4000).session()
	cells := thresholds(t, 60_000, 90_000, 120_000)
	if groups := (Runner{}).groupCells(cells, []*traces.Session{a}); len(groups) != 1 {
		t.Fatalf("%d groups, want one", len(groups))
	}
	want, err := Runner{}.Run(context.Background(), []*traces.Session{a}, cells)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := Runner{Workers: 1, Cohorts: [][]int{{0, 1}}}.Run(context.Background(), []*traces.Session{broken("w"), a}, cells)
	var all *Broken
	if !errors.As(err, &all) || len(all.Cells) != 3 || all.Cells[0][0] == nil || all.Cells[2][0] == nil {
		t.Fatalf("%v, want session 0", err)
	}
	for i := range cells {
		if got, own := differing(&rows[i][1], &want[i][0]); got != "" || rows[i][1].N(measures.Calls) == 0 {
			t.Errorf("cell %d has %s and by itself %s", i, got, own)
		}
	}
}

// An observer sees one cell, so cells that are observed are simulated one by one, strategies that rest among them.
func TestObservedCellsShareNothing(t *testing.T) {
	observed := Runner{Observe: func(int, []*traces.Session) Observer { return saying{new([]string)} }}
	if groups := observed.groupCells(thresholds(t, 60_000, 90_000, 120_000), nil); len(groups) != 3 {
		t.Errorf("%d groups of 3 observed cells", len(groups))
	}
}

// What ends a shared run is told.
func TestSharedRunThatFails(t *testing.T) {
	ctx, stop := context.WithCancelCause(context.Background())
	enough := errors.New("that is enough")
	runner := Runner{Workers: 1, Keep: func(int, *results.Row) { stop(enough) }}
	sessions := []*traces.Session{newSession("a").turns(40, 0, 4000).session(), newSession("b").turns(40, 0, 4000).session()}
	if _, err := runner.Run(ctx, sessions, thresholds(t, 60_000, 90_000)); !errors.Is(err, enough) {
		t.Errorf("%v", err)
	}
}

// A loop that went on from where one session's strategies parted does so for the next session with that one's own files:
// those that session b has read do not come back behind a compaction.
func TestForksOfSeveralSessions(t *testing.T) {
	stub := summarizer.Default()
	var cells []Config
	for _, level := range []int{60_000, 90_000} {
		c := written(t, fmt.Sprintf("  - full-compact: {trigger: {fixed: %d}, attachments: {files: {count: 5, each: 5000, total: 50000}}}\n", level))
		c.Summarizer, c.Around = stub, stub
		cells = append(cells, c)
	}
	reads := func(id, path string) *traces.Session {
		s := newSession(id).turns(40, 0, 4000).session()
		for range s.Blocks {
			s.Objects = append(s.Objects, path)
		}
		return s
	}
	a, b := reads("a", "main.go"), reads("b", "CLAUDE.md")
	got, err := Runner{Workers: 1}.Run(context.Background(), []*traces.Session{a, b}, cells)
	if err != nil {
		t.Fatal(err)
	}
	for i := range cells {
		want, err := NewLoop(cells[i]).Run(b)
		if err != nil {
			t.Fatal(err)
		}
		if a, b := differing(&got[i][1], &want); a != "" {
			t.Errorf("cell %d has %s and by itself %s", i, a, b)
		}
		if got[i][0].N(measures.RestoredFiles) == 0 || want.N(measures.RestoredFiles) > 0 {
			t.Errorf("cell %d restores %d files of a, %d of b", i, got[i][0].N(measures.RestoredFiles), want.N(measures.RestoredFiles))
		}
	}
}
