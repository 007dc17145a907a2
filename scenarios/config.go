package scenarios

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/client"
	"github.com/compactsim/compactsim/sim/learning"
	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/sim/promptcache"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/sim/servers"
	"github.com/compactsim/compactsim/sim/summarizer"
	"github.com/compactsim/compactsim/sim/users"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/facts"
)

// Config returns what a loop needs to simulate one strategy under the plan, with
// assignments as File.Assign takes them. A swept parameter is an error.
func (p *Plan) Config(strategy string, assignments []string) (sim.Config, error) {
	plain, err := p.expand("strategy", []string{strategy}, nil)
	if err != nil {
		return sim.Config{}, err
	}
	cell, err := plain.cell(strategy, assignments)
	if err != nil {
		return sim.Config{}, err
	}
	return p.config(cell)
}

// Unmet says which of these assignments change nothing of a strategy, see Design.Unmet.
func (p *Plan) Unmet(strategy string, assignments []string) []string {
	d, err := p.expand("strategy", []string{strategy}, nil)
	if err == nil {
		d, err = d.With(assignments)
	}
	if err != nil {
		return nil // Config says so
	}
	return d.Unmet()
}

// Configs returns what a loop needs to simulate one strategy under each of several sets of assignments. Sets that change the
// strategy alone share what surrounds it.
func (p *Plan) Configs(strategy string, sets [][]string) ([]sim.Config, error) {
	configs := make([]sim.Config, len(sets))
	around := surroundings()
	plain, err := p.expand("strategy", []string{strategy}, nil)
	if err != nil {
		return nil, err
	}
	for i, set := range sets {
		cell, err := plain.cell(strategy, set)
		if err == nil {
			configs[i], err = p.config(cell)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", strings.Join(set, " "), err)
		}
		configs[i].Around = around(cell.Scenario)
	}
	return configs, nil
}

func (d *Design) cell(strategy string, assignments []string) (*Cell, error) {
	d, err := d.With(assignments)
	if err != nil {
		return nil, err
	}
	cells := slices.DeleteFunc(d.Cells, func(c Cell) bool { return c.Strategy.Name != strategy })
	if len(cells) != 1 {
		return nil, fmt.Errorf("%d cells of strategy %s: one value for each parameter is wanted here", len(cells), strategy)
	}
	return &cells[0], nil
}

// configs returns the cells as the runner takes them.
func (p *Plan) configs(d *Design) ([]sim.Config, error) {
	var configs []sim.Config
	around := surroundings()
	for i := range d.Cells {
		c, err := p.config(&d.Cells[i])
		if err != nil {
			return nil, fmt.Errorf("cell %s: %w", d.Cells[i].Name, err)
		}
		if p.record != nil {
			c.Record = func(r *results.CallRecord) { p.record(d.Cells[i].Name, r) }
		}
		if d.Cells[i].Scenario.Users.Any() {
			c.Meter = new(users.Meter)
		} else if p.Summarize == nil { // real calls are separate for each cell
			c.Around = around(d.Cells[i].Scenario)
		}
		configs = append(configs, c)
	}
	return configs, nil
}

// surroundings returns a function whose values are equal for scenarios that differ at most in strategies, in variables
// of the client that change strategies alone or the window that thresholds are counted from, and in cache lifetimes. It compares everything else as written out, so
// that equal settings that were drawn separately are equal too.
func surroundings() func(*Scenario) any {
	known := map[*Scenario]any{}
	return func(s *Scenario) any {
		if known[s] == nil {
			other := *s
			other.Strategies, other.Server.Lifetime5m, other.Server.Lifetime1h = nil, 0, 0
			env := s.Client.Assembly.Env
			env.AutoCompactWindow, other.Client.Assembly.Env = "", client.Env{}
			known[s] = fmt.Sprintf("%#v %#v", other, env.Variables())
		}
		return known[s]
	}
}

func (p *Plan) config(cell *Cell) (sim.Config, error) {
	s := cell.Scenario
	at, err := s.Prices.At.On()
	if err != nil {
		return sim.Config{}, fmt.Errorf("prices.at: %w", err)
	}
	fitted, err := p.profile(s.Profile)
	if err != nil {
		return sim.Config{}, err
	}
	var named *servers.Server
	var prices sim.Prices = p.Prices
	if s.Server.Name != "" {
		if named, err = servers.Of(s.Server.Name); err != nil {
			return sim.Config{}, fmt.Errorf("server.name: %w", err)
		}
		prices = sold{p.Prices, named}
	}
	c := sim.Config{
		Strategy:   cell.Strategy,
		Profile:    fitted,
		Server:     s.Server.serve(named),
		Named:      named,
		Summarizer: p.summarizer(cell.Name, &s.Summarizer),
		Owner:      s.Sessions.Organisations.owner(),
		Prices:     prices,
		PricesAt:   at,
		Seed:       s.Seed,
		Window:     s.Client.Window,
		Assembly:   &s.Client.Assembly,
		Events:     s.Events,
		Lifetimes:  promptcache.Lifetimes{s.Server.Lifetime5m, s.Server.Lifetime1h},
		HintAt:     s.Server.HintAt,
		Latency:    s.Latency,
		Levels:     s.Levels,
		Overflow:   s.Overflow,
		Agent:      s.Agent,
		Premise:    sim.Premise{Found: true},
		Watch:      sim.Watch{Verify: s.Verify || p.Verify, Breaks: s.Breaks, Rules: &s.Detector},
	}
	if s.Needs && p.library != nil {
		c.Needs = p.library.Of
	}
	if c.Person, err = cell.people(c.Owner); err != nil || !s.Users.Any() {
		return c, err
	}
	cast, err := s.Users.Cast(s.Client.Assembly, s.Events)
	if err != nil {
		return sim.Config{}, fmt.Errorf("users: %w", err)
	}
	worn := c.Person
	c.Person = func(index int, s *traces.Session) sim.Person {
		var p sim.Person
		if worn != nil {
			p = worn(index, s)
		}
		return cast.Person(p, s)
	}
	return c, nil
}

// summarizer returns the summariser of a cell with a stub.
func (p *Plan) summarizer(cell string, stub *summarizer.Stub) sim.Summarizer {
	if p.Summarize == nil {
		return stub
	}
	return p.Summarize(cell, stub)
}

// serve makes the cache of a kind. For an automatic one a scenario sets where
// the retention counts from and the share of calls that lose their messages.
func (s *Server) serve(named *servers.Server) func(facts.Cache) sim.Server {
	marked, automatic := s.Config, promptcache.OpenAIConfig{Anchor: s.Anchor, OverflowPerCall: s.EvictPerCall, Serving: servers.Recorded}
	if named != nil {
		marked, automatic = named.Marked(marked), named.Automatic(automatic)
	}
	return func(kind facts.Cache) sim.Server {
		switch {
		case named != nil && named.Explicit:
			return promptcache.NewExplicit(named.Kept())
		case kind == facts.CacheAutomatic:
			return promptcache.NewOpenAI(automatic)
		}
		return promptcache.New(marked)
	}
}

// sold are the prices of the models that a server has. Others cost nothing there.
type sold struct {
	prices sim.Prices
	by     *servers.Server
}

// Lookup implements sim.Prices.
func (s sold) Lookup(model string, at time.Time) (costmodel.Price, error) {
	p, err := s.prices.Lookup(model, at)
	if err == nil && !s.by.Serves(p.Model.Name) {
		err = fmt.Errorf("server %s does not have %s", s.by.Name, p.Model.Name)
	}
	return p, err
}

// learn adds what the sessions show to the default profile before any cell
// runs: a row depends on its session, the profile and the seed.
func (p *Plan) learn(ctx context.Context, d *Design, sessions []*traces.Session, openings *profile.Openings) error {
	if d.Scenario.Profile != ProfileDefault || d.Scenario.Sessions.Generate.Profile != "" || d.Scenario.Users.Any() {
		return nil
	}
	base, err := profile.Default()
	if err != nil {
		return err
	}
	config, err := p.Config(measures.StrategyRecorded, nil)
	if err != nil {
		return err
	}
	p.learned, p.lessons, err = learning.Learn(ctx, config, base, sessions, openings)
	return err
}

// Profile returns the profile that a run used, with what it learned from the
// sessions; nil for the plain cache model.
func (p *Plan) Profile() (*profile.Profile, error) {
	d, err := p.design()
	if err != nil {
		return nil, err
	}
	return p.profile(d.Scenario.Profile)
}

// lesson says what the profile learned of clients that it lacks.
func lesson(l *learning.Learned) string {
	if len(l.Epochs) == 0 {
		return ""
	}
	text := fmt.Sprintf("the profile has no recordings of clients from %s on: tried on %s here, ",
		strings.Join(l.Epochs, ", "), document.Count(l.Of, "session"))
	if len(l.Rules) == 0 {
		return text + "no rule of other versions predicts them better than the plain cache"
	}
	return text + strings.Join(l.Rules, ", ") + " predict them better than the plain cache"
}

// profile returns the profile that a value of Scenario.Profile names, nil for none.
func (p *Plan) profile(name string) (*profile.Profile, error) {
	switch name {
	case ProfileNone, "":
		return nil, nil
	case ProfileDefault:
		if p.learned != nil {
			return p.learned, nil
		}
		return profile.Default()
	}
	if fitted := p.Profiles[name]; fitted != nil {
		return fitted, nil
	}
	return nil, fmt.Errorf("profile %s has not been read", name)
}
