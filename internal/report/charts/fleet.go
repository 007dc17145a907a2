package reports

import (
	"fmt"
	"strings"
	"time"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/internal/study/studies"
	"github.com/compactsim/compactsim/sim/results"
)

// fleetSchema is the version of the published figures of a fleet.
const fleetSchema = 1

// Fleet reports what the people of a fleet did: for people, tables by strategy
// and organisation with their assumptions; for machines, a row for each
// strategy and group (CSV) or everything (JSON).
func Fleet(f *studies.Fleet) *document.Document {
	d := &document.Document{
		Head: fleetHead(f), Notes: fleetNotes(f),
		Data: func() *document.Table { return fleetData(f) },
		JSON: document.Indented(struct {
			Schema int `json:"schema"`
			*studies.Fleet
		}{fleetSchema, f}),
	}
	for i := range f.Cells {
		c := &f.Cells[i]
		s := document.Section{Name: "strategy " + c.Strategy}
		for _, t := range fleetTables(f, c) {
			s.Blocks = append(s.Blocks, t)
		}
		s.Blocks = append(s.Blocks, document.Text{Text: fleetPeaks(f, c)})
		d.Sections = append(d.Sections, s)
	}
	return d
}

// fleetHead says what was simulated.
func fleetHead(f *studies.Fleet) []string {
	name := f.Name
	if f.Doc != "" {
		name += ": " + strings.Join(strings.Fields(f.Doc), " ")
	}
	lines := []string{name, fleetSize(f)}
	var prices []string
	if f.PricesAt != "" {
		prices = append(prices, "prices at "+f.PricesAt)
	}
	if f.Provenance.Prices != "" {
		prices = append(prices, "price table of "+f.Provenance.Prices)
	}
	if file := f.Provenance.Switches["prices.file"]; file != "" {
		prices = append(prices, "with "+file)
	}
	if len(prices) > 0 {
		lines = append(lines, strings.Join(prices, ", "))
	}
	return lines
}

// fleetSum adds up what people did.
func fleetSum(f *studies.Fleet) studies.FleetOrg {
	var sum studies.FleetOrg
	for i := range f.Orgs {
		o := &f.Orgs[i]
		sum.Users += o.Users
		sum.Sessions += o.Sessions
		sum.Resumed += o.Resumed
		sum.Calls += o.Calls
		sum.Flips += o.Flips
	}
	return sum
}

// fleetSize counts people and what they did.
func fleetSize(f *studies.Fleet) string {
	sum := fleetSum(f)
	scope := "global scope on"
	if !f.GlobalScope {
		scope = "global scope off"
	}
	sessions := document.Count(sum.Sessions, "session")
	if sum.Resumed > 0 {
		sessions += " and " + document.Count(sum.Resumed, "resumption")
	}
	return fmt.Sprintf("%s in %s, %s from %s: %s, %s drawn; %s, seed %d",
		document.Count(sum.Users, "user"), document.Count(len(f.Orgs), "organisation"),
		document.Count(f.Days, "day"), f.Start.Format(time.DateOnly), sessions, document.Count(sum.Calls,
			"call"), scope, f.Seed)
}

// fleetPeaks says how much was in progress at once.
func fleetPeaks(f *studies.Fleet, c *studies.FleetCell) string {
	at := func(p studies.FleetPeak) string {
		return f.Start.Add(time.Duration(p.At * float64(time.Second))).UTC().Format("2006-01-02 15:04 UTC")
	}
	return fmt.Sprintf("At most %s under way at once (%s) and %s in flight (%s).",
		document.Count(c.PeakSessions.Count, "session"), at(c.PeakSessions), document.Count(c.PeakCalls.Count,
			"call"), at(c.PeakCalls))
}

// fleetNotes say what the columns mean and state the assumptions.
func fleetNotes(f *studies.Fleet) []string {
	notes := []string{
		fleetColumnsNote(f),
		"Assumed: how many users are of which kind, load tools of MCP servers, resume sessions or pass their quota " +
			"is the fleet " +
			"file's, not measured. Scopes are as documented: users with tools of MCP servers in their prompt, and " +
			"those of " +
			"other providers, share nothing with other organisations. The cache has no limit.",
		"People and models do the same whatever the cache does: what is compared are the same sessions and draws.",
	}
	for _, n := range f.Notes {
		if n != "" { // starts with a capital, ends with a full stop
			n = strings.ToUpper(n[:1]) + strings.TrimSuffix(n[1:], ".") + "."
		}
		notes = append(notes, n)
	}
	unpriced := 0
	for i := range f.Cells {
		unpriced += f.Cells[i].Total.Row.N(results.UnpricedCalls)
	}
	if unpriced > 0 {
		models := ""
		if len(f.Unpriced) > 0 {
			models = " (" + modelNames(f.Unpriced) + ")"
		}
		notes = append(notes,
			fmt.Sprintf("%s of models without a price%s cost nothing here.", document.Count(unpriced, "call"), models))
	}
	return append(notes, fleetOverflows(f)...)
}

// fleetColumnsNote says what the present columns mean.
func fleetColumnsNote(f *studies.Fleet) string {
	note := "CALLS are those drawn and those that layers of the strategy add, such as summaries and memory. " +
		"HIT is the share of the input read from the cache; GLOBAL, ORG and OWN are that of what every organisation " +
		"shares, the users of " +
		"one, and the session alone. MISSES are calls that read less than the best their conversation had in the " +
		"cache. " +
		"DREAMS are consolidations of a user's memory: after 24 hours and five other sessions."
	if fleetSum(f).Flips > 0 {
		note += " FLIPS are the changes into or out of overage that sessions lived through."
	}
	for i := range f.Cells {
		if p := f.Cells[i].Pair(studies.WithoutOverage); p != nil && fleetHas(f, p) {
			note += " A FLIP is what one makes of the cost of sessions that began within the quota; it does nothing " +
				"where clients keep the " +
				"first answer (client.latch). All else is that of sessions which began in overage, at the shorter " +
				"and cheaper lifetime."
			break
		}
	}
	return note + " A – stands where there is nothing to divide: nothing of that scope was asked for, or no event " +
		"has a cost of its own."
}

// fleetOverflows says under which strategies requests were too long; no column
// shows that.
func fleetOverflows(f *studies.Fleet) []string {
	var notes []string
	for i := range f.Cells {
		row := &f.Cells[i].Total.Row
		var facts []string
		if row.N(results.OverWindow) > 0 {
			verb := "pass"
			if row.N(results.OverWindow) == 1 {
				verb = "passes"
			}
			facts = append(facts, document.Count(row.N(results.OverWindow), "session")+" "+verb+" the window")
		}
		if row.N(results.Overflows) > 0 {
			facts = append(facts, document.Count(row.N(results.Overflows), "request")+" too long for it. "+
				"What no layer shortens is counted as if it had been answered, and priced; a server refuses it")
		}
		if len(facts) > 0 {
			notes = append(notes, f.Cells[i].Strategy+": "+strings.Join(facts, ", ")+".")
		}
	}
	return notes
}

// fleetWithout returns the names of the comparisons within a fleet.
func fleetWithout() []string {
	return []string{studies.WithoutGlobalScope, studies.WithoutOverage, studies.WithoutUpgrades}
}

// fleetData has a line for each strategy and group: the fleet, its
// organisations, its kinds of users. A missing sample is empty.
func fleetData(f *studies.Fleet) *document.Table {
	t := &document.Table{Columns: document.Columns("strategy", "group", "name", "users_active", "users", "sessions",
		"overage_flips")}
	for _, m := range results.Metrics() {
		t.Columns = append(t.Columns, document.Columns(m.Name)...)
	}
	for scope := range studies.FleetScope(studies.NumFleetScopes) {
		for _, part := range []string{"read", "written", "uncached"} {
			t.Columns = append(t.Columns, document.Columns(fmt.Sprintf("scope_%s_%s_tokens", scope, part))...)
		}
	}
	for _, without := range fleetWithout() {
		t.Columns = append(t.Columns,
			document.Columns("without_"+without+"_written_tokens", "without_"+without+"_cost_usd")...)
	}
	all := fleetSum(f)
	for i := range f.Cells {
		c := &f.Cells[i]
		for k := range c.Orgs {
			t.Rows = append(t.Rows, fleetLine(c, "organisation", &c.Orgs[k], &f.Orgs[k],
				func(p *studies.FleetPair) *studies.FleetEffect { return &p.Orgs[k] }))
		}
		t.Rows = append(t.Rows, fleetLine(c, "fleet", &c.Total, &all,
			func(p *studies.FleetPair) *studies.FleetEffect { return &p.Total }))
		for k := range c.Kinds {
			t.Rows = append(t.Rows, fleetLine(c, "kind", &c.Kinds[k], nil, nil))
		}
	}
	return t
}

// fleetLine returns the line of a group; planned and effect are nil for groups
// without them.
func fleetLine(
	c *studies.FleetCell, group string, g *studies.FleetGroup, planned *studies.FleetOrg,
	effect func(*studies.FleetPair) *studies.FleetEffect,
) []any {
	line := []any{c.Strategy, group, g.Name, g.Users, nil, nil, nil}
	if planned != nil {
		line[4], line[5], line[6] = planned.Users, planned.Sessions, planned.Flips
	}
	for _, m := range results.Metrics() {
		v, ok := g.Metrics[m.Name]
		line = append(line, given(ok, v))
	}
	for scope := range studies.FleetScope(studies.NumFleetScopes) {
		if len(g.Scopes) == 0 {
			line = append(line, nil, nil, nil)
			continue
		}
		t := g.Scope(scope)
		line = append(line, t.Read, t.Written, t.Uncached)
	}
	for _, without := range fleetWithout() {
		p := c.Pair(without)
		if p == nil || effect == nil {
			line = append(line, nil, nil)
			continue
		}
		e := effect(p)
		line = append(line, e.CreatedWithout, document.Plain(e.USDWithout))
	}
	return line
}

// FleetHours has a line for each strategy, comparison and hour of a fleet; the
// column without is empty for the fleet as it is.
func FleetHours(f *studies.Fleet) *document.Table {
	t := &document.Table{Columns: document.Columns("strategy", "without", "hour", "time", "sessions", "calls",
		"read_tokens", "uncached_tokens",
		"created_global_tokens", "created_org_tokens", "created_own_tokens")}
	add := func(strategy, without string, hours []studies.FleetHour) {
		for i := range hours {
			h := &hours[i]
			line := []any{strategy, without, h.Hour,
				f.Start.Add(time.Duration(h.Hour) * time.Hour).UTC().Format(time.RFC3339),
				h.Sessions, h.Calls, h.Read, h.Uncached}
			for _, v := range h.Created {
				line = append(line, v)
			}
			t.Rows = append(t.Rows, line)
		}
	}
	for i := range f.Cells {
		c := &f.Cells[i]
		add(c.Strategy, "", c.Hours)
		for k := range c.Pairs {
			add(c.Strategy, c.Pairs[k].Without, c.Pairs[k].Hours)
		}
	}
	return t
}
