package scenarios

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
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

// Rows of sessions and cells that a run does not have are no part of it, and shards that have some are refused.
func TestRowsOfNoSession(t *testing.T) {
	name, corpus := filepath.Join(t.TempDir(), "rows.jsonl"), sampleCorpus(t)
	plan := func(whole bool) *Plan {
		p := threeCells(t)
		var err error
		if p.Unfinished, err = results.OpenJournal(name, false); err != nil {
			t.Fatal(err)
		}
		p.Whole = whole
		return p
	}
	p := plan(false)
	if err := errors.Join(p.RunShard(t.Context(), corpus, Shard{0, 1}), p.Unfinished.Leave(true)); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(whole, []byte("\n"))
	for _, change := range [][2]string{{`"session":"`, `"session":"nope`}, {`"cell":"`, `"cell":"nope`}} {
		row := bytes.Replace(lines[1], []byte(change[0]), []byte(change[1]), 1)
		if err := os.WriteFile(name, append(bytes.Clone(whole), row...), 0o600); err != nil {
			t.Fatal(err)
		}
		p := plan(true)
		if _, err := p.Run(t.Context(), corpus); err == nil || !strings.Contains(err.Error(), "the shards have a row of session") ||
			!strings.Contains(err.Error(), "nope") {
			t.Errorf("merged with %s: %v", row, err)
		}
		if err := p.Unfinished.Leave(true); err != nil {
			t.Fatal(err)
		}
		p = plan(false)
		run, err := p.Run(t.Context(), corpus)
		if err != nil {
			t.Fatal(err)
		}
		for i := range run.Cells {
			if c := &run.Cells[i]; c.NumRows() != len(corpus.Sessions) {
				t.Errorf("%s has %d rows of %d sessions", c.Cell, c.NumRows(), len(corpus.Sessions))
			}
		}
		p.Unfinished.Close()
	}
}

// Rows of a program whose version names no commit are those of another run for one built otherwise.
func TestRowsOfAnotherBuild(t *testing.T) {
	given := executable
	defer func() { executable = given }()
	for version, same := range map[string]bool{"v1.2.3": true, "(devel)": false, "v0.0.0-20261123104246-8fa9a96e4bd2+dirty": false} {
		name, corpus := filepath.Join(t.TempDir(), "rows.jsonl"), sampleCorpus(t)
		for _, build := range []string{"one", "other"} {
			executable = func() (string, error) { return build, nil }
			p := threeCells(t)
			p.Version = version
			var err error
			if p.Unfinished, err = results.OpenJournal(name, true); err != nil {
				t.Fatal(err)
			}
			err = p.RunShard(t.Context(), corpus, Shard{0, 1})
			if refused := errors.Is(err, results.ErrJournal); refused != (build == "other" && !same) || err != nil && !refused {
				t.Errorf("%s, build %s: %v", version, build, err)
			}
			if err := p.Unfinished.Leave(true); err != nil {
				t.Fatal(err)
			}
		}
	}
}
