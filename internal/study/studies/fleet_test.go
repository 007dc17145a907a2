package studies

import (
	"testing"
	"time"

	"github.com/compactsim/compactsim/sim/results"
)

// smallFleet is one call of an organisation of one.
func smallFleet() *Fleet {
	g := FleetGroup{Name: "fleet", Users: 1, Scopes: []FleetTokens{
		{FleetGlobal, 300, 100, 0}, {FleetOrgs, 0, 0, 0}, {FleetOwn, 0, 500, 10},
	}}
	g.Row = results.Row{Strategy: "none", Figures: results.Figures{results.Sessions: 1, results.Calls: 1,
		results.Tokens + results.ID(results.ClassRead): 300, results.Tokens + results.ID(results.ClassWrite5m): 600,
		results.Tokens + results.ID(results.ClassUncached): 10, results.Tokens + results.ID(results.ClassOutput): 20}}
	g.Row.CostByClass()[results.ClassOutput] = 0.5
	g.Describe()
	org := g
	org.Name, org.Scopes = "acme", nil
	without := results.Row{Figures: results.Figures{results.Tokens + results.ID(results.ClassWrite5m): 900,
		results.Tokens + results.ID(results.ClassUncached): 10, results.Tokens + results.ID(results.ClassOutput): 20}}
	without.CostByClass()[results.ClassOutput] = 0.75
	return &Fleet{
		Name: "small", Start: time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC), Days: 1, Seed: 1, GlobalScope: true,
		Orgs: []FleetOrg{{Name: "acme", Users: 1, Kinds: map[string]int{"api": 1}, Sessions: 1, Calls: 1}},
		Cells: []FleetCell{{
			Strategy: "none", Total: g, Orgs: []FleetGroup{org}, Hours: []FleetHour{{Calls: 1, Read: 300, Uncached: 10, Created: [3]int64{100, 0, 500}}},
			PeakSessions: FleetPeak{1, 3}, PeakCalls: FleetPeak{1, 3},
			Pairs: []FleetPair{{Without: WithoutGlobalScope, Total: NewFleetEffect("fleet", &g.Row, &without)}},
		}},
	}
}

// 300 tokens of creation and $0.25 are saved; four events that cost as much would
// each save a quarter of it.
func TestFleetEffect(t *testing.T) {
	p := smallFleet().Cells[0].Pair(WithoutGlobalScope)
	if p.Total.SavedTokens() != 300 || p.Total.SavedUSD() != 0.25 {
		t.Errorf("saved %d tokens and $%g, want 300 and $0.25", p.Total.SavedTokens(), p.Total.SavedUSD())
	}
	if _, _, ok := p.Total.PerEvent(); ok {
		t.Error("a cost for each of no events")
	}
	p.Total.Events, p.Total.EventTokens, p.Total.EventUSD = 4, -300, -0.25
	if tokens, usd, ok := p.Total.PerEvent(); !ok || tokens != -75 || usd != -0.0625 {
		t.Errorf("each costs %g tokens and $%g, want −75 and −$0.0625", tokens, usd)
	}
	if smallFleet().Cells[0].Pair(WithoutOverage) != nil {
		t.Error("a comparison that was not made")
	}
}

func TestFleetTokens(t *testing.T) {
	g := smallFleet().Cells[0].Total
	if r, ok := g.Scope(FleetGlobal).HitRatio(); !ok || r != 0.75 {
		t.Errorf("hit ratio %g, want 300 of 400", r)
	}
	if n := g.Scope(FleetOwn).Input(); n != 510 {
		t.Errorf("%d tokens of the session's own, want 510", n)
	}
	if none := (&FleetGroup{}).Scope(FleetOwn); none != (FleetTokens{Scope: FleetOwn}) {
		t.Errorf("%+v of a group without scopes", none)
	}
}
