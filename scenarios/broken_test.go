package scenarios

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces"
)

// A session that breaks an invariant is left out of all cells, by name; the rows of other sessions
// are what they are without it, and so they are in a cohort.
func TestBrokenSessionIsLeftOut(t *testing.T) {
	for _, cohort := range []string{"session", "all"} {
		c := sampleCorpus(t)
		run := func(sessions []*traces.Session) (*results.Run, error) {
			p := threeCells(t)
			d, err := p.expand("test", p.Strategies, []string{"sessions.cohort=" + cohort, "verify=true", "profile=none"})
			if err != nil {
				t.Fatal(err)
			}
			p.Design = d
			return p.Run(context.Background(), &traces.Corpus{Sessions: sessions})
		}
		whole, err := run(slices.Clone(c.Sessions[1:]))
		if err != nil {
			t.Fatal(err)
		}
		breakSession(t, c.Sessions[0])
		got, err := run(c.Sessions)
		if !errors.Is(err, sim.ErrInvariant) || !strings.Contains(err.Error(), c.Sessions[0].ID) {
			t.Fatalf("error %v, want an invariant of session %s", err, c.Sessions[0].ID)
		}
		want := "1 session left out: sim fails on " + c.Sessions[0].ID + ": thread 0 round "
		if !slices.ContainsFunc(got.Workload.Remarks, func(text string) bool { return strings.HasPrefix(text, want) }) {
			t.Errorf("remarks %q, want %q", got.Workload.Remarks, want)
		}
		if len(got.Cells) != len(whole.Cells) {
			t.Fatalf("%d cells, want %d", len(got.Cells), len(whole.Cells))
		}
		for i := range whole.Cells {
			if g, w := got.Cells[i].Total.CostUSD(), whole.Cells[i].Total.CostUSD(); g != w || got.Cells[i].Rows.Len() != whole.Cells[i].Rows.Len() {
				t.Errorf("cell %s: $%v in %d rows, want $%v in %d", whole.Cells[i].Cell, g, got.Cells[i].Rows.Len(), w, whole.Cells[i].Rows.Len())
			}
		}
	}
}

// breakSession gives the first result of a session another call, which no reader does.
func breakSession(t *testing.T, s *traces.Session) {
	t.Helper()
	for i := range s.Blocks {
		if s.Blocks[i].Kind == prompt.KindToolResult {
			s.Blocks[i].Call = 1 << 30
			return
		}
	}
	t.Fatal("no tool result")
}

// fragile is a layer under which the program fails on the session that begins at a time.
type fragile struct{ at int64 }

func (fragile) Name() string              { return "fragile" }
func (l fragile) Clone() strategies.Layer { return l }
func (fragile) Reset()                    {}
func (l fragile) BeforeRequest(t *strategies.Turn) strategies.Outcome {
	if t.Epoch == l.at {
		panic("it broke")
	}
	return strategies.Outcome{}
}

// A session that one strategy fails on is left out of that strategy's row alone. The row is
// compared with the recorded row on the remaining sessions; it is an error only where invariants
// are verified.
func TestPairThatFails(t *testing.T) {
	for _, verify := range []bool{false, true} {
		c := sampleCorpus(t)
		lost := c.Sessions[2].ID
		p := threeCells(t)
		d, err := p.expand("test", p.Strategies, []string{"profile=none"})
		if err != nil {
			t.Fatal(err)
		}
		d.Cells[1].Strategy = strategies.NewStrategy("none", "", fragile{c.Sessions[2].Start})
		p.Design, p.Verify = d, verify
		run, err := p.Run(t.Context(), c)
		if errors.Is(err, sim.ErrInvariant) != verify || !verify && err != nil || run == nil {
			t.Fatalf("verify %v: error %v", verify, err)
		}
		rows := map[string]int{}
		for _, cell := range run.Cells {
			rows[cell.Cell] = cell.Rows.Len()
		}
		if rows[measures.StrategyBilled] != 5 || rows[measures.StrategyRecorded] != 5 || rows["none"] != 4 || rows["truncate-oldest"] != 5 {
			t.Errorf("rows are %v; want four of none and five of others", rows)
		}
		none, recorded := run.Reference("none"), run.Reference(measures.StrategyRecorded)
		was := 0.0
		for _, row := range recorded.Rows.All() {
			if row.Session != lost {
				was += row.CostUSD()
			}
		}
		diff, ok := run.VsRecorded(none)
		if want := none.Total.CostUSD()/was - 1; !ok || math.Abs(diff.Relative-want) > 1e-9 || !math.IsInf(run.RankUSD(none), 1) {
			t.Errorf("none is %v off recorded, %v; want %v", diff.Relative, ok, want)
		}
		says := func(part string) bool {
			return slices.ContainsFunc(run.Footnotes(), func(n results.Note) bool { return n.Cell == "none" && strings.Contains(n.Text, part) })
		}
		if !says("1 session left out: sim fails on "+lost+": thread 0 round 0: invariant violated: it broke at scenarios/broken_test.go:") ||
			!says("covers 4 sessions, recorded covers 5: compared over these") {
			t.Errorf("footnotes %+v", run.Footnotes())
		}
	}
}
