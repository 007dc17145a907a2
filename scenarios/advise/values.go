package advise

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/internal/kit/stats"
	"github.com/compactsim/compactsim/scenarios"
	"github.com/compactsim/compactsim/scenarios/choose"
	"github.com/compactsim/compactsim/sim/profile"
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

// offers looks at the sessions of an agent and returns the settings that are offered for them, by group: none for too few to choose on
// some and judge on others.
func (p *adviser) offers(agent *facts.Agent, one *AgentAdvice, sessions []*traces.Session) ([][]candidate, error) {
	if len(sessions) < choose.Blocks {
		return nil, nil
	}
	tools := map[string]bool{}
	for _, s := range sessions {
		whole, err := s.Load()
		if err != nil {
			return nil, err
		}
		p.large[s] = largest(whole)
		for _, name := range whole.Tools {
			tools[name] = true
		}
	}
	settings := slices.DeleteFunc(slices.Clone(agent.Settings), func(x facts.Setting) bool {
		return !slices.ContainsFunc(sessions, func(s *traces.Session) bool { return x.Has(s.Variant) })
	})
	return offered(settings, one.Version, slices.Collect(maps.Keys(tools))), nil
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
	costs, err := newAdviser(plan).costsWith(ctx, sessions, func(*traces.Session) []string { return []string{strings.Join(set, " ")} })
	if err != nil {
		return e, false, err
	}
	among, list := among(costs)
	among.Units = choose.UnitsOf(sessions)
	return among.Estimate(list[0].Figure, list[1].Figure).Again(), true, nil
}
