package check

import (
	"cmp"
	"maps"
	"slices"

	"github.com/compactsim/compactsim/internal/study/validate"
	"github.com/compactsim/compactsim/sim/results"
)

// Past is what a baseline keeps of a session, to compare later ones with.
type Past struct {
	ID     string  `json:"id"`
	Task   string  `json:"task,omitzero"`
	Calls  int     `json:"calls"`  // 0 where the bill lacks prices
	Tokens int64   `json:"tokens"` // of all its calls, input and output
	USD    float64 `json:"usd"`    // billed
	// Input is what the calls were billed for input, first calls of threads aside, and what is predicted
	// for it, USD.
	Input [2]float64 `json:"input_usd,omitzero"`
	// Excess is what was billed beyond what is predicted, USD by cause.
	Excess map[string]float64    `json:"excess_usd,omitempty"`
	Facts  map[string][2]float64 `json:"facts,omitempty"` // of the client, both sums of a ratio
	// Costs are those of simulated cells under each seed, USD.
	Costs map[string][]float64 `json:"costs_usd,omitempty"`

	key string // in Input.Sessions; "" for a session of a baseline
}

// rest is the cause of what no cause explains.
var rest = validate.CauseNone.Name()

// predicted returns what the session is predicted to cost, USD.
func (p *Past) predicted() float64 {
	usd := p.USD
	for _, cause := range slices.Sorted(maps.Keys(p.Excess)) { // in order, for the same digits
		usd -= p.Excess[cause]
	}
	return usd
}

// past returns the sessions of a run in the order of their ids. Costs that lack prices are left out.
func (f *File) past(in *Input) []Past {
	byID := map[string]*Past{}
	for id := range in.Sessions {
		s := in.Sessions[id]
		own := Past{key: id, ID: cmp.Or(s.Name, id), Task: s.Task, Excess: s.Excess, Facts: s.Facts, Costs: map[string][]float64{}}
		byID[id] = &own
	}
	for i := range in.Cells {
		c := &in.Cells[i]
		for k, draw := range c.Draws {
			for _, row := range draw.Rows {
				own := byID[row.Session]
				switch {
				case own == nil || row.N(results.UnpricedCalls) > 0 && f.Unpriced != "allow":
				case c.Strategy == results.StrategyBilled:
					own.Calls, own.USD = row.N(results.Calls), row.CostUSD()
					tokens := row.Usage()
					own.Tokens = tokens.Input() + tokens.Output
					own.Input = [2]float64{row.Figures[results.PredictedOfUSD], row.Figures[results.PredictedUSD]}
				case k == len(own.Costs[c.Name]):
					own.Costs[c.Name] = append(own.Costs[c.Name], row.CostUSD())
				}
			}
		}
	}
	list := make([]Past, 0, len(byID))
	for _, id := range slices.Sorted(maps.Keys(byID)) {
		list = append(list, *byID[id])
	}
	return list
}

// past returns the sessions of all runs of a baseline, each as it was last.
func (b *Baseline) past() (list []Past) {
	seen := map[string]bool{}
	for _, run := range b.runs() {
		for i := range run.Past {
			if p := &run.Past[i]; !seen[p.ID] {
				seen[p.ID] = true
				list = append(list, *p)
			}
		}
	}
	return list
}

// partners are the sessions of a run and of its baseline that are compared with each other.
type partners struct {
	same  [][2]*Past // baseline and run: of one id, with as many calls
	grown int        // sessions of one id with other calls: they went on
	tasks []task     // tried on both sides, in the order of their names, without tries that are in same
	all   bool       // every session of the run is in same
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
			if own := &list[i]; own.Task != "" && own.Calls > 0 && !paired[own] {
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

// billedToPredicted returns what the same sessions were billed in the baseline, over what is predicted;
// false unless the run has no others.
func (p *partners) billedToPredicted() (ratio float64, ok bool) {
	var billed, predicted float64
	for _, pair := range p.same {
		billed, predicted = billed+pair[0].Input[0], predicted+pair[0].Input[1]
	}
	return billed / predicted, p.all && predicted > 0
}

// rates returns those of the latest run that has a model.
func (b *Baseline) rates() map[string]results.Cost {
	all := map[string]results.Cost{}
	runs := b.runs()
	for i := range runs {
		maps.Copy(all, runs[len(runs)-1-i].Rates)
	}
	return all
}
