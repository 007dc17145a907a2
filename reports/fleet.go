package reports

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"

	"github.com/compactsim/compactsim/internal/studies"
)

// Fleet writes what the people of a fleet did in a format of Formats: for people
// tables by strategy and organisation with what they rest on, for machines a row
// for each strategy and group (csv) or everything (json).
func Fleet(w io.Writer, format string, f *studies.Fleet) error {
	switch format {
	case "table":
		return fleetText(w, f)
	case "markdown":
		return fleetMarkdown(w, f)
	case "csv":
		return fleetCSV(w, f)
	case "json":
		return fleetJSON(w, f)
	}
	return fmt.Errorf("unknown report format %q (known: %s)", format, strings.Join(Formats(), ", "))
}

// fleetSchema is the version of the published figures of a fleet.
const fleetSchema = 1

// fleetDocument is what fleetJSON writes.
type fleetDocument struct {
	Schema int `json:"schema"`
	*studies.Fleet
}

func fleetJSON(w io.Writer, f *studies.Fleet) error {
	b, err := json.Marshal(fleetDocument{fleetSchema, f}, json.Deterministic(true), jsontext.WithIndent("  "))
	if err != nil {
		return fmt.Errorf("encode a fleet: %w", err)
	}
	return flush(w, bytes.NewBuffer(append(b, '\n')))
}

func fleetText(w io.Writer, f *studies.Fleet) error {
	var b bytes.Buffer
	lines := func(texts ...string) {
		for _, text := range texts {
			for _, line := range Wrap(Printable(text), TextWidth) {
				fmt.Fprintln(&b, line)
			}
		}
	}
	lines(fleetHead(f)...)
	for i := range f.Cells {
		c := &f.Cells[i]
		b.WriteByte('\n')
		lines("strategy " + c.Strategy)
		for _, g := range fleetGrids(f, c) {
			b.WriteByte('\n')
			if g.title != "" {
				lines(g.title)
			}
			if err := writeText(&b, g); err != nil {
				return fmt.Errorf("laying out a table: %w", err)
			}
		}
		b.WriteByte('\n')
		lines(fleetPeaks(f, c))
	}
	b.WriteByte('\n')
	lines(fleetNotes(f)...)
	return flush(w, &b)
}

func fleetMarkdown(w io.Writer, f *studies.Fleet) error {
	var b bytes.Buffer
	for i, line := range fleetHead(f) {
		if i > 0 {
			fmt.Fprintln(&b)
		}
		fmt.Fprintln(&b, escapeMarkdown(Printable(line)))
	}
	for i := range f.Cells {
		c := &f.Cells[i]
		fmt.Fprintf(&b, "\n## %s\n", escapeMarkdown(Printable(c.Strategy)))
		for _, g := range fleetGrids(f, c) {
			fmt.Fprintln(&b)
			if g.title != "" {
				fmt.Fprintf(&b, "**%s**\n\n", escapeMarkdown(g.title))
			}
			padding := tw.Padding{Left: " ", Right: " ", Overwrite: true}
			if err := render(&b, renderer.NewMarkdown(), padding, g, escapeMarkdown); err != nil {
				return fmt.Errorf("laying out a Markdown table: %w", err)
			}
		}
		fmt.Fprintf(&b, "\n%s\n", escapeMarkdown(fleetPeaks(f, c)))
	}
	for _, note := range fleetNotes(f) {
		fmt.Fprintf(&b, "\n%s\n", escapeMarkdown(Printable(note)))
	}
	return flush(w, &b)
}

// fleetHead says what was simulated.
func fleetHead(f *studies.Fleet) []string {
	name := f.Name
	if f.Doc != "" {
		name += ": " + strings.Join(strings.Fields(f.Doc), " ")
	}
	lines := []string{name, fleetSize(f)}
	if prices := fleetPrices(f); prices != "" {
		lines = append(lines, prices)
	}
	return lines
}

// fleetPrices says what calls were priced by, "" when nothing is known of it.
func fleetPrices(f *studies.Fleet) string {
	var facts []string
	if f.PricesAt != "" {
		facts = append(facts, "prices at "+f.PricesAt)
	}
	if f.Provenance.Prices != "" {
		facts = append(facts, "price table of "+f.Provenance.Prices)
	}
	if file := f.Provenance.Switches["prices.file"]; file != "" {
		facts = append(facts, "with "+file)
	}
	return strings.Join(facts, ", ")
}

// fleetSize counts people and what they did.
func fleetSize(f *studies.Fleet) string {
	var sum studies.FleetOrg
	for i := range f.Orgs {
		o := &f.Orgs[i]
		sum.Users += o.Users
		sum.Sessions += o.Sessions
		sum.Resumed += o.Resumed
		sum.Calls += o.Calls
	}
	scope := "global scope on"
	if !f.GlobalScope {
		scope = "global scope off"
	}
	sessions := CountOf(sum.Sessions, "session")
	if sum.Resumed > 0 {
		sessions += " and " + CountOf(sum.Resumed, "resumption")
	}
	if f.Capacity > 0 {
		scope += fmt.Sprintf(", cache of %s tokens", Grouped(float64(f.Capacity), 0))
	}
	return fmt.Sprintf("%s in %s, %s from %s: %s, %s drawn; %s, seed %d", CountOf(sum.Users, "user"), CountOf(len(f.Orgs), "organisation"),
		CountOf(f.Days, "day"), f.Start.Format(time.DateOnly), sessions, CountOf(sum.Calls, "call"), scope, f.Seed)
}

// fleetPeaks says how much was under way at once.
func fleetPeaks(f *studies.Fleet, c *studies.FleetCell) string {
	at := func(p studies.FleetPeak) string {
		return f.Start.Add(time.Duration(p.At * float64(time.Second))).UTC().Format("2006-01-02 15:04 UTC")
	}
	return fmt.Sprintf("At most %s under way at once (%s) and %s in flight (%s).",
		CountOf(c.PeakSessions.Count, "session"), at(c.PeakSessions), CountOf(c.PeakCalls.Count, "call"), at(c.PeakCalls))
}

// fleetNotes say what the columns mean and what the figures rest on.
func fleetNotes(f *studies.Fleet) []string {
	notes := []string{
		fleetColumnsNote(f),
		"Assumed: how many users are of which kind, load tools of MCP servers, resume sessions or pass their quota is the fleet " +
			"file's, not measured. Scopes are as documented: users with tools of MCP servers in their prompt, and those of " +
			"other providers, share nothing with other organisations. " + fleetCapacity(f),
		"People and models do the same whatever the cache does: what is compared are the same sessions and draws.",
	}
	for _, n := range f.Notes {
		notes = append(notes, fleetSentence(n))
	}
	unpriced := 0
	for i := range f.Cells {
		unpriced += f.Cells[i].Total.Row.Unpriced
	}
	if unpriced > 0 {
		models := ""
		if len(f.Unpriced) > 0 {
			models = " (" + modelNames(f.Unpriced) + ")"
		}
		notes = append(notes, fmt.Sprintf("%s of models without a price%s cost nothing here.", CountOf(unpriced, "call"), models))
	}
	return append(notes, fleetOverflows(f)...)
}

// fleetColumnsNote says what the columns mean, of those that are there.
func fleetColumnsNote(f *studies.Fleet) string {
	note := "CALLS are those drawn and those that layers of the strategy add, such as summaries and memory. HIT is the share of the input read from the cache; GLOBAL, ORG and OWN " +
		"are that of what every organisation shares, the users of one, and the session alone. MISSES are calls that read less than the best their conversation had " +
		"in the cache. DREAMS are consolidations of a user's memory: after 24 hours and five other sessions."
	if f.Capacity > 0 {
		note += " EVICTED are the misses on what a full cache had thrown out."
	}
	told := false
	for i := range f.Cells {
		p := f.Cells[i].Pair(studies.WithoutOverage)
		told = told || p != nil && fleetHas(f, p)
	}
	if fleetFlips(f) > 0 {
		note += " FLIPS are the changes into or out of overage that sessions lived through."
	}
	if told {
		note += " A FLIP is what one makes of the cost of sessions that began within the quota; it does nothing where clients keep the first answer (client.latch). " +
			"All else is that of sessions which began in overage, at the shorter and cheaper lifetime."
	}
	return note + " A – stands where there is nothing to divide: nothing of that scope was asked for, or no event has a cost of its own."
}

// fleetCapacity says what the cache holds.
func fleetCapacity(f *studies.Fleet) string {
	if f.Capacity > 0 {
		return fmt.Sprintf("The cache of a provider holds %s tokens (server.capacity), least recently used first out.", Grouped(float64(f.Capacity), 0))
	}
	return "The cache has no limit: the file sets no server.capacity."
}

// fleetOverflows says under which strategies requests were too long: no column
// shows it.
func fleetOverflows(f *studies.Fleet) []string {
	var notes []string
	for i := range f.Cells {
		row := &f.Cells[i].Total.Row
		var facts []string
		if row.OverWindow > 0 {
			verb := "pass"
			if row.OverWindow == 1 {
				verb = "passes"
			}
			facts = append(facts, CountOf(row.OverWindow, "session")+" "+verb+" the window")
		}
		if row.Overflows > 0 {
			facts = append(facts, CountOf(row.Overflows, "request")+" too long for it. What no layer shortens is counted as if it had been answered, and priced; a server refuses it")
		}
		if len(facts) > 0 {
			notes = append(notes, f.Cells[i].Strategy+": "+strings.Join(facts, ", ")+".")
		}
	}
	return notes
}

// fleetSentence gives a note a capital and a full stop.
func fleetSentence(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + strings.TrimSuffix(s[1:], ".") + "."
}
