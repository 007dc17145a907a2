package strategies

import (
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"

	"github.com/compactsim/compactsim/internal/kit/spec"
	"github.com/compactsim/compactsim/internal/kit/version"
	"github.com/compactsim/compactsim/sim/results/measures"
	"gopkg.in/yaml.v3"
)

// Generation says whose client a preset is: an agent from one version through another, as its
// sources show. The nearest generation stands for other versions.
type Generation struct {
	Agent   string `yaml:"agent" doc:"as in a session's agent"`
	Variant string `yaml:"variant" doc:"of how the client is set up, as recordings show it: local for Codex with a provider that does not compact, oh-my-pi for pi's fork; \"\" for the usual one"`
	From    string `yaml:"from" doc:"first version that the sources show; \"\" for all"`
	Through string `yaml:"through" doc:"last version that the sources show; \"\" for all from then on"`
	// Documented says that the sources are documents alone: own takes a generation that was seen, where one holds the version.
	Documented bool `yaml:"documented" doc:"by documents and notes alone: own takes a generation that was seen, where one holds the version"`
}

// Holds reports whether the sources of the generation show a version.
func (g *Generation) Holds(release string) bool { return g.distance(release) == [3]int{} }

// distance returns how far a version is from the generation's versions, number by number.
// Any text that is no version counts as newest.
func (g *Generation) distance(release string) [3]int {
	n, ok := version.Numbers(release)
	if !ok {
		n[0] = math.MaxInt32
	}
	from, _ := version.Numbers(g.From)
	through, ok := version.Numbers(g.Through)
	switch {
	case less(n, from):
		return apart(from, n)
	case ok && less(through, n):
		return apart(n, through)
	}
	return [3]int{}
}

func less(a, b [3]int) bool { return slices.Compare(a[:], b[:]) < 0 }

// apart returns the differences of the numbers of two versions.
func apart(a, b [3]int) (d [3]int) {
	for i := range a {
		d[i] = max(a[i]-b[i], b[i]-a[i])
	}
	return d
}

// Generations returns the presets that are a client's generation, in order of agents and versions.
func (r *Registry) Generations() []*Strategy {
	var list []*Strategy
	for _, l := range r.inOrder(func(l *listed) bool { return l.generation }) {
		if s, err := l.strategy(); err == nil {
			list = append(list, s)
		}
	}
	return list
}

// ClientHalf returns the keys of client and levels that the generation sets in a scenario, as a mapping; nil for none.
func (s *Strategy) ClientHalf() *yaml.Node { return s.client }

// Members returns the strategies that sessions are simulated under: the generations when
// s takes each session's own, else s alone.
func (s *Strategy) Members() []*Strategy {
	if s.own != nil {
		return s.own
	}
	return []*Strategy{s}
}

// For returns the strategy that a session of an agent's version and variant is simulated under: the client's
// generation, or the nearest one, when s takes each session's own, else s. An agent without generations is taken to
// behave like the first one that has some, and a variant without generations like the usual one.
func (s *Strategy) For(agent, release, variant string) *Strategy {
	if s.own == nil {
		return s
	}
	if !slices.ContainsFunc(s.own, func(g *Strategy) bool { return g.Generation.Agent == agent }) {
		agent = s.own[0].Generation.Agent
	}
	if !slices.ContainsFunc(s.own, func(g *Strategy) bool { return g.Generation.Agent == agent && g.Generation.Variant == variant }) {
		variant = ""
	}
	var nearest *Strategy
	seen := slices.ContainsFunc(s.own, func(g *Strategy) bool {
		return g.Generation.Agent == agent && !g.Generation.Documented && g.Generation.Holds(release)
	})
	for _, g := range s.own {
		if g.Generation.Agent != agent || g.Generation.Variant != variant || seen && g.Generation.Documented {
			continue
		}
		if nearest == nil || less(g.Generation.distance(release), nearest.Generation.distance(release)) {
			nearest = g
		}
	}
	return nearest
}

// own makes s the strategy of all generations. What its layers give changes the generations that have these layers.
func (p *presetReader) own(s *Strategy) (*Strategy, error) {
	for _, g := range p.registry.Generations() {
		member := *g
		member.layers = slices.Clone(g.layers)
		for i := range member.layers {
			c := &member.layers[i]
			at := slices.IndexFunc(s.layers, func(o configured) bool { return o.def.Name == c.def.Name })
			_, compacts := c.params.(*CompactParams)
			if at < 0 && !compacts {
				continue
			}
			params := reflect.New(reflect.TypeOf(c.params).Elem())
			params.Elem().Set(reflect.ValueOf(c.params).Elem())
			c.params = params.Interface()
			if full, ok := c.params.(*CompactParams); ok {
				full.Trigger.Own = at < 0 || leavesValue(s.layers[at].given)
			}
			if at < 0 {
				continue
			}
			if errs := p.tree.Decode(s.layers[at].given, c.params, c.def.Name); len(errs) > 0 {
				return nil, fmt.Errorf("%w (in %s)", errs[0], g.Name)
			}
		}
		s.own = append(s.own, &member)
	}
	if len(s.own) == 0 {
		return nil, p.tree.Errorf(p.tree.Root, "own: no preset is a generation")
	}
	return s, nil
}

// leavesValue reports whether settings of a layer leave the value of its trigger as it is: they give none, or move it.
func leavesValue(given *yaml.Node) bool {
	trigger := spec.Child(given, "trigger")
	return trigger == nil || trigger.Kind == yaml.MappingNode && len(trigger.Content) == 2 && spec.Child(trigger, "shift") != nil
}

// OwnTrigger returns the trigger of full compactions, before it is shifted, if the threshold of the recording's client replaces its
// value: in a member of a strategy of generations that gives none itself. It returns nil otherwise.
func (s *Strategy) OwnTrigger() *Trigger {
	for _, c := range s.layers {
		if p, ok := c.params.(*CompactParams); ok && p.Trigger.Own && c.on() && p.Auto && p.Trigger.Measure.tokens() && p.Beside.prompt() {
			tr := p.Trigger
			tr.Shift = 0
			return &tr
		}
	}
	return nil
}

// contradictions returns the keys of a preset that exclude each other.
func (f *presetFile) contradictions(tree *spec.Tree) []error {
	var errs []error
	if f.Own && f.Generation.Agent != "" {
		errs = append(errs, tree.Errorf(tree.Root, "own and generation exclude each other"))
	}
	if f.Own && len(f.Exclusive) > 0 {
		errs = append(errs, tree.Errorf(tree.Root, "own and exclusive exclude each other: generations have their own"))
	}
	return errs
}

// fastModel names the small model of the family of a session's model.
const fastModel = "fast"

// families are the small models of the makers, by what their models' names have, behind what a platform or a
// gateway puts before them, the most special first: what clients take for titles and summaries (qwen-code 00b481a,
// goose 0036b81, Letta 1131535 summarizer_config.py).
var families = []struct {
	model *regexp.Regexp
	fast  string
}{
	{family(`claude-(?:[a-z]+-)?3\b`), "claude-3-5-haiku-20241022"},
	{family(`claude-`), "claude-haiku-4-5"},
	{family(`gpt-4`), "gpt-4.1-mini"},
	{family(`gpt-[0-9]`), "gpt-5-mini"},
	{family(`gemini-`), "gemini-2.5-flash"},
}

// family returns a pattern for the names of models, in any case, that begin with one, behind a prefix or none.
func family(begin string) *regexp.Regexp { return regexp.MustCompile(`(?i)(?:^|[/.:-])` + begin) }

// fast returns the name of the model that a call of a layer asks: fast stands for the small one of the family of the
// session's model, and for that model itself, which is counted, where none is known.
func fast(t *Turn, layer, model string) string {
	if model != fastModel {
		return model
	}
	if name := smallOf(t.Model); name != "" {
		return name
	}
	t.Refuse(layer, measures.NotFast+"no fast one of its family is known")
	return ""
}

// smallOf returns the small model of a model's family, "" where none is known.
func smallOf(model string) string {
	for _, f := range families {
		if f.model.MatchString(model) {
			return f.fast
		}
	}
	return ""
}
