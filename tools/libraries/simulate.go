package main

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/scenarios"
	"github.com/compactsim/compactsim/sim"
	wire "github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
)

// settings are what all presets are simulated under: summaries of one size, an agent that fetches nothing again, an ideal cache,
// and nothing that is fitted to recordings of others.
var settings = []string{"profile=none", "agent.refetch=never", "server.name=plain",
	"summarizer.sizing=fixed", fmt.Sprint("summarizer.median=", summarySize), "summarizer.stripped=0"}

// A simulator runs presets on conversations.
type simulator struct {
	plan   *scenarios.Plan
	folder string
	corpus map[string]*traces.Corpus // by conversation, prompts and size of the head
}

// newSimulator returns a simulator that keeps its recordings in a folder.
func newSimulator(folder string) (*simulator, error) {
	registry, err := strategies.Builtin()
	if err != nil {
		return nil, err
	}
	prices, err := costmodel.Default()
	if err != nil {
		return nil, err
	}
	return &simulator{&scenarios.Plan{Registry: registry, Prices: prices, Window: window}, folder, map[string]*traces.Corpus{}}, nil
}

func (s *simulator) close() {
	for _, c := range s.corpus {
		c.Close()
	}
}

// session returns the recording of a conversation behind a head of so many tokens.
func (s *simulator) session(ctx context.Context, t *talk, head int) (*traces.Session, error) {
	name := fmt.Sprintf("%s-%d-%d", t.Name, len(t.Prompts), head)
	if s.corpus[name] == nil {
		folder := filepath.Join(s.folder, name)
		if err := put(filepath.Join(folder, "trajectory.json"), t.trajectory(head)); err != nil {
			return nil, err
		}
		c, err := agents.Read(ctx, traces.Options{Rates: quarters()}, folder)
		if err != nil {
			return nil, err
		}
		s.corpus[name] = c
	}
	return s.corpus[name].Sessions[0].Load()
}

// quarters has a token for four characters of everything, as libraries are given them: a call weighs no more than its arguments.
func quarters() (r traces.Rates) {
	for k := range r.PerByte {
		r.PerByte[k] = 0.25
	}
	return r
}

// simulate returns what a preset does to a conversation behind a head of so many tokens.
func (s *simulator) simulate(ctx context.Context, preset string, t *talk, head int) (*figures, error) {
	c, err := s.plan.Config(preset, settings)
	if err != nil {
		return nil, err
	}
	var (
		o      observer
		output int
	)
	c.Observer, c.Record = &o, func(r *results.CallRecord) { output += int(r.Usage.Output) }
	session, err := s.session(ctx, t, head)
	if err != nil {
		return nil, err
	}
	if _, err := sim.NewLoop(c).Run(session); err != nil {
		return nil, fmt.Errorf("%s: %w", preset, err)
	}
	f := measure(o.list)
	f.Output = output
	return f, nil
}

// observer keeps the requests of a simulation.
type observer struct{ list []*request }

func (*observer) Checked(sim.Point, strategies.Check)                    {}
func (*observer) Answered(sim.Point, string, string, strategies.Outcome) {}
func (*observer) Changed(sim.Point, string, strategies.Boundary)         {}
func (o *observer) Served(_ sim.Point, layer string, r *exchange.Request, _ *exchange.Outcome) {
	out := &request{side: layer != "", size: int(r.Tail)}
	for i := range r.Entries {
		e := &r.Entries[i]
		key := fmt.Sprint(e.Block, e.Form, e.Salt, e.Tokens)
		switch e.Kind {
		case wire.KindTools, wire.KindSystem, wire.KindUnseen:
			if len(out.items) == 0 {
				out.head, out.size = fmt.Sprint(e.Chain), out.size+int(e.Tokens) // calls beside the conversation have blocks of their own for the same head
				continue
			}
		}
		out.items = append(out.items, item{key, int(e.Tokens), e.Kind.Assistant()})
	}
	o.list = append(o.list, out)
}
