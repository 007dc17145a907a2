package advise

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/compactsim/compactsim/scenarios"
	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/strategies/standard"
	"github.com/compactsim/compactsim/traces"
)

// adviser is the plan under which sessions are simulated, and how they have ended so far.
type adviser struct {
	*scenarios.Plan
	known map[string]map[*traces.Session]*ending // by what is assigned, as assigned has it
	large map[*traces.Session]*larger            // of sessions that have been looked at
	own   []sim.Config                           // the client without a change, once it is made
}

// ending is how a session ends under strategy own with some assignments, and what its calls use. A session that ends in every figure as
// it does without any has the ending without any.
type ending struct {
	row  results.Row
	used *used
}

// newAdviser returns what advises under a plan: the strategy is own, whatever the plan names.
func newAdviser(plan *scenarios.Plan) *adviser {
	own := *plan
	own.Design, own.Strategies = nil, []string{measures.StrategyOwn}
	return &adviser{Plan: &own, known: map[string]map[*traces.Session]*ending{unchanged: {}}, large: map[*traces.Session]*larger{}}
}

// unchanged is what is assigned without a change.
const unchanged = ""

// assigned returns what values of settings assign together in a session, separated by spaces.
func assigned(set []candidate, s *traces.Session) string {
	var all []string
	for _, c := range set {
		if c.setting.For(s) {
			all = append(all, c.assigns()...)
		}
	}
	return strings.Join(all, " ")
}

// assignedBy returns what each of several values of settings assigns by itself.
func assignedBy(list []candidate, s *traces.Session) (texts []string) {
	for i := range list {
		texts = append(texts, assigned(list[i:i+1], s))
	}
	return texts
}

// end returns how a session ends with what is assigned, nil where that is not known.
func (p *adviser) end(assigned string, s *traces.Session) *ending { return p.known[assigned][s] }

// learn notes how a session ends with what is assigned.
func (p *adviser) learn(assigned string, s *traces.Session, e *ending) {
	if p.known[assigned] == nil {
		p.known[assigned] = map[*traces.Session]*ending{}
	}
	p.known[assigned][s] = e
}

// forget gives up how sessions end with changes.
func (p *adviser) forget() {
	p.known = map[string]map[*traces.Session]*ending{unchanged: p.known[unchanged]}
}

// simulate finds how sessions end without a change and with each of some texts, as far as it is not known. With a text that the program
// fails with a session has no end: that is none to advise.
func (p *adviser) simulate(ctx context.Context, sessions []*traces.Session, texts func(*traces.Session) []string) (err error) {
	all, at := [][]string{nil}, map[string]int{unchanged: 0}
	wanted := map[string][]bool{}
	for i, s := range sessions {
		for _, text := range append([]string{unchanged}, texts(s)...) {
			if p.end(text, s) != nil {
				continue
			}
			if _, ok := at[text]; !ok {
				at[text], all = len(all), append(all, strings.Fields(text))
			}
			if wanted[text] == nil {
				wanted[text] = make([]bool, len(sessions))
			}
			wanted[text][i] = true
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	if p.own == nil {
		if p.own, err = p.Configs(measures.StrategyOwn, all[:1]); err != nil {
			return err //nolint:wrapcheck // it says which set
		}
	}
	configs, err := p.Configs(measures.StrategyOwn, all[1:])
	if err != nil {
		return err //nolint:wrapcheck // it says which set
	}
	configs = slices.Concat(p.own, configs)
	added := map[generation]standard.Sparing{}
	var spared []func()
	for text, of := range wanted {
		c := &configs[at[text]]
		for i, s := range sessions {
			if of[i] && text != unchanged && c.Around == configs[0].Around && c.Assembly.Env.AutoCompactWindow == configs[0].Assembly.Env.AutoCompactWindow &&
				p.spares(added, configs[0].Strategy, c.Strategy, s) {
				of[i] = false
				spared = append(spared, func() { p.learn(text, s, p.end(unchanged, s)) })
			}
		}
	}
	for _, of := range wanted {
		if slices.Contains(of, true) {
			err = p.play(ctx, sessions, configs, all, func(set, session int) bool {
				of := wanted[strings.Join(all[set], " ")]
				return of == nil || !of[session]
			})
			break
		}
	}
	for _, spare := range spared {
		spare()
	}
	return err
}

// play simulates sessions with each set of assignments, the first of which is empty, but for what is skipped.
func (p *adviser) play(ctx context.Context, sessions []*traces.Session, configs []sim.Config, all [][]string, skip func(set, session int) bool) error {
	var noting sync.Mutex
	byID := map[string]*traces.Session{}
	for _, s := range sessions {
		byID[s.ID] = s
	}
	for i := range configs {
		text := strings.Join(all[i], " ")
		use(&configs[i])
		configs[i].Ended = func(row *results.Row, calls []sim.Spent) {
			noting.Lock()
			defer noting.Unlock()
			s := byID[row.Session]
			p.learn(text, s, &ending{*row, &used{s.Start, slices.Clone(calls), row.Usage()}})
		}
	}
	none := func(int, *results.Row) {}
	_, err := sim.Runner{Workers: p.Workers, Skip: skip, Keep: none}.Run(ctx, sessions, configs)
	var broken *sim.Broken
	if errors.As(err, &broken) && broken.Stopped == nil && len(broken.Cells[0]) == 0 {
		err = nil
	}
	for i := range configs[1:] {
		list := p.known[strings.Join(all[1+i], " ")]
		for _, s := range sessions {
			if e, was := list[s], p.end(unchanged, s); e != nil && was != nil && e.row.Figures == was.row.Figures {
				list[s] = was
			}
		}
	}
	return err
}

// use sets the kind of closed loop, and leaves out what advice does not look at.
func use(c *sim.Config) { c.Agent.Refetch, c.Breaks = sim.RefetchFitted, false }

// larger are the largest results that a session has of each tool, and the names of the tools.
type larger struct {
	results []prompt.Block
	tools   []string
}

// largest returns the largest results of a session. Results that count as one have the limits of one tool.
func largest(s *traces.Session) *larger {
	x := &larger{tools: s.Tools}
	for i := range s.Blocks {
		b := &s.Blocks[i]
		if b.Kind != prompt.KindToolResult || b.Call <= 0 {
			continue
		}
		at := slices.IndexFunc(x.results, func(o prompt.Block) bool { return o.Tool == b.Tool && o.Op == b.Op && o.Flags == b.Flags })
		if at < 0 {
			x.results = append(x.results, *b)
		} else if b.Bytes > x.results[at].Bytes {
			x.results[at] = *b
		}
	}
	return x
}

// generation is what decides which layers a strategy has in a session.
type generation struct {
	strategy                *strategies.Strategy
	agent, release, variant string
}

// spares reports whether a session is known to end as it does without a change: its strategy has one layer more, which spares all results.
func (p *adviser) spares(added map[generation]standard.Sparing, was, is *strategies.Strategy, s *traces.Session) bool {
	x := p.large[s]
	if x == nil {
		return false
	}
	at := generation{is, s.Agent, s.Version(), s.Variant}
	layer, ok := added[at]
	if !ok {
		layer = addedTo(was.For(at.agent, at.release, at.variant), is.For(at.agent, at.release, at.variant))
		added[at] = layer
	}
	return layer != nil && layer.Spares(x.results, x.tools)
}

// addedTo returns the one layer that a strategy has beyond another, nil where they differ in anything else.
func addedTo(was, is *strategies.Strategy) (added standard.Sparing) {
	names, layers := was.LayerNames(), is.Layers()
	if was.Name != is.Name || len(layers) != len(names)+1 {
		return nil
	}
	for _, l := range layers {
		switch {
		case len(names) > 0 && l.Name() == names[0]:
			if !reflect.DeepEqual(was.Params(names[0]), is.Params(names[0])) {
				return nil
			}
			names = names[1:]
		case added == nil:
			added, _ = l.(standard.Sparing)
		default:
			return nil
		}
	}
	return added
}

// total returns the row of all sessions under strategy own with values of settings, in a closed
// loop: what the agent fetches again because it was forgotten counts against a saving.
func (p *adviser) total(ctx context.Context, sessions []*traces.Session, set []candidate) (*results.Row, *tally, error) {
	rows, taken, err := p.measure(ctx, sessions, set)
	if err != nil {
		return nil, nil, err
	}
	var sum results.Row
	for i := range rows {
		sum.Add(&rows[i])
	}
	return &sum, taken, nil
}

// measure returns the row of each session that total sums up, and all calls.
func (p *adviser) measure(ctx context.Context, sessions []*traces.Session, set []candidate) ([]results.Row, *tally, error) {
	err := p.simulate(ctx, sessions, func(s *traces.Session) []string { return []string{assigned(set, s)} })
	if err != nil {
		return nil, nil, err
	}
	taken, out := &tally{map[string]*used{}}, make([]results.Row, len(sessions))
	for i, s := range sessions {
		e := p.end(assigned(set, s), s)
		if e == nil {
			return nil, nil, fmt.Errorf("session %s does not come to its end with %s", s.ID, assigned(set, s))
		}
		out[i], taken.sessions[s.ID] = e.row, e.used
	}
	return out, taken, nil
}
