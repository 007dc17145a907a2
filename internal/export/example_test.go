package export_test

import (
	"bytes"
	"fmt"
	"log"
	"maps"
	"slices"

	"github.com/parquet-go/parquet-go"

	"github.com/compactsim/compactsim/internal/export"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
)

// exported returns the Parquet file of a run of two strategies over two
// sessions, as sim export writes it.
func exported() *bytes.Reader {
	row := func(strategy, session string, usd float64, read, written int64) *results.Row {
		return &results.Row{Strategy: strategy, Session: session, Sessions: 1, Usage: prompt.Usage{Read: read, Write5m: written},
			CostByClass: results.Cost{results.ClassRead: usd}}
	}
	table, err := export.New([]export.Source{{Run: &results.Run{Cells: []results.Cell{
		{Cell: "none", Strategy: "none", Rows: []*results.Row{row("none", "a", 2, 300, 100), row("none", "b", 1, 0, 0)}},
		{Cell: "recorded", Strategy: "recorded", Rows: []*results.Row{row("recorded", "a", 1.5, 100, 100), row("recorded", "b", 1.25, 0, 0)}},
	}}}})
	if err != nil {
		log.Fatal(err)
	}
	var file bytes.Buffer
	if err := table.Write(&file, export.FormatParquet); err != nil {
		log.Fatal(err)
	}
	return bytes.NewReader(file.Bytes())
}

func Example() {
	// The columns asked for; a pointer is nil where there is no sample.
	type row struct {
		Strategy string   `parquet:"strategy"`
		Session  string   `parquet:"session"`
		Cost     float64  `parquet:"cost_usd,optional"`
		Hit      *float64 `parquet:"cache_hit_ratio,optional"`
	}
	file := exported()
	rows, err := parquet.Read[row](file, file.Size())
	if err != nil {
		log.Fatal(err)
	}
	cost, measured := map[string]float64{}, map[string]int{}
	for _, r := range rows {
		cost[r.Strategy] += r.Cost
		if r.Hit != nil {
			measured[r.Strategy]++
		}
	}
	for _, strategy := range slices.Sorted(maps.Keys(cost)) {
		fmt.Printf("%s: $%.2f, a hit ratio in %d session\n", strategy, cost[strategy], measured[strategy])
	}
	// Output:
	// none: $3.00, a hit ratio in 1 session
	// recorded: $2.75, a hit ratio in 1 session
}
