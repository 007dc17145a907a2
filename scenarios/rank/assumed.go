package rank

import (
	"context"
	"fmt"
	"slices"

	"github.com/compactsim/compactsim/scenarios"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/studies"
	"github.com/compactsim/compactsim/traces"
)

// assumption is something that the model takes from little evidence, or by chance, taken otherwise.
type assumption struct {
	name, about string
	set         func(s *scenarios.Scenario) []string // as arguments of sim run --set
}

// assumptions returns what a ranking may rest on: sizes of summaries, what is fetched again, how much longer agents work whose
// observations were summarised (0.18 of the rounds after compactions: The Complexity Trap, arXiv 2508.21433), lifetimes, and draws
// other than by a seed.
func assumptions(seed uint64) (list []assumption) {
	scaled := func(name, of string, factor float64) assumption {
		return assumption{name, of, func(s *scenarios.Scenario) []string {
			return []string{fmt.Sprintf("summarizer.median=%v", factor*s.Summarizer.Median), fmt.Sprintf("summarizer.share=%v", min(factor*s.Summarizer.Share, 1))}
		}}
	}
	live := func(name, of string, factor float64) assumption {
		return assumption{name, of, func(s *scenarios.Scenario) []string {
			return []string{fmt.Sprintf("server.lifetime_5m=%gs", factor*s.Server.Lifetime5m.Seconds()), fmt.Sprintf("server.lifetime_1h=%gs", factor*s.Server.Lifetime1h.Seconds())}
		}}
	}
	to := func(name, of, set string) assumption {
		return assumption{name, of, func(*scenarios.Scenario) []string { return []string{set} }}
	}
	list = append(list,
		scaled("summary ½", "summaries that are drawn are half as long", 0.5), scaled("summary ×2", "twice as long", 2),
		to("fetches low", "agents fetch again what the low end of the fitted interval says", "agent.refetch=low"), to("fetches high", "its high end", "agent.refetch=high"),
		to("rounds +18 %", "so many more rounds after compactions", "agent.elongation=0.18"),
		live("lifetime ½", "entries of 5 minutes and of an hour live half as long", 0.5), live("lifetime ×2", "twice as long", 2))
	for other := seed + 1; other <= seed+2; other++ {
		list = append(list, to(fmt.Sprintf("seed %d", other), "other draws of what is drawn", fmt.Sprintf("seed=%d", other)))
	}
	return list
}

// assume ranks the strategies in front by themselves on the sessions of the first view: as the model has it, in a run of all
// strategies, and under each assumption. In front are the strategies that the tables show, and the survivors of all other views.
func (r *ranker) assume(ctx context.Context, corpus *traces.Corpus, out *studies.Ranking) (list []studies.View, err error) {
	names := map[string]bool{}
	run, other := studies.ByBasis(out.Windows[0].Standings)
	for _, s := range slices.Concat(out.Foremost(run, studies.Front), out.Foremost(other, studies.Front)) {
		names[s.Strategy] = true
	}
	for _, name := range survivors(out).names {
		names[name] = true
	}
	everywhere := func(string) bool { return true }
	asIs := *out.Run
	asIs.Cells = slices.DeleteFunc(slices.Clone(asIs.Cells), func(c results.Cell) bool { return !names[c.Cell] })
	v, _ := r.view("as it is", &asIs, everywhere)
	list = append(list, v)
	for _, a := range assumptions(r.design.Scenario.Seed) {
		design, err := r.design.With(a.set(&r.design.Scenario))
		if err != nil {
			return nil, err
		}
		design.Cells = slices.DeleteFunc(design.Cells, func(c scenarios.Cell) bool { return !names[c.Name] })
		run, err := r.runDesign(ctx, corpus, r.plan.Prices, design, nil)
		if err != nil {
			return nil, err
		}
		v, _ := r.view(a.name, run, everywhere)
		v.About = a.about
		list = append(list, v)
	}
	return list, nil
}
