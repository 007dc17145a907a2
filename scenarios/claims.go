package scenarios

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/compactsim/compactsim/internal/spec"
)

//go:embed claims/*.yaml
var claimFiles embed.FS

// claimFolder is where the scenarios of claims stand; with it their names begin.
const claimFolder = "claims"

// Claim is a statement of a document about what its agent does or saves, with
// the figures of a scenario that bear it out or do not.
type Claim struct {
	ID      string   `yaml:"id"`
	Claim   string   `yaml:"claim"`  // in words of our own
	Source  string   `yaml:"source"` // document and line, for instance 003:1825
	Figures []Figure `yaml:"figures"`
	// Reason says in a sentence what the verdict rests on. {NAME} stands for a
	// figure.
	Reason string `yaml:"reason"`
}

// Figure is a value of a run: an amount, less another, over a third.
type Figure struct {
	Name   string `yaml:"name"`
	Amount `yaml:",inline"`
	Less   *Amount `yaml:"less"`
	Over   *Amount `yaml:"over"`
	// Unit is one of results.Unit…; that of the amount when empty.
	Unit string `yaml:"unit"`
	// Claimed is what the document says of it; nil for a figure that only the
	// reason needs.
	Claimed *Bound `yaml:"claimed"`
	// Hand is the same worked out by hand.
	Hand *Hand `yaml:"hand"`
}

// Amount is one value of a cell: a metric, a sum over calls or over compactions,
// how often a layer acted, or how often one gave a reason. Exactly one is set.
type Amount struct {
	Cell       string       `yaml:"cell"`
	Metric     string       `yaml:"metric"`  // of results.Metrics
	Firings    string       `yaml:"firings"` // name of a layer
	Refusals   string       `yaml:"refusals"`
	Calls      *Calls       `yaml:"calls"`
	Compaction *Compactions `yaml:"compactions"`
}

// Calls are the calls of a cell that a figure adds up. Empty fields take all.
type Calls struct {
	Of      string `yaml:"of"` // one of callFields
	Source  string `yaml:"source"`
	Session string `yaml:"session"`
	Thread  string `yaml:"thread"` // "main", or the number of a sub-agent from 1
	From    int32  `yaml:"from"`   // first round of its thread, from 1
	To      int32  `yaml:"to"`     // last round
	Nth     int    `yaml:"nth"`    // only the nth of them in order of completion, from 1
	Behind  int    `yaml:"behind"` // only the conversation's first call behind its nth compaction, from 1
}

// Compactions are the compactions of a cell that a figure adds up.
type Compactions struct {
	Of  string `yaml:"of"`  // one of compactionFields
	Nth int    `yaml:"nth"` // only the nth, from 1; 0 for all
}

// Bound is what a document says of a figure.
type Bound struct {
	Is        string  `yaml:"is"` // one of relations
	Value     float64 `yaml:"value"`
	To        float64 `yaml:"to"`        // of between: the other end
	Tolerance float64 `yaml:"tolerance"` // of about: share of the value
}

// Hand is a figure worked out by hand.
type Hand struct {
	Form      string  `yaml:"form"`
	Value     float64 `yaml:"value"`
	Tolerance float64 `yaml:"tolerance"` // absolute
}

// relations compare a figure with what is claimed.
var relations = map[string]func(v float64, b *Bound) bool{
	"about":    func(v float64, b *Bound) bool { return max(v-b.Value, b.Value-v) <= b.Tolerance*max(b.Value, -b.Value) },
	"between":  func(v float64, b *Bound) bool { return v >= b.Value && v <= b.To },
	"at_least": func(v float64, b *Bound) bool { return v >= b.Value },
	"at_most":  func(v float64, b *Bound) bool { return v <= b.Value },
	"above":    func(v float64, b *Bound) bool { return v > b.Value },
	"below":    func(v float64, b *Bound) bool { return v < b.Value },
}

// Holds reports whether a value is as claimed.
func (b *Bound) Holds(v float64) bool { return relations[b.Is](v, b) }

// takeClaims takes the claims out of a scenario: what is left is what is run.
func takeClaims(tree *spec.Tree) *yaml.Node {
	for i := 0; i+1 < len(tree.Root.Content); i += 2 {
		if tree.Root.Content[i].Value == "claims" {
			claims := tree.Root.Content[i+1]
			tree.Root.Content = slices.Delete(tree.Root.Content, i, i+2)
			return claims
		}
	}
	return nil
}

// Claims returns the claims of a scenario, none when it has none. What is wrong
// with them is reported at once.
func (f *File) Claims() ([]Claim, error) {
	if f.claims == nil {
		return nil, nil
	}
	text, err := yaml.Marshal(f.claims)
	if err != nil {
		return nil, fmt.Errorf("%s: claims: %w", f.tree.Name, err)
	}
	var list []Claim
	dec := yaml.NewDecoder(bytes.NewReader(text))
	dec.KnownFields(true)
	if err := dec.Decode(&list); err != nil {
		return nil, fmt.Errorf("%s: claims: %s", f.tree.At(f.claims), spec.Reason(err))
	}
	var errs []error
	for i := range list {
		for _, err := range list[i].validate() {
			errs = append(errs, fmt.Errorf("%s: claim %s: %w", f.tree.At(f.claims), list[i].ID, err))
		}
	}
	return list, errors.Join(errs...)
}

// inBraces finds the figures that a reason names.
var inBraces = regexp.MustCompile(`\{([a-z0-9_]+)\}`)

func (c *Claim) validate() []error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if c.ID == "" || c.Claim == "" || c.Source == "" || c.Reason == "" {
		bad("id, claim, source and reason must not be empty")
	}
	names := map[string]bool{}
	claimed := 0
	for i := range c.Figures {
		f := &c.Figures[i]
		if f.Name == "" || names[f.Name] {
			bad("a figure without a name of its own: %q", f.Name)
		}
		names[f.Name] = true
		if f.Claimed != nil {
			claimed++
			if relations[f.Claimed.Is] == nil {
				bad("figure %s: claimed: unknown relation %q", f.Name, f.Claimed.Is)
			}
		}
		for _, a := range f.amounts() {
			if err := a.validate(); err != nil {
				bad("figure %s: %w", f.Name, err)
			}
		}
	}
	if claimed == 0 {
		bad("no figure is claimed to be anything")
	}
	for _, m := range inBraces.FindAllStringSubmatch(c.Reason, -1) {
		if !names[m[1]] {
			bad("the reason names no figure: %s", m[0])
		}
	}
	return errs
}

// amounts returns the parts of a figure.
func (f *Figure) amounts() []*Amount {
	list := []*Amount{&f.Amount}
	for _, a := range []*Amount{f.Less, f.Over} {
		if a != nil {
			list = append(list, a)
		}
	}
	return list
}

// ClaimScenarios returns the embedded scenarios that try claims, by name.
func ClaimScenarios() ([]Builtin, error) { return embedded(claimFiles, claimFolder) }

// embedded returns the scenarios in a folder of files.
func embedded(from fs.FS, folder string) ([]Builtin, error) {
	files, err := fs.Glob(from, folder+"/*.yaml")
	if err != nil {
		return nil, fmt.Errorf("list scenarios: %w", err)
	}
	var all []Builtin
	for _, file := range files {
		text, err := fs.ReadFile(from, file)
		if err != nil {
			return nil, fmt.Errorf("read scenario: %w", err)
		}
		tree, err := spec.Parse(text, file)
		if err != nil {
			return nil, err
		}
		b := Builtin{Name: strings.TrimSuffix(path.Base(file), ".yaml"), Text: text}
		if folder != builtinFolder {
			b.Name = folder + "/" + b.Name
		}
		if doc := spec.Child(tree.Root, "doc"); doc != nil {
			b.Doc = strings.TrimSpace(doc.Value)
		}
		all = append(all, b)
	}
	return all, nil
}
