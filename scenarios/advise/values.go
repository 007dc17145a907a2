package advise

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/internal/kit/stats"
	"github.com/compactsim/compactsim/scenarios"
	"github.com/compactsim/compactsim/scenarios/choose"
	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/sim/validate"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
	"github.com/compactsim/compactsim/traces/facts"
)

// candidate is a value of a setting.
type candidate struct {
	setting *facts.Setting
	value   string
}

// assigns returns the value as arguments of sim run --set.
func (c candidate) assigns() []string {
	return append([]string{c.setting.With(c.setting.Assign, c.value)}, c.setting.Also...)
}

// assignedIn returns what several values assign together in a session.
func assignedIn(list []candidate, s *traces.Session) (all []string) {
	for _, c := range list {
		if c.setting.For(s) {
			all = append(all, c.assigns()...)
		}
	}
	return all
}

// offered returns the settings that a version of the client honours and that are about tools that sessions call, by
// group. An unknown version counts as the newest.
func offered(settings []facts.Setting, newest string, tools []string) [][]candidate {
	var groups []string
	by := map[string][]candidate{}
	for i := range settings {
		s := &settings[i]
		if later(s, newest) || s.Tool != "" && !slices.ContainsFunc(tools, func(t string) bool { return strings.HasPrefix(t, s.Tool) }) {
			continue
		}
		if !slices.Contains(groups, s.Group) {
			groups = append(groups, s.Group)
		}
		for _, v := range s.Values {
			by[s.Group] = append(by[s.Group], candidate{s, v})
		}
	}
	var list [][]candidate
	for _, g := range groups {
		list = append(list, by[g])
	}
	return list
}

// steps returns what advice calls when a choice of settings is simulated; it tells Done how many of all choices are.
func steps(p *scenarios.Plan, made map[string][]*traces.Session) func() {
	finished, all := 0, 0
	for name, sessions := range made {
		if len(sessions) >= choose.Blocks {
			all += len(offered(agents.Of(name).Settings, "", nil))
		}
	}
	tell := func() {
		if p.Done != nil {
			p.Done(min(finished, all), all)
		}
	}
	tell()
	return func() {
		finished++
		tell()
	}
}

// later reports whether a version of the client does not honour a setting yet.
func later(s *facts.Setting, version string) bool {
	return s.From != "" && version != "" && profile.Compare(version, s.From) < 0
}

// total returns the row of all sessions under strategy own with values of settings, in a closed
// loop: what the agent fetches again because it was forgotten counts against a saving.
func (p *adviser) total(ctx context.Context, sessions []*traces.Session, set []candidate) (*results.Row, *tally, error) {
	rows, taken, err := p.measure(ctx, sessions, set)
	if err != nil {
		return nil, nil, err
	}
	var sum results.Row
	for i := range rows {
		sum.Add(&rows[i])
	}
	return &sum, taken, nil
}

// measure returns the row of each session that total sums up, and all calls.
func (p *adviser) measure(ctx context.Context, sessions []*traces.Session, set []candidate) ([]results.Row, *tally, error) {
	taken, out := newTally(sessions), make([]results.Row, len(sessions))
	sets, alike := map[string][]string{}, map[string][]int{} // sessions by what is assigned in them
	for i, s := range sessions {
		if p.leaves(set, s) {
			out[i], taken.sessions[s.ID] = p.asIs[s].row, p.asIs[s].used
			continue
		}
		all := assignedIn(set, s)
		key := strings.Join(all, " ")
		sets[key], alike[key] = all, append(alike[key], i)
	}
	for _, key := range slices.Sorted(maps.Keys(sets)) {
		c, err := p.Config(measures.StrategyOwn, sets[key])
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", key, err)
		}
		use(&c)
		some := make([]*traces.Session, len(alike[key]))
		for k, i := range alike[key] {
			some[k] = sessions[i]
		}
		c.Record = taken.add
		rows, err := sim.Runner{Workers: p.Workers}.Run(ctx, some, []sim.Config{c})
		if err != nil {
			return nil, nil, err
		}
		for k, i := range alike[key] {
			out[i] = rows[0][k]
		}
	}
	if len(set) == 0 {
		for i, s := range sessions {
			p.asIs[s] = &unchanged{out[i], taken.sessions[s.ID]}
		}
	}
	return out, taken, nil
}

// leaves reports whether it is known that values of settings change nothing in a session: they assign nothing in it, or a
// search has found every figure the same under the one value.
func (p *adviser) leaves(set []candidate, s *traces.Session) bool {
	return p.asIs[s] != nil && (len(set) == 1 && p.same[set[0]][s] || len(assignedIn(set, s)) == 0)
}

// ownRows returns the rows of sessions under strategy own, with each of several
// sets of assignments. Of sets but an empty first one it may lack rows, which have no Strategy, as do rows to be skipped.
func (p *adviser) ownRows(
	ctx context.Context, sessions []*traces.Session, sets [][]string, skip func(set, session int) bool,
) ([][]results.Row, error) {
	configs, err := p.Configs(measures.StrategyOwn, sets)
	if err != nil {
		return nil, err //nolint:wrapcheck // it says which set
	}
	for i := range configs {
		use(&configs[i])
	}
	rows, err := sim.Runner{Workers: p.Workers, Skip: skip}.Run(ctx, sessions, configs)
	var broken *sim.Broken
	if errors.As(err, &broken) && broken.Stopped == nil && (len(sets[0]) > 0 || len(broken.Cells[0]) == 0) {
		err = nil // a set that the program fails with is none to advise
	}
	return rows, err
}

// use sets the kind of closed loop, and leaves out what advice does not look at.
func use(c *sim.Config) { c.Agent.Refetch, c.Breaks = sim.RefetchFitted, false }

// assignmentsOf returns what a fact of a client at a value is in a simulation under strategy own; nil for a fact that is
// no setting.
func assignmentsOf(fact string, value float64) []string {
	lifetime := "5m"
	if value >= 0.5 {
		lifetime = "1h"
	}
	switch fact {
	case validate.FactLifetime:
		return []string{"client.env.CLAUDE_CODE_PROMPT_CACHE_TTL=" + lifetime}
	case validate.FactLifetimeAgent:
		return []string{"client.env.CLAUDE_CODE_SUBAGENT_PROMPT_CACHE_TTL=" + lifetime}
	case validate.FactCompactedAt:
		return []string{fmt.Sprintf("full-compact.trigger.fixed=%.0f", value), "full-compact.trigger.reserve=null",
			"full-compact.trigger.reserve_output=false", "full-compact.trigger.output_cap=0"}
	}
	return nil
}

// Said estimates what sessions cost more with a fact of their client at a value than as it was: what advice on them says of
// that value, for as many sessions again. The plan is prepared. It is not ok for a fact that is no setting.
func Said(ctx context.Context, plan *scenarios.Plan, sessions []*traces.Session, fact string, value float64) (e stats.Estimate, ok bool, err error) {
	set := assignmentsOf(fact, value)
	if set == nil {
		return e, false, nil
	}
	rows, err := newAdviser(plan).ownRows(ctx, sessions, [][]string{nil, set}, nil)
	if err != nil {
		return e, false, err
	}
	costs := make([][]float64, len(rows))
	for i := range rows {
		for j := range rows[i] {
			costs[i] = append(costs[i], costOf(&rows[i][j], &rows[0][j]))
		}
	}
	among, list := among(costs)
	among.Units = choose.UnitsOf(sessions)
	return among.Estimate(list[0].Figure, list[1].Figure).Again(), true, nil
}
