package reports

import (
	"fmt"
	"strings"

	"github.com/compactsim/compactsim/internal/audit"
	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/traces/agents"
)

// maxPlaces bounds the places shown below a finding.
const maxPlaces = 3

// findings lists what cost money, then the dearest in full.
func (p *auditPage) findings() error {
	p.section("Findings")
	if len(p.report.Findings) == 0 {
		p.line("None above half a cent.")
		return nil
	}
	s := &Sheet{Columns: []SheetColumn{
		{Name: "number", Title: "#"},
		{Name: "title", Title: "WHAT"},
		{Name: "cost_usd", Title: "COST", Unit: results.UnitUSD, Right: true},
		{Name: "saves", Title: "SAVES", Right: true},
		{Name: "error", Title: "ERROR", Right: true},
		{Name: "count", Title: "TIMES", Right: true},
		{Name: "tokens", Title: "TOKENS", Unit: results.UnitTokens, Right: true},
	}}
	for i := range p.report.Findings {
		f := &p.report.Findings[i]
		s.Rows = append(s.Rows, []any{fmt.Sprint(i + 1), f.Title, f.USD, savesText(f), errorText(f), fmt.Sprint(f.Count), f.Tokens})
	}
	if err := p.sheet(s); err != nil {
		return err
	}
	for i := range p.report.Findings[:min(p.options.Top, len(p.report.Findings))] {
		p.finding(i + 1)
	}
	return nil
}

func savesText(f *audit.Finding) string {
	if f.Saves == nil {
		return "–"
	}
	return savingText(f.Saves, f.Error)
}

// savingText writes a saving, marked when it is smaller than its error.
func savingText(amount, off *float64) string {
	if *amount > 0 && !saves(amount, off) {
		return "~" + usd(*amount, 2)
	}
	return usd(*amount, 2)
}

func errorText(f *audit.Finding) string {
	if f.Error == nil {
		return ""
	}
	return "±" + usd(*f.Error, 2)
}

// finding writes one in full: what to do, and where to look.
func (p *auditPage) finding(number int) {
	f := &p.report.Findings[number-1]
	p.out.WriteString("\n")
	p.entry("", fmt.Sprintf("%d. %s: %s", number, f.Title, usd(f.USD, 2)))
	each := false // the settings have savings of their own
	for _, a := range f.Advice {
		p.entry("do", adviceText(f, &a))
		if a.Saves != nil {
			each = true
			p.entry("saves", savingText(a.Saves, a.Error)+plusMinus(a.Error))
		}
	}
	if f.Saves != nil && !each {
		p.entry("saves", savesText(f)+plusMinus(f.Error))
	}
	for _, note := range f.Notes {
		p.entry("note", note)
	}
	for i := range f.Places[:min(maxPlaces, len(f.Places))] {
		place := &f.Places[i]
		p.entry("see", strings.TrimSpace(fmt.Sprintf("%s  %s  %s", p.paths.at(place), usd(place.USD, 2), shortWords(place.Text))))
	}
}

// shortWords keeps the end of every word that is too long for a line, such as a
// path.
func shortWords(text string) string {
	words := strings.Split(text, " ")
	for i := range words {
		words[i] = tail(words[i], maxName)
	}
	return strings.Join(words, " ")
}

// entry writes one line of a finding under a label.
func (p *auditPage) entry(label, text string) {
	text = Printable(text)
	switch {
	case p.markdown && label == "":
		fmt.Fprintf(&p.out, "### %s\n\n", escapeMarkdown(text))
	case p.markdown:
		fmt.Fprintf(&p.out, "- %s: %s\n", label, escapeMarkdown(text))
	case label == "":
		fmt.Fprintln(&p.out, text)
	default:
		lines := Wrap(text, TextWidth-9)
		if label == "see" { // a place stays on one line
			lines = []string{text}
		}
		for i, line := range lines {
			if i > 0 {
				label = ""
			}
			fmt.Fprintf(&p.out, "   %-5s %s\n", label, line)
		}
	}
}

// adviceText writes what to do, and whether the recorded clients could.
func adviceText(f *audit.Finding, a *audit.Advice) string {
	text := a.Text
	if a.Setting != "" {
		text = a.Setting + "  " + text
	}
	if a.Agent != "" {
		text = agentName(a.Agent) + ", " + usd(a.USD, 2) + " of it: " + text
	}
	if a.From == "" {
		return text
	}
	since := "from " + a.From
	switch {
	case f.Newest == "":
	case profile.Compare(f.Newest, a.From) < 0:
		since += fmt.Sprintf("; these ran %s: update first", versions(f))
	case profile.Compare(f.Oldest, a.From) < 0:
		since += fmt.Sprintf("; these ran %s: update the older ones", versions(f))
	}
	return text + " (" + since + ")"
}

// agentName writes the name of an agent as its maker does.
func agentName(name string) string {
	if a := agents.Of(name); a.Name == name {
		return a.Title
	}
	return name
}

// versions writes a range of client versions.
func versions(f *audit.Finding) string {
	if f.Oldest == f.Newest {
		return f.Oldest
	}
	return f.Oldest + "–" + f.Newest
}
