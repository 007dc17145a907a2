package check

import (
	"fmt"
	"maps"
	"slices"

	"github.com/compactsim/compactsim/internal/document"
)

// Changes says in lines what a new baseline changes of an old one, nil for the
// first. Metrics that rules on it name are shown, others counted.
func (f *File) Changes(file string, was, now *Baseline) []string {
	if was == nil {
		return []string{fmt.Sprintf("%s: new, %s of %s", file, document.Count(len(now.Cells), "row"), document.Count(now.Sessions, "session"))}
	}
	var lines []string
	add := func(format string, args ...any) { lines = append(lines, "  "+fmt.Sprintf(format, args...)) }
	if was.SessionsDigest != now.SessionsDigest {
		add("sessions: other ones, %d with %d calls in the place of %d with %d", now.Sessions, now.Calls, was.Sessions, was.Calls)
	}
	if was.ScenarioDigest != now.ScenarioDigest {
		add("scenario: another")
	}
	if was.PricesDigest != now.PricesDigest {
		add("prices: others, of %s in the place of %s", now.Prices, was.Prices)
	}
	if was.Version != now.Version {
		add("version: %s, was %s", now.Version, was.Version)
	}
	for i := range was.Cells {
		if c := &was.Cells[i]; now.find(c.Cell, c.Group) == nil {
			add("%s%s: gone", c.Cell, inGroup(c.Group))
		}
	}
	named := f.named(file)
	for i := range now.Cells {
		c := &now.Cells[i]
		old := was.find(c.Cell, c.Group)
		if old == nil {
			add("%s%s: new", c.Cell, inGroup(c.Group))
			continue
		}
		lines = append(lines, c.changes(old, named)...)
	}
	if len(lines) == 0 {
		return []string{file + ": unchanged"}
	}
	return append([]string{file + ": rewritten"}, lines...)
}

// named returns the metrics that rules name with their units.
func (f *File) named(file string) map[string]string {
	units := map[string]string{}
	for i := range f.Rules {
		if f.Rules[i].Baseline == file {
			units[f.Rules[i].Metric.Name] = f.Rules[i].Metric.Unit
		}
	}
	return units
}

// changes says which metrics of a cell differ from those of old.
func (c *BaselineCell) changes(old *BaselineCell, named map[string]string) []string {
	all := maps.Clone(c.Metrics)
	maps.Copy(all, old.Metrics)
	var lines []string
	others := 0
	for _, name := range slices.Sorted(maps.Keys(all)) {
		is, has := c.Metrics[name]
		was, had := old.Metrics[name]
		unit, shown := named[name]
		switch {
		case is == was && has == had:
		case !shown:
			others++
		case !had:
			lines = append(lines, fmt.Sprintf("  %s%s: %s %s, had no sample", c.Cell, inGroup(c.Group), name, figure(unit, is)))
		case !has:
			lines = append(lines, fmt.Sprintf("  %s%s: %s has no sample, was %s", c.Cell, inGroup(c.Group), name, figure(unit, was)))
		default:
			lines = append(lines, fmt.Sprintf("  %s%s: %s %s, was %s", c.Cell, inGroup(c.Group), name, figure(unit, is), figure(unit, was)))
		}
	}
	if others > 0 {
		lines = append(lines, fmt.Sprintf("  %s%s: %s besides", c.Cell, inGroup(c.Group), document.Count(others, "metric")))
	}
	return lines
}
