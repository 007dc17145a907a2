package check

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/internal/kit/stats"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/sim/validate"
)

// Paired bounds the costs of sessions and tasks that the baseline has too.
type Paired struct {
	Max *Amount `yaml:"max" doc:"by how much sessions and tasks of the baseline may cost more than there"`
}

// asked reports whether the check pairs sessions.
func (p *Paired) asked() bool { return p.Max != nil }

// Rules returns an error for a bar that is no share.
func (p *Paired) Rules() []error {
	if p.asked() && (!p.Max.Percent || p.Max.Value < 0) {
		return []error{fmt.Errorf("paired.max is a share such as 3%%, not %s", p.Max)}
	}
	return nil
}

// partners are the sessions of a run and of its baseline that are compared with each other.
type partners struct {
	same  [][2]*Past // baseline and run: of one id, with as many calls
	tasks []task     // tried on both sides, in the order of their names, without tries that are in same
	all   bool       // every session of the run is in same
	grown int        // sessions of one id with other calls, and of no task: they went on
}

// task has the tries of a task in baseline and run, with their means.
type task struct {
	name       string
	tries      [2][]*Past
	usd, calls [2]float64
}

// partnersOf finds them.
func partnersOf(was, now []Past) (p partners) {
	byID := map[string]*Past{}
	for i := range was {
		byID[was[i].ID] = &was[i]
	}
	paired := map[*Past]bool{}
	for i := range now {
		before, own := byID[now[i].ID], &now[i]
		switch {
		case before == nil:
		case before.Calls == own.Calls:
			p.same = append(p.same, [2]*Past{before, own})
			paired[before], paired[own] = true, true
		case own.Task == "":
			p.grown++
		}
	}
	tasks := map[string]task{}
	for side, list := range [2][]Past{was, now} {
		for i := range list {
			if own := &list[i]; own.Task != "" && own.pricedCalls() > 0 && !paired[own] {
				t := tasks[own.Task]
				t.name, t.tries[side] = own.Task, append(t.tries[side], own)
				tasks[own.Task] = t
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(tasks)) {
		t := tasks[name]
		for side, tries := range t.tries {
			for _, try := range tries {
				t.usd[side] += try.USD / float64(len(tries))
				t.calls[side] += float64(try.Calls) / float64(len(tries))
			}
		}
		if len(t.tries[0]) > 0 && len(t.tries[1]) > 0 {
			p.tasks = append(p.tasks, t)
		}
	}
	p.all = len(now) > 0 && len(p.same) == len(now)
	return p
}

// billedToPredicted returns what the same sessions of a group were billed in the baseline, over what is predicted;
// false unless the run has no others.
func (p *partners) billedToPredicted(in group) (ratio float64, ok bool) {
	var billed, predicted float64
	for _, pair := range p.same {
		if !in.has(pair[1].key) {
			continue
		}
		billed, predicted = billed+pair[0].Input[0], predicted+pair[0].Input[1]
	}
	return billed / predicted, p.all && predicted > 0
}

// pairedCases returns what is judged of the sessions and tasks of a baseline: the bill of both, and
// what the same sessions cost in each simulated cell. Without any, more work breaks nothing.
func (f *File) pairedCases(in *Input, all *sums, b *Baseline) []*verdict {
	if !f.Paired.asked() || b == nil {
		return nil
	}
	p := &all.partners
	cost, _ := results.LookupMetric(measures.NameCost)
	rule := &Rule{Name: cost.Name, Metric: cost, whole: cost, Kind: MaxIncrease, Bar: *f.Paired.Max, Line: f.pairedLine}
	var cases []*verdict
	for i := range in.Cells {
		c := &in.Cells[i]
		if v := f.pairedCase(rule, in, all, b, c, p); v != nil {
			cases = append(cases, v)
		}
		if c.Strategy == measures.StrategyBilled && len(p.tasks) > 0 {
			v := newVerdict(rule, in, all, all.of(c, group{"tasks", among(p.perTask(1).list)}))
			v.apart = true
			v.before, v.after = p.taskFigures()
			v.result.Group, v.result.Baseline, v.result.Observed = document.Count(len(p.tasks), "task"), new(v.before.Value()), new(v.after.Value())
			t := slices.MaxFunc(p.tasks, func(a, b task) int { return cmp.Compare(a.usd[1]-a.usd[0], b.usd[1]-b.usd[0]) })
			v.why = fmt.Sprintf("most in task %s: %s → %s a try, %.4g → %.4g calls", t.name,
				figure(measures.UnitUSD, t.usd[0]), figure(measures.UnitUSD, t.usd[1]), t.calls[0], t.calls[1])
			cases = append(cases, v)
		}
	}
	return cases
}

// pairedCase compares one cell over the sessions of the baseline, nil if it has no such session.
func (f *File) pairedCase(rule *Rule, in *Input, all *sums, b *Baseline, c *Cell, p *partners) *verdict {
	billed := c.Strategy == measures.StrategyBilled
	var then []float64
	var pairs [][2]*Past
	for _, pair := range p.same {
		was := pair[0].Costs[c.Name]
		if billed && pair[0].pricedCalls() > 0 {
			was = []float64{pair[0].USD}
		}
		if len(was) == 0 || then != nil && len(was) != len(then) {
			continue
		}
		if then == nil {
			then = make([]float64, len(was))
		}
		pairs = append(pairs, pair)
		for k := range was {
			then[k] += was[k]
		}
	}
	if len(pairs) == 0 {
		return nil
	}
	ours := make([]*Past, len(pairs))
	for i, pair := range pairs {
		ours[i] = pair[1]
	}
	v := newVerdict(rule, in, all, all.of(c, group{"paired", among(ours)}))
	v.result.Group = document.Count(len(pairs), "paired session")
	v.held = then
	if v.judgeable(f) {
		v.prepare(nil)
	}
	if billed {
		v.why = dearestPair(pairs)
	} else if len(pairs) == len(b.Past) {
		v.was = b.find(c.Name, "")
	}
	return v
}

// among reports whether a session of a run is one of a list.
func among(list []*Past) func(id string) bool {
	keys := map[string]bool{}
	for _, p := range list {
		keys[p.key] = true
	}
	return func(id string) bool { return keys[id] }
}

// taskFigures returns the mean cost of a task on both sides, where tries are compared within their
// task: each is held against the mean of the tries of its own. The ratio of sums over tries is that mean.
// Only the differences between tries of a task spread, widened for the mean being their own. A task
// tried once on a side has no spread there; its tries of today are then held against the mean before.
func (p *partners) taskFigures() (before, after stats.Figure) {
	var all [2]float64
	for _, t := range p.tasks {
		for side, usd := range t.usd {
			all[side] += usd / float64(len(p.tasks))
		}
	}
	for _, t := range p.tasks {
		within := len(t.tries[0]) > 1 && len(t.tries[1]) > 1
		for side, f := range [2]*stats.Figure{&before, &after} {
			n, mean := float64(len(t.tries[side])), t.usd[side]
			size, wide := t.usd[0]/all[0], 1.0 // of the task, in means
			if within {
				size, wide = mean/all[side], math.Sqrt(n/(n-1))
			}
			for _, try := range t.tries[side] {
				f.Part = append(f.Part, (mean+wide*(try.USD-mean))/n)
				f.Base = append(f.Base, size/n)
			}
		}
	}
	return before, after
}

// dearestPair says what grew most of the same sessions.
func dearestPair(pairs [][2]*Past) string {
	var all, output [2]float64 // tokens
	for _, pair := range pairs {
		for side, p := range pair {
			all[side], output[side] = all[side]+float64(p.Tokens), output[side]+p.Facts[validate.FactOutput][0]
		}
	}
	worst := slices.MaxFunc(pairs, func(a, b [2]*Past) int { return cmp.Compare(a[1].USD-a[0].USD, b[1].USD-b[0].USD) })
	text := "the same calls count as many tokens, of dearer classes or at other prices"
	switch counted, answered := all[1]/max(all[0], 1)-1, output[1]/max(output[0], 1)-1; {
	case output[0] > 0 && math.Abs(answered) > max(leastStep, 2*math.Abs(counted)):
		text = "the responses of the same calls are " + moreOrFewer(answered, "longer", "shorter")
	case math.Abs(counted) > leastCount:
		text = "the same calls count " + moreOrFewer(counted, "more", "fewer") + " tokens than before: the recordings, or how they count, changed"
	}
	return fmt.Sprintf("%s; most in session %s, %s → %s", text, worst[1].ID, figure(measures.UnitUSD, worst[0].USD), figure(measures.UnitUSD, worst[1].USD))
}

// moreOrFewer writes a share with the word for its direction.
func moreOrFewer(share float64, more, fewer string) string {
	if share < 0 {
		more = fewer
	}
	return document.Percent(math.Abs(share)) + " " + more
}

// leastCount is the share by which counts of the same calls differ for a reader to be told.
const leastCount = 0.001
