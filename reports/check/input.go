package check

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/compactsim/compactsim/internal/kit/nearest"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/sim/validate"
)

// Input is a run in the form that a check judges.
type Input struct {
	Version        string    // of the tool
	SessionsDigest string    // of the sessions that were replayed
	ScenarioDigest string    // of the cells and everything around them
	Prices         string    // date of the table of prices, ISO 8601
	Calls          int       // recorded calls of all sessions
	At             time.Time // the end of the last session; zero if unknown
	Sessions       map[string]Session
	Cells          []Cell
	// Lost says what was wrong with lines, files and sessions that could not be read, each
	// with its place. NumLost counts them all; Lost may have only the first.
	Lost    []string
	NumLost int
	// Doubted, among NumLost, says what is wrong with sessions that were read whole, such as calls without a time.
	Doubted []string
	// LostLines counts the single lines among NumLost, of Lines in all.
	LostLines, Lines int
	Paths            string // of the sessions, as printed commands name them
	// Uncounted are calls with token counts that are missing, cannot be read or contradict each
	// other, UncountedText says so.
	Uncounted     int
	UncountedText string
	// Causes say why calls were billed more than predicted, the dearest first.
	Causes []Cause
	// Price prices facts; nil where no rule asks for them.
	Price Price
	// Rates are the latest standard prices of the recorded models, USD a million tokens by class; a model without
	// a price has none.
	Rates map[string]results.Cost
	// Renamed are the models with a price of their own that the scenario bills as another one.
	Renamed map[string]string
	// Key identifies the key of the pseudonyms of projects and sessions; "" if they
	// have their own names.
	Key string
}

// Session has the properties that groups are made from, and what is known of its bill and client.
type Session struct {
	Project, Model, Agent string
	Name                  string // its pseudonym; "" for its own id
	Task                  string // of which it is a try; "" for none
	// Excess is what was billed beyond what is predicted, USD by cause, with what no cause explains
	// under "rest". Predicted is what its calls are predicted to cost, by model and class.
	Excess    map[string]float64
	Predicted map[string]results.Cost
	Facts     map[string][2]float64 // what its client does, by name: both sums of a ratio
	// Unpriced are its calls of models that have no price, by model.
	Unpriced map[string]int
	Models   map[string]int // its calls, by model
}

// Cause is a reason why calls were billed more than predicted.
type Cause struct {
	Text  string
	Calls int
	USD   float64 // beyond what was predicted
	Read  int64   // tokens that most of the calls, Same, still read
	Same  int     // 0 if they read different sizes
	// Likely is what recordings make likely as the cause of most of the calls that have such a cause, a clause, and Suspected how many
	// these are; 0 if none.
	Likely    string
	Suspected int
	Call      string // the one that cost most, as sim explain takes it; "" where sessions have pseudonyms
}

// Cell is one cell of the scenario under one or more seeds.
type Cell struct {
	Name     string
	Strategy string
	// Asked is how the arguments of a printed command ask for the cell, with a space before; "" if none can.
	Asked string
	// Draws are the cell under each seed; a cell without draws has one. All have
	// rows of the same sessions.
	Draws []*results.Cell
}

// sessions returns how many sessions the slice covers.
func (s *slice) sessions() int { return s.totals[0].N(measures.Sessions) }

// values returns a metric under each seed, false when a seed has no sample.
func (s *slice) values(m results.Metric) ([]float64, bool) {
	values := make([]float64, len(s.totals))
	for i := range s.totals {
		v, ok := s.cell.Draws[i].RowValue(&s.totals[i], m)
		if !ok {
			return nil, false
		}
		values[i] = v
	}
	return values, true
}

// parts returns both sums of a ratio in the session of each row, as means over the seeds.
func (c *Cell) parts(m *results.Metric) [][2]float64 {
	list := make([][2]float64, c.Draws[0].Rows.Len())
	for _, d := range c.Draws {
		for i, row := range d.Rows.All() {
			part, base := m.Parts(row)
			list[i][0] += part / float64(len(c.Draws))
			list[i][1] += base / float64(len(c.Draws))
		}
	}
	return list
}

// parts returns them in each session of a slice that has them.
func (s *slice) parts(m *results.Metric) (list [][2]float64) {
	for i, p := range s.cell.parts(m) {
		if p != [2]float64{} && s.group.has(s.cell.Draws[0].Rows.Session(i)) {
			list = append(list, p)
		}
	}
	return list
}

// targets returns the cells of a rule. The bill is no strategy: a rule must
// name it.
func (in *Input) targets(r *Rule) []*Cell {
	var cells []*Cell
	for i := range in.Cells {
		if c := &in.Cells[i]; r.speaksOf(c.Name, c.Strategy) {
			cells = append(cells, c)
		}
	}
	return cells
}

// speaksOf reports whether a rule applies to a cell of a strategy.
func (r *Rule) speaksOf(cell, strategy string) bool {
	if r.Strategy == "" {
		return strategy != measures.StrategyBilled
	}
	return nearest.Match(r.Strategy, strategy) || nearest.Match(r.Strategy, cell)
}

// Touches reports whether a rule of the check applies to a cell.
func (f *File) Touches(cell, strategy string) bool {
	return f.Paired.asked() || slices.ContainsFunc(f.Rules, func(r Rule) bool { return r.speaksOf(cell, strategy) })
}

// group is a set of sessions.
type group struct {
	name string // "" for all sessions, else such as "project web" or "no project"
	has  func(session string) bool
}

// of returns the project, model or agent.
func (s *Session) of(by string) string {
	return map[string]string{ByProject: s.Project, ByModel: s.Model, ByAgent: s.Agent}[by]
}

func (in *Input) groups(by string) []group {
	if by == "" {
		return []group{{"", func(string) bool { return true }}}
	}
	members := map[string]map[string]bool{} // sessions by property
	for id, s := range in.Sessions {
		name := s.of(by)
		members[name] = put(members[name], id, true)
	}
	var list []group
	for _, name := range slices.Sorted(maps.Keys(members)) {
		list = append(list, group{groupName(by, name), func(id string) bool { return members[name][id] }})
	}
	return list
}

// groupName names the group of the sessions with, or without, a project, model
// or agent. Different groups have different names.
func groupName(by, name string) string {
	if name == "" {
		return "no " + by
	}
	return by + " " + name
}

// slice is one cell over one group: its total under each seed.
type slice struct {
	cell   *Cell
	group  group
	totals []results.Row // by seed
}

// sums adds up the rows of each cell and group once, for all rules, and holds
// what else all rules share.
type sums struct {
	slices  map[sliceKey]*slice
	groups  map[string][]group // by Rule.Group
	metrics []results.Metric
	file    *File
	partners
}

type sliceKey struct {
	cell  *Cell
	group string
}

// newSums returns the sums of a file's rules, none so far.
func newSums(f *File) *sums {
	m := &sums{slices: map[sliceKey]*slice{}, groups: map[string][]group{}, metrics: results.Metrics(), file: f}
	for i := range f.Rules {
		if r := &f.Rules[i]; r.Per != "" && !slices.ContainsFunc(m.metrics, func(o results.Metric) bool { return o.Name == r.Metric.Name }) {
			m.metrics = append(m.metrics, r.Metric)
		}
	}
	return m
}

// groupsOf is Input.groups, computed once.
func (m *sums) groupsOf(in *Input, by string) []group {
	if m.groups[by] == nil {
		m.groups[by] = in.groups(by)
	}
	return m.groups[by]
}

// of returns a cell over a group, added up once. Rows are added in order, so
// that rounding does not depend on other work.
func (m *sums) of(c *Cell, g group) *slice {
	key := sliceKey{c, g.name}
	if m.slices[key] == nil {
		s := &slice{cell: c, group: g, totals: make([]results.Row, len(c.Draws))}
		for i, d := range c.Draws {
			if s.totals[i] = d.Total; g.name == "" {
				continue
			}
			s.totals[i] = results.Row{}
			for _, row := range d.Rows.All() {
				if g.has(row.Session) {
					s.totals[i].Add(row)
				}
			}
		}
		m.slices[key] = s
	}
	return m.slices[key]
}

// Past is what a baseline keeps of a session, to compare later ones with.
type Past struct {
	ID       string  `json:"id"`
	Task     string  `json:"task,omitzero"`
	Agent    string  `json:"agent,omitzero"`    // its client, as sim traces ls names it
	Calls    int     `json:"calls"`             // all, 0 where the bill lacks too many prices
	Unpriced int     `json:"unpriced,omitzero"` // of them without a price
	Tokens   int64   `json:"tokens"`            // of all its calls, input and output
	USD      float64 `json:"usd"`               // billed
	// Input is what the calls were billed for input, first calls of threads aside, and what is predicted
	// for it, USD.
	Input [2]float64 `json:"input_usd,omitzero"`
	// Excess is what was billed beyond what is predicted, USD by cause.
	Excess map[string]float64    `json:"excess_usd,omitempty"`
	Facts  map[string][2]float64 `json:"facts,omitempty"` // of the client, both sums of a ratio
	// Costs are the costs of simulated cells under each seed, USD.
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

// pricedCalls returns how many calls the bill is of.
func (p *Past) pricedCalls() int { return p.Calls - p.Unpriced }

// leaveUnpriced takes the calls of a session that was billed nothing, of a model without a rate, for calls without a price: baselines of
// before these were counted do not say so.
func (p *Past) leaveUnpriced(rates map[string]results.Cost) {
	model := strings.TrimPrefix(p.model(), validate.FactModel)
	if _, known := rates[model]; p.Unpriced == 0 && p.USD == 0 && model != "" && !known {
		p.Unpriced = p.Calls
	}
}

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
		own := Past{key: id, ID: cmp.Or(s.Name, id), Task: s.Task, Agent: s.Agent, Facts: s.Facts, Groups: s.groupsBy(f.Rules)}
		byID[id] = &own
	}
	for i := range in.Cells {
		c := &in.Cells[i]
		for k, draw := range c.Draws {
			for _, row := range draw.Rows.All() {
				own, billed := byID[row.Session], c.Strategy == measures.StrategyBilled
				if own != nil && billed {
					tokens := row.Usage()
					own.Tokens = tokens.Input() + tokens.Output
				}
				switch {
				case own == nil || row.N(measures.UnpricedCalls) > 0 && f.refuses(row):
				case billed:
					own.Calls, own.Unpriced, own.USD = row.N(measures.Calls), row.N(measures.UnpricedCalls), row.CostUSD()
					own.Excess = in.Sessions[row.Session].Excess
					own.Input = [2]float64{row.Figures[measures.PredictedOfUSD], row.Figures[measures.PredictedUSD]}
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

// groupsBy returns what rules group a session by.
func (s *Session) groupsBy(rules []Rule) (groups map[string]string) {
	for _, by := range groupings(rules) {
		groups = put(groups, by, s.of(by))
	}
	return groups
}

// partsInto puts the ratios of a cell that rules compare into the sessions of a run.
func (f *File) partsInto(sessions map[string]*Past, c *Cell) {
	for i := range f.Rules {
		m := &f.Rules[i].Metric
		if m.Kind != measures.KindRatio || !f.compares(m.Name, c) {
			continue
		}
		all := c.parts(m)
		for j, row := range c.Draws[0].Rows.All() {
			own, parts := sessions[row.Session], all[j]
			if own != nil && parts != [2]float64{} && !(priced(m) && row.N(measures.UnpricedCalls) > 0 && f.refuses(row)) {
				own.Parts = put(own.Parts, c.Name, put(own.Parts[c.Name], m.Name, parts))
			}
		}
	}
}

// put sets a key of a map, which it makes if there is none.
func put[K comparable, V any](m map[K]V, key K, v V) map[K]V {
	if m == nil {
		m = map[K]V{}
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
