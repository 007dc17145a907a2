package scenarios

import (
	"bytes"
	"context"
	"reflect"
	"testing"

	"github.com/compactsim/compactsim/internal/needs"
	"github.com/compactsim/compactsim/internal/store"
	"github.com/compactsim/compactsim/internal/studies"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/traces"
)

// shelved puts the sessions of a corpus on a shelf.
func shelved(t *testing.T, c *traces.Corpus) *traces.Corpus {
	t.Helper()
	shelf, err := store.NewShelf(new(needs.Index))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(shelf.Close)
	for _, s := range c.Sessions {
		if err := s.Shelve(shelf); err != nil {
			t.Fatal(err)
		}
		if len(s.Blocks)+len(s.Threads)+len(s.Objects) > 0 {
			t.Fatalf("session %s is still in memory", s.ID)
		}
	}
	return c
}

// Sessions that are loaded a part at a time have the figures, the compactions and the calls of those that are all in
// memory, alone and in cohorts that share a cache: 40 sessions of some 300 calls are more than a part.
func TestRowsFromShelf(t *testing.T) {
	t.Parallel()
	for _, cohort := range []string{"session", "project"} {
		type outcome struct {
			rows   string
			calls  []results.CellCalls
			chains []studies.Chains
		}
		var got [2]outcome
		for i := range got {
			c := madeCorpus(t, 40)
			if i > 0 {
				c = shelved(t, c)
			}
			p := threeCells(t)
			p.Workers = 1 + i
			var err error
			if p.Design, err = p.expand("test", []string{"none", "auto-compact/167k"}, []string{"sessions.cohort=" + cohort}); err != nil {
				t.Fatal(err)
			}
			run, err := p.Run(context.Background(), c)
			if err != nil {
				t.Fatal(err)
			}
			var b bytes.Buffer
			if err := results.WriteRows(&b, run); err != nil {
				t.Fatal(err)
			}
			got[i].rows = b.String()
			if got[i].calls, got[i].chains, err = p.Follow(context.Background(), c, run); err != nil {
				t.Fatal(err)
			}
		}
		if got[0].rows != got[1].rows {
			t.Errorf("cohort %s: rows from a shelf:\n%s\nwant\n%s", cohort, got[1].rows, got[0].rows)
		}
		if len(got[0].calls) == 0 || !reflect.DeepEqual(got[0].calls, got[1].calls) {
			t.Errorf("cohort %s: other calls from a shelf", cohort)
		}
		if len(got[0].chains) == 0 || !reflect.DeepEqual(got[0].chains, got[1].chains) {
			t.Errorf("cohort %s: other compactions from a shelf", cohort)
		}
	}
}
