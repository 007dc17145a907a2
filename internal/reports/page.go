package reports

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/internal/document"
	"github.com/compactsim/compactsim/internal/studies"
	"github.com/compactsim/compactsim/sim/results"
)

// PageParts are what a page shows beside the figures of a run, as far as it is there.
type PageParts struct {
	Advice   *document.Document // what to set
	Calls    []results.CellCalls
	Chains   []studies.Chains
	Scenario string              // YAML
	Paths    map[string][]string // files of sessions, by id; none for the samples
	Chosen   map[string]string   // arguments of sim explain that choose a cell, by its name, for those that have any
}

// Page is the report of a run for a browser: the decision, strategies, charts, calls, compactions, and what the figures
// rest on.
func Page(run *results.Run, parts PageParts) *document.Document {
	d := &document.Document{Title: pageTitle(run)}
	add := func(title string, of *document.Document, folded bool) {
		s := document.Section{Title: title, Folded: folded}
		say := func(lines []string) {
			for _, line := range lines {
				if line != "" {
					s.Blocks = append(s.Blocks, document.Text{Text: line})
				}
			}
		}
		if of.Title != "" { // of a run the head stands above all
			say(of.Head)
		}
		for _, x := range of.Sections {
			if name := x.Title + x.Name; name != "" {
				s.Blocks = append(s.Blocks, document.Text{Heading: name, Notes: x.Notes})
			}
			s.Blocks = append(s.Blocks, x.Blocks...)
		}
		say(of.Notes)
		d.Sections = append(d.Sections, s)
	}
	table := Run(run, Options{Split: true})
	d.Head = table.Head
	if parts.Advice != nil {
		add("What to set", parts.Advice, false)
	}
	split := *table
	table.Sections, split.Sections = table.Sections[:1], table.Sections[1:]
	add("Strategies", table, false)
	if figures := Figures(Drawings(run, parts.Calls)); len(figures) > 0 {
		d.Sections = append(d.Sections, document.Section{Title: "Charts", Blocks: figures})
	}
	if len(parts.Calls) > 0 {
		tracks, note := Tracks(parts.Calls, parts.Paths, parts.Chosen)
		blocks := []document.Block{document.Text{Text: "What each call read from the cache, wrote into it, sent beside it and answered. " +
			"▾ marks a miss, ◆ a compaction or a call of the client. Drag to zoom, click or use the arrow keys to step. " + note}, tracks}
		d.Sections = append(d.Sections, document.Section{Title: "Every call", Blocks: blocks})
	}
	if len(parts.Chains) > 0 {
		add("Compactions", Chains(run, parts.Chains, maxPaged), true)
	}
	if split.Notes, split.Head = nil, nil; len(split.Sections) > 0 {
		add("Cost, tokens and misses by class", &split, true)
	}
	d.Sections = append(d.Sections, provenance(run, parts.Scenario))
	return d
}

// maxPaged is how many compactions of a cell a page lists.
const maxPaged = 40

func pageTitle(run *results.Run) string {
	w := &run.Workload
	title := fmt.Sprintf("What %s cost", document.Count(w.Sessions, "session"))
	if w.First != "" && w.Last != "" && w.First != w.Last {
		title += ", " + w.First + " … " + w.Last
	}
	return title
}

// provenance says what the figures depend on.
func provenance(run *results.Run, scenario string) document.Section {
	p := &run.Provenance
	var list document.List
	item := func(label, text string) {
		if text != "" {
			list = append(list, document.Item{Label: label, Text: text})
		}
	}
	item("program", p.Version)
	item("seed", fmt.Sprint(p.Seed))
	item("sessions", p.SessionsDigest)
	item("prices", strings.TrimSpace(p.Prices+" "+p.PricesDigest))
	item("profile", strings.TrimSpace(p.Profile+" "+p.ProfileDigest))
	for _, name := range slices.Sorted(maps.Keys(p.Switches)) {
		item(name, p.Switches[name])
	}
	s := document.Section{Title: "What the figures rest on", Folded: true, Blocks: []document.Block{
		document.Text{Text: errorLine(run)}, list}}
	if scenario != "" {
		s.Blocks = append(s.Blocks, document.Raw(scenario))
	}
	return s
}
