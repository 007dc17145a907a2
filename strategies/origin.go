package strategies

import (
	"fmt"
	"path"
	"reflect"
	"slices"

	"github.com/compactsim/compactsim/internal/kit/nearest"
)

// Origin says where the algorithm and the constants of a preset are from.
type Origin struct {
	Source    string    `yaml:"source" doc:"repository with path and commit, page, or issue that they are from"`
	AsOf      string    `yaml:"as_of" doc:"the date of what was read, as 2026-08, as 2026-08-21 or as 2026"`
	Certainty certainty `yaml:"certainty" doc:"how sure they are: run (seen of the program itself, of the version and on the date that source and as_of give: requests on the wire, or recordings), read (in the source), documented, reported (by others) or idealised (a schedule of a paper, or of what is not built)"`
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
