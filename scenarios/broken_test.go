package scenarios

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/compactsim/compactsim/internal/loop"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/traces"
)

// A session that breaks an invariant is left out of all cells, by name; the rows of
// the others are what they are without it, and so they are in a cohort.
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
		if !errors.Is(err, loop.ErrInvariant) || !strings.Contains(err.Error(), c.Sessions[0].ID) {
			t.Fatalf("error %v, want an invariant of session %s", err, c.Sessions[0].ID)
		}
		want := "1 session left out, an invariant is violated: " + c.Sessions[0].ID
		if !slices.Contains(got.Workload.Remarks, want) {
			t.Errorf("remarks %q, want %q", got.Workload.Remarks, want)
		}
		if len(got.Cells) != len(whole.Cells) {
			t.Fatalf("%d cells, want %d", len(got.Cells), len(whole.Cells))
		}
		for i := range whole.Cells {
			if g, w := got.Cells[i].Total.CostUSD(), whole.Cells[i].Total.CostUSD(); g != w || len(got.Cells[i].Rows) != len(whole.Cells[i].Rows) {
				t.Errorf("cell %s: $%v in %d rows, want $%v in %d", whole.Cells[i].Cell, g, len(got.Cells[i].Rows), w, len(whole.Cells[i].Rows))
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
