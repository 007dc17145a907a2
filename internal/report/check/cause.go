package check

import (
	"fmt"
	"math"
	"strings"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
)

// missCauses are the causes of classes of misses.
var missCauses = map[string]string{
	prompt.MissExpiry.String():      "pauses are longer than the lifetime of the entries",
	prompt.MissEdit.String():        "messages before the end change: clearing, deletions or rewritten results",
	prompt.MissCompaction.String():  "compactions replace the messages; sim audit --compactions says which pay",
	prompt.MissRewind.String():      "conversations go back to an earlier point",
	prompt.MissHead.String():        "something before the conversation changes between requests: tools, system prompt or parameters",
	prompt.MissModel.String():       "conversations change the model",
	prompt.MissEviction.String():    "entries are evicted within their lifetime (server.evict_per_call)",
	prompt.MissNotReadable.String(): "requests come before the response that writes their prefix has begun",
	prompt.MissLookback.String():    "markers are further apart than the look-back reaches",
	prompt.MissMinimum.String():     "requests are below the smallest prompt that is cached",
}

// why names the causes of a bill above its prediction in the order of what they cost, each with
// its dearest call; causes of less than a tenth of the dearest are left out.
func (in *Input) why() string {
	var parts []string
	for i := range in.Causes {
		c := &in.Causes[i]
		if c.USD < in.Causes[0].USD/10 {
			break
		}
		text := fmt.Sprintf("%s (%s, %s", c.Text, figure(results.UnitUSD, c.USD), document.Count(c.Calls, "call"))
		switch {
		case c.Same > 1 && c.Read > 0:
			text += fmt.Sprintf("; %s of them still read the same %s, and what follows changed", document.Grouped(float64(c.Same), 0), document.Count(int(c.Read), "token"))
		case c.Same > 1 && c.Same < c.Calls:
			text += fmt.Sprintf("; %s of them read nothing", document.Grouped(float64(c.Same), 0))
		}
		parts = append(parts, text+"): sim explain "+c.Call)
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, "; ") + ". The prompt is in no log: causes are inferred from counts"
}

// looker finds the part of a cell that grew.
type looker struct {
	*slice
	was     *BaselineCell // may be nil
	metrics []results.Metric
	level   bool // the rule is a level, and the baseline may be beyond it too
	apart   bool // the baseline has other sessions: sums are compared per call
}

// look returns one line that says where to look when a metric is beyond its
// bar: at the part of it that grew most against the baseline or, for a level
// where none grew, at the largest.
func (l looker) look(m results.Metric) string {
	if m.Of != "" && (m.By == results.ByClass || m.By == results.BySource) {
		return l.lookAtPart(m)
	}
	switch {
	case ofCache(m.Name):
		return l.lookAtCache()
	case strings.HasPrefix(m.Name, results.NameCost) || m.Name == results.NameStorage:
		return l.lookAtCost()
	case strings.HasPrefix(m.Name, results.NameAddedLatency):
		if line := l.lookAtParts(results.NameAddedLatency); line != "" {
			return line
		}
	case strings.Contains(m.Name, results.NameCompactions) || m.Name == results.NameChainMax:
		return l.lookAtCompactions()
	}
	return fmt.Sprintf("%s: sim run --split shows its parts", m.Definition)
}

// lookAtPart says how the class or source of a rule changed, and what causes
// that. Another one that grew more is not the subject of the rule.
func (l looker) lookAtPart(m results.Metric) string {
	own := l.parts(func(o results.Metric) bool { return o.Name == m.Name })
	line := m.Definition
	if len(own) > 0 && own[0].compared {
		line = fmt.Sprintf("%s %s", m.Name, own[0].words())
	}
	if class, ok := strings.CutPrefix(m.Name, "misses_"); ok {
		return line + ": " + l.cause(class)
	}
	if m.By == results.BySource {
		return line + ": sim run --split shows the calls of each source"
	}
	return line + ": sim run --split shows the bill by class and source"
}

// ofCache reports whether a metric measures how the cache was used.
func ofCache(name string) bool {
	return strings.HasPrefix(name, results.NameMisses) || strings.HasPrefix(name, "cache_") && !strings.HasPrefix(name, results.NameDeletions) ||
		name == results.NameCallHitRatio || name == results.NameUncachedTokens
}

// change is a metric now and in the baseline.
type change struct {
	metric   results.Metric
	was, now float64
	compared bool   // the baseline has it
	each     string // unit that a sum is divided by, "" for none
}

func (c *change) growth() float64 { return c.now - c.was }

// words says how it changed, for instance "rose from 0 to 141".
func (c *change) words() string {
	if !c.compared {
		return "is the largest part: " + figure(c.metric.Unit, c.now)
	}
	if math.Abs(c.growth()) <= tolerance(c.now) {
		return fmt.Sprintf("is %s, as in the baseline", figure(c.metric.Unit, c.now))
	}
	verb := "rose"
	if c.now < c.was {
		verb = "fell"
	}
	return fmt.Sprintf("%s from %s to %s%s", verb, figure(c.metric.Unit, c.was), figure(c.metric.Unit, c.now), c.each)
}

// parts returns how the metrics that pass a filter changed.
func (l looker) parts(take func(results.Metric) bool) []change {
	var all []change
	for _, m := range l.metrics {
		if !take(m) {
			continue
		}
		values, ok := l.values(m)
		if !ok {
			continue
		}
		c := change{metric: m, now: mean(values)}
		if l.was != nil {
			c.was, c.compared = l.was.Metrics[m.Name]
		}
		if calls := l.totals[0].N(results.Calls); l.apart && c.compared && m.Kind == results.KindSum && calls > 0 &&
			l.was.Metrics[results.NameCalls] > 0 {
			size, each := 1.0, " a call"
			if m.Unit != results.UnitUSD {
				size, each = 100, " in 100 calls"
			}
			c.now, c.was, c.each = size*c.now/float64(calls), size*c.was/l.was.Metrics[results.NameCalls], each
		}
		all = append(all, c)
	}
	return all
}

// of returns how the classes or sources of a metric changed.
func (l looker) of(whole string, by string) []change {
	return l.parts(func(m results.Metric) bool { return m.Of == whole && m.By == by })
}

// foremost returns the change that grew most. If none did and the rule is a
// level, it returns the largest value now, false when all are zero.
func (l looker) foremost(all []change) (worst change, ok bool) {
	for _, c := range all {
		if g := c.growth(); g > tolerance(c.now) && (!ok || g > worst.growth()) {
			worst, ok = c, true
		}
	}
	if ok || !l.level {
		return worst, ok
	}
	for _, c := range all {
		if c.compared = false; c.now > worst.now {
			worst, ok = c, true
		}
	}
	return worst, ok
}

// lookAtCache names what grew, misses before tokens, else the misses there are.
func (l looker) lookAtCache() string {
	misses, missed := l.misses()
	if missed && (misses.compared || l.was == nil) {
		return l.missWords(&misses)
	}
	line := "no class of misses grew"
	for _, c := range l.parts(func(m results.Metric) bool {
		return m.Name == results.NameUncachedTokens || strings.HasPrefix(m.Name, "cache_write_")
	}) {
		if c.compared && c.growth() > tolerance(c.now) {
			line, missed = line+"; "+c.metric.Name+" "+c.words(), false
		}
	}
	if missed {
		return l.missWords(&misses)
	}
	return line + ": first calls of conversations and their own input weigh more; sim run --split shows both"
}

// misses returns the class of misses to name, false when there is none.
func (l looker) misses() (change, bool) { return l.foremost(l.of(results.NameMisses, results.ByClass)) }

// cause returns the cause of a class of misses. In a recorded cell nobody knows
// why an entry was gone within its lifetime.
func (l looker) cause(class string) string {
	if l.cell.Strategy == results.StrategyBilled && class == prompt.MissEviction.String() {
		return "calls within the lifetime did not read what was cached, for no visible reason; sim audit lists them"
	}
	return missCauses[class]
}

// missWords says how a class of misses changed and what causes it.
func (l looker) missWords(worst *change) string {
	class := strings.TrimPrefix(worst.metric.Name, "misses_")
	if worst.compared {
		return fmt.Sprintf("misses of class %s %s: %s", class, worst.words(), l.cause(class))
	}
	all := 0.0
	for _, c := range l.of(results.NameMisses, results.ByClass) {
		all += c.now
	}
	return fmt.Sprintf("%s of %s misses have class %s: %s",
		figure(results.UnitCalls, worst.now), figure(results.UnitCalls, all), class, l.cause(class))
}

// lookAtCost names the token class whose cost grew most and, if that is a class
// of tokens not read, the misses that cause it, else the source that grew most.
func (l looker) lookAtCost() string {
	worst, ok := l.foremost(l.of(results.NameCost, results.ByClass))
	if !ok {
		return "no token class became dearer: sim run --split shows the bill by class and source"
	}
	line := fmt.Sprintf("%s %s", worst.metric.Name, worst.words())
	if worst.metric.Name == results.NameCostOutput || worst.metric.Name == results.NameCostRead {
		source, ok := l.foremost(l.of(results.NameCost, results.BySource))
		if !ok {
			return line
		}
		return fmt.Sprintf("%s; most in %s, which %s", line, source.metric.Name, source.words())
	}
	if misses, ok := l.misses(); ok {
		return line + "; " + l.missWords(&misses)
	}
	return line
}

// lookAtParts names the part of a metric that grew most, "" if there is none to
// name.
func (l looker) lookAtParts(of string) string {
	worst, ok := l.foremost(l.parts(func(m results.Metric) bool { return m.Of == of }))
	if !ok {
		return ""
	}
	return fmt.Sprintf("%s %s: %s", worst.metric.Name, worst.words(), worst.metric.Definition)
}

// lookAtCompactions sends the reader to the list of compactions.
func (l looker) lookAtCompactions() string {
	line := ""
	for _, c := range l.parts(func(m results.Metric) bool { return m.Name == results.NamePeakContext }) {
		if c.compared && math.Abs(c.growth()) > tolerance(c.now) {
			line = "peak_context_tokens " + c.words() + "; "
		}
	}
	return line + "sim audit --compactions --strategy " + l.cell.Strategy + " shows what started each compaction and whether it paid"
}
