package main

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/scenarios"
	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces"
)

// seeds is over how many seeds a prediction is the mean.
const seeds = 3

// A predictor asks the simulator. It sees recordings and settings, and no bill.
type predictor struct {
	registry *strategies.Registry
	prices   *costmodel.Table
	rule     *profile.Profile // the default profile, told how the scripted agent reads again
}

// ruled is the name of the profile that is told the agent's rule.
const ruled = "ruled"

func newPredictor() (*predictor, error) {
	registry, err := strategies.Builtin()
	if err != nil {
		return nil, err
	}
	prices, err := costmodel.Default()
	if err != nil {
		return nil, err
	}
	fitted, err := profile.Default()
	if err != nil {
		return nil, err
	}
	rule := *fitted
	always, never := profile.Estimate{Value: 1, Low: 1, High: 1, N: 1}, profile.Estimate{N: 1}
	rule.Refetch, rule.Kept = maps.Clone(fitted.Refetch), maps.Clone(fitted.Kept)
	for kind := range rule.Refetch { // the agent wants the lines it edits and the names it uses, and summaries have neither
		if rule.Refetch[kind] = never; strings.HasSuffix(kind, profile.OutputSuffix) {
			delete(rule.Refetch, kind) // whoever printed it
		}
	}
	rule.Refetch["edit"], rule.Refetch["name"], rule.Refetch["all"] = always, always, always
	for kind := range rule.Kept {
		rule.Kept[kind] = never
	}
	rule.Reread = nil // it reads nothing again that it has
	return &predictor{registry: registry, prices: prices, rule: &rule}, nil
}

// A prediction is what the simulator says of one recording under one setting.
type prediction struct {
	usd         float64
	compactions float64
	looks       float64 // rounds in which the agent fetches again, less the recorded ones that are left out
	places      []compaction
	rounds      []int // recorded rounds of the first thread ahead of which the agent fetches
	left        []int // recorded rounds of the first thread that are left out
}

// ask returns what strategy own would have cost under settings, in a loop ("never" or "fitted") and by a profile.
func (p *predictor) ask(ctx context.Context, corpus *traces.Corpus, sets []string, loop, prof string) (*prediction, error) {
	var list []string
	for s := range seeds {
		list = append(list, fmt.Sprint(s+1))
	}
	a := &prediction{}
	run, _, err := p.run(ctx, corpus, sets, loop, prof, "["+strings.Join(list, ", ")+"]", false)
	if err != nil {
		return nil, err
	}
	var looks [2]results.Metric // more and fewer
	for i, name := range []string{"refetches", "left_out_calls"} {
		var ok bool
		if looks[i], ok = results.LookupMetric(name); !ok {
			return nil, fmt.Errorf("no metric is named %s", name)
		}
	}
	n := 0.
	for i := range run.Cells {
		c := &run.Cells[i]
		if c.Strategy != "own" {
			continue
		}
		n++
		a.usd += c.Total.CostUSD()
		a.compactions += float64(c.Total.N(measures.Compactions))
		more, _ := c.Value(looks[0])
		fewer, _ := c.Value(looks[1])
		a.looks += more - fewer
	}
	if n == 0 {
		return nil, fmt.Errorf("the run has no cell of own")
	}
	a.usd, a.compactions, a.looks = a.usd/n, a.compactions/n, a.looks/n
	_, calls, err := p.run(ctx, corpus, sets, loop, prof, "1", true)
	if err != nil {
		return nil, err
	}
	a.follow(calls)
	return a, nil
}

// run simulates own, and returns the calls of seed 1 if they are wanted.
func (p *predictor) run(ctx context.Context, corpus *traces.Corpus, sets []string, loop, prof, seed string, calls bool) (*results.Run, []results.CallRecord, error) {
	text := fmt.Sprintf("schema: 1\nprofile: %s\nseed: %s\nagent: {refetch: %s}\nstrategies: [own]\n", prof, seed, loop)
	file, err := scenarios.Parse(p.registry, []byte(text), "experiment")
	if err != nil {
		return nil, nil, err
	}
	for _, s := range sets {
		if err := file.Assign(s); err != nil {
			return nil, nil, err
		}
	}
	design, err := file.Expand()
	if err != nil {
		return nil, nil, err
	}
	plan := &scenarios.Plan{Registry: p.registry, Prices: p.prices, Design: design, Profiles: map[string]*profile.Profile{ruled: p.rule}}
	run, err := plan.Run(ctx, corpus)
	if err != nil || !calls {
		return run, nil, err
	}
	cells, _, err := plan.Follow(ctx, corpus, run)
	if err != nil {
		return nil, nil, err
	}
	for _, c := range cells {
		if strings.HasPrefix(c.Cell, "own") {
			return run, c.Calls, nil
		}
	}
	return nil, nil, fmt.Errorf("the calls of own were not followed")
}

// follow finds where the first thread compacted, fetched, and made no recorded call.
func (a *prediction) follow(calls []results.CallRecord) {
	pending, main, before, next, ahead := false, 0, 0, 0, 0
	for _, c := range calls {
		if c.Thread != 0 || c.Session != calls[0].Session {
			continue
		}
		at, total := main, int(c.Usage.Input())
		switch {
		case c.Source == measures.SourceCompact:
			pending = true
			continue
		case c.Source == measures.SourceReread:
			ahead++
		case c.Source != measures.SourceMain || c.Round < 0:
			continue
		default:
			for ; next < int(c.Round); next++ {
				a.left = append(a.left, next)
			}
			for ; ahead > 0; ahead-- {
				a.rounds = append(a.rounds, next)
			}
			next++
			main++
		}
		if pending && total < before {
			a.places = append(a.places, compaction{at, before, total})
			pending = false
		}
		before = total
	}
}

// cost returns what a bill costs, USD.
func (p *predictor) cost(b *bill) (float64, error) {
	usd := 0.
	for model, u := range b.Models {
		price, err := p.prices.Lookup(model, time.Date(2026, 11, 28, 0, 0, 0, 0, time.UTC))
		if err != nil {
			return 0, err
		}
		rate := price.Standard()
		cost := func(tokens int, one prompt.Usage) { // a thousand at a time: no call reaches the price of long requests
			c := results.Cost(rate.Cost(&one))
			usd += c.Total() * float64(tokens) / 1000
		}
		cost(u.Uncached, prompt.Usage{Uncached: 1000})
		cost(u.Read, prompt.Usage{Read: 1000})
		cost(u.Write5m, prompt.Usage{Write5m: 1000})
		cost(u.Write1h, prompt.Usage{Write1h: 1000})
		cost(u.Output, prompt.Usage{Output: 1000})
	}
	return usd, nil
}
