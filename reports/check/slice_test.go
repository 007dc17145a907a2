package check

import (
	"bytes"
	"fmt"
	"reflect"
	"runtime"
	"testing"

	"pgregory.net/rapid"

	"github.com/compactsim/compactsim/sim/results"
)

// Whatever the groups, sessions and processors, a total has the bits that come of
// adding the rows of its sessions one by one in their order.
func TestSharedWorkChangesNoBit(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	rapid.Check(t, func(t *rapid.T) {
		in := drawnInput(t)
		member := map[string]func(id string, s Session) string{
			ByProject: func(_ string, s Session) string { return groupName(ByProject, s.Project) },
			ByModel:   func(_ string, s Session) string { return groupName(ByModel, s.Model) },
			"":        func(string, Session) string { return "" },
		}
		runtime.GOMAXPROCS(rapid.IntRange(1, 4).Draw(t, "processors"))
		shared := newSums(new(File))
		for by, of := range member {
			for _, g := range in.groups(by) {
				c := &in.Cells[0]
				got := shared.of(c, g)
				for i, d := range c.Draws {
					var want results.Row
					for j := range d.Rows.Len() {
						if id := d.Rows.At(j).Session; of(id, in.Sessions[id]) == g.name {
							want.Add(d.Rows.At(j))
						}
					}
					if by == "" {
						want = d.Total
					}
					if !reflect.DeepEqual(got.totals[i], want) {
						t.Fatalf("group %q, draw %d: %+v, want %+v", g.name, i, got.totals[i], want)
					}
				}
			}
		}
	})
}

// drawnInput is a run of one cell under two to four seeds, whose draws list their
// sessions in the same order or in one of their own.
func drawnInput(t *rapid.T) *Input {
	in := &Input{Sessions: map[string]Session{}}
	var draws [][]tally
	n := rapid.IntRange(1, 8).Draw(t, "sessions")
	for i := range n {
		in.Sessions[fmt.Sprint("s", i)] = Session{Project: rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "project"), Model: "m"}
	}
	for range rapid.IntRange(2, 4).Draw(t, "seeds") {
		var rows []tally
		for _, i := range rapid.Permutation(upTo(n)).Draw(t, "order") {
			rows = append(rows, tally{session: fmt.Sprint("s", i), usd: rapid.Float64Range(0, 10).Draw(t, "usd"), read: rapid.Int64Range(0, 99).Draw(t, "read")})
		}
		draws = append(draws, rows)
	}
	in.Cells = []Cell{cell("x", draws...)}
	return in
}

func upTo(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// A report has the same bytes on one processor and on several.
func TestSameReportOnAnyProcessors(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	f := parsed(t, "  - {metric: cost_usd, max_increase: 1%, group: project}\n  - {metric: cache_hit_ratio, min: 91%}\n")
	var texts [2]bytes.Buffer
	for i, processors := range []int{1, 5} {
		runtime.GOMAXPROCS(processors)
		if err := against(t, f, largeRun(1), largeRun(1.1)).Write(&texts[i], "json"); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(texts[0].Bytes(), texts[1].Bytes()) {
		t.Error("the reports differ")
	}
}
