package scenarios

import (
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/internal/kit/spec"
	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/client"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
)

// generations returns remarks on cells of generations: how many sessions run under each, and how
// many sessions run under the generation nearest to a version whose own is not known.
func generations(d *Design, sessions []*traces.Session, run *results.Run) []results.Note {
	byID := map[string]*traces.Session{}
	for _, s := range sessions {
		byID[s.ID] = s
	}
	var notes []results.Note
	said := "" // the last remark on which sessions run under which generation, to print it once
	for i := range d.Cells {
		c := &d.Cells[i]
		at := slices.IndexFunc(run.Cells, func(r results.Cell) bool { return r.Cell == c.Name })
		if len(c.Strategy.Members()) < 2 || at < 0 {
			continue
		}
		counts, strange := map[*strategies.Strategy]int{}, 0
		for _, row := range run.Cells[at].Rows.All() {
			if s := byID[row.Session]; s != nil {
				g := c.Strategy.For(s.Agent, s.Version(), s.Variant)
				if counts[g]++; !g.Generation.Holds(s.Version()) || g.Generation.Agent != s.Agent {
					strange++
				}
			}
		}
		var parts []string
		for _, g := range c.Strategy.Members() {
			if n := counts[g]; n > 0 {
				parts = append(parts, fmt.Sprintf("%s for %s", g.Name, document.Count(n, "session")))
			}
		}
		text := strings.Join(parts, "; ")
		if said != "" && text == said {
			continue
		}
		said = text
		if strange > 0 {
			notes = append(notes, results.Note{Cell: c.Name, Text: fmt.Sprintf(
				"%s under the generation nearest to a version whose own is not known", document.Count(strange, "session"))})
		}
		notes = append(notes, results.Note{Cell: c.Name, Detail: true, Text: text})
	}
	return notes
}

// half is the client half of a preset: the keys of client, and the levels.
type half struct {
	Client Client     `yaml:",inline"`
	Levels sim.Levels `yaml:"levels"`
}

// Values of Client.Prefix.
const prefixSession, prefixPreset = "session", "preset"

// given returns what a scenario says of the client and of levels beyond the default.
func (s *Scenario) given() []spec.Difference {
	defaults := Default()
	return spec.Diff(&half{defaults.Client, defaults.Levels}, &half{s.Client, s.Levels})
}

// under returns the client and the levels of a scenario, of which given is known, under a preset. What
// the scenario leaves at the default comes from the preset; prefix and
// lifetimes do so only if the scenario asks for it.
func (s *Scenario) under(g *strategies.Strategy, given []spec.Difference) (*half, error) {
	defaults := Default()
	h := half{defaults.Client, defaults.Levels}
	tree := spec.Tree{Name: "client of " + g.Name, Root: spec.Clone(g.ClientHalf())}
	for _, d := range given {
		var value yaml.Node
		if err := yaml.Unmarshal([]byte(d.B), &value); err != nil || len(value.Content) == 0 {
			return nil, fmt.Errorf("client of %s: %s: %q", g.Name, d.Path, d.B)
		}
		if err := tree.Put(tree.Root, value.Content[0], strings.Split(d.Path, ".")...); err != nil {
			return nil, err
		}
	}
	if errs := tree.Decode(tree.Root, &h, ""); len(errs) > 0 {
		return nil, errs[0]
	}
	if s.Client.Prefix != prefixPreset {
		h.Client.System, h.Client.TTL = s.Client.System, s.Client.TTL
	}
	return &h, nil
}

// wearer is what sessions of a generation's agent take from the generation.
type wearer struct {
	version  string // version to behave as, "" for the session's own
	assembly *sim.Assembly
	levels   *sim.Levels
}

// people returns the Person of each session of a cell, by the organisations they belong to (nil:
// one organisation); nil when all are as the cell says. Versions are versions of Claude Code. The
// client half of a preset applies to sessions of its agent; others keep
// their own client. A version that a generation holds is kept.
func (c *Cell) people(owner func(int, *traces.Session) uint32) (func(int, *traces.Session) sim.Person, error) {
	scenario := c.Scenario
	worn, given := map[*strategies.Strategy]*wearer{}, scenario.given()
	for _, g := range c.Strategy.Members() {
		if g.ClientHalf() == nil {
			continue
		}
		h, err := scenario.under(g, given)
		if err != nil {
			return nil, err
		}
		worn[g] = &wearer{h.Client.Version, sim.Assemble(h.Client.Assembly, scenario.Events), &h.Levels}
	}
	if len(worn) == 0 && scenario.Client.Version == "" {
		return nil, nil
	}
	return func(index int, s *traces.Session) sim.Person {
		p := sim.Person{Owner: 1}
		if owner != nil {
			p.Owner = owner(index, s)
		}
		g := c.Strategy.For(s.Agent, s.Version(), s.Variant)
		release := scenario.Client.Version
		if w := worn[g]; w != nil && g.Generation.Agent == s.Agent {
			p.Assembly, p.Levels = w.assembly, w.levels
			if release == "" && !g.Generation.Holds(s.Version()) {
				release = w.version
			}
		}
		if release != "" && agents.ClaudeCode(s) {
			p.Client, p.Version = client.ForVersion(release), release
		}
		return p
	}, nil
}
