package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/scenarios"
	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces"
)

// recipe is all that a worker needs to know of a run. It is written to the output folder, where workers read it.
type recipe struct {
	Scenario []byte   // resolved
	Set      []string // from --set: rows name them, the scenario has only their values
	Prices   []byte   // the price file of the scenario; empty for the built-in prices
	Profile  []byte   // the profile file of the scenario, or once the sessions are known what was learned from them
	Strict   bool
	Program  string // digest of the program, which must be the workers'
	Out      string // the output folder
	Paths    []string
	Origin   results.Provenance // of the rows, once the sessions are known
}

// fitted is the name of the file from which a recipe's profile is read.
const fitted = "profile.yaml"

// plan returns the plan of a recipe.
func (r *recipe) plan() (*scenarios.Plan, error) {
	registry, err := strategies.Builtin()
	if err != nil {
		return nil, err
	}
	file, err := scenarios.Parse(registry, r.Scenario, "scenario.yaml")
	if err != nil {
		return nil, err
	}
	for _, set := range r.Set {
		if err := file.Assign(set); err != nil {
			return nil, err
		}
	}
	design, err := file.Expand()
	if err != nil {
		return nil, err
	}
	prices, err := costmodel.Default()
	if err != nil {
		return nil, err
	}
	s := &design.Scenario
	if len(r.Prices) > 0 {
		over, err := costmodel.Load(bytes.NewReader(r.Prices), s.Prices.File)
		if err != nil {
			return nil, err
		}
		prices = prices.Merge(over)
	}
	if len(s.Prices.As) > 0 {
		if prices, err = prices.WithAliases(s.Prices.As); err != nil {
			return nil, err
		}
	}
	p := &scenarios.Plan{
		Registry: registry, Prices: prices, Design: design, Strict: r.Strict, Version: version(), Seed: s.Seed,
		Workers: runtime.GOMAXPROCS(0),
	}
	if len(r.Profile) > 0 {
		given, err := profile.Parse(r.Profile, fitted)
		if err != nil {
			return nil, err
		}
		p.Profiles = map[string]*profile.Profile{s.Profile: given}
	}
	return p, nil
}

// filter selects the sessions of a corpus for the scenario.
func filter(p *scenarios.Plan, c *traces.Corpus) (traces.Selection, error) {
	f, err := p.Design.Scenario.Sessions.Filter().Parse(time.Now(), time.UTC)
	if err != nil {
		return traces.Selection{}, err
	}
	return f.Apply(c), nil
}

// version returns the version of the program in the form of sim.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "devel"
}

// programDigest identifies the program.
var programDigest = sync.OnceValue(func() string {
	name, err := os.Executable()
	if err != nil {
		return ""
	}
	f, err := os.Open(name)
	if err != nil {
		return ""
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return ""
	}
	return fmt.Sprintf("%x", h.Sum(nil))
})

// errProgram is the error of a worker that runs another program than the launcher.
var errProgram = errors.New("this worker is another version of sim-beam than the launcher: give both the same program")

// check returns an error for a worker of another version.
func (r *recipe) check() error {
	if own := programDigest(); own == "" || own != r.Program {
		return fmt.Errorf("%w (SHA-256 %.12s… here, %.12s… there)", errProgram, own, r.Program)
	}
	return nil
}
