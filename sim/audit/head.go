package audit

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/sim/calls"
	"github.com/compactsim/compactsim/sim/results/measures"
)

// head says what the bill is and where it went.
func (p *page) head() []string {
	counted := calls.TallyBy(p.calls)
	derived := ""
	if usd := p.line("class", measures.ClassOutput.String()).USD - p.LoggedOutputUSD; usd >= 0.005 {
		derived = ", including " + cents(usd) + " " + measures.DerivedText
	}
	lines := []string{fmt.Sprintf("%s at %s%s · %s · %s%s", cents(p.Total.USD), p.options.prices(), derived,
		document.Count(p.Sessions, "session"), counted, period(p.From, p.Until))}
	add := func(line string) {
		if line != "" {
			lines = append(lines, line)
		}
	}
	for i := range p.Defects {
		if d := &p.Defects[i]; d.Kind == DefectUnpriced {
			add(calls.UnpricedCalls(d.Kinds, d.Names))
		}
	}
	lines = append(append(lines, p.Remarks...), "")
	add(p.headClasses())
	add(p.headStated())
	add(p.headMisses())
	if p.UnloggedWritesUSD >= 0.005 {
		add(fmt.Sprintf("The provider charges for cache writes that some logs do not show: the bill is %s if nothing was written, as assumed here, "+
			"and %s if every token not read was.", cents(p.Total.USD), cents(p.Total.USD+p.UnloggedWritesUSD)))
	}
	if len(p.Findings) > 0 {
		add("SESSION:LINE names a call; sim explain SESSION:LINE" + p.options.Again + " shows it.")
	}
	return lines
}

// prices says at which prices a bill is.
func (o *DocumentOptions) prices() string {
	if o.Prices == "" {
		return "API prices" + o.AsOf
	}
	return "the prices of " + o.Prices + o.AsOf
}

// period says from which day to which calls are, "" where none has a time.
func period(from, until string) string {
	if from == "" {
		return ""
	}
	return fmt.Sprintf(" · %s … %s", from, until)
}

// by returns the lines of a split of the bill.
func (r *Report) by(property string) []Line {
	i := slices.IndexFunc(r.Splits, func(s Split) bool { return s.By == property })
	if i < 0 {
		return nil
	}
	return r.Splits[i].Lines
}

// line returns the line of a value of a property, which is zero where no call has the value.
func (r *Report) line(property, value string) (line Line) {
	for _, l := range r.by(property) {
		if l.Name == value {
			line = l
		}
	}
	return line
}

// calls returns how many calls of the bill are of a source.
func (r *Report) calls(src measures.Source) int { return r.line("source", src.String()).Calls }

// headStated says what the clients themselves log as costs, where that is another sum.
func (p *page) headStated() string {
	s := &p.Stated
	if s.LoggedUSD < 0.005 || math.Abs(s.USD-s.LoggedUSD) < 0.01*s.LoggedUSD {
		return ""
	}
	return fmt.Sprintf("Clients logged costs of %s for %s; this bill has %s for them, because prices differ or token counts are lost.",
		cents(s.LoggedUSD), document.Count(s.Sessions, "session"), cents(s.USD))
}

// headClasses says what was paid for.
func (p *page) headClasses() string {
	var parts []string
	for _, l := range p.by("class") {
		if l.USD >= 0.005 {
			parts = append(parts,
				fmt.Sprintf("%s %s (%s)", cents(l.USD), classWords[l.Name], document.Share(l.USD, p.Total.USD)))
		}
	}
	if p.Total.SearchUSD >= 0.005 {
		parts = append(parts, fmt.Sprintf("%s searching the web (%s)", cents(p.Total.SearchUSD), document.Share(p.Total.SearchUSD, p.Total.USD)))
	}
	if len(parts) == 0 {
		return ""
	}
	return fmt.Sprintf("Paid for: %s. Of %s input tokens, %s count against rate limits.",
		strings.Join(parts, ", "), document.Tokens(p.Total.Input()), document.Tokens(p.Total.Limited))
}

// headCauses is how many causes of misses the head names.
const headCauses = 6

// headMisses says what cache misses cost.
func (p *page) headMisses() string {
	calls, cost := 0, 0.0
	var parts []string
	for i := range p.Misses {
		m := &p.Misses[i]
		calls += m.Calls
		cost += m.USD
		if m.USD >= 0.005 {
			parts = append(parts, m.Cause.Text()+" "+cents(m.USD))
		}
	}
	if n := len(parts) - headCauses; n > 1 {
		rest := 0.0
		for i := range p.Misses[headCauses:] {
			rest += p.Misses[headCauses+i].USD
		}
		parts = append(parts[:headCauses], fmt.Sprintf("%d further causes %s", n, cents(rest)))
	}
	if calls == 0 {
		return ""
	}
	line := fmt.Sprintf("Cache misses cost %s (%s): %s wrote again what could have been read",
		cents(cost), document.Share(cost, p.Total.USD), document.Count(calls, "call"))
	if len(parts) > 0 {
		line += ": " + strings.Join(parts, ", ")
	}
	return line + "."
}

// classWords describe token classes.
var classWords = map[string]string{
	measures.ClassUncached.String():   "plain input",
	measures.ClassRead.String():       "reading the cache",
	measures.ClassWrite5m.String():    "writing it for 5 minutes",
	measures.ClassWrite1h.String():    "writing it for an hour",
	measures.ClassWriteOther.String(): "writing it",
	measures.ClassOutput.String():     "output",
}

// reasonWords describe the detector's reasons.
var reasonWords = map[string]string{
	"none": "no break", "first": "nothing to compare with", "excluded": "model not watched",
	"compacted": "expected: compaction", "deleted": "expected: results cleared",
	"model": "break: model changed", "state": "break: prompt or parameters changed",
	"expiry_5m": "break: possible expiry (5 min)", "expiry_1h": "break: possible expiry (1 h)",
	"server": "break: likely server side", "unknown": "break: pause not known",
}
