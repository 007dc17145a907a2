package fleet

import (
	"context"
	"testing"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/internal/kit/spec"
	"github.com/compactsim/compactsim/internal/study/studies"
	"github.com/compactsim/compactsim/strategies"
)

// runner returns a runner with the built-in strategies and prices that checks
// the invariants at every call.
func runner(t testing.TB) *Runner {
	t.Helper()
	registry, err := strategies.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	prices, err := costmodel.Default()
	if err != nil {
		t.Fatal(err)
	}
	return &Runner{Registry: registry, Prices: prices, Verify: true}
}

// parse returns a fleet of a text.
func parse(t testing.TB, text string) *File {
	t.Helper()
	f, err := readText([]byte(text), "test.yaml", Inputs{})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// simulate runs a fleet.
func simulate(t testing.TB, f *File) *studies.Fleet {
	t.Helper()
	out, err := runner(t).Run(context.Background(), f)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// readText reads the text of a fleet.
func readText(text []byte, name string, in Inputs) (*File, error) {
	tree, err := spec.Parse(text, name)
	if err != nil {
		return nil, err
	}
	return read(tree, in)
}

// Run draws a fleet and simulates it.
func (r *Runner) Run(ctx context.Context, f *File) (*studies.Fleet, error) {
	p, err := f.Generate(ctx, r.Workers)
	if err != nil {
		return nil, err
	}
	return r.Simulate(ctx, p)
}
