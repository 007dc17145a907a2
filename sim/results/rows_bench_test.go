package results

import (
	"bytes"
	"fmt"
	"io"
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results/measures"
)

// What reading takes for a file of 200,000 rows of the kind that a simulation
// writes. Reported besides: ns and bytes for each row.
func BenchmarkReadRows(b *testing.B) {
	const rows = 200_000
	var file bytes.Buffer
	run := &Run{Cells: []Cell{{Cell: "recorded", Strategy: "recorded"}, {Cell: "none", Strategy: "none"}}}
	for i := range run.Cells {
		c := &run.Cells[i]
		for s := range rows / len(run.Cells) {
			row := usual(c.Strategy, fmt.Sprintf("1356fdc2-9e7f-4c43-b1c4-%012d", s))
			c.Rows.Keep(&row)
		}
	}
	if err := WriteRows(&file, run); err != nil {
		b.Fatal(err)
	}
	run.Cells = nil
	b.SetBytes(int64(file.Len()))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ReadRows("rows.jsonl", bytes.NewReader(file.Bytes())); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows, "ns/row")
	b.ReportMetric(float64(file.Len())/rows, "B/row")
}

// usual is a row as a simulated session of 159 calls has it: figures in three
// sources, four classes and two classes of misses.
func usual(strategy, session string) Row {
	r := Row{Strategy: strategy, Session: session, Firings: map[string]int{"full-compact": 2}, Figures: Figures{
		measures.Sessions: 1, measures.Misses: 7, measures.MissedTokens: 888478, measures.HitCalls: 143, measures.LaterCalls: 150,
		measures.Compactions: 2, measures.Recompactions: 1, measures.ChainMax: 2, measures.PeakContext: 167803,
		measures.SecondsAt + measures.ID(measures.LevelNormal): 4871.838100400004, measures.SecondsAt + measures.ID(measures.LevelError): 577.171380781, measures.LeftCalls: 151, measures.LeftSum: 5807, measures.MostUsed: 100,
	}}
	r.Figures[measures.MissesByClass+measures.ID(1)], r.Figures[measures.MissesByClass+measures.ID(3)] = 5, 2
	for i, s := range []measures.Source{measures.SourceMain, measures.SourceCompact, measures.SourceOther} {
		n := int64(i)
		r.Bill(s, &prompt.Usage{Uncached: 177 + 8438*n, Read: 14742458 - 7205210*n, Write5m: 924276 - 461073*n, Output: 57257 - 28596*n},
			&Cost{measures.ClassUncached: 0.0008850000000000017 * float64(n+1), measures.ClassRead: 7.371229000000001 / float64(n+1),
				measures.ClassWrite5m: 5.776725000000003 / float64(n+1), measures.ClassOutput: 1.4314250000000004 / float64(n+1)})
		r.Figures[measures.CallsBySource+measures.ID(s)] = []float64{151, 2, 6}[i]
	}
	r.Figures[measures.Calls] = 159
	r.Waited(measures.WaitCompaction, 185.882589981)
	r.Waited(measures.WaitFirstToken, 2.264891199999992)
	r.Figures[measures.ErrorCalls], r.Figures[measures.KeepaliveSignals], r.Figures[measures.NetNegativeCompactions], r.Figures[measures.RestoredFiles] = 21, 5, 1, 10
	return r
}

// BenchmarkWriteRows writes 20,000 rows.
func BenchmarkWriteRows(b *testing.B) {
	run := &Run{Cells: []Cell{{Cell: "none", Strategy: "none"}}}
	for s := range 20_000 {
		row := usual("none", fmt.Sprintf("1356fdc2-9e7f-4c43-b1c4-%012d", s))
		run.Cells[0].Rows.Keep(&row)
	}
	for b.Loop() {
		if err := WriteRows(io.Discard, run); err != nil {
			b.Fatal(err)
		}
	}
}
