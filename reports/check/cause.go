package check

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/internal/kit/numbers"
	"github.com/compactsim/compactsim/internal/kit/stats"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/sim/validate"
)

// missCauses are the causes of classes of misses.
var missCauses = map[string]string{
	exchange.MissExpiry.String():      "pauses are longer than the lifetime of the entries",
	exchange.MissEdit.String():        "messages before the end change: clearing, deletions or rewritten results",
	exchange.MissCompaction.String():  "compactions replace the messages",
	exchange.MissRewind.String():      "conversations go back to an earlier point",
	exchange.MissHead.String():        "something before the conversation changes between requests: tools, system prompt or parameters",
	exchange.MissModel.String():       "conversations change the model",
	exchange.MissEviction.String():    "entries are evicted within their lifetime (server.evict_per_call)",
	exchange.MissNotReadable.String(): "requests come before the response that writes their prefix has begun",
	exchange.MissLookback.String():    "markers are further apart than the look-back reaches",
	exchange.MissMinimum.String():     "requests are below the smallest prompt that is cached",
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
		text := fmt.Sprintf("%s (%s, %s", c.Text, figure(measures.UnitUSD, c.USD), document.Count(c.Calls, "call"))
		switch {
		case c.Same > 1 && c.Read > 0:
			text += fmt.Sprintf("; %s still read the same %s, and what follows changed", numbers.Grouped(float64(c.Same), 0), document.Count(int(c.Read), "token"))
		case c.Same > 1 && c.Same < c.Calls:
			text += fmt.Sprintf("; %s read nothing", numbers.Grouped(float64(c.Same), 0))
		}
		if c.Suspected > 0 {
			text += fmt.Sprintf("; %s %s", document.Whole(c.Suspected), c.Likely)
		}
		if text += ")"; c.Call != "" {
			text += ": sim explain " + document.Argument(c.Call) + in.Paths
		}
		parts = append(parts, text)
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, "; ") + ". The prompt is in no log: causes are inferred from counts"
}

// looker finds the part of a cell that grew.
type looker struct {
	*slice
	paths   string        // Input.Paths
	was     *BaselineCell // may be nil
	metrics []results.Metric
	level   bool // the rule is a level, and the baseline may be beyond it too
	apart   bool // the baseline has other sessions: sums are compared per call
}

// look returns one line that says where to look when a metric is beyond its bar: at the part that grew most against the
// baseline or, for a level where none grew, at the largest. A rule on a class or a source is told of that one, whatever
// else grew more.
func (l looker) look(m results.Metric) string {
	switch {
	case m.Of != "" && (m.By == measures.ByClass || m.By == measures.BySource):
		if own := l.parts(func(o results.Metric) bool { return o.Name == m.Name }); len(own) > 0 {
			return l.tell(&own[0])
		}
		return m.Definition
	case ofCache(m.Name):
		if worst, ok := l.foremost(measures.NameMisses, measures.ByClass); ok {
			return l.tell(&worst)
		}
		return "no class of misses grew: first calls of conversations and their own input weigh more" + l.split("both")
	case strings.HasPrefix(m.Name, measures.NameCost) || m.Name == measures.NameStorage:
		return l.lookAtCost()
	case strings.Contains(m.Name, measures.NameCompactions) || m.Name == measures.NameChainMax:
		return m.Definition + l.compactions("what started each compaction and whether it paid")
	}
	if worst, ok := l.foremost(m.Name, measures.ByPart); ok {
		return l.tell(&worst) + ": " + worst.metric.Definition
	}
	return m.Definition + l.split("its parts")
}

// split names the command that shows the parts of a bill; "" for a cell that only the check file has.
func (l looker) split(shown string) string {
	if l.cell.Asked == "" {
		return ""
	}
	return "; sim run" + l.cell.Asked + " --split" + l.paths + " shows " + shown
}

// compactions names the command that shows what compactions cost.
func (l looker) compactions(shown string) string {
	if l.cell.Asked == "" {
		return ""
	}
	return "; sim audit --compactions" + l.cell.Asked + l.paths + " shows " + shown
}

// lookAtCost names the token class whose cost grew most and, if that is a class of tokens not read, the misses
// that cause it, else the source that grew most.
func (l looker) lookAtCost() string {
	worst, ok := l.foremost(measures.NameCost, measures.ByClass)
	if !ok {
		return "no token class became dearer" + l.split("the bill by class and source")
	}
	whole, by := measures.NameMisses, measures.ByClass
	if worst.metric.Name == measures.NameCostOutput || worst.metric.Name == measures.NameCostRead {
		whole, by = measures.NameCost, measures.BySource
	}
	line := l.tell(&worst)
	if next, ok := l.foremost(whole, by); ok {
		line += "; " + l.tell(&next)
	}
	return line
}

// tell says how a metric changed and, of a class of misses, what causes it. In a recorded cell nobody knows
// why an entry was gone within its lifetime.
func (l looker) tell(c *change) string {
	line := c.metric.Name + " " + c.words()
	class, ok := strings.CutPrefix(c.metric.Name, "misses_")
	switch {
	case !ok:
		return line
	case l.cell.Strategy == measures.StrategyBilled && class == exchange.MissEviction.String():
		return line + ": calls did not read what was cached, and no line of the log says for sure why; sim audit" + l.paths + " lists them"
	case class == exchange.MissCompaction.String():
		return line + ": " + missCauses[class] + l.compactions("which pay")
	}
	return line + ": " + missCauses[class]
}

// ofCache reports whether a metric measures how the cache was used.
func ofCache(name string) bool {
	return strings.HasPrefix(name, measures.NameMisses) || strings.HasPrefix(name, "cache_") && !strings.HasPrefix(name, measures.NameDeletions) ||
		name == measures.NameCallHitRatio || name == measures.NameUncachedTokens
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
			c.was, c.compared = l.was.mean(m.Name)
		}
		if l.apart && c.compared && m.Kind == measures.KindSum {
			before, _ := l.was.mean(measures.NameCalls)
			calls := float64(l.totals[0].N(measures.Calls))
			if m.Unit == measures.UnitUSD { // of calls with a price
				before, calls = before-float64(l.was.Unpriced), calls-float64(l.totals[0].N(measures.UnpricedCalls))
			}
			if calls > 0 && before > 0 {
				c.now, c.was, c.each = 100*c.now/calls, 100*c.was/before, " in 100 calls"
			}
		}
		all = append(all, c)
	}
	return all
}

// foremost returns the part of a metric that grew most. If none did and the rule is a
// level, it returns the largest value now, false when all are zero.
func (l looker) foremost(whole, by string) (worst change, ok bool) {
	all := l.parts(func(m results.Metric) bool { return m.Of == whole && m.By == by })
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

// Change is the change of the bill since the baseline, for each call or task, divided into parts that add up. USD.
type Change struct {
	Text string  `json:"text"` // in one line
	Per  string  `json:"per"`  // call or task
	Was  float64 `json:"baseline_usd"`
	Now  float64 `json:"usd"`
	// Work is what the predicted bill changed by with the clients, prices and models of the baseline.
	Work   float64 `json:"work_usd"`
	Prices float64 `json:"prices_usd"` // by other prices and models
	Facts  float64 `json:"facts_usd"`  // by what the client does otherwise
	Cache  float64 `json:"cache_usd"`  // beyond what is predicted
	// Causes are the parts of Cache, and Rest what no cause explains, with its interval by session.
	Causes   map[string]float64 `json:"causes_usd"`
	Rest     float64            `json:"rest_usd"`
	RestLow  *float64           `json:"rest_low,omitempty"`
	RestHigh *float64           `json:"rest_high,omitempty"`
}

// weighed are sessions with the part that each has in a mean.
type weighed struct {
	list    []*Past
	weights []float64
	size    []float64 // what the mean is taken over: calls, or tries
}

// mean returns the weighted mean of a figure of sessions.
func (w *weighed) mean(of func(*Past) float64) float64 {
	f := w.figure(of)
	return f.Value()
}

func (w *weighed) figure(of func(*Past) float64) stats.Figure {
	f := stats.Figure{Base: w.size}
	for i, p := range w.list {
		f.Part = append(f.Part, w.weights[i]*of(p))
	}
	return f
}

// perCall weighs sessions by their calls with a price.
func perCall(list []Past) weighed {
	var w weighed
	for i := range list {
		if calls := list[i].pricedCalls(); calls > 0 {
			w.list, w.weights, w.size = append(w.list, &list[i]), append(w.weights, 1), append(w.size, float64(calls))
		}
	}
	return w
}

// perTask weighs the tries of a side so that each task counts once.
func (p *partners) perTask(side int) (w weighed) {
	for i := range p.tasks {
		tries := p.tasks[i].tries[side]
		each := slices.Repeat([]float64{1 / float64(len(tries))}, len(tries))
		w.list, w.weights, w.size = append(w.list, tries...), append(w.weights, each...), append(w.size, each...)
	}
	return w
}

// divide divides the change of the bill since the baseline; nil where either has none. facts are
// what today's sessions cost more by each fact that changed, by session.
func (f *File) divide(in *Input, b *Baseline, now []Past, facts map[string]float64) *Change {
	was := b.Past
	p := partnersOf(was, now)
	c := &Change{Per: "call", Causes: map[string]float64{}}
	before, after := perCall(was), perCall(now)
	if len(p.tasks) > 0 {
		c.Per, before, after = "task", p.perTask(0), p.perTask(1)
	}
	c.Was, c.Now = before.mean(billedUSD), after.mean(billedUSD)
	if !(c.Was > 0 && c.Now > 0) {
		return nil
	}
	causes := map[string]bool{rest: true}
	for _, w := range []*weighed{&before, &after} {
		for _, p := range w.list {
			for cause := range p.Excess {
				causes[cause] = true
			}
		}
	}
	for _, cause := range slices.Sorted(maps.Keys(causes)) {
		of := func(p *Past) float64 { return p.Excess[cause] }
		usd := after.mean(of) - before.mean(of)
		if c.Cache += usd; cause != rest {
			c.Causes[cause] = usd
			continue
		}
		c.Rest = usd
		if e, err := (stats.Estimator{Level: 1 - f.Level, Seed: 1}).Apart(context.Background(), before.figure(of), after.figure(of), 1); err == nil && e.Interval.Known() {
			c.RestLow, c.RestHigh = new(e.Interval.Low), new(e.Interval.High)
		}
	}
	other := replaced(was, now)
	c.Facts = after.mean(func(p *Past) float64 { return facts[p.key] })
	share, levels := priceParts(was, now)
	c.Prices = after.mean(func(p *Past) float64 {
		if !levels { // a baseline without levels of prices
			share = in.dearer(p.key, b.Rates, other)
		}
		return (p.predicted() - facts[p.key]) * share
	})
	c.Work = c.Now - c.Was - c.Prices - c.Facts - c.Cache
	c.Text = c.words()
	return c
}

func billedUSD(p *Past) float64 { return p.USD }

// dearer returns the share of what a session is predicted to cost that it would not at other prices and models.
func (in *Input) dearer(id string, rates map[string]results.Cost, other string) float64 {
	var now, then float64
	for model, cost := range in.Sessions[id].Predicted {
		rate, known := in.Rates[model]
		was, found := rates[model]
		if !found {
			was, found = rates[other]
		}
		for class, usd := range cost {
			now += usd
			if known && found && rate[class] > 0 {
				usd *= was[class] / rate[class]
			}
			then += usd
		}
	}
	if now == 0 {
		return 0
	}
	return 1 - then/now
}

// replaced returns the model whose share of calls fell most: one that the baseline does not have came in its place.
func replaced(was, now []Past) (model string) {
	most := 0.0
	for _, name := range factNames(was) {
		if _, client := validate.Client(name); client || !validate.Named(name) {
			continue
		}
		before, after := ratioOf(factParts(was, name)), ratioOf(factParts(now, name))
		if fell := before.Value() - after.Value(); fell > most {
			most, model = fell, strings.TrimPrefix(name, validate.FactModel)
		}
	}
	return model
}

// words says the change in one line, in shares of the bill before. Rounded parts add up: what is
// rounded off is counted as work.
func (c *Change) words() string {
	step := 0.1 // points
	if math.Abs(c.Now/c.Was-1) >= 0.1 {
		step = 1
	}
	points := func(usd float64) float64 { return math.Round(100*usd/c.Was/step) * step }
	all := points(c.Now - c.Was)
	work := all
	parts := ""
	for _, part := range []struct {
		name string
		usd  float64
	}{{"prices", c.Prices}, {"facts", c.Facts}, {"cache", c.Cache}} {
		p := points(part.usd)
		if work -= p; p != 0 || part.name == "cache" {
			parts += fmt.Sprintf(", %s %s", part.name, signedPoints(p))
		}
	}
	return fmt.Sprintf("%s per %s: work %s%s", signedPoints(all), c.Per, signedPoints(work), parts)
}

// signedPoints writes points as a share with its sign.
func signedPoints(v float64) string {
	text := strings.TrimSuffix(fmt.Sprintf("%.1f", math.Abs(v)), ".0")
	switch {
	case text == "0":
		return "±0 %"
	case v < 0:
		return numbers.Minus + text + " %"
	}
	return "+" + text + " %"
}
