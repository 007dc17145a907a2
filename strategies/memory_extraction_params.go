package strategies

import (
	"errors"
	"fmt"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/compactsim/compactsim/sim/prompt"
)

// MemoryParams are the parameters of memory-extraction. Sizes are tokens.
type MemoryParams struct {
	Switch      `yaml:",inline"`
	Paths       []string     `yaml:"paths" doc:"paths of memory files, * for any text; a conversation that wrote one since the last look is not extracted from"`
	SkipWritten bool         `yaml:"skip_written" doc:"no extraction when the conversation wrote memory files itself"`
	Subagents   bool         `yaml:"subagents" doc:"sub-agents extract too"`
	Every       int32        `yaml:"every" doc:"ends of a loop from one extraction to the next; assumed"`
	Turns       int32        `yaml:"turns" doc:"responses of the call: one asks for all reads, one for all writes"`
	Instruction int32        `yaml:"instruction" doc:"tokens of the instruction; assumed"`
	TurnInput   int32        `yaml:"turn_input" doc:"tokens of the results of one turn: the memory files read; assumed"`
	TurnOutput  int32        `yaml:"turn_output" doc:"tokens of one response; assumed"`
	Lifetime    CallLifetime `yaml:"lifetime" doc:"lifetime class its markers ask for: client, 5m or 1h"`
	Saves       float64      `yaml:"saves" doc:"share of extractions that find something to keep, 0…1; assumed"`
	Growth      int32        `yaml:"growth" doc:"lines such an extraction adds to the index; assumed"`
	Failure     float64      `yaml:"failure" doc:"share of calls that the server refuses, 0…1; assumed"`
	Index       IndexParams  `yaml:"index" doc:"what a prompt holds of the index of memory files"`
}

// Validate returns what is wrong with the parameters.
func (p *MemoryParams) Validate() []error {
	errs := append(negatives(p), checkShares(share{"saves", p.Saves}, share{"failure", p.Failure})...)
	errs = append(errs, p.Index.validate()...)
	if p.Turns < 1 {
		errs = append(errs, fmt.Errorf("turns %d: a call takes at least one", p.Turns))
	}
	if p.Every < 1 {
		errs = append(errs, fmt.Errorf("every %d: must be at least 1", p.Every))
	}
	if p.SkipWritten && len(p.Paths) == 0 {
		errs = append(errs, errors.New("paths: skip_written needs at least one"))
	}
	return errs
}

// CallLifetime is the lifetime class that the markers of a layer's call ask
// for.
type CallLifetime prompt.Lifetime

var lifetimeNames = []string{"client", "5m", "1h"}

// String returns the name used in YAML.
func (l CallLifetime) String() string { return nameOf(lifetimeNames, int(l)) }

// MarshalYAML writes the name.
func (l CallLifetime) MarshalYAML() (any, error) { return l.String(), nil }

// UnmarshalYAML reads a lifetime by name.
func (l *CallLifetime) UnmarshalYAML(n *yaml.Node) error {
	i, err := readName(n, "lifetime", lifetimeNames)
	*l = CallLifetime(i)
	return err
}

// share is a share among parameters, by its name in YAML.
type share struct {
	name  string
	value float64
}

// checkShares returns an error for every share outside 0…1.
func checkShares(list ...share) []error {
	var errs []error
	for _, s := range list {
		if !(s.value >= 0 && s.value <= 1) {
			errs = append(errs, fmt.Errorf("%s %g must lie between 0 and 1", s.name, s.value))
		}
	}
	return errs
}

// matchPath reports whether a path matches a pattern in which * stands for any
// text, separators included.
func matchPath(pattern, path string) bool {
	head, rest, wild := strings.Cut(pattern, "*")
	if !strings.HasPrefix(path, head) {
		return false
	}
	path = path[len(head):]
	for wild {
		head, rest, wild = strings.Cut(rest, "*")
		if !wild {
			return strings.HasSuffix(path, head)
		}
		i := strings.Index(path, head)
		if i < 0 {
			return false
		}
		path = path[i+len(head):]
	}
	return path == ""
}
