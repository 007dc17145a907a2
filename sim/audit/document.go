package audit

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/sim/explain"
)

// DocumentOptions say how to write an audit.
type DocumentOptions struct {
	// Top is how many lines of a list, and how many full findings, people see; 0
	// for all. JSON has the whole report, and so has CSV.
	Top int
	// Brief leaves out all but the headline, the findings in full and what to set.
	Brief  bool
	Advice string // the advice of the simulation, at the end; "" for none
	Prices string // the name of a price file, "" for the prices built in
	AsOf   string // what follows it where the table is older than the calls, as costmodel.Table.Stale says
	Again  string // the arguments with which another verb reads the same sessions, behind a space
}

const (
	maxName = 40 // characters of a name in a table
	minName = 24 // the same where space is short
)

// pageNotes are at the bottom of every audit.
var pageNotes = []string{
	"Prices are the API's at each call's date, in USD; a subscription is billed none of this.",
	"LIMITED: input tokens not read from the cache, which count against the rate limit.",
	"Findings overlap: one token can be in several, so they do not add up.",
	"Two things are simulated: which compactions cost more than they saved, and the last line, what to set.",
}

// Document returns the audit as a document. CSV is one list whose lines name
// the part of the report they belong to; JSON is the report itself.
func (r *Report) Document(o DocumentOptions) *document.Document {
	p := page{Report: r, options: o}
	d := &document.Document{
		Title: "The bill: " + document.USD(r.Total.USD, 2), Head: p.head(), Data: r.data, JSON: document.Indented(r),
	}
	d.Sections = slices.Concat(p.changes(), section("Heads of sessions, against the session before", explain.HeadTable(p.Heads)), p.findings())
	if !o.Brief {
		d.Sections = append(d.Sections, p.rest()...)
	}
	if o.Advice != "" {
		d.Sections = append(d.Sections, document.Section{Title: "What to set", Blocks: []document.Block{
			document.Text{Text: "By simulation: " + o.Advice + ". For more: sim advise" + o.Again + "."},
		}})
	}
	return d
}

// rest returns what stands behind the findings.
func (p *page) rest() []document.Section {
	list := slices.Concat(p.bill(), p.misses(), p.content(), p.defects())
	var notes []document.Block
	for _, note := range pageNotes {
		notes = append(notes, document.Text{Text: note})
	}
	return append(list, document.Section{Title: "How to read it", Blocks: notes})
}

// page is an audit for people under construction.
type page struct {
	*Report
	options DocumentOptions
}

// section returns a part of the page with one table, or nothing if the table has no rows.
func section(title string, t *document.Table) []document.Section {
	if len(t.Rows) == 0 {
		return nil
	}
	return []document.Section{{Title: title, Blocks: []document.Block{t}}}
}

// columns returns a name column followed by figures in several units.
func columns(name string, figures ...[]document.Column) []document.Column {
	return slices.Concat(document.Left(name), slices.Concat(figures...))
}

func amounts(titles ...string) []document.Column { return document.Right(document.UnitUSD, titles...) }
func sizes(titles ...string) []document.Column   { return document.Right(document.UnitTokens, titles...) }
func counts(titles ...string) []document.Column  { return document.Right("", titles...) }

// named returns a column of names that may be clipped.
func named(title string) []document.Column { return []document.Column{{Title: title, Clip: minName}} }

// spare returns columns that may be left out.
func spare(columns []document.Column) []document.Column {
	for i := range columns {
		columns[i].Spare = 1
	}
	return columns
}

func cents(usd float64) string { return document.USD(usd, 2) }

// at names a call as sim explain takes it.
func (p *page) at(place *Place) string {
	return p.shortID(place.Session) + strings.TrimPrefix(place.Call, place.Session)
}

// shortID returns the beginning of an id that distinguishes it from other sessions.
func (p *page) shortID(id string) string { return cmp.Or(p.short[id], id) }

// tail keeps the end of a name that is too long.
func tail(name string, most int) string {
	if r := []rune(name); len(r) > most {
		return "…" + string(r[len(r)-most+1:])
	}
	return name
}

// findings lists what cost money, then the most expensive findings in full.
func (p *page) findings() []document.Section {
	if len(p.Findings) == 0 {
		return []document.Section{{Title: "Findings",
			Blocks: []document.Block{document.Text{Text: "None above half a cent."}}}}
	}
	t := &document.Table{Columns: slices.Concat(document.Left("#", "WHAT"), amounts("COST"), spare(counts("TIMES")), spare(sizes("TOKENS")))}
	listed := p.Findings
	if p.options.Brief {
		listed = first(p.options.Top, listed)
	}
	for i := range listed {
		f := &listed[i]
		t.Rows = append(t.Rows, []any{fmt.Sprint(i + 1), f.Title, f.USD, document.Cell{Value: f.Count, Text: document.Whole(f.Count)}, f.Tokens})
	}
	if n := len(p.Findings) - len(listed); n > 0 {
		t.Notes = append(t.Notes, document.Count(n, "smaller finding")+", and the bill by class, model, day and project: --all")
	}
	sections := section("Findings", t)
	for i := range first(p.options.Top, p.Findings) {
		f := &p.Findings[i]
		sections = append(sections, document.Section{
			Name: fmt.Sprintf("%d. %s: %s", i+1, f.Title, cents(f.USD)), Blocks: []document.Block{p.finding(f)},
		})
	}
	return sections
}

// finding says whose it is and where to look.
func (p *page) finding(f *Finding) document.List {
	var list document.List
	add := func(label, text string) {
		list = append(list, document.Item{Label: label, Text: text})
	}
	for _, note := range f.Notes {
		add("note", note)
	}
	for i := range first(p.options.Top, f.Places) {
		place := &f.Places[i]
		words := strings.Split(place.Text, " ")
		for k := range words { // such as a path
			words[k] = tail(words[k], maxName)
		}
		add("see",
			strings.TrimSpace(fmt.Sprintf("%s  %s  %s", p.at(place), cents(place.USD), strings.Join(words, " "))))
	}
	return list
}

// bill shows the splits.
func (p *page) bill() []document.Section {
	s := document.Section{Title: "The bill"}
	for i := range p.Splits {
		if len(p.Splits[i].Lines) > 0 {
			s.Blocks = append(s.Blocks, p.split(&p.Splits[i]))
		}
	}
	return []document.Section{s}
}

// split lists the most expensive lines of a split, and all further lines as one.
func (p *page) split(split *Split) *document.Table {
	t := &document.Table{Columns: slices.Concat(named("BY "+strings.ToUpper(split.By)), amounts("COST"),
		counts("SHARE", "CALLS"), sizes("READ", "WRITTEN", "UNCACHED", "OUTPUT"), spare(sizes("LIMITED")))}
	add := func(name string, l *Sum) {
		t.Rows = append(t.Rows, []any{
			name, l.USD, document.Share(l.USD, p.Total.USD), l.Calls, l.Read, l.Write5m + l.Write1h + l.WriteOther,
			l.Uncached, l.Output, l.Limited,
		})
	}
	name := p.lineNames(split)
	top := len(first(p.options.Top, split.Lines))
	if len(split.Lines) == top+1 || split.By == "class" {
		// A line that sums up a single line says less than that line. Classes share
		// calls, which the sum would count twice.
		top = len(split.Lines)
	}
	shown, left, others := split.Lines[:top], split.Lines[top:], "%d others"
	timed := dimension(split.By).timed
	if timed { // the newest in full, preceded by the sum of earlier ones
		at := len(split.Lines) - top
		shown, left, others = split.Lines[at:], split.Lines[:at], "%d before"
	}
	var rest Sum
	for i := range left {
		rest.Plus(&left[i].Sum)
	}
	if timed && len(left) > 0 {
		add(fmt.Sprintf(others, len(left)), &rest)
	}
	for i := range shown {
		add(name(&shown[i]), &shown[i].Sum)
	}
	if !timed && len(left) > 0 {
		add(fmt.Sprintf(others, len(left)), &rest)
	}
	return t
}

// lineNames returns how to name the lines of a split: projects by the last part of their path and sessions by the
// beginning of their id, where these are unique.
func (p *page) lineNames(split *Split) func(*Line) string {
	switch split.By {
	case "project":
		base := func(name string) string { return path.Base(strings.ReplaceAll(name, `\`, "/")) }
		seen := map[string]int{}
		for i := range split.Lines {
			seen[base(split.Lines[i].Name)]++
		}
		return func(l *Line) string {
			if b := base(l.Name); seen[b] == 1 && len(b) > 2 {
				return b
			}
			return tail(l.Name, maxName)
		}
	case "session":
		return func(l *Line) string { return p.shortID(l.Name) }
	}
	return func(l *Line) string { return l.Name }
}

func (p *page) misses() []document.Section {
	causes := &document.Table{Columns: columns("BY CAUSE", amounts("COST"), counts("CALLS"), sizes("TOKENS"), document.Left("KNOWN"))}
	for i := range p.Misses {
		m := &p.Misses[i]
		causes.Rows = append(causes.Rows, []any{m.Cause.Text(), m.USD, m.Calls, m.Tokens, string(m.Cause.Confidence())})
	}
	said := &document.Table{Columns: columns("THE CLIENT'S BREAK DETECTOR SAYS", amounts("COST"),
		counts("CALLS", "MISSED"), sizes("TOKENS"))}
	for i := range p.Detector {
		d := &p.Detector[i]
		said.Rows = append(said.Rows, []any{reasonWords[d.Reason], d.USD, d.Calls, d.Missed, d.Tokens})
	}
	sections := section("Cache misses", causes)
	if len(sections) > 0 && len(said.Rows) > 0 {
		sections[0].Blocks = append(sections[0].Blocks, said)
	}
	return sections
}

// content shows what contexts were made of.
func (p *page) content() []document.Section {
	parts := &document.Table{Columns: columns("PART", amounts("COST"),
		document.Right(document.UnitRatio, "OVER CALLS", "IN THE LAST CALL"), sizes("TOKENS OVER CALLS"))}
	for i := range p.Content {
		c := &p.Content[i]
		parts.Rows = append(parts.Rows, []any{c.Part, c.USD, c.Share, c.FinalShare, c.Tokens})
	}
	return section("What the contexts were made of", parts)
}

// defects says what could not be determined and why.
func (p *page) defects() []document.Section {
	s := document.Section{Title: "What the recordings leave open"}
	for i := range p.Defects {
		d := &p.Defects[i]
		shown := first(p.options.Top, d.Names)
		names := strings.Join(shown, ", ")
		if more := len(d.Names) - len(shown); more > 0 {
			names += fmt.Sprintf(" and %d more", more)
		}
		s.Blocks = append(s.Blocks, document.Text{Text: fmt.Sprintf("%s: %d (%s)", d.Text, d.Count, names)})
	}
	if len(s.Blocks) == 0 {
		return nil
	}
	return []document.Section{s}
}
