package compare

import (
	"fmt"
	"strings"

	"github.com/compactsim/compactsim/reports"
	"github.com/compactsim/compactsim/sim/results"
)

// headline says in a sentence or two what a comparison comes to. The emphasis is
// put around what matters most.
func (r *Report) headline(c *Comparison, emphasis string) string {
	strong := func(s string) string { return emphasis + s + emphasis }
	base, other := reports.Printable(c.Base), reports.Printable(c.Other)
	sessions := "on the same " + reports.CountOf(c.Sessions, "session")
	if !c.Changed() {
		return strong(fmt.Sprintf("No difference between %s and %s", base, other)) + " " + sessions + "."
	}
	f := c.Figure("cost_usd")
	if f == nil || f.Verdict == Missing {
		return strong(fmt.Sprintf("%s and %s differ", base, other)) + " " + sessions + "."
	}
	sc := f.scale()
	var said string
	switch {
	case f.Difference == 0:
		said = fmt.Sprintf("%s costs as much as %s", other, base)
	case f.Relative.OK && f.Difference < 0:
		said = fmt.Sprintf("%s costs %s less than %s", other, percentage(f.Relative.Value), base)
	case f.Relative.OK:
		said = fmt.Sprintf("%s costs %s more than %s", other, percentage(f.Relative.Value), base)
	default:
		said = fmt.Sprintf("%s costs %s, %s nothing", other, sc.text(f.Other.Value), base)
	}
	values := fmt.Sprintf(": %s against %s. ", sc.text(f.Other.Value), sc.text(f.Base.Value))
	return strong(said) + " " + sessions + values + r.outlook(f) + moves(c)
}

// outlook says what the figures of cost tell of other sessions.
func (r *Report) outlook(f *Figure) string {
	if f.Verdict == Same {
		return ""
	}
	if f.Verdict == Unknown {
		return "What it would be on other sessions these do not tell. "
	}
	text := intervalText(f.scale(), f.Interval)
	if f.RelativeInterval != nil {
		text = relative(f.RelativeInterval.Low) + " … " + relative(f.RelativeInterval.High)
	}
	return fmt.Sprintf("On other sessions of this kind: %s (%s). ", text, level100(r.Level))
}

// maxMoves is how many metrics a headline names beside the cost.
const maxMoves = 4

// moves lists the other metrics of the run table that differ.
func moves(c *Comparison) string {
	var parts []string
	for i := range c.Figures {
		f := &c.Figures[i]
		if f.Metric.Name == "cost_usd" || !f.Summary || f.Difference == 0 || len(parts) == maxMoves {
			continue
		}
		parts = append(parts, plain(f.Metric)+" "+f.scale().signed(f.Difference))
	}
	if len(parts) == 0 {
		return ""
	}
	list := strings.Join(parts, ", ")
	return strings.ToUpper(list[:1]) + list[1:] + "."
}

// plain is the name of a metric in a sentence.
func plain(m results.Metric) string {
	name := m.Name
	for _, suffix := range []string{"_tokens", "_seconds", "_usd"} {
		name = strings.TrimSuffix(name, suffix)
	}
	return strings.ReplaceAll(name, "_", " ")
}
