package scenarios

import (
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/compactsim/compactsim/internal/yamlx"
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
	if err := s.read(); err != nil {
		return nil, err
	}
	var texts []string
	for _, g := range s.given() {
		for _, why := range silentRules {
			if text := why(&s, &g); text != "" {
				texts = append(texts, fmt.Sprintf("%s changes nothing: %s", g.text(), text))
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
	(*silence).withoutUse, (*silence).ofCodex, (*silence).ofPolicy, (*silence).ofVariables, (*silence).ofSections,
	(*silence).ofServer, (*silence).ofLevels, (*silence).ofAbsent,
}

// read takes the layers of the cells' strategies.
func (s *silence) read() error {
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
		tree, err := yamlx.Parse(text, s.design.Cells[i].Strategy.Name)
		if err != nil {
			return err
		}
		s.layers = append(s.layers, layersOf(tree.Root)...)
	}
	return nil
}

// given returns the settings that the scenario or a flag gives another value than
// the default, in the order of the manual.
func (s *silence) given() []given {
	was, err := yamlx.Encode(Default())
	if err != nil {
		return nil
	}
	is, err := yamlx.Encode(s.design.Scenario)
	if err != nil {
		return nil
	}
	var list []given
	for _, path := range yamlx.Paths(Scenario{}) {
		keys := strings.Split(path, ".")
		n := yamlx.Find(s.design.tree.Root, keys...)
		if n == nil || n.Kind == yaml.MappingNode {
			continue
		}
		g := given{path, yamlx.Flow(yamlx.Find(is, keys...)), s.design.tree.At(n)}
		if i := slices.IndexFunc(s.design.axes, func(a yamlx.Axis) bool { return a.Path == path }); i >= 0 {
			g.value = yamlx.Flow(s.design.axes[i].List())
		}
		if g.value != yamlx.Flow(yamlx.Find(was, keys...)) {
			list = append(list, g)
		}
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
			if n := yamlx.Find(l.params, strings.Split(path, ".")...); n != nil && n.Value == "false" {
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
