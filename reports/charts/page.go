package charts

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/sim/audit"
	"github.com/compactsim/compactsim/sim/calls"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/sim/results/studies"
)

// PageParts are the optional parts of a page, besides the figures of a run.
type PageParts struct {
	Verdict  document.List       // the advice in brief; nil: the cheapest strategy, where there is no advice
	Advice   *document.Document  // what to set
	Calls    []results.CellCalls // the recorded calls, if they are there, under measures.StrategyBilled
	Chains   []studies.Chains
	Dearest  []audit.Loss      // the dearest misses of the recordings, at times in UTC
	Agents   []string          // whose sessions they are, for the title; nil leaves them out
	Scenario string            // YAML
	Labels   map[string]string // of sessions, for people, by id; nil if commands must not name them
	Chosen   map[string]string // arguments of sim explain that select a cell, by the cell's name
}

// page is a document with a section for each part of a report.
type page struct{ *document.Document }

// add adds a section for a document.
func (p page) add(title string, of *document.Document, folded bool) {
	s := document.Section{Title: title, Folded: folded}
	say := func(lines []string) {
		for _, line := range lines {
			if line != "" {
				s.Blocks = append(s.Blocks, document.Text{Text: line})
			}
		}
	}
	if of.Title != "" { // the head of the run is at the top
		say(of.Head)
	}
	for _, x := range of.Sections {
		if name := x.Title + x.Name; name != "" {
			s.Blocks = append(s.Blocks, document.Text{Heading: name, Notes: x.Notes})
		}
		s.Blocks = append(s.Blocks, x.Blocks...)
	}
	notes := slices.DeleteFunc(slices.Clone(of.Notes), func(line string) bool { return line == "" })
	if t, ok := last(s.Blocks).(*document.Table); ok {
		noted := *t
		noted.Notes = slices.Concat(t.Notes, notes)
		s.Blocks[len(s.Blocks)-1], notes = &noted, nil
	}
	say(notes)
	p.Sections = append(p.Sections, s)
}

// advise adds advice, a section for each way in which it is told.
func (p page) advise(advice *document.Document) {
	var ways []string
	for _, s := range advice.Sections {
		if !slices.Contains(ways, s.Way) {
			ways = append(ways, s.Way)
		}
	}
	for i, way := range ways {
		told := *advice
		told.Sections = slices.DeleteFunc(slices.Clone(advice.Sections), func(s document.Section) bool { return s.Way != way })
		if i > 0 { // the head and the notes are of the first
			told.Head, told.Notes = nil, nil
		}
		p.add("What to set", &told, false)
		p.Sections[len(p.Sections)-1].Way = way
	}
}

// last returns the last of some blocks, nil for none.
func last(blocks []document.Block) document.Block {
	if len(blocks) == 0 {
		return nil
	}
	return blocks[len(blocks)-1]
}

// Page returns the report of a run for a browser: the decision, strategies,
// charts, calls, compactions, and what the figures depend on.
func Page(run *results.Run, parts PageParts) *document.Document {
	p := page{&document.Document{Title: pageTitle(run, parts.Agents)}}
	table := Run(run, Options{Split: true, Whole: true, MaxCells: maxPagedCells})
	p.Head = table.Head
	short := parts.Verdict // what to set is for the advice to say
	if parts.Advice == nil && parts.Verdict == nil {
		short = verdict(run)
	}
	if len(short) > 0 {
		p.Sections = append(p.Sections, document.Section{Title: "In short", Blocks: []document.Block{short}})
	}
	if parts.Advice != nil {
		p.advise(parts.Advice)
	}
	said, split := document.Document{}, document.Document{}
	for _, s := range table.Sections[1:] {
		if t, ok := s.Blocks[0].(*document.Table); ok && t.Title == breaksTitle {
			said.Sections = append(said.Sections, s)
		} else {
			split.Sections = append(split.Sections, s)
		}
	}
	table.Sections = table.Sections[:1]
	p.add("Strategies", table, false)
	shown, _ := selectCells(run, maxPagedCells)
	simulated := slices.DeleteFunc(slices.Clone(parts.Calls), func(c results.CellCalls) bool { return c.Cell == measures.StrategyBilled })
	drawings := Drawings(shown, simulated)
	if len(parts.Dearest) > 0 {
		drawings = append(drawings, drawing("dearest", func() (*document.Chart, error) { return dearestChart(parts.Dearest, "UTC", nil, parts.Labels != nil) }))
	}
	if figures := Figures(drawings); len(figures) > 0 {
		p.Sections = append(p.Sections, document.Section{Title: "Charts", Blocks: figures})
	}
	if len(parts.Calls) > 0 {
		tracks, note := Tracks(parts.Calls, parts.Labels, parts.Chosen), ""
		followed := map[string]bool{}
		for i := range tracks.List {
			followed[tracks.List[i].Group] = true
		}
		if n := run.Workload.Sessions; len(followed) < n {
			few := "one"
			if len(followed) > 1 {
				few = document.Whole(len(followed))
			}
			note = fmt.Sprintf("Of %s the %s with the most calls.", document.Count(n, "session"), few)
		}
		blocks := []document.Block{document.Text{Text: "What each call read from the cache, wrote into it, sent beside it and answered. " +
			"▾ marks a miss, ◆ a compaction or a call of the client, ◇ what was cleared. Drag to zoom; click, or use the arrow keys, " +
			"to see one call. Calls that no log shows are left out. " + note}, tracks}
		p.Sections = append(p.Sections, document.Section{Title: "Every call", Blocks: blocks})
	}
	if len(parts.Chains) > 0 {
		p.add("Compactions", Chains(run, parts.Chains, maxPaged), true)
	}
	if len(said.Sections) > 0 {
		p.add("Breaks that the client sees", &said, true)
	}
	if len(split.Sections) > 0 {
		p.add("Cost, tokens and misses by class", &split, true)
	}
	p.Sections = append(p.Sections, provenance(run, parts.Scenario))
	return p.Document
}

// verdict says in a line which strategy is the cheapest, and whether it is cheaper than what was recorded.
func verdict(run *results.Run) document.List {
	run = run.Replicated()
	best := cheapest(run, measures.NameCost)
	if best == nil {
		return nil
	}
	label, usd := "Cheapest strategy", best.Total.CostUSD()
	if d, ok := run.VsRecorded(best); ok && d.Relative > 0 {
		label = "No strategy is cheaper than what was recorded; the nearest"
	}
	text := best.Cell + ": " + document.Amounts(usd)(usd)
	if against, mark := vsRecorded(run, best); against != "" {
		if text += ", " + strings.TrimPrefix(against, mark) + " against what was recorded"; mark != "" {
			text += " (" + uncertain + ")"
		}
	}
	return document.List{{Label: label, Text: text + "."}}
}

// Limits of a page.
const (
	maxPaged      = 40  // compactions of a cell
	maxPagedCells = 100 // cells in its tables and charts
)

func pageTitle(run *results.Run, agents []string) string {
	w := &run.Workload
	title := "What " + document.Count(w.Sessions, "session")
	if len(agents) > 0 {
		title += " of " + document.Few(agents)
	}
	title += " cost"
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
	trust := strings.ToUpper(errorLine(run)[:1]) + errorLine(run)[1:]
	s := document.Section{Title: "What the figures rest on", Folded: true, Blocks: []document.Block{document.Text{Text: trust}, list}}
	if scenario != "" {
		s.Blocks = append(s.Blocks, document.Raw(scenario))
	}
	return s
}

// maxTracked is how many calls of a cell a page follows one by one; of more, it follows the calls
// of the longest sessions. A call takes about 40 bytes of the page.
const maxTracked = 8_000

// Tracks returns what each call of the conversations of some cells read, wrote, sent uncached and
// answered, session by session, for the sessions with the most calls. labels and chosen are as in
// PageParts.
func Tracks(calls []results.CellCalls, labels, chosen map[string]string) *document.Tracks {
	t := &document.Tracks{Step: "call", Parts: []string{"read", "written", "uncached", "output"}}
	kept := selectSessions(calls)
	if len(labels) > 0 {
		t.Commands = map[string]string{}
		for cell, how := range chosen {
			t.Commands[cell] = document.Printable("sim explain {id} {n} " + how)
		}
	}
	for i := range calls {
		bySession := map[string][]*results.CallRecord{}
		for j := range calls[i].Calls {
			c := &calls[i].Calls[j]
			if c.Round < 0 && c.Source == measures.SourceOther {
				continue // no log shows it, and sim explain has no number for it
			}
			bySession[c.Session] = append(bySession[c.Session], c)
		}
		for _, id := range kept {
			if list := bySession[id]; len(list) > 0 {
				track := trackOf(list)
				track.Group, track.Variant = document.Printable(id), calls[i].Cell
				if label, ok := labels[id]; ok {
					track.Label = document.Printable(label + " · " + id[:min(8, len(id))])
				}
				t.List = append(t.List, track)
			}
		}
	}
	return t
}

// selectSessions returns the sessions to follow, most calls first.
func selectSessions(calls []results.CellCalls) (kept []string) {
	count := map[string]int{}
	for i := range calls {
		for j := range calls[i].Calls {
			count[calls[i].Calls[j].Session]++
		}
	}
	for id := range count {
		kept = append(kept, id)
	}
	slices.SortFunc(kept, func(a, b string) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a, b))
	})
	total := 0
	for i, id := range kept {
		if total += count[id]; i > 0 && total > maxTracked*len(calls) {
			return kept[:i]
		}
	}
	return kept
}

// trackOf lays out the calls of one session by their start.
func trackOf(calls []*results.CallRecord) document.Track {
	slices.SortStableFunc(calls, func(a, b *results.CallRecord) int { return cmp.Compare(a.Start, b.Start) })
	t := document.Track{Stack: make([][]int64, 4), Notes: map[int]string{}}
	last := map[int32]int64{} // context of the previous call, by thread
	for i, c := range calls {
		u := c.Usage
		for k, n := range []int64{u.Read, u.Write5m + u.Write1h + u.WriteOther, u.Uncached, u.Output} {
			t.Stack[k] = append(t.Stack[k], n)
		}
		t.When = append(t.When, (c.Start-calls[0].Start)/int64(time.Second))
		t.USD = append(t.USD, math.Round(c.Cost.Total()*1e4)/1e4)
		if note := callNote(c, last[c.Thread]); note != "" {
			t.Notes[i] = note
		}
		if c.Round >= 0 {
			last[c.Thread] = c.Context
		} else {
			t.Beside++
		}
	}
	return t
}

// callNote says what happened at a call, given the context of the previous call in tokens; "" for nothing.
func callNote(c *results.CallRecord, before int64) string {
	fell := ""
	if c.Round >= 0 && c.Context < before {
		fell = fmt.Sprintf("context %s → %s tokens", document.Tokens(float64(before)), document.Tokens(float64(c.Context)))
	}
	switch {
	case isMiss(c) && c.Miss != exchange.MissCompaction:
		return fmt.Sprintf("miss (%s): of %s tokens that were left in the cache, %s were read%s",
			calls.Word(c.Miss.String()), document.Tokens(float64(c.Expected)), document.Tokens(float64(c.Usage.Read)), strings.TrimSuffix("; "+fell, "; "))
	case c.Source == measures.SourceCompact:
		return "compaction: summarised " + document.Tokens(float64(c.Usage.Input())) + " tokens"
	case isMiss(c):
		return "first call after a compaction: " + fell
	case c.Round < 0:
		return "a call of the client: " + strings.ReplaceAll(c.Source.String(), "_", " ")
	case fell != "":
		return "cleared: " + fell
	}
	return ""
}
