package strategies

import (
	"errors"
	"fmt"
	"os"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/compactsim/compactsim/internal/kit/nearest"
	"github.com/compactsim/compactsim/internal/kit/spec"
	"github.com/compactsim/compactsim/sim/prompt"
	"gopkg.in/yaml.v3"
)

// presetFile is a preset as written in YAML.
type presetFile struct {
	Name   string `yaml:"name"`
	Doc    string `yaml:"doc"`
	Origin `yaml:",inline"`
	Rank   int `yaml:"rank" doc:"place in lists, smallest first" min:"0"`
	// Layers are each a layer by name with its parameters, or first_of with a
	// list of layers of which the first that acts bars the rest.
	Layers    []yaml.Node `yaml:"layers" doc:"in the order they are asked"`
	Exclusive [][]string  `yaml:"exclusive" doc:"before a request, only one of each list acts"`
	// Generation says that the preset is what an agent's client did at some versions.
	Generation Generation `yaml:"generation" doc:"the agent and the versions whose client this is"`
	// Client is the client half of a generation.
	Client yaml.Node `yaml:"client" doc:"the client half: keys of client in a scenario, and levels"`
	// Own makes a strategy of all generations: its layers change the generations that have them.
	Own bool `yaml:"own" doc:"each session under the generation of its own client; layers change the layers of the generations"`
}

const firstOf = "first_of"

// maxLayers is how many layers a preset may have: as many as bars have bits.
const maxLayers = 64

// AddPreset reads one preset from the YAML file called name. All problems are
// reported at once, with file and line. A preset of the same name is replaced.
func (r *Registry) AddPreset(text []byte, name string) error {
	_, err := r.add(text, name, presetFolder)
	return err
}

// Load is AddPreset for a file, whose strategy it returns.
func (r *Registry) Load(file string) (*Strategy, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("strategy: %w", err)
	}
	return r.add(text, file, presetFolder)
}

// presetFolder is the folder of presets without a group.
const presetFolder = "presets"

// add is AddPreset for a file in a folder, which is the group of the preset.
func (r *Registry) add(text []byte, name, folder string) (*Strategy, error) {
	s, err := r.read(text, name, folder)
	if err != nil {
		return nil, err
	}
	r.list(listed{name: s.Name, group: s.Group, rank: s.rank, generation: s.Generation.Agent != "",
		strategy: func() (*Strategy, error) { return s, nil }})
	return s, nil
}

// read reads the preset of a file in a folder.
func (r *Registry) read(text []byte, name, folder string) (*Strategy, error) {
	tree, err := spec.Parse(text, name)
	if err != nil {
		return nil, err
	}
	s, err := r.preset(tree)
	if err == nil && folder != presetFolder {
		s.Group = folder
	}
	return s, err
}

// listed is what lists need to know of a preset, and its strategy.
type listed struct {
	name, group string
	rank        int
	generation  bool // of a client
	strategy    func() (*Strategy, error)
}

// list adds a preset.
func (r *Registry) list(l listed) {
	if r.presets == nil {
		r.presets = map[string]listed{}
	}
	r.presets[l.name] = l
}

// addLater is add for a file that comes with the program: all of a hundred take longer to read than most commands. Of the file
// it reads the keys that lists need, each on a line of its own.
func (r *Registry) addLater(text []byte, name, folder string) {
	l := listed{strategy: sync.OnceValues(func() (*Strategy, error) { return r.read(text, name, folder) })}
	if folder != presetFolder {
		l.group = folder
	}
	for line := range strings.Lines(string(text)) {
		key, value, _ := strings.Cut(strings.TrimRight(line, "\r\n"), ":")
		switch value = strings.TrimSpace(value); key {
		case "name":
			l.name = value
		case "rank":
			l.rank, _ = strconv.Atoi(value)
		case "generation":
			l.generation = true
		}
	}
	r.list(l)
}

// Compose makes a strategy from a mapping of the keys of a preset file, without adding it
// to the presets. It ignores doc and rank. Errors begin with where.
func (r *Registry) Compose(name string, body *yaml.Node, where string) (*Strategy, error) {
	tree := &spec.Tree{Name: where, Root: spec.Clone(body)}
	tree.Mark(tree.Root, where)
	if err := tree.Put(tree.Root, spec.Text(name), "name"); err != nil {
		return nil, err
	}
	return r.preset(tree)
}

// HeadKeys returns the keys of a preset file that name and describe it.
func HeadKeys() []string {
	return append([]string{"name", "doc", "rank"}, spec.Keys(reflect.TypeFor[Origin]())...)
}

// BodyKeys returns the keys of a preset file that say what its layers are and how they combine.
// Keys that name and describe the preset are left out.
func BodyKeys() []string {
	return slices.DeleteFunc(spec.Keys(reflect.TypeFor[presetFile]()), func(key string) bool {
		return slices.Contains(HeadKeys(), key)
	})
}

// preset reads a preset.
func (r *Registry) preset(tree *spec.Tree) (*Strategy, error) {
	var f presetFile
	p := presetReader{registry: r, tree: tree}
	p.errs = tree.Decode(tree.Root, &f, "")
	p.changes = f.Own
	if layers := spec.Child(tree.Root, "layers"); layers != nil && f.Layers != nil {
		p.layers(layers, 0)
	}
	if !f.Own {
		p.exclusive(f.Exclusive)
	}
	p.errs = append(p.errs, f.contradictions(tree)...)
	if f.Name == "" {
		p.problem(tree.Root, "the preset has no name")
	}
	if len(p.found) > maxLayers {
		p.problem(tree.Root, "%d layers, at most %d are possible", len(p.found), maxLayers)
	}
	if len(p.errs) > 0 {
		return nil, errors.Join(p.errs...)
	}
	s := &Strategy{
		Name: f.Name, Doc: strings.TrimSpace(f.Doc), Origin: f.Origin, Generation: f.Generation,
		rank: f.Rank, layers: p.found, exclusive: f.Exclusive,
	}
	if f.Client.Kind == yaml.MappingNode {
		s.client = spec.Clone(&f.Client)
	}
	if f.Own {
		return p.own(s)
	}
	return s, nil
}

// presetReader gathers the layers of a preset and what is wrong with it.
type presetReader struct {
	registry *Registry
	tree     *spec.Tree
	found    []configured
	groups   int
	changes  bool // layers change the layers of generations
	errs     []error
}

func (p *presetReader) problem(n *yaml.Node, format string, args ...any) {
	p.errs = append(p.errs, p.tree.Errorf(n, format, args...))
}

// layers reads a list of layers into a group, 0 for none.
func (p *presetReader) layers(list *yaml.Node, group int) {
	for _, entry := range list.Content {
		if entry.Kind != yaml.MappingNode || len(entry.Content) != 2 {
			p.problem(entry, "a layer is one key with its parameters")
			continue
		}
		key, body := entry.Content[0], entry.Content[1]
		switch {
		case key.Value != firstOf:
			p.layer(key, body, group)
		case group > 0:
			p.problem(key, "%s inside %s", firstOf, firstOf)
		case body.Kind != yaml.SequenceNode || len(body.Content) < 2:
			p.problem(key, "%s wants a list of at least two layers", firstOf)
		default:
			p.groups++
			p.layers(body, p.groups)
		}
	}
}

// layer reads the parameters of one layer over their defaults.
func (p *presetReader) layer(key, body *yaml.Node, group int) {
	name := key.Value
	def, ok := p.registry.layers[name]
	switch {
	case p.index(name) >= 0:
		p.problem(key, "layer %s is listed twice", name)
		return
	case !ok:
		p.problem(key, "unknown layer %q%s", name, nearest.Hint(name, p.registry.Layers()))
		return
	case p.changes:
		p.found = append(p.found, configured{def: def, given: body})
		return
	}
	params := def.Params()
	errs := p.tree.Decode(body, params, name)
	p.errs = append(p.errs, errs...)
	if len(errs) > 0 {
		return
	}
	p.found = append(p.found, configured{def: def, params: params, group: group})
}

func (p *presetReader) index(name string) int {
	return slices.IndexFunc(p.found, func(c configured) bool { return c.def.Name == name })
}

// exclusive checks that lists of exclusive layers name layers of the preset.
func (p *presetReader) exclusive(lists [][]string) {
	at := func(i int) *yaml.Node { return spec.Reach(p.tree.Root, fmt.Sprintf("exclusive[%d]", i)) }
	for i, list := range lists {
		if len(list) < 2 {
			p.problem(at(i), "exclusive: %v wants at least two layers", list)
		}
		for _, name := range list {
			if p.index(name) < 0 && len(p.errs) == 0 {
				p.problem(at(i), "exclusive: no layer %q in this preset%s", name, nearest.Hint(name, p.registry.Layers()))
			}
		}
	}
}

// Origin says where the algorithm and the constants of a preset are from.
type Origin struct {
	Source    string    `yaml:"source" doc:"repository with path and commit, page, or issue that they are from"`
	AsOf      string    `yaml:"as_of" doc:"the date of what was read, as 2026-08, as 2026-08-21 or as 2026"`
	Certainty certainty `yaml:"certainty" doc:"how sure they are: run (observed by running it, in the version and on the date that source and as_of give: requests on the wire or to a scripted model, or recordings), read (in the source), documented, reported (by others) or idealised (a schedule of a paper, or of what is not built)"`
	// NotRun is why the strategy cannot be replayed.
	NotRun string `yaml:"not_run" doc:"why it cannot be replayed; \"\" for one that can"`
}

// certainty is how sure the algorithm of a preset is.
type certainty uint8

// The grades of certainty. Presets of this program's own have none.
const (
	certainOwn certainty = iota
	certainRead
	certainDocumented
	certainReported
	certainIdealised
	certainRun
)

// Names returns the names used in YAML, by value.
func (certainty) Names() []string {
	return []string{"", "read", "documented", "reported", "idealised", "run"}
}

// String returns the name used in YAML.
func (c certainty) String() string { return c.Names()[c] }

// Idealised reports whether the strategy is a schedule that no program runs as it is.
func (o *Origin) Idealised() bool { return o.Certainty == certainIdealised }

// Same reports whether two strategies are the same schedule: layers, parameters and what excludes
// what. Strategies of generations have none of their own.
func (s *Strategy) Same(o *Strategy) bool {
	return len(s.layers) > 0 && s.own == nil && o.own == nil && slices.EqualFunc(s.layers, o.layers, func(a, b configured) bool {
		return a.def.Name == b.def.Name && a.group == b.group && reflect.DeepEqual(a.params, b.params)
	}) && reflect.DeepEqual(s.exclusive, o.exclusive)
}

// AllStrategies names all presets that can be replayed.
const AllStrategies = "all"

// Match returns the names that a word stands for: all presets that can be replayed, the presets of
// a pattern, whose * matches slashes too, or the word itself.
func (r *Registry) Match(word string) ([]string, error) {
	if _, ok := r.presets[word]; ok || word != AllStrategies && !slices.ContainsFunc([]byte(word), func(b byte) bool { return b == '*' || b == '?' || b == '[' }) {
		return []string{word}, nil
	}
	if _, err := path.Match(word, ""); err != nil {
		return nil, fmt.Errorf("pattern %q: %w", word, err)
	}
	var names []string
	for _, name := range r.Presets() {
		if s, err := r.Strategy(name); err != nil {
			return nil, err
		} else if s.Origin.NotRun != "" {
			continue
		}
		if word == AllStrategies || nearest.Match(word, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("no strategy matches %q: sim strategies ls lists them", word)
	}
	return names, nil
}

// Scheduled returns the strategy that compacts as p says before the requests for which due answers true, given the
// indices of thread and round, and at no other time. It draws what full-compact draws there.
func Scheduled(p CompactParams, due func(thread, round int32) bool) *Strategy {
	return NewStrategy("schedule", "full-compact on a schedule", &compact{params: p.Unscheduled(), due: due})
}

// WithoutFiles returns the parameters with no files that come back: which ones do depends on every compaction before.
func (p CompactParams) WithoutFiles() CompactParams {
	p.Attachments.Files.Count = 0
	return p
}

// Unscheduled returns the parameters without the parameters that say when to compact.
func (p CompactParams) Unscheduled() CompactParams {
	p.Auto, p.Manual, p.Reactive, p.Beside.Enabled, p.Idle.Enabled = false, false, false, false, false
	p.Trigger, p.When, p.Breaker, p.Refill, p.Rent = Trigger{}, unconditional, 0, refillParams{}, rentParams{}
	p.MinGain, p.Smaller, p.Worth = 0, false, worthParams{}
	return p
}

// KeepsNothing reports whether an automatic compaction replaces all messages.
func (p CompactParams) KeepsNothing() bool { return p.Keep == (keepParams{}) && !p.Partial.Auto }

// onSchedule compacts when the schedule says so.
func (l *compact) onSchedule(t *Turn) Outcome {
	switch {
	case isAgent(t.Kind) && !l.params.Subagents:
		return Outcome{Declined, "sub-agents do not compact"}
	case !l.due(t.Thread, t.Round):
		return Outcome{Declined, "not due"}
	}
	return l.start(t, t.Context.Len(), startedByTrigger)
}

// ScheduledClear returns the strategy that clears results that an earlier request has sent, of the tools that
// time-microcompact clears, before the requests for which due answers true and at no other time.
func ScheduledClear(due func(thread, round int32) bool) *Strategy {
	p := *timeClearDefinition.Params().(*timeClearParams)
	l := timeClearDefinition.Build(&p).(*timeClear)
	l.due = due
	return NewStrategy("schedule", "clearing on a schedule", l)
}

// onSchedule clears when the schedule says so.
func (l *timeClear) onSchedule(t *Turn) Outcome {
	if !l.due(t.Thread, t.Round) {
		return Outcome{Declined, "not due"}
	}
	l.results.refresh(t)
	sent := func(r clearable) bool { return r.at < t.InputAt }
	seen := slices.DeleteFunc(slices.Clone(l.results.list), func(r clearable) bool { return !sent(r) })
	b := clearResults(t, seen, prompt.FormCleared, l.params.Placeholder)
	if b.Cleared == 0 {
		return Outcome{Declined, "nothing to clear"}
	}
	l.results.drop(func(r clearable) bool { return r.id >= 0 && sent(r) })
	t.Compacted(b)
	return Outcome{Verdict: Done}
}

// SchedulesAlone reports whether the strategy is one that Scheduled makes of its parameters with some schedule:
// full-compact alone, of all messages, not by hand or in a gap. A strategy without layers is one too.
func (s *Strategy) SchedulesAlone() bool {
	if s.own != nil {
		return false // another client for each session
	}
	for _, c := range s.active() {
		p, ok := c.params.(*CompactParams)
		if !ok || p.Manual || p.Idle.Enabled || p.Beside.Enabled || !p.KeepsNothing() {
			return false
		}
	}
	return true
}
