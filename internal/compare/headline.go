package compare

import (
	"fmt"
	"strings"

	"github.com/compactsim/compactsim/internal/document"
	"github.com/compactsim/compactsim/sim/results"
)

// headline says in a sentence or two what a comparison comes to. The emphasis is
// put around what matters most.
func (r *Report) headline(c *Comparison, emphasis string) string {
	strong := func(s string) string { return emphasis + s + emphasis }
	if !c.Changed() {
		return r.unchanged(c, strong)
	}
	f := c.Figure("cost_usd")
	if f == nil || f.Verdict == Missing {
		return strong(fmt.Sprintf("%s and %s differ", document.Printable(c.Base), document.Printable(c.Other))) + " " + c.where() + "."
	}
	sc := f.scale()
	values := fmt.Sprintf(": %s against %s. ", sc.text(f.Other.Value), sc.text(f.Base.Value))
	return strong(c.costs(f)) + " " + c.where() + values + r.outlook(f) + moves(c)
}

// costs says which side costs less. Where summaries are drawn it is about so
// much, and where they were drawn under different seeds a difference that has no
// verdict is none to speak of.
func (c *Comparison) costs(f *Figure) string {
	base, other, sc := document.Printable(c.Base), document.Printable(c.Other), f.scale()
	about := ""
	if !f.Exact {
		about = sampled + " "
	}
	switch {
	case f.Difference == 0:
		return fmt.Sprintf("%s costs as much as %s", other, base)
	case c.reseeded && f.Verdict == Unknown:
		return fmt.Sprintf("No difference in cost between %s and %s that could not be chance", base, other)
	case f.Relative.OK && f.Difference < 0:
		return fmt.Sprintf("%s costs %s%s less than %s", other, about, percentage(f.Relative.Value), base)
	case f.Relative.OK:
		return fmt.Sprintf("%s costs %s%s more than %s", other, about, percentage(f.Relative.Value), base)
	}
	return fmt.Sprintf("%s costs %s%s, %s next to nothing", other, about, sc.text(f.Other.Value), base)
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
