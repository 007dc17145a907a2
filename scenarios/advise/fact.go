package advise

import (
	"context"
	"fmt"

	"github.com/compactsim/compactsim/internal/kit/stats"
	"github.com/compactsim/compactsim/scenarios"
	"github.com/compactsim/compactsim/scenarios/choose"
	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/validate"
	"github.com/compactsim/compactsim/traces"
)

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
	rows, err := newAdviser(plan).ownRows(ctx, sessions, [][]string{nil, set}, sim.RefetchFitted)
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
