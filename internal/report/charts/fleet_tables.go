package reports

import (
	"slices"
	"time"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/internal/study/studies"
)

// fleetTables returns the tables of a fleet under one strategy.
func fleetTables(f *studies.Fleet, c *studies.FleetCell) []*document.Table {
	tables := []*document.Table{fleetMain(f, c), fleetWritten(c)}
	for _, without := range fleetWithout() {
		if p := c.Pair(without); p != nil && fleetHas(f, p) {
			tables = append(tables, fleetPair(p))
		}
	}
	if len(c.Waves) > 0 {
		tables = append(tables, fleetWaves(f, c))
	}
	if len(c.Kinds) > 1 {
		tables = append(tables, fleetKinds(c))
	}
	return tables
}

// fleetHas reports whether a fleet has what a comparison removes; otherwise the
// comparison would be with itself.
func fleetHas(f *studies.Fleet, p *studies.FleetPair) bool {
	switch p.Without {
	case studies.WithoutGlobalScope:
		return f.GlobalScope
	case studies.WithoutOverage:
		return p.Events > 0 || p.Total.SavedUSD() != 0
	}
	return true
}

// columns returns a name column followed by figures in several units.
func columns(name string, figures ...[]document.Column) []document.Column {
	return slices.Concat(document.Left(name), slices.Concat(figures...))
}

func amounts(titles ...string) []document.Column { return document.Right(document.UnitUSD, titles...) }
func sizes(titles ...string) []document.Column   { return document.Right(document.UnitTokens, titles...) }
func ratios(titles ...string) []document.Column  { return document.Right(document.UnitRatio, titles...) }
func counts(titles ...string) []document.Column  { return document.Right("", titles...) }

// fleetGroups returns the organisations of a cell, then the whole fleet.
func fleetGroups(c *studies.FleetCell) []*studies.FleetGroup {
	var list []*studies.FleetGroup
	for i := range c.Orgs {
		list = append(list, &c.Orgs[i])
	}
	return append(list, &c.Total)
}

// fleetMetrics returns metrics of a group, a dash for a missing sample.
func fleetMetrics(g *studies.FleetGroup, names ...string) []any {
	list := make([]any, len(names))
	for i, name := range names {
		list[i] = document.Dash
		if v, ok := g.Metrics[name]; ok {
			list[i] = v
		}
	}
	return list
}

// maxFleetRunes limits the width of organisation names in a table.
const maxFleetRunes = 20

// fleetName returns the name of a group in tables.
func fleetName(name string) string {
	return document.Shortened(document.Printable(name), maxFleetRunes)
}

// fleetMain has a line for each organisation and one for the fleet.
func fleetMain(f *studies.Fleet, c *studies.FleetCell) *document.Table {
	t := &document.Table{Columns: columns("WHO", counts("USERS", "SESSIONS", "CALLS"), amounts("COST"),
		ratios("HIT", "GLOBAL", "ORG", "OWN"), counts("MISSES", "DREAMS"))}
	sum := fleetSum(f)
	if sum.Flips > 0 {
		t.Columns = append(t.Columns, counts("FLIPS")...)
	}
	for i, g := range fleetGroups(c) {
		o := &sum
		if i < len(f.Orgs) {
			o = &f.Orgs[i]
		}
		row := append([]any{fleetName(g.Name), o.Users, o.Sessions},
			fleetMetrics(g, "calls", "cost_usd", "cache_hit_ratio")...)
		for scope := range studies.FleetScope(studies.NumFleetScopes) {
			if v, ok := g.Scope(scope).HitRatio(); ok {
				row = append(row, v)
			} else { // not requested
				row = append(row, document.Dash)
			}
		}
		row = append(row, fleetMetrics(g, "misses", "dreams")...)
		if sum.Flips > 0 {
			row = append(row, o.Flips)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// fleetWritten has the tokens of each organisation, with writes by scope.
func fleetWritten(c *studies.FleetCell) *document.Table {
	t := &document.Table{
		Title:   "Tokens written to the cache by who shares them, and all others",
		Columns: columns("WHO", sizes("GLOBAL", "ORG", "OWN", "WRITTEN", "OF IT 1H", "READ", "UNCACHED", "OUTPUT")),
	}
	for _, g := range fleetGroups(c) {
		row := []any{fleetName(g.Name)}
		var all studies.FleetTokens
		for scope := range studies.FleetScope(studies.NumFleetScopes) {
			s := g.Scope(scope)
			all.Add(s)
			row = append(row, s.Written)
		}
		t.Rows = append(t.Rows, slices.Concat(row, []any{all.Written}, fleetMetrics(g, "cache_write_1h_tokens"),
			[]any{all.Read, all.Uncached},
			fleetMetrics(g, "output_tokens")))
	}
	return t
}

// fleetPairTitles are the titles of comparisons.
var fleetPairTitles = map[string]string{
	studies.WithoutGlobalScope: "What the global scope saves (WITHOUT: what is everyone's is each organisation's)",
	studies.WithoutOverage:     "What passing the quota costs (WITHOUT: everybody stays inside the plan)",
	studies.WithoutUpgrades:    "What upgrades of the client cost (WITHOUT: it stays as it is)",
}

// fleetPair has the effect of a comparison on tokens written and on cost.
func fleetPair(p *studies.FleetPair) *document.Table {
	sign, word := -1.0, "MORE"
	if p.Without == studies.WithoutGlobalScope {
		sign, word = 1, "SAVED"
	}
	t := &document.Table{
		Title:   fleetPairTitles[p.Without],
		Columns: columns("WHO", sizes("WRITTEN", "WITHOUT", word), amounts("COST", "WITHOUT", word), counts("CHANGE")),
	}
	each := map[string]string{studies.WithoutOverage: "A FLIP", studies.WithoutUpgrades: "A USER"}[p.Without]
	t.Columns = append(t.Columns, amounts(each)...)
	effects := make([]*studies.FleetEffect, 0, len(p.Orgs)+1)
	for i := range p.Orgs {
		effects = append(effects, &p.Orgs[i])
	}
	for _, e := range append(effects, &p.Total) {
		change := document.Dash
		if e.USDWithout > 0 {
			change = document.SignedPercent(-e.SavedUSD() / e.USDWithout)
		}
		row := []any{fleetName(e.Name), e.Created, e.CreatedWithout, sign * float64(e.SavedTokens()), e.USD,
			e.USDWithout, sign * e.SavedUSD(), change}
		if _, one, ok := e.PerEvent(); ok {
			row = append(row, one)
		} else {
			row = append(row, document.Dash)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// fleetWaves has the effect of upgrades on the tokens written before messages.
func fleetWaves(f *studies.Fleet, c *studies.FleetCell) *document.Table {
	t := &document.Table{
		Title: "Tokens written ahead of messages, per hour: as long BEFORE an upgrade as it takes, DURING it and as " +
			"long AFTER",
		Columns: columns("UPGRADE", document.Right(document.UnitSeconds, "OVER"), counts("PROMPT", "USERS"),
			sizes("BEFORE", "DURING", "AFTER", "PEAK"), counts("IN THE HOUR FROM")),
	}
	for _, w := range c.Waves {
		if w.Upgrade >= len(f.Upgrades) {
			continue
		}
		u := &f.Upgrades[w.Upgrade]
		t.Rows = append(t.Rows, []any{fleetClock(f, u.At), u.Over, signedCount(int64(u.Static)), u.Users,
			w.Before, w.During, w.After, w.PeakTokens, fleetClock(f, float64(w.PeakHour)*3600)})
	}
	return t
}

// fleetClock returns the time so many seconds after the start.
func fleetClock(f *studies.Fleet, seconds float64) string {
	return f.Start.Add(time.Duration(seconds * float64(time.Second))).UTC().Format("01-02 15:04")
}

// signedCount formats a difference of counts.
func signedCount(n int64) string {
	if n > 0 {
		return "+" + document.Whole(n)
	}
	return document.Whole(n)
}

// fleetKinds has a line for each kind of users.
func fleetKinds(c *studies.FleetCell) *document.Table {
	t := &document.Table{
		Title: "By how users are entitled",
		Columns: columns("KIND OF USER", counts("WITH SESSIONS", "CALLS"), amounts("COST"), ratios("HIT"),
			counts("MISSES"),
			sizes("WRITTEN 5M", "WRITTEN 1H")),
	}
	for i := range c.Kinds {
		g := &c.Kinds[i]
		t.Rows = append(t.Rows, append([]any{g.Name, g.Users},
			fleetMetrics(g, "calls", "cost_usd", "cache_hit_ratio", "misses", "cache_write_5m_tokens",
				"cache_write_1h_tokens")...))
	}
	return t
}
