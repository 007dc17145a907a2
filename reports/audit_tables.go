package reports

import (
	"fmt"
	"path"
	"strings"

	"github.com/compactsim/compactsim/internal/audit"
	"github.com/compactsim/compactsim/sim/results"
)

// bill shows the splits.
func (p *auditPage) bill() error {
	p.section("The bill")
	for i := range p.report.Splits {
		if i > 0 && !p.markdown {
			p.out.WriteString("\n")
		}
		if err := p.sheet(p.splitSheet(&p.report.Splits[i])); err != nil {
			return err
		}
	}
	return nil
}

// splitSheet lists the dearest lines of a split, and the others as one.
func (p *auditPage) splitSheet(split *audit.Split) *Sheet {
	s := &Sheet{Columns: []SheetColumn{
		{Name: "name", Title: "BY " + strings.ToUpper(split.By)},
		{Name: "cost_usd", Title: "COST", Unit: results.UnitUSD, Right: true},
		{Name: "share", Title: "SHARE", Right: true},
		{Name: "calls", Title: "CALLS", Right: true},
		{Name: "read", Title: "READ", Unit: results.UnitTokens, Right: true},
		{Name: "written", Title: "WRITTEN", Unit: results.UnitTokens, Right: true},
		{Name: "uncached", Title: "UNCACHED", Unit: results.UnitTokens, Right: true},
		{Name: "output", Title: "OUTPUT", Unit: results.UnitTokens, Right: true},
		{Name: "limited", Title: "LIMITED", Unit: results.UnitTokens, Right: true},
	}}
	add := func(name string, l *audit.Sum) {
		s.Rows = append(s.Rows, []any{
			name, l.USD, sharePercent(l.USD, p.report.Total.USD), l.Calls, l.Read, l.Write5m + l.Write1h + l.WriteOther, l.Uncached, l.Output, l.Limited,
		})
	}
	name := lineNames(split)
	top := min(p.options.Top, len(split.Lines))
	if len(split.Lines) == top+1 || split.By == "class" {
		// A line for one other says less than the line itself. Classes share
		// their calls, which would be counted twice.
		top = len(split.Lines)
	}
	for i := range split.Lines[:top] {
		add(name(&split.Lines[i]), &split.Lines[i].Sum)
	}
	var rest audit.Sum
	for i := range split.Lines[top:] {
		rest.Plus(&split.Lines[top+i].Sum)
	}
	if n := len(split.Lines) - top; n > 0 {
		add(fmt.Sprintf("%d others", n), &rest)
	}
	return s
}

// lineNames returns how the lines of a split are named: projects by the last
// part of their path where that tells them apart, sessions by the beginning of
// their id.
func lineNames(split *audit.Split) func(*audit.Line) string {
	base := func(name string) string { return path.Base(strings.ReplaceAll(name, `\`, "/")) }
	switch split.By {
	case "project":
		seen := map[string]int{}
		for i := range split.Lines {
			seen[base(split.Lines[i].Name)]++
		}
		return func(l *audit.Line) string {
			if b := base(l.Name); seen[b] == 1 && len(b) > 2 {
				return b
			}
			return tail(l.Name, maxName)
		}
	case "session":
		return func(l *audit.Line) string { return short(l.Name) }
	}
	return func(l *audit.Line) string { return l.Name }
}

// maxName is the longest name in a table, in characters.
const maxName = 40

// tail keeps the end of a name that is too long.
func tail(name string, most int) string {
	if r := []rune(name); len(r) > most {
		return "…" + string(r[len(r)-most+1:])
	}
	return name
}

func (p *auditPage) misses() error {
	if len(p.report.Misses) == 0 {
		return nil
	}
	p.section("Cache misses")
	s := &Sheet{Columns: []SheetColumn{
		{Name: "cause", Title: "BY CAUSE"},
		{Name: "cost_usd", Title: "COST", Unit: results.UnitUSD, Right: true},
		{Name: "calls", Title: "CALLS", Right: true},
		{Name: "tokens", Title: "TOKENS", Unit: results.UnitTokens, Right: true},
	}}
	for i := range p.report.Misses {
		m := &p.report.Misses[i]
		s.Rows = append(s.Rows, []any{causeWords[m.Cause], m.USD, m.Calls, m.Tokens})
	}
	if err := p.sheet(s); err != nil {
		return err
	}
	if !p.markdown {
		p.out.WriteString("\n")
	}
	s = &Sheet{Columns: []SheetColumn{
		{Name: "reason", Title: "THE CLIENT'S BREAK DETECTOR SAYS"},
		{Name: "cost_usd", Title: "COST", Unit: results.UnitUSD, Right: true},
		{Name: "calls", Title: "CALLS", Right: true},
		{Name: "missed", Title: "MISSED", Right: true},
		{Name: "tokens", Title: "TOKENS", Unit: results.UnitTokens, Right: true},
	}}
	for i := range p.report.Detector {
		d := &p.report.Detector[i]
		s.Rows = append(s.Rows, []any{reasonWords[d.Reason], d.USD, d.Calls, d.Missed, d.Tokens})
	}
	return p.sheet(s)
}

// reasonWords say what the detector says.
var reasonWords = map[string]string{
	"none": "no break", "first": "nothing to compare with", "excluded": "model not watched",
	"compacted": "expected: compaction", "deleted": "expected: results cleared",
	"model": "break: model changed", "state": "break: prompt or parameters changed",
	"expiry_5m": "break: possible expiry (5 min)", "expiry_1h": "break: possible expiry (1 h)",
	"server": "break: likely server side", "unknown": "break: pause not known",
}

func (p *auditPage) lifetimes() error {
	if len(p.report.Lifetimes) == 0 {
		return nil
	}
	p.section("Cache lifetimes")
	s := &Sheet{Columns: []SheetColumn{
		{Name: "source", Title: "CALLS OF"},
		{Name: "tier", Title: "BILLED"},
		{Name: "calls", Title: "N", Right: true},
		{Name: "billed", Title: "BILL", Unit: results.UnitUSD, Right: true},
		{Name: "recorded", Title: "BY ARITHMETIC", Unit: results.UnitUSD, Right: true},
		{Name: "error", Title: "ERROR", Right: true},
		{Name: "five", Title: "ALL 5 MIN", Unit: results.UnitUSD, Right: true},
		{Name: "hour", Title: "ALL 1 H", Unit: results.UnitUSD, Right: true},
		{Name: "paused5m", Title: "PAUSES > 5 MIN", Right: true},
		{Name: "paused1h", Title: "> 1 H", Right: true},
	}}
	for i := range p.report.Lifetimes {
		l := &p.report.Lifetimes[i]
		off := "–"
		if l.Error != nil {
			off = signedPercent(*l.Error)
		}
		s.Rows = append(s.Rows, []any{l.Source, l.Tier, l.Calls, l.Billed, l.Recorded, off, l.All5m, l.All1h, l.Paused5m, l.Paused1h})
	}
	return p.sheet(s)
}

func (p *auditPage) compactions() error {
	if len(p.report.Compactions) == 0 {
		return nil
	}
	p.section("Compactions")
	s := &Sheet{Columns: []SheetColumn{
		{Name: "place", Title: "WHERE"},
		{Name: "before", Title: "BEFORE", Unit: results.UnitTokens, Right: true},
		{Name: "after", Title: "AFTER", Unit: results.UnitTokens, Right: true},
		{Name: "call", Title: "SUMMARY CALL", Right: true},
		{Name: "rewrite", Title: "RE-WRITE", Right: true},
		{Name: "gain", Title: "GAVE", Right: true},
		{Name: "net", Title: "NET", Right: true},
		{Name: "payback", Title: "PAID BACK", Right: true},
		{Name: "calls", Title: "OF CALLS", Right: true},
	}}
	lost := 0
	for i := range p.report.Compactions {
		c := &p.report.Compactions[i]
		if c.Measured && c.Net() < 0 {
			lost++
		}
		if i >= p.options.Top {
			continue
		}
		where := tail(p.paths.at(&c.Place), maxName)
		if c.Manual {
			where += " by hand"
		}
		s.Rows = append(s.Rows, append([]any{where, c.Before, c.After}, compactionFigures(c)...))
	}
	if err := p.sheet(s); err != nil {
		return err
	}
	p.line(fmt.Sprintf("%s, %d that cost more than they gave; the worst first. No log shows the summary call: $ warm–cold, NET and PAID BACK with a cold one through Claude Code 2.1.24 and a warm one later (assumed).",
		CountOf(len(p.report.Compactions), "compaction"), lost))
	return nil
}

// compactionFigures are what it cost and gave; nothing is known of one without
// calls on both sides.
func compactionFigures(c *audit.Compaction) []any {
	if !c.Measured {
		return []any{"–", "–", "–", "–", "–", "–"}
	}
	payback := "never"
	if n := c.Payback(); n > 0 {
		payback = fmt.Sprint(n)
	}
	return []any{
		usd(c.CallWarm, 2) + "–" + strings.TrimPrefix(usd(c.CallCold, 2), "$"), usd(c.Rewrite, 2), usd(c.Gain, 2), usd(c.Net(), 2), payback, fmt.Sprint(c.Calls),
	}
}
