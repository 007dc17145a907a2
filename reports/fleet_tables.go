package reports

import (
	"time"

	"github.com/compactsim/compactsim/internal/studies"
	"github.com/compactsim/compactsim/sim/results"
)

// none stands where there is nothing to count.
const none = "–"

// fleetGrids are the tables of a fleet under one strategy.
func fleetGrids(f *studies.Fleet, c *studies.FleetCell) []grid {
	grids := []grid{fleetMain(f, c), fleetWritten(f, c)}
	for _, without := range []string{studies.WithoutGlobalScope, studies.WithoutOverage, studies.WithoutUpgrades} {
		if p := c.Pair(without); p != nil && fleetHas(f, p) {
			grids = append(grids, fleetPair(p))
		}
	}
	if len(c.Waves) > 0 {
		grids = append(grids, fleetWaves(f, c))
	}
	if len(c.Kinds) > 1 {
		grids = append(grids, fleetKinds(c))
	}
	return grids
}

// fleetHas reports whether a fleet has what it is compared without: else it is
// held against itself.
func fleetHas(f *studies.Fleet, p *studies.FleetPair) bool {
	switch p.Without {
	case studies.WithoutGlobalScope:
		return f.GlobalScope
	case studies.WithoutOverage:
		return p.Events > 0 || p.Total.SavedUSD() != 0
	}
	return true
}

// titled returns the grid of a sheet under a title.
func (s *Sheet) titled(title string) grid {
	g := s.grid()
	g.title = title
	return g
}

// fleetColumns are columns of figures behind a name.
func fleetColumns(name string, figures ...SheetColumn) []SheetColumn {
	columns := []SheetColumn{{Title: name}}
	for _, c := range figures {
		c.Right = true
		columns = append(columns, c)
	}
	return columns
}

// fleetGroups returns the organisations of a cell, then the whole fleet.
func fleetGroups(c *studies.FleetCell) []*studies.FleetGroup {
	var list []*studies.FleetGroup
	for i := range c.Orgs {
		list = append(list, &c.Orgs[i])
	}
	return append(list, &c.Total)
}

// fleetMetric is a metric of a group, none without a sample.
func fleetMetric(g *studies.FleetGroup, name string) any {
	if v, ok := g.Metrics[name]; ok {
		return v
	}
	return none
}

// maxFleetRunes keeps the names of organisations from taking the width of a table.
const maxFleetRunes = 20

// fleetName is the name of a group in tables.
func fleetName(name string) string { return shortened(Printable(name), maxFleetRunes) }

// fleetMain has a line for each organisation and one for the fleet.
func fleetMain(f *studies.Fleet, c *studies.FleetCell) grid {
	s := Sheet{Columns: fleetColumns("WHO", SheetColumn{Title: "USERS"}, SheetColumn{Title: "SESSIONS"}, SheetColumn{Title: "CALLS"},
		SheetColumn{Title: "COST", Unit: results.UnitUSD}, SheetColumn{Title: "HIT", Unit: results.UnitRatio},
		SheetColumn{Title: "GLOBAL", Unit: results.UnitRatio}, SheetColumn{Title: "ORG", Unit: results.UnitRatio}, SheetColumn{Title: "OWN", Unit: results.UnitRatio},
		SheetColumn{Title: "MISSES"}, SheetColumn{Title: "DREAMS"})}
	flips := fleetFlips(f) > 0
	if flips {
		s.Columns = append(s.Columns, SheetColumn{Title: "FLIPS", Right: true})
	}
	var sum studies.FleetOrg
	for i, g := range fleetGroups(c) {
		o := &sum
		if i < len(f.Orgs) {
			o = &f.Orgs[i]
			sum.Users += o.Users
			sum.Sessions += o.Sessions
			sum.Flips += o.Flips
		}
		row := []any{fleetName(g.Name), o.Users, o.Sessions, fleetMetric(g, "calls"), fleetMetric(g, "cost_usd"), fleetMetric(g, "cache_hit_ratio")}
		for scope := range studies.FleetScope(studies.NumFleetScopes) {
			row = append(row, fleetHit(g, scope))
		}
		row = append(row, fleetMetric(g, "misses"), fleetMetric(g, "dreams"))
		if flips {
			row = append(row, o.Flips)
		}
		s.Rows = append(s.Rows, row)
	}
	return s.grid()
}

// fleetFlips counts the flips of all organisations.
func fleetFlips(f *studies.Fleet) int {
	n := 0
	for i := range f.Orgs {
		n += f.Orgs[i].Flips
	}
	return n
}

// fleetHit is the hit ratio of a scope, none for what nobody asked for.
func fleetHit(g *studies.FleetGroup, scope studies.FleetScope) any {
	if v, ok := g.Scope(scope).HitRatio(); ok {
		return v
	}
	return none
}

// fleetWritten has the tokens of each organisation, what was written by scope.
func fleetWritten(f *studies.Fleet, c *studies.FleetCell) grid {
	unit := func(title string) SheetColumn { return SheetColumn{Title: title, Unit: results.UnitTokens} }
	s := Sheet{Columns: fleetColumns("WHO", unit("GLOBAL"), unit("ORG"), unit("OWN"), unit("WRITTEN"), unit("OF IT 1H"), unit("READ"), unit("UNCACHED"), unit("OUTPUT"))}
	title := "Tokens written to the cache by who shares them, and all others"
	if f.Capacity > 0 {
		s.Columns = append(s.Columns, SheetColumn{Title: "EVICTED", Right: true})
		title += "; misses on what was EVICTED"
	}
	for _, g := range fleetGroups(c) {
		row := []any{fleetName(g.Name)}
		var all studies.FleetTokens
		for scope := range studies.FleetScope(studies.NumFleetScopes) {
			t := g.Scope(scope)
			all.Add(t)
			row = append(row, t.Written)
		}
		row = append(row, all.Written, fleetMetric(g, "cache_write_1h_tokens"), all.Read, all.Uncached, fleetMetric(g, "output_tokens"))
		if f.Capacity > 0 {
			row = append(row, fleetMetric(g, "misses_eviction"))
		}
		s.Rows = append(s.Rows, row)
	}
	return s.titled(title)
}

// fleetPairTitles are what comparisons are called.
var fleetPairTitles = map[string]string{
	studies.WithoutGlobalScope: "What the global scope saves (WITHOUT: what is everyone's is each organisation's)",
	studies.WithoutOverage:     "What passing the quota costs (WITHOUT: everybody stays inside the plan)",
	studies.WithoutUpgrades:    "What upgrades of the client cost (WITHOUT: it stays as it is)",
}

// fleetPair has what a comparison makes of tokens written and of cost.
func fleetPair(p *studies.FleetPair) grid {
	tokens := func(title string) SheetColumn { return SheetColumn{Title: title, Unit: results.UnitTokens} }
	cost := func(title string) SheetColumn { return SheetColumn{Title: title, Unit: results.UnitUSD} }
	sign, word := -1.0, "MORE"
	if p.Without == studies.WithoutGlobalScope {
		sign, word = 1, "SAVED"
	}
	columns := []SheetColumn{tokens("WRITTEN"), tokens("WITHOUT"), tokens(word), cost("COST"), cost("WITHOUT"), cost(word), {Title: "CHANGE"}}
	switch p.Without {
	case studies.WithoutOverage:
		columns = append(columns, cost("A FLIP"))
	case studies.WithoutUpgrades:
		columns = append(columns, cost("A USER"))
	}
	s := Sheet{Columns: fleetColumns("WHO", columns...)}
	for i := range p.Orgs {
		s.Rows = append(s.Rows, fleetEffect(&p.Orgs[i], sign, len(columns)))
	}
	s.Rows = append(s.Rows, fleetEffect(&p.Total, sign, len(columns)))
	return s.titled(fleetPairTitles[p.Without])
}

// fleetEffect is a line of fleetPair with a number of figures; sign is 1 where
// what is saved counts.
func fleetEffect(e *studies.FleetEffect, sign float64, figures int) []any {
	usd := sign * e.SavedUSD()
	change := none
	if e.USDWithout > 0 {
		change = signedPercent(-e.SavedUSD() / e.USDWithout)
	}
	row := []any{fleetName(e.Name), e.Created, e.CreatedWithout, sign * float64(e.SavedTokens()), e.USD, e.USDWithout, usd, change}
	if len(row) > figures {
		return row
	}
	if _, each, ok := e.PerEvent(); ok {
		return append(row, each)
	}
	return append(row, none)
}

// fleetWaves has what upgrades did to the tokens written ahead of messages.
func fleetWaves(f *studies.Fleet, c *studies.FleetCell) grid {
	unit := func(title string) SheetColumn { return SheetColumn{Title: title, Unit: results.UnitTokens} }
	s := Sheet{Columns: fleetColumns("UPGRADE", SheetColumn{Title: "OVER", Unit: results.UnitSeconds}, SheetColumn{Title: "PROMPT"}, SheetColumn{Title: "USERS"},
		unit("BEFORE"), unit("DURING"), unit("AFTER"), unit("PEAK"), SheetColumn{Title: "IN THE HOUR FROM"})}
	for _, w := range c.Waves {
		if w.Upgrade >= len(f.Upgrades) {
			continue
		}
		u := &f.Upgrades[w.Upgrade]
		s.Rows = append(s.Rows, []any{fleetClock(f, u.At), u.Over, signedCount(int64(u.Static)), u.Users,
			w.Before, w.During, w.After, w.PeakTokens, fleetClock(f, float64(w.PeakHour)*3600)})
	}
	return s.titled("Tokens written ahead of messages, per hour: as long BEFORE an upgrade as it takes, DURING it and as long AFTER")
}

// fleetClock is the time at seconds from the start.
func fleetClock(f *studies.Fleet, seconds float64) string {
	return f.Start.Add(time.Duration(seconds * float64(time.Second))).UTC().Format("01-02 15:04")
}

// fleetKinds has a line for each kind of users.
func fleetKinds(c *studies.FleetCell) grid {
	s := Sheet{Columns: fleetColumns("KIND OF USER", SheetColumn{Title: "WITH SESSIONS"}, SheetColumn{Title: "CALLS"}, SheetColumn{Title: "COST", Unit: results.UnitUSD},
		SheetColumn{Title: "HIT", Unit: results.UnitRatio}, SheetColumn{Title: "MISSES"}, SheetColumn{Title: "WRITTEN 5M", Unit: results.UnitTokens}, SheetColumn{Title: "WRITTEN 1H", Unit: results.UnitTokens})}
	for i := range c.Kinds {
		g := &c.Kinds[i]
		s.Rows = append(s.Rows, []any{Printable(g.Name), g.Users, fleetMetric(g, "calls"), fleetMetric(g, "cost_usd"), fleetMetric(g, "cache_hit_ratio"),
			fleetMetric(g, "misses"), fleetMetric(g, "cache_write_5m_tokens"), fleetMetric(g, "cache_write_1h_tokens")})
	}
	return s.titled("By how users are entitled")
}
