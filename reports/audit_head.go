package reports

import (
	"fmt"
	"strings"

	"github.com/compactsim/compactsim/internal/audit"
	"github.com/compactsim/compactsim/sim/results"
)

// head says what the bill is, where it went and what would lower it.
func (p *auditPage) head() {
	r := p.report
	if p.markdown {
		fmt.Fprintf(&p.out, "# The bill: %s\n", usd(r.Total.USD, 2))
	}
	period := ""
	if r.From != "" {
		period = fmt.Sprintf(" · %s … %s", r.From, r.Until)
	}
	prices := "API prices"
	if p.options.Prices != "" {
		prices = "the prices of " + Printable(p.options.Prices)
	}
	p.line(fmt.Sprintf("%s at %s · %s · %s%s", usd(r.Total.USD, 2), prices, CountOf(r.Sessions, "session"), CountOf(r.Total.Calls, "call"), period))
	if line := p.headUnpriced(); line != "" {
		p.line(line)
	}
	for _, remark := range p.options.Remarks {
		p.line(remark)
	}
	p.out.WriteString("\n")
	for _, line := range []string{p.headClasses(), p.headMisses(), p.headSaving(), p.headOutput()} {
		if line != "" {
			p.line(line)
		}
	}
	if p.paths.folder != "" {
		p.line("Files named below are under " + p.paths.folder)
	}
}

// headClasses says what was paid for.
func (p *auditPage) headClasses() string {
	r := p.report
	var parts []string
	for _, l := range split(r, "class").Lines {
		if l.USD < 0.005 {
			continue
		}
		parts = append(parts, fmt.Sprintf("%s %s (%s)", usd(l.USD, 2), classWords[l.Name], sharePercent(l.USD, r.Total.USD)))
	}
	if len(parts) == 0 {
		return ""
	}
	return fmt.Sprintf("Paid for: %s. Of %s input tokens %s count against rate limits.",
		strings.Join(parts, ", "), tokens(float64(r.Total.Input())), tokens(float64(r.Total.Limited)))
}

// classWords say what a token class is.
var classWords = map[string]string{
	results.ClassUncached.String():   "plain input",
	results.ClassRead.String():       "reading the cache",
	results.ClassWrite5m.String():    "writing it for 5 minutes",
	results.ClassWrite1h.String():    "writing it for an hour",
	results.ClassWriteOther.String(): "writing it",
	results.ClassOutput.String():     "output",
}

// causeWords say what a cause is.
var causeWords = map[audit.Cause]string{
	audit.CauseCompaction: "compactions",
	audit.CauseEdit:       "context cleared or cut",
	audit.CauseModel:      "another model",
	audit.CauseLongPause:  "pauses over an hour",
	audit.CauseShortPause: "pauses over 5 minutes, 5-minute entries",
	audit.CauseInside:     "inside the lifetime, no visible reason",
	audit.CauseTail:       "small falls inside the lifetime",
	audit.CauseUnknown:    "pause not recorded",
	audit.CauseNoLifetime: "automatic cache, no lifetime promised",
}

// headMisses says what the cache cost because it was not read.
func (p *auditPage) headMisses() string {
	calls, cost := 0, 0.0
	for i := range p.report.Misses {
		calls += p.report.Misses[i].Calls
		cost += p.report.Misses[i].USD
	}
	if calls == 0 {
		return ""
	}
	var parts []string
	for i := range p.report.Misses {
		if m := &p.report.Misses[i]; m.USD >= 0.005 {
			parts = append(parts, causeWords[m.Cause]+" "+usd(m.USD, 2))
		}
	}
	line := fmt.Sprintf("Cache misses cost %s (%s): %s wrote again what a read would have given", usd(cost, 2), sharePercent(cost, p.report.Total.USD), CountOf(calls, "call"))
	if len(parts) == 0 {
		return line + "."
	}
	return line + ": " + strings.Join(parts, ", ") + "."
}

// headUnpriced says how many calls the bill lacks.
func (p *auditPage) headUnpriced() string {
	for i := range p.report.Defects {
		if d := &p.report.Defects[i]; d.Kind == audit.DefectUnpriced && d.Count > 0 {
			return fmt.Sprintf("%s of models without a price not in the bill (%s); --price-as bills them as another",
				CountOf(d.Count, "call"), strings.Join(d.Names, ", "))
		}
	}
	return ""
}

// headSaving names the setting that would have saved most over all calls that it
// touches.
func (p *auditPage) headSaving() string {
	var best *audit.Advice
	for i := range p.report.Findings {
		for j := range p.report.Findings[i].Advice {
			a := &p.report.Findings[i].Advice[j]
			if a.Setting != "" && saves(a.Saves, a.Error) && (best == nil || *a.Saves > *best.Saves) {
				best = a
			}
		}
	}
	if best == nil {
		return "No setting would have saved anything that can be told without simulating; sim run thresholds replays other thresholds."
	}
	return fmt.Sprintf("The setting that would have saved most: %s, %s%s.", best.Setting, usd(*best.Saves, 2), plusMinus(best.Error))
}

// headOutput says what is derived.
func (p *auditPage) headOutput() string {
	r := p.report
	output := 0.0
	for _, l := range split(r, "class").Lines {
		if l.Name == results.ClassOutput.String() {
			output = l.USD
		}
	}
	if output-r.LoggedOutputUSD < 0.005 {
		return ""
	}
	return fmt.Sprintf("Output is %s as logged and %s with the counts that are not final derived; the bill has the latter.",
		usd(r.LoggedOutputUSD, 2), usd(output, 2))
}

// saves reports whether an amount is a saving, and more than its error.
func saves(amount, off *float64) bool {
	return amount != nil && *amount >= 0.005 && (off == nil || *amount > *off)
}

// plusMinus writes the error of a saving.
func plusMinus(off *float64) string {
	if off == nil {
		return ""
	}
	return " ± " + usd(*off, 2)
}

func sharePercent(part, whole float64) string {
	if whole == 0 {
		return "–"
	}
	return percent(part / whole)
}

// split returns the bill by a property; an empty one when there is none.
func split(r *audit.Report, by string) *audit.Split {
	for i := range r.Splits {
		if r.Splits[i].By == by {
			return &r.Splits[i]
		}
	}
	return &audit.Split{}
}
