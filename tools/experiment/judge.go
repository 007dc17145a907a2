package main

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
)

// An outcome is a pair with what was predicted and what was measured.
type outcome struct {
	pair
	usd, usdA  float64 // bill of B and of A
	real       *bill
	open       *prediction
	closed     *prediction
	told       [2]*prediction // open and closed, told how long the script's summaries are; nil where the recording shows it
	rule       *prediction    // closed, by the profile that is told the agent's rule; nil where the agent never looks back
	base       *prediction    // open and closed loop under A, nil where that is what is asked
	baseClosed *prediction
	baseRule   *prediction
	looks      []int // rounds of fetches that the recording has, by place
}

// misses returns by how much a prediction is off, a share of the bill.
func (o *outcome) misses(p *prediction) float64 { return p.usd/o.usd - 1 }

// saving returns what a setting really changes, and what a prediction says, shares of A's bill.
func (o *outcome) saving(p, base *prediction) (measured, predicted float64) {
	return o.usd/o.usdA - 1, p.usd/base.usd - 1
}

// firstRight reports whether the first compaction is at the right call.
func (o *outcome) firstRight() bool {
	if len(o.real.Compactions) == 0 || len(o.open.places) == 0 {
		return len(o.real.Compactions) == len(o.open.places)
	}
	return o.real.Compactions[0].Call == o.open.places[0].Call
}

// behind returns by how much a prediction's size behind compactions is off, NaN where there are none.
func (o *outcome) behind(p *prediction) float64 {
	if len(o.real.Compactions) == 0 || len(p.places) == 0 {
		return math.NaN()
	}
	mean := func(l []compaction) float64 {
		n := 0.
		for _, c := range l {
			n += float64(c.After)
		}
		return n / float64(len(l))
	}
	return mean(p.places)/mean(o.real.Compactions) - 1
}

// judge predicts all pairs whose recording is at hand.
func judge(ctx context.Context, folder string) ([]*outcome, error) {
	bills, err := readBills(folder)
	if err != nil {
		return nil, err
	}
	p, err := newPredictor()
	if err != nil {
		return nil, err
	}
	var list []*outcome
	at := map[*run]*outcome{}
	all := pairs(func(r *run) bool {
		_, err := os.Stat(filepath.Join(folder, "recordings", r.Name))
		return err == nil && bills[r.Name] != nil
	})
	for _, pr := range all {
		if bills[pr.to.Name] == nil {
			continue
		}
		c, done, err := corpus(ctx, folder, pr.from)
		if err != nil {
			return nil, err
		}
		o := &outcome{pair: pr, real: bills[pr.to.Name], looks: bills[pr.from.Name].Rounds}
		if o.usd, err = p.cost(o.real); err != nil {
			return nil, err
		}
		if o.usdA, err = p.cost(bills[pr.from.Name]); err != nil {
			return nil, err
		}
		drawn := len(bills[pr.from.Name].Compactions) == 0 && len(o.real.Compactions) > 0
		told := append(slices.Clone(pr.sets), fmt.Sprintf("summarizer.median=%d", newScript(pr.from.Script).summaryTokens()), "summarizer.sigma=0")
		for _, q := range []struct {
			to         **prediction
			loop, prof string
			sets       []string
			wanted     bool
		}{
			{&o.open, "never", "default", pr.sets, true}, {&o.closed, "fitted", "default", pr.sets, true},
			{&o.rule, "fitted", ruled, pr.sets, pr.from.recalls()},
			{&o.told[0], "never", "default", told, drawn}, {&o.told[1], "fitted", "default", told, drawn},
		} {
			if !q.wanted {
				continue
			}
			if *q.to, err = p.ask(ctx, c, q.sets, q.loop, q.prof); err != nil {
				return nil, fmt.Errorf("%s: %w", pr.name(), err)
			}
		}
		if pr.from == pr.to {
			at[pr.from] = o
		} else if a := at[pr.from]; a != nil {
			o.base, o.baseClosed, o.baseRule = a.open, a.closed, a.rule
		}
		list = append(list, o)
		if err := done(); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// A line is what the outcomes of a group show.
type line struct {
	group           string
	version         string // of the client
	pairs           int
	cost, worst     [2]float64 // mean and greatest error of cost, open and closed loop, shares
	saving          [2]float64 // mean error of what is saved, points of A's bill
	signs           [2]int     // of changes of more than 5 %, those with the right sign
	changes         int
	saved           int     // pairs of two settings
	first           int     // pairs whose first compaction is at the right call
	behind, sizes   float64 // error of the size behind compactions, with its sign and without
	sized           int
	drawn           [2]lengths // of pairs whose recording shows no summary: its length drawn, and told
	rule, ruleWorst float64    // error of cost by the profile that is told the rule
	ruled           int
	// Rounds of fetches more than in the recording: real, by the built-in profile, and by the one that is told the rule.
	rounds, built, foretold float64
	placed, atStep          int // rounds that the last one foretells, and those before the step at which the agent really fetched
}

// lengths are sums of errors over pairs whose recording shows no summary: of cost in the open and the closed loop, and of the size
// behind compactions.
type lengths struct {
	pairs       int
	cost, worst [2]float64
	sizes       float64
}

func (l *lengths) add(o *outcome, by [2]*prediction) {
	l.pairs++
	for i, p := range by {
		off := math.Abs(o.misses(p))
		l.cost[i] += off
		l.worst[i] = max(l.worst[i], off)
	}
	if b := o.behind(by[0]); !math.IsNaN(b) {
		l.sizes += math.Abs(b)
	}
}

// means returns the errors for a pair.
func (l *lengths) means() (open, closed, size float64) {
	n := float64(l.pairs)
	return l.cost[0] / n, l.cost[1] / n, l.sizes / n
}

// steps returns the steps of the script before which rounds of fetches lie, given by their places among the main calls.
func steps(rounds []int) []int {
	list := make([]int, len(rounds))
	for i, at := range rounds {
		list[i] = at - i
	}
	return list
}

// foretold returns by how many rounds of fetches the simulator departs from the recording by the agent's rule, and how many of them
// lie before a step at which the agent really fetched more often than in the recording, or less often where one is left out.
func (o *outcome) foretold() (all, right int) {
	more := map[int]int{}
	for _, s := range steps(o.real.Rounds) {
		more[s]++
	}
	for _, s := range steps(o.looks) {
		more[s]--
	}
	depart := func(rounds []int, by int) {
		for _, at := range rounds {
			step := at
			for _, look := range o.looks {
				if look < at {
					step--
				}
			}
			if all++; more[step]*by > 0 {
				more[step] -= by
				right++
			}
		}
	}
	depart(o.rule.rounds, 1)
	depart(o.rule.left, -1)
	return all, right
}

// group returns the name of the line that a pair belongs to.
func (o *outcome) group() string {
	name := map[dialect]string{claude: "Claude Code", codex: "Codex", pi: "pi", opencode: "OpenCode", qwen: "Qwen Code", kimi: "Kimi Code",
		copilot: "GitHub Copilot CLI"}[o.from.Client]
	if o.from.recalls() {
		name = "reads again"
	}
	return name + ", " + o.kind()
}

// lines adds outcomes up by group.
func lines(list []*outcome) []*line {
	by := map[string]*line{}
	for _, o := range list {
		g := by[o.group()]
		if g == nil {
			g = &line{group: o.group(), version: o.real.Version}
			by[g.group] = g
		}
		g.pairs++
		if o.firstRight() {
			g.first++
		}
		if b := o.behind(o.open); !math.IsNaN(b) {
			g.behind += b
			g.sizes += math.Abs(b)
			g.sized++
		}
		for i, p := range []*prediction{o.open, o.closed} {
			off := o.misses(p)
			g.cost[i] += math.Abs(off)
			g.worst[i] = max(g.worst[i], math.Abs(off))
			if base := []*prediction{o.base, o.baseClosed}[i]; base != nil {
				measured, predicted := o.saving(p, base)
				g.saved += 1 - i
				g.saving[i] += math.Abs(predicted - measured)
				if math.Abs(measured) > .05 {
					g.changes += 1 - i
					if measured*predicted > 0 {
						g.signs[i]++
					}
				}
			}
		}
		if o.told[0] != nil {
			g.drawn[0].add(o, [2]*prediction{o.open, o.closed})
			g.drawn[1].add(o, o.told)
		}
		if o.rule != nil {
			g.ruled++
			g.rule += math.Abs(o.misses(o.rule))
			g.ruleWorst = max(g.ruleWorst, math.Abs(o.misses(o.rule)))
			g.rounds += float64(len(o.real.Rounds) - len(o.looks))
			g.foretold += o.rule.looks
			g.built += o.closed.looks
			if o.kind() == other {
				all, right := o.foretold()
				g.placed, g.atStep = g.placed+all, g.atStep+right
			}
		}
	}
	var ls []*line
	for _, g := range by {
		n := float64(g.pairs)
		for i := range g.cost {
			g.cost[i], g.saving[i] = g.cost[i]/n, g.saving[i]/n
		}
		if g.sized > 0 {
			g.behind /= float64(g.sized)
			g.sizes /= float64(g.sized)
		}
		if g.ruled > 0 {
			g.rule /= float64(g.ruled)
		}
		ls = append(ls, g)
	}
	slices.SortFunc(ls, func(a, b *line) int { return cmp.Compare(a.group, b.group) })
	return ls
}
