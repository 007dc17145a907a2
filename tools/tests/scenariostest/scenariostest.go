// Package scenariostest has sessions, strategies and prices for the tests of scenarios and of the questions above a plan.
package scenariostest

import (
	"context"
	"io/fs"
	"sync"
	"testing"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/sim/needs"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
	"github.com/compactsim/compactsim/traces/store"
	"github.com/compactsim/compactsim/traces/synthetic"
)

var (
	builtinOnce = sync.OnceValues(strategies.Builtin)
	pricesOnce  = sync.OnceValues(costmodel.Default)
)

// Registry returns the presets of the program.
func Registry(t testing.TB) *strategies.Registry {
	t.Helper()
	r, err := builtinOnce()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Prices returns the prices of the program.
func Prices(t testing.TB) *costmodel.Table {
	t.Helper()
	table, err := pricesOnce()
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// Samples returns the sessions of the embedded folder with a name, or of all folders without a name.
func Samples(t testing.TB, names ...string) *traces.Corpus {
	t.Helper()
	var from fs.FS = synthetic.Samples()
	if len(names) > 0 {
		sub, err := fs.Sub(from, names[0])
		if err != nil {
			t.Fatal(err)
		}
		from = sub
	}
	c, err := agents.ReadFS(context.Background(), traces.Options{}, from)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// Made returns long generated sessions.
func Made(t testing.TB, sessions int) *traces.Corpus {
	t.Helper()
	w, err := synthetic.LoadWorkload("long-refactor")
	if err != nil {
		t.Fatal(err)
	}
	g, err := synthetic.NewGenerator(w)
	if err != nil {
		t.Fatal(err)
	}
	c, err := g.Corpus(context.Background(), sessions, 3, 0)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Stored puts the sessions of a corpus into a new store and returns the corpus as it is read from there.
func Stored(t testing.TB, c *traces.Corpus) (*traces.Corpus, *store.Store) {
	t.Helper()
	kept, err := store.Open(t.TempDir(), new(needs.Index))
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range c.Sessions {
		if !s.Keep(kept, s.ID) {
			t.Fatalf("session %s is not kept", s.ID)
		}
		head := s.Head()
		c.Sessions[i] = head.FromStore(kept, s.ID, nil)
	}
	return c, kept
}
