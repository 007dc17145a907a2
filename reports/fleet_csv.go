package reports

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/compactsim/compactsim/internal/studies"
	"github.com/compactsim/compactsim/sim/results"
)

// fleetWithout are the comparisons that CSV has columns for.
func fleetWithout() []string {
	return []string{studies.WithoutGlobalScope, studies.WithoutOverage, studies.WithoutUpgrades}
}

// fleetCSV writes a line for each strategy and group: the fleet, its
// organisations, its kinds of users. What a group has no sample of is empty.
func fleetCSV(w io.Writer, f *studies.Fleet) error {
	head := []string{"strategy", "group", "name", "users_active", "users", "sessions", "overage_flips"}
	for _, m := range results.Metrics() {
		head = append(head, m.Name)
	}
	for scope := range studies.FleetScope(studies.NumFleetScopes) {
		for _, part := range []string{"read", "written", "uncached"} {
			head = append(head, fmt.Sprintf("scope_%s_%s_tokens", scope, part))
		}
	}
	for _, without := range fleetWithout() {
		head = append(head, "without_"+without+"_written_tokens", "without_"+without+"_cost_usd")
	}
	lines := [][]string{head}
	for i := range f.Cells {
		c := &f.Cells[i]
		var sum studies.FleetOrg
		for k := range c.Orgs {
			o := &f.Orgs[k]
			sum.Users, sum.Sessions, sum.Flips = sum.Users+o.Users, sum.Sessions+o.Sessions, sum.Flips+o.Flips
			lines = append(lines, fleetLine(c, "organisation", &c.Orgs[k], o, func(p *studies.FleetPair) *studies.FleetEffect { return &p.Orgs[k] }))
		}
		lines = append(lines, fleetLine(c, "fleet", &c.Total, &sum, func(p *studies.FleetPair) *studies.FleetEffect { return &p.Total }))
		for k := range c.Kinds {
			lines = append(lines, fleetLine(c, "kind", &c.Kinds[k], nil, nil))
		}
	}
	return writeCSV(w, lines)
}

// fleetLine is the line of a group; planned and effect are nil for groups that
// have none.
func fleetLine(c *studies.FleetCell, group string, g *studies.FleetGroup, planned *studies.FleetOrg, effect func(*studies.FleetPair) *studies.FleetEffect) []string {
	line := []string{c.Strategy, group, g.Name, strconv.Itoa(g.Users)}
	if planned == nil {
		line = append(line, "", "", "")
	} else {
		line = append(line, strconv.Itoa(planned.Users), strconv.Itoa(planned.Sessions), strconv.Itoa(planned.Flips))
	}
	for _, m := range results.Metrics() {
		text := ""
		if v, ok := g.Metrics[m.Name]; ok {
			text = strconv.FormatFloat(v, 'f', -1, 64)
		}
		line = append(line, text)
	}
	for scope := range studies.FleetScope(studies.NumFleetScopes) {
		if len(g.Scopes) == 0 {
			line = append(line, "", "", "")
			continue
		}
		t := g.Scope(scope)
		for _, v := range []int64{t.Read, t.Written, t.Uncached} {
			line = append(line, strconv.FormatInt(v, 10))
		}
	}
	for _, without := range fleetWithout() {
		p := c.Pair(without)
		if p == nil || effect == nil {
			line = append(line, "", "")
			continue
		}
		e := effect(p)
		line = append(line, strconv.FormatInt(e.CreatedWithout, 10), strconv.FormatFloat(e.USDWithout, 'f', -1, 64))
	}
	return line
}

// FleetHoursCSV writes a line for each strategy, comparison and hour of a fleet;
// without is empty for the fleet as it is.
func FleetHoursCSV(w io.Writer, f *studies.Fleet) error {
	lines := [][]string{{"strategy", "without", "hour", "time", "sessions", "calls", "read_tokens", "uncached_tokens",
		"created_global_tokens", "created_org_tokens", "created_own_tokens"}}
	for i := range f.Cells {
		c := &f.Cells[i]
		lines = append(lines, fleetHourLines(f, c.Strategy, "", c.Hours)...)
		for k := range c.Pairs {
			lines = append(lines, fleetHourLines(f, c.Strategy, c.Pairs[k].Without, c.Pairs[k].Hours)...)
		}
	}
	return writeCSV(w, lines)
}

func fleetHourLines(f *studies.Fleet, strategy, without string, hours []studies.FleetHour) [][]string {
	var lines [][]string
	for i := range hours {
		h := &hours[i]
		line := []string{strategy, without, strconv.Itoa(h.Hour), f.Start.Add(time.Duration(h.Hour) * time.Hour).UTC().Format(time.RFC3339),
			strconv.Itoa(h.Sessions), strconv.Itoa(h.Calls), strconv.FormatInt(h.Read, 10), strconv.FormatInt(h.Uncached, 10)}
		for _, v := range h.Created {
			line = append(line, strconv.FormatInt(v, 10))
		}
		lines = append(lines, line)
	}
	return lines
}

func writeCSV(w io.Writer, lines [][]string) error {
	c := csv.NewWriter(w)
	if err := c.WriteAll(lines); err != nil {
		return fmt.Errorf("writing CSV: %w", err)
	}
	return nil
}
