package compare

import (
	"slices"

	"github.com/compactsim/compactsim/internal/document"
)

// uneventful reports whether there is nothing to show of a comparison but that
// nothing differs. A metric asked for by name that a side does not have is shown.
func (r *Report) uneventful(c *Comparison) bool {
	return !c.Changed() && !(r.Chosen && c.lacks())
}

// lacks reports whether a side has no sample of some metric.
func (c *Comparison) lacks() bool {
	return slices.ContainsFunc(c.Figures, func(f Figure) bool { return f.Verdict == Missing })
}

// sameIn names the metrics in which nothing differs.
func (r *Report) sameIn(c *Comparison) string {
	if r.Chosen {
		return listed(c.told())
	}
	if c.lacks() {
		return "any metric that both sides have"
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

// unchanged is the headline of a comparison in which nothing differs.
func (r *Report) unchanged(c *Comparison, strong func(string) string) string {
	base, other := document.Printable(c.Base), document.Printable(c.Other)
	if len(c.told()) == 0 {
		return strong("Nothing to compare between "+base+" and "+other) + " " + c.where() + "."
	}
	in := ""
	if r.Chosen {
		in = " in " + r.sameIn(c)
	}
	return strong("No difference"+in+" between "+base+" and "+other) + " " + c.where() + "."
}

// where says on which sessions.
func (c *Comparison) where() string {
	if c.Sessions == 1 {
		return "on the same session"
	}
	return "on the same " + document.Count(c.Sessions, "session")
}
