package check

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/internal/kit/stats"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/sim/validate"
)

// Facts say what becomes of a client that changed.
type Facts struct {
	Max      *Amount `yaml:"max" doc:"the most that what changed may cost, as a share of what the sessions are predicted to cost"`
	Lifetime string  `yaml:"lifetime" doc:"the lifetime that conversations ask for, whatever the baseline has; keep lets it become no shorter than the baseline's" enum:"any,keep,5m,1h"`
}

// pinned reports whether the lifetime is fixed.
func (f *Facts) pinned() bool { return f.Lifetime == "5m" || f.Lifetime == "1h" }

// holds reports whether a change breaks the check whatever it costs: of a lifetime that is pinned, or that is kept and
// became shorter for more than half of the writes.
func (f *Facts) holds(c *fact) bool {
	return c.name == validate.FactLifetime && (f.pinned() || f.Lifetime == keepLifetime && c.before-c.after > 0.5)
}

// keepLifetime is the value of facts.lifetime under which the baseline's is held.
const keepLifetime = "keep"

// asked reports whether the check has facts.
func (f *Facts) asked() bool { return f.Max != nil || f.pinned() || f.Lifetime == keepLifetime }

// Price returns what each session is predicted to cost more than it would with a fact at another
// value, USD; false if that is unknown. was gives the value of a session, and the mean for "".
type Price func(fact string, was func(id string) float64) (more map[string]float64, ok bool, err error)

// What facts are called in reports.
const (
	factsMetric   = "facts"
	clientChanged = "the client changed: "
)

// fact is what the clients do otherwise than in the baseline.
type fact struct {
	name          string
	before, after float64
	never         bool               // the baseline has none; before is what it reached without one
	few           bool               // one side has a single session with the fact, which may differ by chance
	own           map[string]float64 // before, of sessions that the baseline has too
}

// Moved is what the clients do otherwise than in the baseline.
type Moved struct {
	Fact          string
	Before, After float64
	Never         bool               // the baseline has none; Before is what it reached without one
	Each          map[string]float64 // what it costs more than with Before, USD by session; nil where that is unknown
}

// had formats the value in the baseline.
func (c *fact) had() string {
	if c.never {
		return "none up to " + factFigure(c.before)
	}
	return factFigure(c.before)
}

// valueBefore returns the value of a session in the baseline.
func (c *fact) valueBefore(id string) float64 {
	if v, ok := c.own[id]; ok {
		return v
	}
	return c.before
}

// judgeFacts tells which facts differ from the baseline's by more than their own spread, with
// what each costs. What those that can be priced cost together is judged, and returned by session.
func (f *File) judgeFacts(r *Report, in *Input, b *Baseline, now []Past) map[string]float64 {
	if in.Price == nil {
		return nil
	}
	var was []Past
	if b != nil {
		was = b.Past
	}
	by := map[string]float64{}
	var more, of float64 // USD: what facts cost more, which no saving of another fact makes up for; and what all sessions are predicted to cost
	for i := range now {
		of += now[i].predicted()
	}
	held, doubted := false, false
	var clients []string
	var costs []float64
	names := factNames(was, now)
	for _, name := range names {
		c := f.findChange(name, was, now, len(names))
		if c == nil {
			continue
		}
		if client, ok := validate.Client(name); ok {
			clients = append(clients, fmt.Sprintf("%s (%s of calls)", client, factFigure(c.after)))
			continue
		}
		text := fmt.Sprintf("%s: %s → %s", name, c.had(), factFigure(c.after))
		if f.Accept.accepted(name) {
			costs, r.Changed = append(costs, 0), append(r.Changed, text+" (accepted)")
			continue
		}
		each, ok, err := in.price(c)
		cost := 0.0
		m := Moved{Fact: name, Before: c.before, After: c.after, Never: c.never}
		switch {
		case err != nil:
			r.fail(0, "pricing a fact: %v", err)
		case ok:
			m.Each = each
			usd := 0.0
			for _, id := range slices.Sorted(maps.Keys(each)) {
				usd += each[id]
				by[id] += each[id]
			}
			cost = usd
			more += max(0, usd)
			text += fmt.Sprintf(" (with what was: %s, %s)", costFigure(usd), signedPoints(math.Round(-1000*usd/of)/10))
		}
		r.Moved = append(r.Moved, m)
		at := 0 // the dearest first
		for at < len(costs) && math.Abs(costs[at]) >= math.Abs(cost) {
			at++
		}
		costs, r.Changed = slices.Insert(costs, at, cost), slices.Insert(r.Changed, at, text)
		if cost > 0 || f.Facts.holds(c) {
			r.meant = append(r.meant, name)
		}
		if f.Facts.holds(c) {
			held, doubted = held || !c.few, doubted || c.few
		}
	}
	if len(clients) > 0 {
		r.Changed = append(r.Changed, "not in the baseline: "+document.Few(clients))
	}
	if f.Facts.asked() {
		res := f.factResult(more, of, r.Changed, r.meant)
		switch most := f.Facts.most() * of; {
		case more > most || held:
			res.Status = Breach
		case doubted:
			res.Status = Suspect
			res.Message += ", which one session may show by chance"
		case f.Facts.Max != nil && of <= 0:
			res.Status = Unjudged
			res.Message = "cannot fail: nothing here has a price, so that no change costs anything"
		default:
			res.Message, res.Look = "", ""
		}
		r.Results = append(r.Results, res)
	}
	return by
}

// price returns what each session is predicted to cost more than with a fact as it was: longer responses by what output
// costs, in the sessions that the baseline has too, for other sessions have other answers; settings by a replay.
func (in *Input) price(c *fact) (more map[string]float64, ok bool, err error) {
	if c.name != validate.FactOutput {
		return in.Price(c.name, c.valueBefore)
	}
	for id, was := range c.own {
		now := in.Sessions[id].Facts[c.name]
		usd := 0.0
		for _, model := range slices.Sorted(maps.Keys(in.Sessions[id].Predicted)) {
			usd += in.Sessions[id].Predicted[model][measures.ClassOutput]
		}
		if now[0] > 0 {
			more = put(more, id, usd*(1-was*now[1]/now[0]))
		}
	}
	return more, len(more) > 0, nil
}

// factResult returns what changed facts cost, USD, as a share of what is predicted, with the words for a breach.
func (f *File) factResult(more, of float64, told, meant []string) Result {
	share := 0.0
	if of > 0 {
		share = more / of
	}
	res := Result{Line: f.factsLine, Metric: factsMetric, Unit: measures.UnitRatio, Rule: f.Facts.text(), Status: OK, Observed: new(share), Bar: new(f.Facts.most()), usd: more}
	res.Margin = new(*res.Bar - share)
	res.Message = clientChanged + strings.Join(told, "; ")
	res.Look = fmt.Sprintf("what changed costs %s of what these sessions are predicted to cost; %s",
		figure(measures.UnitRatio, max(0, share)), f.Accept.accepting(meant...))
	return res
}

// factNames returns the facts of sessions of a baseline and of a run, sorted.
func factNames(lists ...[]Past) []string {
	all := map[string]bool{}
	for _, p := range slices.Concat(lists...) {
		for name := range p.Facts {
			all[name] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// most is the bar, a share: 2 % unless the check has another.
func (f *Facts) most() float64 {
	if f.Max == nil {
		return 0.02
	}
	return f.Max.Value
}

func (f *Facts) text() string {
	text := "max " + Amount{f.most(), true}.String()
	switch {
	case f.pinned():
		text += ", lifetime " + f.Lifetime
	case f.Lifetime == keepLifetime: // short: every starter has it
		text += ", " + keepLifetime
	}
	return text
}

// findChange returns a fact if it differs from the baseline's by more than both spread, over the same
// sessions or over all; else nil. A pinned fact has no spread, and a client or a model that no session
// of the baseline has is told whatever its share.
func (f *File) findChange(name string, was, now []Past, facts int) *fact {
	b, n := ratioOf(factParts(was, name)), ratioOf(factParts(now, name))
	c := &fact{name: name, before: b.Value(), after: n.Value()}
	if name == validate.FactLifetime && f.Facts.pinned() {
		if c.before = 0; f.Facts.Lifetime == "1h" {
			c.before = 1
		}
		return c.unless(math.Abs(c.after-c.before) <= 0.5)
	}
	_, client := validate.Client(name)
	switch {
	case name == validate.FactReached || validate.Level(name): // prices are judged by themselves
		return nil
	case name == validate.FactCompactedAt && len(b.Part) == 0 && len(n.Part) > 0:
		return c.unless(!c.first(was, now))
	case len(b.Part) == 0 || len(n.Part) == 0 || c.before == c.after:
		return nil
	case validate.Named(name) && (c.before == 0 || client):
		return c.unless(c.before > 0)
	case validate.Set(name) && max(c.before, c.after) > 1 && !another(c.before, c.after):
		return nil
	}
	var same [2][][2]float64
	c.own = map[string]float64{}
	for _, pair := range partnersOf(was, now).same {
		x, y := factParts([]Past{*pair[0]}, name), factParts([]Past{*pair[1]}, name)
		if len(x) > 0 && len(y) > 0 {
			same[0], same[1] = append(same[0], x...), append(same[1], y...)
			c.own[pair[1].key] = x[0][0] / x[0][1]
		}
	}
	x, y := ratioOf(same[0]), ratioOf(same[1])
	if len(same[0]) > 0 && another(x.Value(), y.Value()) {
		c.before, c.after = x.Value(), y.Value()
		return c
	}
	lowB, highB := span(&b)
	lowN, highN := span(&n)
	if c.few = min(len(b.Part), len(n.Part)) < leastAlike; validate.Set(name) && max(lowN-highB, lowB-highN) > leastStep*max(highB, highN) {
		return c
	}
	share := f.Level / lifetimes // of chance: these few can cost something, and all other facts are told alone
	if !validate.Set(name) {
		share = f.Level / float64(2*facts) // for each of two tests
		x, y := ratios(&b), ratios(&n)
		if 2*min(stats.HigherRanks(x, y), stats.HigherRanks(y, x)) < share { // whatever the largest sessions do
			return c
		}
	}
	e, err := stats.Estimator{Level: 1 - share, Seed: 1, Resamples: apartResamples}.Apart(context.Background(), b, n, 1)
	return c.unless(err != nil || e.Verdict <= stats.Chance)
}

// first reports whether sessions compact where sessions of the baseline with the same model went on without. Windows
// of one model differ too, so that one of either proves nothing.
func (c *fact) first(was, now []Past) bool {
	compacting := map[string]int{}
	for i := range now {
		if at := now[i].Facts[c.name]; at[1] > 0 {
			compacting[now[i].model()]++
		}
	}
	beyond := map[string]int{}
	c.never, c.before = true, 0
	told := false
	for i := range was {
		reached, model := was[i].Facts[validate.FactReached][0], was[i].model()
		if (1-leastStep)*reached > c.after && compacting[model] >= leastAlike {
			beyond[model]++
			c.before = max(c.before, reached)
			told = told || beyond[model] >= leastAlike
		}
	}
	return told
}

// leastAlike is how many sessions of a model must show a level on either side.
const leastAlike = 2

// unless returns c, or nil if it is no change.
func (c *fact) unless(none bool) *fact {
	if none {
		return nil
	}
	return c
}

// lifetimes is how many settings vary among healthy sessions: those that are shares.
const lifetimes = 2

// What makes a setting another one, for thresholds of one setting vary with the size of the last result:
// how far the values of sizes lie apart, as a share of the larger, and of shares.
const leastStep, leastShare = 0.1, 0.01

// another reports whether the same sessions have another fact.
func another(was, now float64) bool {
	if most := max(was, now); most > 1 {
		return math.Abs(now-was) > leastStep*most
	}
	return math.Abs(now-was) > leastShare
}

// factParts returns both sums of a fact in each session that has it.
func factParts(list []Past, name string) (parts [][2]float64) {
	for i := range list {
		p, ok := list[i].Facts[name]
		if !ok && validate.Named(name) && len(list[i].Facts) > 0 {
			p, ok = [2]float64{0, float64(list[i].Calls)}, true
		}
		if ok && p[1] > 0 {
			parts = append(parts, p)
		}
	}
	return parts
}

// span returns the least and the largest ratio of any session.
func span(f *stats.Figure) (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for i := range f.Part {
		low, high = min(low, f.Part[i]/f.Base[i]), max(high, f.Part[i]/f.Base[i])
	}
	return low, high
}

// factFigure formats the value of a fact: a share, or a size in tokens.
func factFigure(v float64) string {
	if v <= 1 {
		return figure(measures.UnitRatio, v)
	}
	return figure(measures.UnitTokens, v)
}

// costFigure formats what a fact costs.
func costFigure(usd float64) string {
	if usd < 0 {
		return figure(measures.UnitUSD, -usd) + " more"
	}
	return figure(measures.UnitUSD, usd) + " less"
}
