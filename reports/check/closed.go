package check

import (
	"context"
	"slices"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/internal/kit/stats"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
)

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
	agents := map[string]int{}
	known, facts := false, false
	for i := range b.Past {
		agents[b.Past[i].Agent]++
		known, facts = known || b.Past[i].Agent != "", facts || len(b.Past[i].Facts) > 0
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
				counted(others[agent], "session is", "sessions are"), agent, f.Baseline, f.Accept.accepting(agentFact(agent)))
		}
	}
	if f.Predicts() {
		for _, agent := range sortedKeys(agents) {
			if agents[agent] > 0 && known {
				r.note("no session of %s is here, of which %s has %s", agent, f.Baseline, document.Count(agents[agent], "session"))
			}
		}
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
