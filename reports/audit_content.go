package reports

import (
	"fmt"
	"strings"

	"github.com/compactsim/compactsim/internal/audit"
	"github.com/compactsim/compactsim/sim/results"
)

// content shows what contexts were made of, and what was written for nothing.
func (p *auditPage) content() error {
	p.section("What the contexts were made of")
	s := &Sheet{Columns: []SheetColumn{
		{Name: "part", Title: "PART"},
		{Name: "cost_usd", Title: "COST", Unit: results.UnitUSD, Right: true},
		{Name: "share", Title: "OVER CALLS", Unit: results.UnitRatio, Right: true},
		{Name: "final_share", Title: "IN THE LAST CALL", Unit: results.UnitRatio, Right: true},
		{Name: "tokens", Title: "TOKENS OVER CALLS", Unit: results.UnitTokens, Right: true},
	}}
	for i := range p.report.Content {
		c := &p.report.Content[i]
		s.Rows = append(s.Rows, []any{c.Part, c.USD, c.Share, c.FinalShare, c.Tokens})
	}
	if err := p.sheet(s); err != nil {
		return err
	}
	if len(p.report.Unread) == 0 {
		return nil
	}
	p.section("Written to the cache, never read")
	s = &Sheet{Columns: []SheetColumn{
		{Name: "where", Title: "WHERE"},
		{Name: "cost_usd", Title: "BEYOND PLAIN INPUT", Unit: results.UnitUSD, Right: true},
		{Name: "calls", Title: "CALLS", Right: true},
		{Name: "tokens", Title: "TOKENS", Unit: results.UnitTokens, Right: true},
	}}
	for i := range p.report.Unread {
		u := &p.report.Unread[i]
		s.Rows = append(s.Rows, []any{unreadWords[u.Where], u.USD, u.Calls, u.Tokens})
	}
	return p.sheet(s)
}

// unreadWords say where tokens stood that were written and not read.
var unreadWords = map[string]string{
	audit.UnreadOnly: "the only call of a thread", audit.UnreadLast: "the last call of a thread",
	audit.UnreadAgain: "the next call wrote it again",
}

// results shows what was largest.
func (p *auditPage) results() error {
	if err := p.carried("Largest tool results", p.report.Results); err != nil {
		return err
	}
	return p.carried("Files read twice", p.report.Duplicates)
}

func (p *auditPage) carried(title string, list []audit.Carried) error {
	if len(list) == 0 {
		return nil
	}
	p.section(title)
	s := &Sheet{Columns: []SheetColumn{
		{Name: "what", Title: "WHAT"},
		{Name: "cost_usd", Title: "COST", Unit: results.UnitUSD, Right: true},
		{Name: "tokens", Title: "TOKENS", Unit: results.UnitTokens, Right: true},
		{Name: "calls", Title: "CALLS", Right: true},
		{Name: "place", Title: "WHERE"},
	}}
	for i := range list[:min(p.options.Top, len(list))] {
		c := &list[i]
		where := tail(p.paths.at(&c.Place), maxName)
		if c.First > 0 {
			where += fmt.Sprintf(", first at %d", c.First)
		}
		what := c.Tool
		if c.Object != "" {
			what += " " + tail(c.Object, maxName)
		}
		s.Rows = append(s.Rows, []any{what, c.USD, c.Tokens, c.Calls, where})
	}
	return p.sheet(s)
}

// maxNamed bounds the names shown with a defect.
const maxNamed = 5

// defects says what could not be told and why.
func (p *auditPage) defects() {
	if len(p.report.Defects) == 0 {
		return
	}
	p.section("What the recordings leave open")
	for i := range p.report.Defects {
		d := &p.report.Defects[i]
		names := d.Names[:min(maxNamed, len(d.Names))]
		text := fmt.Sprintf("%s: %d (%s", d.Text, d.Count, strings.Join(names, ", "))
		if more := len(d.Names) - len(names); more > 0 {
			text += fmt.Sprintf(" and %d more", more)
		}
		text += ")"
		p.line(text)
	}
}

// reconciled shows the recordings against the provider's own figures.
func (p *auditPage) reconciled() error {
	x := p.report.Reconciled
	if x == nil {
		return nil
	}
	p.section("Against the console's export")
	s := &Sheet{Columns: []SheetColumn{{Name: "day", Title: "DAY"}, {Name: "model", Title: "MODEL"}}}
	if x.Kind == audit.ExportCost {
		s.Columns = append(s.Columns,
			SheetColumn{Name: "ours", Title: "RECORDED", Unit: results.UnitUSD, Right: true},
			SheetColumn{Name: "theirs", Title: "EXPORTED", Unit: results.UnitUSD, Right: true},
			SheetColumn{Name: "difference", Title: "DIFFERENCE", Unit: results.UnitUSD, Right: true})
	} else {
		for _, title := range []string{"READ", "± READ", "WRITTEN", "± WRITTEN", "UNCACHED", "± UNCACHED", "OUTPUT", "± OUTPUT"} {
			s.Columns = append(s.Columns, SheetColumn{Name: title, Title: title, Right: true})
		}
	}
	for i := range x.Lines {
		s.Rows = append(s.Rows, reconciledRow(&x.Lines[i], x.Kind, x.Lines[i].Day))
	}
	s.Rows = append(s.Rows, reconciledRow(&x.Total, x.Kind, "total"))
	if err := p.sheet(s); err != nil {
		return err
	}
	p.line(fmt.Sprintf("%s has %s … %s. The difference (±) is recorded less exported. Outside these days: %s; without a time: %d. Rows of the export that are not about tokens: %d.",
		x.File, x.From, x.Until, CountOf(x.Outside, "recorded call"), x.Untimed, x.Other))
	return nil
}

func reconciledRow(c *audit.Compared, kind, day string) []any {
	if kind == audit.ExportCost {
		return []any{day, c.Model, c.Ours.USD, c.Theirs.USD, c.Difference.USD}
	}
	d := &c.Difference
	row := []any{day, c.Model}
	for _, pair := range [][2]int64{
		{c.Ours.Read, d.Read}, {c.Ours.Write5m + c.Ours.Write1h, d.Write5m + d.Write1h}, {c.Ours.Uncached, d.Uncached}, {c.Ours.Output, d.Output},
	} {
		row = append(row, tokens(float64(pair[0])), signedCount(pair[1]))
	}
	return row
}

// signedCount writes a difference of counts.
func signedCount(n int64) string {
	if n > 0 {
		return "+" + Grouped(float64(n), 0)
	}
	return Grouped(float64(n), 0)
}
