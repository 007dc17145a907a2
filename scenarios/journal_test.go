package scenarios

import (
	"bytes"
	"context"
	"testing"

	"github.com/compactsim/compactsim/sim/results"
)

// A run whose rows are in a journal has the figures and the file of one that holds them in memory.
func TestRowsInJournal(t *testing.T) {
	c := sampleCorpus(t)
	var texts [2]bytes.Buffer
	for i := range texts {
		p := threeCells(t)
		if i > 0 {
			var err error
			if p.Journal, err = results.NewJournal(); err != nil {
				t.Fatal(err)
			}
			defer p.Journal.Close()
		}
		run, err := p.Run(context.Background(), c)
		if err != nil {
			t.Fatal(err)
		}
		for _, cell := range run.Cells {
			if inMemory := len(cell.Rows) > 0; inMemory == (i > 0) {
				t.Errorf("cell %s: %d rows in memory", cell.Cell, len(cell.Rows))
			}
		}
		d, err := run.Document()
		if err != nil {
			t.Fatal(err)
		}
		if err := results.WriteDocument(&texts[i], d); err != nil {
			t.Fatal(err)
		}
		if err := results.WriteRows(&texts[i], run); err != nil {
			t.Fatal(err)
		}
	}
	if texts[0].Len() == 0 || texts[0].String() != texts[1].String() {
		t.Errorf("from a journal:\n%s\nwant\n%s", texts[1].String(), texts[0].String())
	}
}
