package audit

import (
	"strings"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/sim/calls"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
)

// others adds up the parts of a bill that counters which add up the lines of logs lack. Parts do not overlap, but that outputs of
// sub-agents may be estimated.
type others struct {
	estimated, inside, unshown, searches float64 // USD
	insideCalls, unshownCalls            int
}

func (o *others) add(c *calls.Call) {
	r := c.Recorded
	if r.Usage.Output > 0 {
		o.estimated += c.Cost[results.ClassOutput] * (1 - float64(r.Logged)/float64(r.Usage.Output))
	}
	o.searches += c.Search
	switch {
	case c.Source == results.SourceCompact || c.Source == results.SourceOther:
		o.unshown, o.unshownCalls = o.unshown+c.Cost.Total(), o.unshownCalls+1
	case c.Thread.Kind == traces.ThreadAgent && r.File == 0 && agents.ClaudeCode(c.Session):
		o.inside, o.insideCalls = o.inside+c.Cost.Total(), o.insideCalls+1
	}
}

// text says what others lack, "" if that is less than a cent.
func (o *others) text() string {
	var list []string
	add := func(usd float64, text string) {
		if usd >= 0.005 {
			list = append(list, cents(usd)+" "+text)
		}
	}
	add(o.estimated, results.DerivedText)
	add(o.inside, "for "+document.Count(o.insideCalls, "call")+" of sub-agents in the files of their parents")
	add(o.unshown, "for "+document.Count(o.unshownCalls, "call")+" that no line of an answer shows")
	add(o.searches, "for searches of the web")
	if len(list) == 0 {
		return ""
	}
	return "Other counters may tell another sum. This one has " + strings.Join(list, ", ") + "; docs/totals.md says why."
}
