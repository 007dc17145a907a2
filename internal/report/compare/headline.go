package compare

import (
	"fmt"
	"strings"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/sim/results"
)

// headline sums up a comparison in a sentence or two: the lead is the most important part.
func (r *Report) headline(c *Comparison) document.Text {
	text := document.Text{Text: " on the same " + document.Count(c.Sessions, "session"), Notes: c.Notes}
	if c.Sessions == 1 {
		text.Text = " on the same session"
	}
	f := c.Figure(results.NameCost)
	cut := c.cutShort()
	switch {
	case !c.Changed() && len(c.told()) == 0:
		text.Lead = "Nothing to compare between " + c.Base + " and " + c.Other
	case !c.Changed():
		text.Lead = "No difference in " + r.sameIn(c) + " between " + c.Base + " and " + c.Other
	case f == nil || f.Verdict == Missing:
		text.Lead = c.Base + " and " + c.Other + " differ"
	case cut != "":
		text.Lead = "What " + c.Base + " and " + c.Other + " cost cannot be compared"
		text.Text = ": " + cut
	default:
		sc := f.scale()
		text.Lead = c.costs(f)
		text.Text += fmt.Sprintf(": %s against %s. ", sc.Text(f.Other), sc.Text(f.Base)) + r.outlook(f) + moves(c)
		text.Text = strings.TrimRight(text.Text, ". ")
	}
	text.Text += "."
	if c.Cell != "" && len(r.Comparisons) > 1 {
		text.Lead = c.Cell + ": " + text.Lead
	}
	return text
}

// costs says which side costs less: approximately if summaries are drawn, and
// not at all if they are drawn under different seeds and the difference has no
// verdict.
func (c *Comparison) costs(f *Figure) string {
	about := ""
	if !f.Exact {
		about = sampled + " "
	}
	switch {
	case f.Difference == 0:
		return fmt.Sprintf("%s costs as much as %s", c.Other, c.Base)
	case c.reseeded && f.Verdict <= Chance:
		return fmt.Sprintf("No difference in cost between %s and %s that could not be chance", c.Base, c.Other)
	case finite(f.Relative) && f.Difference < 0:
		return fmt.Sprintf("%s costs %s%s less than %s", c.Other, about, percentage(f.Relative), c.Base)
	case finite(f.Relative):
		return fmt.Sprintf("%s costs %s%s more than %s", c.Other, about, percentage(f.Relative), c.Base)
	}
	return fmt.Sprintf("%s costs %s%s, %s next to nothing", c.Other, about, f.scale().Text(f.Other), c.Base)
}

// outlook says what the figures of cost show about other sessions.
func (r *Report) outlook(f *Figure) string {
	if f.Verdict == Same {
		return ""
	}
	if f.Verdict <= Chance {
		return "These do not show what it would be on other sessions. "
	}
	sc := f.scale()
	text := sc.Signed(f.Interval.Low) + " … " + sc.Signed(f.Interval.High)
	if f.RelativeInterval.Known() {
		text = relative(f.RelativeInterval.Low) + " … " + relative(f.RelativeInterval.High)
	}
	return fmt.Sprintf("On other sessions of this kind: %s (%s). ", text, level100(r.Level))
}

// maxMoves is how many metrics a headline names besides the cost.
const maxMoves = 4

// moves lists the other metrics of the run table that differ.
func moves(c *Comparison) string {
	var parts []string
	for i := range c.Figures {
		f := &c.Figures[i]
		if f.Metric.Name == results.NameCost || !f.Summary || f.Difference == 0 || len(parts) == maxMoves {
			continue
		}
		name := f.Metric.Name
		for _, suffix := range []string{"_tokens", "_seconds", "_usd"} {
			name = strings.TrimSuffix(name, suffix)
		}
		parts = append(parts, strings.ReplaceAll(name, "_", " ")+" "+f.scale().Signed(f.Difference))
	}
	if len(parts) == 0 {
		return ""
	}
	return document.Sentence(strings.Join(parts, ", "))
}

// sameIn names the metrics in which nothing differs.
func (r *Report) sameIn(c *Comparison) string {
	if r.Chosen {
		return document.Few(c.told())
	}
	return "any metric"
}

// told returns the names of the metrics that both sides have.
func (c *Comparison) told() []string {
	var names []string
	for i := range c.Figures {
		if c.Figures[i].Verdict != Missing {
			names = append(names, c.Figures[i].Metric.Name)
		}
	}
	return names
}
