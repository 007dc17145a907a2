// Package rank orders strategies by what they do on sessions. It has no promise to importers.
package rank

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/scenarios"
	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/sim/results/studies"
	"github.com/compactsim/compactsim/sim/servers"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/synthetic"
)

// rankWindow is the window, tokens, at which strategies are ranked besides the window of each session's client.
const rankWindow = 200_000

// scheduled is the preset whose compactions the best schedule has: one summary in the place of all messages.
const scheduled = "auto-compact/167k"

// rankServers are the servers that strategies are ranked on. Models that a server does not have are billed as
// standIn.
var rankServers = []struct {
	name, standIn string
	set           []string
}{
	{"claude 5m", "claude-sonnet-4-6", []string{"server.name=anthropic", "client.ttl.choice=5m"}},
	{"claude 1h", "claude-sonnet-4-6", []string{"server.name=anthropic", "client.ttl.choice=1h"}},
	{"openai", "gpt-5.1", []string{"server.name=openai"}},
	{"plain", "", []string{"server.name=plain"}},
}

// ranker is a ranking under way.
type ranker struct {
	plan     *scenarios.Plan
	file     *scenarios.File
	design   *scenarios.Design // the strategies to rank
	sessions []*traces.Session
	kinds    []map[string]bool    // for each of rankKinds, by session
	bounds   map[string]reachable // by session; nil where none was sought
	acting   map[string]bool      // sessions in which a strategy acts, of the latest view
	alone    map[string]bool      // acting of the first view while strategies are ranked under other assumptions; nil otherwise
	front    map[string]bool      // the strategies to run; nil for all
	among    int                  // strategies of the first view, from which these were picked; 0 for all
	runs     int                  // begun
	steps    int                  // runs that the ranking takes
	lost     []string             // what the program fails on, and why
	broken   error                // the first such failure, if invariants are verified
}

// Options say what a ranking has besides.
type Options struct {
	Assumptions bool // the strategies in front under other assumptions, see assumptions: a run for each
	All         bool // every strategy in every view, which takes three times as long (docs/performance.md): else the first view alone has them all
}

// Run orders the strategies of a scenario by what they do on the sessions of a corpus: at the window of each session's client, then,
// for the strategies in front, at one window for all, by kind of session, and on several servers.
func Run(ctx context.Context, p *scenarios.Plan, file *scenarios.File, corpus *traces.Corpus, with Options) (*studies.Ranking, error) {
	r := &ranker{plan: p, file: file, sessions: corpus.WithCalls(), steps: 2 + len(rankServers)}
	if len(r.sessions) == 0 {
		return nil, traces.ErrNoCalls
	}
	var err error
	if r.design, err = including(p, file, measures.StrategyOwn); err != nil {
		return nil, err
	}
	if with.Assumptions {
		r.steps += len(assumptions(0, 0))
	}
	if r.kinds, err = kindsOf(r.sessions); err != nil {
		return nil, err
	}
	p.Index(ctx, corpus)
	out := &studies.Ranking{NotRun: r.listed()}
	for _, name := range file.StrategyNames() {
		if name == measures.StrategyRecorded || name == measures.StrategyBilled {
			out.Unranked = append(out.Unranked, name)
		}
	}
	var first map[string]bool // the sessions that the first view is of
	window := fmt.Sprintf("client.window=%d", rankWindow)
	for i, set := range [][]string{nil, {window}} {
		run, err := r.run(ctx, corpus, p.Prices, set, out.Run)
		if err != nil {
			return nil, err
		}
		r.bounds = nil
		if i == 0 {
			out.Run = run
			if err := r.bound(ctx, corpus, run); err != nil {
				return nil, err
			}
		}
		v, idle := r.view([]string{"as recorded", document.Whole(rankWindow)}[i], run, func(string) bool { return true })
		if v.Sessions == 0 {
			return nil, fmt.Errorf("no session to rank on: %s with models without a price (--price-as bills them as another), %s that the agent's own strategy ends early",
				document.Count(v.Unpriced, "session"), document.Whole(v.Over))
		}
		out.Windows = append(out.Windows, v)
		out.NotRun = append(out.NotRun, idle...)
		if i == 0 {
			first = r.acting
			if out.Front = !with.All && r.pick(out) < len(v.Standings); !out.Front {
				r.front, r.among = nil, 0
			}
			continue
		}
		for k := range rankKinds {
			if k < len(byOrigin) && r.oneOrigin() {
				continue
			}
			v, _ := r.view(rankKinds[k].Name, run, func(session string) bool { return r.kinds[k][session] })
			v.About = rankKinds[k].About
			out.Kinds = append(out.Kinds, v)
		}
	}
	if out.Servers, err = r.servers(ctx, corpus, window); err != nil {
		return nil, err
	}
	if with.Assumptions {
		r.alone = first
		if out.Assumed, err = r.assume(ctx, corpus, out); err != nil {
			return nil, err
		}
	}
	out.NotRun = onlyOnce(out.NotRun)
	keepRanked(out)
	best := survivors(out)
	out.Lost, out.Limits, out.Survives, out.Named = r.lost, rankLimits(), best.text()+best.byThemselves(), best.names[:min(len(best.names), mostNamed)]
	return out, r.broken
}

// pick takes the strategies in front, which alone are run from now on, and counts them: the ones that the tables show, and the
// survivors of several views. They are judged among all strategies of the first view, as they were picked from these.
func (r *ranker) pick(out *studies.Ranking) int {
	r.front, r.among = map[string]bool{}, len(out.Windows[0].Standings)
	run, other := studies.ByBasis(out.Windows[0].Standings)
	for _, s := range slices.Concat(out.Foremost(run, studies.Front), out.Foremost(other, studies.Front)) {
		r.front[s.Strategy] = true
	}
	if len(out.Windows) > 1 {
		for _, name := range survivors(out).names {
			r.front[name] = true
		}
	}
	return len(r.front)
}

// servers returns the views of rankServers under a window, given as an assignment.
func (r *ranker) servers(ctx context.Context, corpus *traces.Corpus, window string) (list []studies.View, err error) {
	for _, on := range rankServers {
		prices, err := r.sold(on.set[0], on.standIn)
		if err != nil {
			return nil, err
		}
		run, err := r.run(ctx, corpus, prices, append([]string{window}, on.set...), nil)
		if err != nil {
			return nil, err
		}
		v, _ := r.view(on.name, run, func(string) bool { return true })
		if on.standIn != "" {
			v.About = "models of other providers billed as " + on.standIn
		}
		list = append(list, v)
	}
	return list, nil
}

// including returns the strategies of a file with another one, which may be among them.
func including(p *scenarios.Plan, file *scenarios.File, name string) (*scenarios.Design, error) {
	if p.Design != nil && slices.Contains(file.StrategyNames(), name) {
		return p.Design, nil
	}
	both := file.Clone()
	if err := both.Choose("rank", append(file.StrategyNames(), name)); err != nil {
		return nil, err
	}
	return both.Expand()
}

// run simulates the strategies under assignments, which set a window and nothing else where there is a run before, without them.
func (r *ranker) run(
	ctx context.Context, corpus *traces.Corpus, prices *costmodel.Table, set []string, before *results.Run,
) (*results.Run, error) {
	design, err := r.design.With(set)
	if err != nil {
		return nil, err
	}
	return r.runDesign(ctx, corpus, prices, design, before)
}

// runDesign simulates the strategies of a design, as far as a run before does not have their rows.
func (r *ranker) runDesign(
	ctx context.Context, corpus *traces.Corpus, prices *costmodel.Table, design *scenarios.Design, before *results.Run,
) (*results.Run, error) {
	plan := *r.plan
	plan.Prices, plan.Design, plan.Before = prices, design, before
	if done := r.plan.Done; done != nil {
		step := r.runs
		plan.Done = func(n, total int) { done(step*total+n, r.steps*total) }
	}
	r.runs++
	if r.front != nil {
		some := *design
		some.Cells = slices.DeleteFunc(slices.Clone(design.Cells), func(c scenarios.Cell) bool { return !r.front[c.Name] })
		plan.Design = &some
	}
	return r.simulate(ctx, &plan, corpus)
}

// simulate runs a plan. What the program fails on is left out and told with the ranking.
func (r *ranker) simulate(ctx context.Context, plan *scenarios.Plan, corpus *traces.Corpus) (*results.Run, error) {
	plan.Lost = func(texts []string) {
		for _, text := range texts {
			if !slices.Contains(r.lost, text) {
				r.lost = append(r.lost, text)
			}
		}
	}
	run, err := plan.Run(ctx, corpus)
	var broken *sim.Broken
	if run == nil || !errors.As(err, &broken) || broken.Stopped != nil {
		return run, err
	}
	r.broken = cmp.Or(r.broken, err)
	return run, nil
}

// bound finds what the best schedules of the compared sessions cost, and gives the run their front.
func (r *ranker) bound(ctx context.Context, corpus *traces.Corpus, run *results.Run) error {
	if r.design.Scenario.Server.Name != "" {
		return nil // a bound holds for the recording's server
	}
	file := r.file.Clone()
	if err := errors.Join(file.Choose("rank", []string{scheduled}), file.Set("rank", true, "bound")); err != nil {
		return err
	}
	compared, _, _ := comparedIn(run, func(string) bool { return true })
	some := *corpus
	some.Sessions = slices.DeleteFunc(slices.Clone(r.sessions), func(s *traces.Session) bool { return !compared[s.ID] })
	if len(some.Sessions) == 0 {
		return nil
	}
	design, err := file.Expand()
	if err != nil {
		return err
	}
	plan := *r.plan
	plan.Design, plan.Done = design, nil
	best, err := r.simulate(ctx, &plan, &some)
	if err != nil {
		return err
	}
	run.Front, r.bounds = best.Front, map[string]reachable{}
	for i := range best.Cells {
		for _, row := range best.Cells[i].Rows.All() {
			if row.N(measures.Bounded) > 0 {
				r.bounds[row.Session] = reachable{row.Figures[measures.BoundUSD], row.Figures[measures.BoundReachedUSD]}
			}
		}
	}
	return nil
}

// reachable is what full compactions of a session can reach, USD: no schedule costs less than least, and one that was found costs found.
type reachable struct{ least, found float64 }

// sold returns the prices with models that a server does not have billed as standIn.
func (r *ranker) sold(set, standIn string) (*costmodel.Table, error) {
	named, err := servers.Of(strings.TrimPrefix(set, "server.name="))
	if err != nil {
		return nil, err //nolint:wrapcheck // it says which
	}
	as := map[string]string{}
	for _, s := range r.sessions {
		for _, model := range s.Models {
			price, err := r.plan.Prices.Lookup(model, s.StartTime())
			if err == nil && !named.Serves(price.Model.Name) {
				as[model] = standIn
			}
		}
	}
	return r.plan.Prices.WithAliases(as) //nolint:wrapcheck // it says which
}

// listed returns the presets that cannot be replayed.
func (r *ranker) listed() (list []studies.NotRun) {
	for _, name := range r.plan.Registry.Presets() {
		if s, err := r.plan.Registry.Strategy(name); err == nil && s.Origin.NotRun != "" {
			list = append(list, studies.NotRun{Strategy: name, Reason: s.Origin.NotRun})
		}
	}
	return list
}

// onlyOnce drops what is listed before.
func onlyOnce(list []studies.NotRun) (out []studies.NotRun) {
	for _, x := range list {
		if !slices.ContainsFunc(out, func(y studies.NotRun) bool { return x.Strategy == y.Strategy }) {
			out = append(out, x)
		}
	}
	return out
}

// keepRanked leaves in the run of a ranking the bill, the recording, and the strategies that have a place
// and bring all sessions to their end.
func keepRanked(out *studies.Ranking) {
	out.Run.Cells = slices.DeleteFunc(out.Run.Cells, func(c results.Cell) bool {
		if c.Strategy == measures.StrategyRecorded || c.Strategy == measures.StrategyBilled {
			return false
		}
		s := out.Windows[0].Of(c.Cell)
		return s == nil || s.Ends > 0
	})
	compared, _, _ := comparedIn(out.Run, func(string) bool { return true })
	for i := range out.Run.Cells {
		out.Run.Cells[i].Rows.Drop(func(session string) bool { return !compared[session] })
	}
	out.Run.Sum()
}

// rankKinds are the kinds of sessions that are ranked by themselves.
var rankKinds = slices.Concat(byOrigin, studies.ByCalls, studies.ByPause)

// byOrigin divides sessions into recorded and generated ones, which only their ids tell apart.
var byOrigin = []studies.Kind{{Name: "recorded"}, {Name: "generated", About: "made by sim traces gen"}}

// generatedKind is the index of generated sessions among rankKinds.
const generatedKind = 1

// oneOrigin reports whether all sessions were recorded, or all generated.
func (r *ranker) oneOrigin() bool {
	n := 0
	for _, generated := range r.kinds[generatedKind] {
		if generated {
			n++
		}
	}
	return n == 0 || n == len(r.kinds[generatedKind])
}

// kindsOf returns, for each of rankKinds, the ids of its sessions.
func kindsOf(sessions []*traces.Session) ([]map[string]bool, error) {
	kinds := make([]map[string]bool, len(rankKinds))
	for k := range kinds {
		kinds[k] = map[string]bool{}
	}
	for _, s := range sessions {
		s, err := s.Load()
		if err != nil {
			return nil, err
		}
		var pause int64
		for i, round := range s.Threads[0].Rounds {
			if i > 0 {
				pause = max(pause, round.Wait)
			}
		}
		for k := range kinds {
			if has := rankKinds[k].Has; has != nil {
				kinds[k][s.ID] = has(s.NumCalls(), time.Duration(pause))
			} else {
				kinds[k][s.ID] = synthetic.Generated(s.ID) == (k == generatedKind)
			}
		}
	}
	return kinds, nil
}

// idealised reports whether a preset is a schedule that no program runs as it is.
func idealised(registry *strategies.Registry, name string) bool {
	s, err := registry.Strategy(name)
	return err == nil && s.Origin.Idealised()
}
