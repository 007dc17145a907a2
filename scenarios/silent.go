package scenarios

import (
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/compactsim/compactsim/internal/spec"
	"github.com/compactsim/compactsim/sim/client"
	"github.com/compactsim/compactsim/traces"
)

// Silent returns a text for every setting that changes nothing in a run over the
// sessions of a corpus: the place, the value, and why.
func (p *Plan) Silent(corpus *traces.Corpus) ([]string, error) {
	d, err := p.design()
	if err != nil {
		return nil, err
	}
	s := silence{design: d, sessions: withCalls(corpus)}
	if len(s.sessions) == 0 || d.tree == nil {
		return nil, nil
	}
	given := s.given()
	if len(given) == 0 && len(d.Scenario.Events) == 0 {
		return nil, nil
	}
	if err := s.read(); err != nil {
		return nil, err
	}
	var texts []string
	for _, g := range given {
		for _, why := range silentRules {
			if text := why(&s, &g); text != "" {
				texts = append(texts, fmt.Sprintf("%s changes nothing: %s", g.text(), text))
				s.dropped = append(s.dropped, g.path)
				break
			}
		}
	}
	return append(texts, s.events()...), nil
}

// silence is what tells whether a setting has an effect: the cells and the
// sessions of a run.
type silence struct {
	design   *Design
	sessions []*traces.Session
	layers   []layer // of all cells but those of a strategy met before
	powers   powers  // of these layers
	traits   *traits // of the sessions
	asking   []client.Ask
	dropped  []string // settings that were found to change nothing
}

// given is a setting around the strategies that is not the default.
type given struct{ path, value, at string }

// text words the setting with its place.
func (g *given) text() string {
	if strings.HasPrefix(g.at, "--set "+g.path+"=") {
		return g.at
	}
	return fmt.Sprintf("%s: %s %s", g.at, g.path, g.value)
}

// silentRules return why a setting changes nothing, "" when it may.
var silentRules = []func(*silence, *given) string{
	(*silence).withoutUse, (*silence).ofFlags, (*silence).ofCodex, (*silence).ofPolicy, (*silence).ofVariables, (*silence).ofSections,
	(*silence).ofServer, (*silence).ofLevels, (*silence).ofAbsent, (*silence).ofWindows, (*silence).ofSmallWindow,
	(*silence).ofVersions, (*silence).ofCaching, (*silence).ofResults, (*silence).ofLifetimes, (*silence).ofClasses, (*silence).ofProvider, (*silence).ofMarkers, (*silence).ofHead,
	(*silence).ofSessions, (*silence).ofChance, (*silence).ofOthers,
}

// read takes what the cells' strategies can do and what the sessions have.
func (s *silence) read() error {
	if err := s.readLayers(); err != nil {
		return err
	}
	models := slices.Clone(s.powers.models)
	for i := range s.design.Scenario.Events {
		if e := &s.design.Scenario.Events[i]; e.Do == client.ActionModel.String() {
			models = append(models, e.Value)
		}
	}
	s.traits = traitsOf(s.sessions, models)
	s.asking = s.asks()
	return nil
}

// readLayers takes the layers of the cells' strategies.
func (s *silence) readLayers() error {
	seen := map[string]bool{}
	for i := range s.design.Cells {
		text, err := s.design.Cells[i].Strategy.YAML()
		if err != nil {
			return err
		}
		if seen[string(text)] {
			continue
		}
		seen[string(text)] = true
		tree, err := spec.Parse(text, s.design.Cells[i].Strategy.Name)
		if err != nil {
			return err
		}
		if err := s.powers.add(s.design.Cells[i].Strategy); err != nil {
			return err
		}
		for _, l := range layersOf(tree.Root) {
			s.layers = append(s.layers, l)
			s.powers.name(l.params)
		}
	}
	return nil
}

// given returns the settings that the scenario or a flag gives another value than
// the default, in the order of the manual.
func (s *silence) given() []given {
	was, err := spec.Encode(Default())
	if err != nil {
		return nil
	}
	is, err := spec.Encode(s.design.Scenario)
	if err != nil {
		return nil
	}
	var list []given
	for _, path := range spec.Paths(Scenario{}) {
		keys := strings.Split(path, ".")
		n := spec.Find(s.design.tree.Root, keys...)
		if n == nil || n.Kind == yaml.MappingNode {
			list = s.named(list, n, path)
			continue
		}
		g := given{path, spec.Flow(spec.Find(is, keys...)), s.design.tree.At(n)}
		if i := slices.IndexFunc(s.design.axes, func(a spec.Axis) bool { return a.Path == path }); i >= 0 {
			g.value = spec.Flow(s.design.axes[i].List())
		}
		if g.value != spec.Flow(spec.Find(was, keys...)) {
			list = append(list, g)
		}
	}
	return list
}

// named appends the settings of a map from names.
func (s *silence) named(list []given, n *yaml.Node, path string) []given {
	if path+"." != failuresPath && path+"." != aliasPath {
		return list
	}
	for i := 0; n != nil && i+1 < len(n.Content); i += 2 {
		value := n.Content[i+1]
		at := value
		for at.Kind == yaml.MappingNode && len(at.Content) > 1 { // a flag may have made all but the innermost
			at = at.Content[1]
		}
		list = append(list, given{spec.Join(path, n.Content[i].Value), spec.Flow(value), s.design.tree.At(at)})
	}
	return list
}

// any reports whether some cell has such a setting around it.
func (s *silence) any(has func(*Scenario) bool) bool {
	return slices.ContainsFunc(s.design.Cells, func(c Cell) bool { return has(c.Scenario) })
}

// runs reports whether a strategy has one of the layers, in use, and with every
// parameter of on, as path, not switched off.
func (s *silence) runs(names []string, on ...string) bool {
	return slices.ContainsFunc(s.layers, func(l layer) bool {
		if !slices.Contains(names, l.key.Value) {
			return false
		}
		for _, path := range append([]string{"enabled"}, on...) {
			if n := spec.Find(l.params, strings.Split(path, ".")...); n != nil && n.Value == "false" {
				return false
			}
		}
		return true
	})
}

// does reports whether some event of the scenario does one of some things.
func (s *silence) does(actions ...string) bool {
	for i := range s.design.Scenario.Events {
		if slices.Contains(actions, s.design.Scenario.Events[i].Do) {
			return true
		}
	}
	return false
}

// below reports whether a path is one of those, or leads to something below it.
func below(path string, of ...string) bool {
	return slices.ContainsFunc(of, func(p string) bool { return path == p || strings.HasPrefix(path, p+".") })
}
