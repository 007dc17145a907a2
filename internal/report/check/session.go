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

	// Run is how many runs of the baseline are later, 0 for the last one.
	Run int `json:"run,omitzero"`
	// Groups are the project, model and agent, as far as rules group by them.
	Groups map[string]string `json:"groups,omitempty"`
	// Parts has both sums of the ratios that rules compare, by cell and metric, as means over the seeds.
	Parts map[string]map[string][2]float64 `json:"parts,omitempty"`

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
		own := Past{key: id, ID: cmp.Or(s.Name, id), Task: s.Task, Excess: s.Excess, Facts: s.Facts, Groups: f.groupOf(&s)}
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
				case f.Paired.asked() && k == len(own.Costs[c.Name]):
					own.Costs = put(own.Costs, c.Name, append(own.Costs[c.Name], row.CostUSD()))
				}
			}
		}
		f.partsInto(byID, c)
	}
	list := make([]Past, 0, len(byID))
	for _, id := range slices.Sorted(maps.Keys(byID)) {
		list = append(list, *byID[id])
	}
	return list
}

// groupOf returns what rules group a session by.
func (f *File) groupOf(s *Session) (groups map[string]string) {
	for _, by := range f.groupings() {
		groups = put(groups, by, s.of(by))
	}
	return groups
}

// partsInto puts the ratios of a cell that rules compare into the sessions of a run.
func (f *File) partsInto(sessions map[string]*Past, c *Cell) {
	for i := range f.Rules {
		m := &f.Rules[i].Metric
		if m.Kind != results.KindRatio || !f.compares(m.Name, c) {
			continue
		}
		for j, row := range c.Draws[0].Rows {
			own, parts := sessions[row.Session], c.parts(m, j)
			if own != nil && parts != [2]float64{} && !(priced(m) && row.N(results.UnpricedCalls) > 0 && f.Unpriced != "allow") {
				own.Parts = put(own.Parts, c.Name, put(own.Parts[c.Name], m.Name, parts))
			}
		}
	}
}

// put sets a key of a map, which it makes if there is none.
func put[V any](m map[string]V, key string, v V) map[string]V {
	if m == nil {
		m = map[string]V{}
	}
	m[key] = v
	return m
}

// model returns the model of most calls, "" if unknown.
func (p *Past) model() (name string) {
	most := 0.0
	for _, fact := range factNames([]Past{*p}) {
		if _, client := validate.Client(fact); validate.Named(fact) && !client && p.Facts[fact][0] > most {
			most, name = p.Facts[fact][0], fact
		}
	}
	return name
}
