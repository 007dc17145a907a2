package check

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/internal/kit/nearest"
	"github.com/compactsim/compactsim/internal/kit/numbers"
	"github.com/compactsim/compactsim/internal/kit/stats"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/sim/validate"
)

// Prices bound what conversations, and sub-agents, pay for the same tokens.
type Prices struct {
	Max *Amount `yaml:"max" doc:"by how much the price of a token may rise over the baseline's, by other prices or other models; of conversations and of sub-agents"`
}

// Rules returns an error for a bar that is no share.
func (p *Prices) Rules() []error {
	if p.Max != nil && (!p.Max.Percent || p.Max.Value < 0) {
		return []error{fmt.Errorf("prices.max is a share such as 5%%, not %s", p.Max)}
	}
	return nil
}

// What the rules on prices and models are called in reports.
const (
	pricesMetric = "prices"
	modelsMetric = "models"
)

// judgePrices judges the levels of prices of conversations and of sub-agents.
func (f *File) judgePrices(r *Report, in *Input, b *Baseline, now []Past) {
	if f.Prices.Max == nil || in.Price == nil || b == nil {
		return
	}
	p, known := partnersOf(b.Past, now), false
	fresh := false // a model that no session of the baseline called
	for _, name := range factNames(now) {
		_, client := validate.Client(name)
		before := ratioOf(factParts(b.Past, name))
		fresh = fresh || validate.Named(name) && !client && before.Value() == 0
	}
	for _, level := range []string{validate.FactPrice, validate.FactPriceAgent} {
		was, own := ratioOf(factParts(b.Past, level)), ratioOf(factParts(now, level))
		known = known || len(was.Part) > 0
		if _, who, _ := strings.Cut(level, ", "); len(was.Part) > 0 && len(own.Part) == 0 {
			r.note("no call of %s with a price is here, of which %s has prices", who, f.Baseline)
		}
		if len(was.Part) == 0 || len(own.Part) == 0 {
			continue
		}
		res := f.priced(level, was, own, &p, fresh, in.Paths)
		for i := range now {
			res.usd += now[i].USD * (1 - *res.Baseline / *res.Observed)
		}
		r.Results = append(r.Results, res)
	}
	if !known {
		r.fail(f.pricesLine, "%s has no prices of conversations, which prices: compares; %s writes them", f.Baseline, f.Accept.updating())
	}
}

// priced judges one level of prices: the same sessions as they are, other sessions by their spread.
func (f *File) priced(level string, was, now stats.Figure, p *partners, fresh bool, paths string) Result {
	_, who, _ := strings.Cut(level, ", ")
	limit := f.Prices.Max.Value
	res := Result{Line: f.pricesLine, Metric: pricesMetric, Unit: measures.UnitUSD, Cell: who, Rule: "max " + f.Prices.Max.String(), Status: OK,
		Observed: new(now.Value()), Baseline: new(was.Value()), Sessions: len(now.Part), Before: len(was.Part)}
	res.Bar = new(*res.Baseline * (1 + limit))
	res.Margin = new(*res.Bar - *res.Observed)
	var same [2][][2]float64
	for _, pair := range p.same {
		x, y := factParts([]Past{*pair[0]}, level), factParts([]Past{*pair[1]}, level)
		if len(x) > 0 && len(y) > 0 {
			same[0], same[1] = append(same[0], x...), append(same[1], y...)
		}
	}
	x, y := ratioOf(same[0]), ratioOf(same[1])
	held := len(same[0]) > 0 && y.Value() > x.Value()*(1+limit)*(1+1e-9)
	beyond := *res.Margin < -tolerance(*res.Bar)
	switch {
	case held:
		res.Status, res.Baseline, res.Observed = Breach, new(x.Value()), new(y.Value())
		res.Bar = new(x.Value() * (1 + limit))
		res.Margin = new(*res.Bar - y.Value())
	case !beyond:
	case f.dearer(was, now, fresh):
		res.Status = Breach
	default:
		res.Status = Undecided
		res.Message = fmt.Sprintf("%s against %d cannot tell: sessions differ by as much", document.Count(len(now.Part), "session"), len(was.Part))
	}
	if res.Status == Breach {
		res.Message = fmt.Sprintf("the price of a million tokens of %s is %s, %s more than in the baseline (%s; %s)", who,
			figure(res.Unit, *res.Observed), strings.TrimPrefix(signedPoints(math.Round(100*(*res.Observed / *res.Baseline - 1))), "+"), figure(res.Unit, *res.Baseline), res.Rule)
		res.Look = "other models or other prices; sim audit --by model" + paths + " shows the models; " + f.Accept.accepting(pricesMetric)
	}
	return res
}

// dearer reports whether other sessions pay more than the bar by more than chance explains: each more than any before,
// or all by their spread. A single session proves it with a model that no session of the baseline called.
func (f *File) dearer(was, now stats.Figure, fresh bool) bool {
	factor, few := 1+f.Prices.Max.Value, min(len(was.Part), len(now.Part)) < leastAlike
	_, high := span(&was)
	low, _ := span(&now)
	switch {
	case low > factor*high && (fresh || !few):
		return true
	case few:
		return false
	}
	// Where sessions are on few models, the largest sessions decide the spread: ranks count each session once.
	if stats.HigherRanks(ratios(&was), ratios(&now)) < f.Level/2/priceShare {
		return true
	}
	e, err := stats.Estimator{Level: 1 - f.Level/priceShare, Seed: 1, Resamples: apartResamples}.Apart(context.Background(), was, now, factor)
	return err == nil && e.Verdict != stats.TooFew && e.Interval.Low > 0
}

func ratios(f *stats.Figure) (list []float64) {
	for i := range f.Part {
		list = append(list, f.Part[i]/f.Base[i])
	}
	return list
}

// priceShare divides the chance of a false alarm for prices: sessions of several models are few alike.
const priceShare = 4

// judgeModels judges which models are called.
func (f *File) judgeModels(r *Report, in *Input) {
	if len(f.Models) == 0 {
		return
	}
	others, calls, all := map[string]int{}, 0, 0
	for _, s := range in.Sessions {
		for model, n := range s.Models {
			if all += n; !slices.ContainsFunc(f.Models, func(p string) bool { return nearest.Match(p, model) }) {
				others[model] += n
				calls += n
			}
		}
	}
	res := Result{Line: f.modelsLine, Metric: modelsMetric, Unit: measures.UnitRatio, Rule: strings.Join(f.Models, ", "), Status: OK,
		Observed: new(float64(calls) / float64(max(all, 1))), Bar: new(0.0)}
	if res.Margin = new(0 - *res.Observed); calls > 0 {
		res.Status = Breach
		res.Message = fmt.Sprintf("%s to %s, which models: does not name", numbers.Counted(calls, "call went", "calls went"), document.Few(sortedKeys(others)))
	}
	r.Results = append(r.Results, res)
}

// priceParts returns the share of what today's sessions cost that they would not at the baseline's level of prices, of
// conversations and sub-agents; false where either side has none.
func priceParts(was, now []Past) (share float64, ok bool) {
	var usd, then float64
	for _, level := range []string{validate.FactPrice, validate.FactPriceAgent} {
		before, after := ratioOf(factParts(was, level)), ratioOf(factParts(now, level))
		paid := 0.0
		for _, part := range after.Part {
			paid += part
		}
		usd += paid
		if len(before.Part) == 0 || paid == 0 {
			then += paid
			continue
		}
		ok = true
		then += paid * before.Value() / after.Value()
	}
	return 1 - then/usd, ok
}

// farAbove is how many times its prediction a bill may be, whatever the baseline: a baseline of sessions whose cache
// never worked is as far above. The model is wrong by at most 1.2 times in recordings of any agent.
const farAbove = 1.25

// limits returns the cases of the limit on bill over prediction, one for each agent, in a check that predicts the bill
// and has no limit of its own.
func (f *File) limits(in *Input, all *sums) []*verdict {
	own := func(r Rule) bool { return r.whole.Name == measures.NameOverPredicted && r.Kind == Max }
	if !f.Predicts() || slices.ContainsFunc(f.Rules, own) {
		return nil
	}
	m, _ := results.LookupMetric(measures.NameOverPredicted)
	rule := &Rule{Name: m.Name, Metric: m, whole: m, Strategy: measures.StrategyBilled, Kind: Max, Bar: Amount{Value: farAbove}}
	if len(all.groupsOf(in, ByAgent)) > 1 {
		rule.Group = ByAgent
	}
	return f.cases(rule, in, all, nil)
}

// judgeLimits judges limits that no rule asks for: one that holds is not listed.
func (r *Report) judgeLimits(cases []*verdict, share float64) {
	for _, c := range cases {
		if c.result.Status == OK {
			c.judge(share)
		}
		if c.result.Status == Breach || c.result.Status == Suspect {
			c.result.limit = true
			c.result.Message += ", whatever the baseline; a rule {metric: billed_to_predicted, strategy: billed, max: N} sets another limit"
			r.Results = append(r.Results, c.result)
		}
	}
}

// overLimit estimates how far the ratio of bill and prediction is above a limit, over sessions.
func (v *verdict) overLimit(share float64) (excess stats.Estimate, ok bool) {
	own := ratioOf(v.slice.parts(&v.rule.Metric))
	bar := stats.Figure{Base: own.Base}
	for _, base := range own.Base {
		bar.Part = append(bar.Part, v.bar*base)
	}
	list, err := stats.Estimator{Level: 1 - share, Seed: 1, Resamples: apartResamples}.Paired(context.Background(), []stats.Pair{{Base: bar, Other: own}})
	if err != nil {
		return excess, false
	}
	v.result.Sessions = len(own.Part)
	if e := list[0]; e.Interval.Known() {
		v.result.Low, v.result.High = new(v.bar+e.Interval.Low), new(v.bar+e.Interval.High)
	}
	return list[0], true
}

// compareSetup fails a run that a baseline cannot judge though it has sessions: of other agents, without cells that the
// baseline has costs of, or with questions that the baseline has no figures for.
func (f *File) compareSetup(r *Report, in *Input, b *Baseline, now []Past, p *partners) {
	if b == nil || b.Key != in.Key {
		return
	}
	if f.Window > 0 && p.all {
		r.note("%s has all of these sessions: nothing new was checked", f.Baseline)
	}
	agents, runs := map[string]int{}, map[string]map[int]bool{}
	known, facts, all := false, false, map[int]bool{}
	for i := range b.Past {
		p := &b.Past[i]
		agents[p.Agent]++
		runs[p.Agent], all[p.Run] = put(runs[p.Agent], p.Run, true), true
		known, facts = known || p.Agent != "", facts || len(p.Facts) > 0
	}
	others := map[string]int{}
	for i := range now {
		if agent := now[i].Agent; agents[agent] == 0 {
			others[agent]++
		} else {
			agents[agent] = -1 // is here too
		}
	}
	for _, agent := range sortedKeys(others) {
		if known && !f.Accept.accepted(agentFact(agent)) {
			r.meant, r.strangers = append(r.meant, agentFact(agent)), true
			r.fail(f.baselineLine, "%s of %s, an agent that %s does not have: nothing is known of how its sessions should be; %s",
				numbers.Counted(others[agent], "session is", "sessions are"), agent, f.Baseline, f.Accept.accepting(agentFact(agent)))
		}
	}
	for _, agent := range sortedKeys(agents) {
		n := agents[agent]
		if n < 0 || !known {
			continue
		}
		text := fmt.Sprintf("no session of %s is here, of which %s has %s", agent, f.Baseline, document.Count(n, "session"))
		chance := math.Pow(1-float64(n)/float64(len(b.Past)), float64(len(now)))
		if len(runs[agent]) < len(all) || chance >= f.Level || f.Accept.accepted(agentFact(agent)) {
			r.note("%s", text)
			continue
		}
		r.meant, r.strangers = append(r.meant, agentFact(agent)), true
		r.fail(f.baselineLine, "%s, some in each of its runs: nothing is judged of it; %s", text, f.Accept.accepting(agentFact(agent)))
	}
	if f.Facts.asked() && !facts && in.Price != nil {
		r.fail(f.baselineLine, "%s has no facts of clients, which facts: compares; %s writes them", f.Baseline, f.Accept.updating())
	}
	f.compareCells(r, in, p)
}

// compareCells fails a cell of paired sessions that only one of baseline and run has.
func (f *File) compareCells(r *Report, in *Input, p *partners) {
	if !f.Paired.asked() {
		return
	}
	here, there := map[string]bool{}, map[string]bool{}
	for i := range in.Cells {
		here[in.Cells[i].Name] = true
	}
	for _, pair := range p.same {
		for cell := range pair[0].Costs {
			there[cell] = true
		}
	}
	for _, cell := range sortedKeys(there) {
		if !here[cell] {
			r.fail(f.pairedLine, "the scenario has no cell %s, of which %s has costs of the same sessions: nothing holds it; %s", cell, f.Baseline, f.Accept.anew())
		}
	}
	for i := range in.Cells {
		if c := &in.Cells[i]; len(p.same) > 0 && c.Strategy != measures.StrategyBilled && !there[c.Name] {
			r.fail(f.pairedLine, "%s has no costs of cell %s: nothing holds it; %s adds them", f.Baseline, c.Name, f.Accept.updating())
		}
	}
}
