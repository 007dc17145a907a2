package costmodel

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/compactsim/compactsim/internal/kit/numbers"
	"github.com/compactsim/compactsim/internal/kit/spec"
)

const (
	maxFile     = 16 << 20 // bytes of a price file: a thousand times what a large one needs
	maxProblems = 50       // that one error lists
)

// priceFile is a price file; the package comment describes it.
type priceFile struct {
	Schema int                  `yaml:"schema"`
	AsOf   day                  `yaml:"as_of"`
	Models map[string]yaml.Node `yaml:"models"`
}

// Rules refuses another schema and a file without models.
func (f *priceFile) Rules() []error {
	var errs []error
	if f.Schema != 1 {
		errs = append(errs, spec.Wrong("schema", "is %d: this program reads schema 1", f.Schema))
	}
	if f.Models == nil {
		errs = append(errs, spec.Wrong("models", "is missing"))
	}
	return errs
}

// modelFile is a model in a price file.
type modelFile struct {
	Provider  *string      `yaml:"provider"`
	Window    *int         `yaml:"window" min:"1" max:"1000000000"`
	MaxInput  *int         `yaml:"max_input" min:"1" max:"1000000000"`
	MaxOutput *int         `yaml:"max_output" min:"1" max:"1000000000"`
	MinCache  *int         `yaml:"min_cache" min:"1" max:"1000000000"`
	Aliases   []string     `yaml:"aliases"`
	Batch     *float64     `yaml:"batch" above:"0" max:"1000"`
	GeoUS     *float64     `yaml:"geo_us" above:"0" max:"1000"`
	Regional  *float64     `yaml:"regional" above:"0" max:"1000"`
	Prices    []periodFile `yaml:"prices"`
}

// periodFile is what a model costs from one day on.
type periodFile struct {
	From    day `yaml:"from"`
	listed  `yaml:",inline"`
	Storage float64    `yaml:"storage" min:"0" max:"1000000"`
	Search  float64    `yaml:"search" min:"0" max:"1000000"`
	Fast    *float64   `yaml:"fast" above:"0" max:"1000"`
	Tiers   []tierFile `yaml:"tiers"`
}

type tierFile struct {
	Above  int64 `yaml:"above" min:"0" max:"1000000000"`
	listed `yaml:",inline"`
}

// listed are the prices that a file states, USD per million tokens; nil for what
// it leaves out. No real price reaches the bound: beyond it the unit is wrong.
type listed struct {
	Input      *float64 `yaml:"input" min:"0" max:"1000000"`
	Output     *float64 `yaml:"output" min:"0" max:"1000000"`
	Read       *float64 `yaml:"read" min:"0" max:"1000000"`
	Write5m    *float64 `yaml:"write_5m" min:"0" max:"1000000"`
	Write1h    *float64 `yaml:"write_1h" min:"0" max:"1000000"`
	WriteOther *float64 `yaml:"write" min:"0" max:"1000000"`
}

// day is the first instant of a date in UTC.
type day struct{ time.Time }

// UnmarshalYAML reads a date such as 2026-11-01.
func (d *day) UnmarshalYAML(n *yaml.Node) (err error) {
	if d.Time, err = time.Parse(time.DateOnly, n.Value); err != nil {
		return fmt.Errorf("want a date like 2026-11-01, not %q", n.Value)
	}
	return nil
}

// Load reads a price file; the package comment describes it. It also reads the lists that LiteLLM and genai-prices publish. Errors begin
// with the name and list up to fifty problems with file and line: unknown keys with
// the nearest known one, prices that are negative or no numbers, dates and tiers
// out of order, models without prices.
func Load(r io.Reader, name string) (*Table, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read prices from %s: %w", name, err)
	case len(text) > maxFile:
		return nil, fmt.Errorf("read prices from %s: larger than %d bytes", name, maxFile)
	}
	digest := sha256.Sum256(text)
	if t, ok, err := published(text, name); ok {
		if err == nil {
			t.digest = hex.EncodeToString(digest[:])
		}
		return t, err
	}
	tree, err := spec.Parse(text, name)
	if err != nil {
		return nil, err
	}
	var f priceFile
	l := loader{tree: tree, errs: tree.Decode(tree.Root, &f, "")}
	l.t = (&Table{asOf: f.AsOf.Time, digest: hex.EncodeToString(digest[:])}).clone()
	nodes := make(map[string]*yaml.Node, len(f.Models))
	var names []string
	for name, n := range f.Models {
		nodes[name] = &n
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(nodes[a].Line, nodes[b].Line), cmp.Compare(a, b))
	})
	for _, name := range names {
		l.model(name, nodes[name])
	}
	if more := len(l.errs) - maxProblems; more > 0 {
		l.errs = append(l.errs[:maxProblems], fmt.Errorf("%s: and %s", tree.Name, numbers.Counted(more, "more problem", "more problems")))
	}
	if len(l.errs) > 0 {
		return nil, errors.Join(l.errs...)
	}
	return l.t, nil
}

// loader fills a table from the models of a file.
type loader struct {
	tree *spec.Tree
	t    *Table
	errs []error
}

func (l *loader) errorf(n *yaml.Node, format string, args ...any) {
	l.errs = append(l.errs, l.tree.Errorf(n, format, args...))
}

func (l *loader) model(name string, n *yaml.Node) {
	if prices := spec.Child(n, "prices"); prices != nil && prices.Kind == yaml.MappingNode {
		one := *prices // prices that never changed: a list of one
		list := yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Line: one.Line, Column: one.Column}
		list.Content = []*yaml.Node{&one}
		*prices = list
	}
	var f modelFile
	errs := l.tree.Decode(n, &f, "models."+name)
	m := &Model{
		Name: strings.TrimSpace(name), Provider: strings.TrimSpace(value(f.Provider)), Window: value(f.Window),
		MaxInput: value(f.MaxInput), MaxOutput: value(f.MaxOutput), MinCache: value(f.MinCache), Batch: value(f.Batch),
		GeoUS: value(f.GeoUS), Regional: value(f.Regional),
	}
	l.errs = append(l.errs, errs...)
	if l.t.models[fold(name)] != nil || m.Name == "" {
		l.errorf(n, "models.%s: another model has this name", name)
	}
	l.t.models[fold(name)] = m
	for _, alias := range f.Aliases {
		if other, ok := l.t.aliases[fold(alias)]; ok || fold(alias) == "" {
			l.errorf(spec.Child(n, "aliases"), "models.%s.aliases: %q is an alias of %q already", name, alias, other)
			continue
		}
		l.t.aliases[fold(alias)] = fold(name)
	}
	for i := range f.Prices {
		m.periods = append(m.periods, f.Prices[i].period())
	}
}

// value returns what p points to, or zero.
func value[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// Rules refuses an empty provider, a model without prices, and prices out of order.
func (f *modelFile) Rules() []error {
	var errs []error
	if f.Provider != nil && strings.TrimSpace(*f.Provider) == "" {
		errs = append(errs, spec.Wrong("provider", "is empty"))
	}
	if len(f.Prices) == 0 {
		errs = append(errs, spec.Wrong("prices", "is missing or empty"))
	}
	for i := 1; i < len(f.Prices); i++ {
		if !f.Prices[i].From.After(f.Prices[i-1].From.Time) {
			path := fmt.Sprintf("prices[%d].from", i)
			errs = append(errs, spec.Wrong(path, "must be a date after the date of the prices before"))
		}
	}
	return errs
}

// Rules refuses missing prices, also in tiers, and tiers out of order.
func (f *periodFile) Rules() []error {
	errs := f.listed.Rules()
	last := int64(0)
	for i := range f.Tiers {
		t, path := &f.Tiers[i], fmt.Sprintf("tiers[%d].", i)
		if t.Above <= last {
			errs = append(errs, spec.Wrong(path+"above", "must be more than the size of the prices before"))
		}
		last = t.Above
		for k, own := range t.classes() {
			if own == nil && f.classes()[k] != nil {
				errs = append(errs, spec.Wrong(path+classKeys[k], "is missing: the prices below the tier have it"))
			}
		}
	}
	return errs
}

// classKeys are the keys of the prices of the classes.
var classKeys = [numClasses]string{
	uncached: "input", read: "read", write5m: "write_5m", write1h: "write_1h", writeOther: "write", output: "output",
}

func (l *listed) classes() [numClasses]*float64 {
	return [numClasses]*float64{
		uncached: l.Input, read: l.Read, write5m: l.Write5m, write1h: l.Write1h, writeOther: l.WriteOther, output: l.Output,
	}
}

// Rules refuses a list without the prices that are required.
func (l *listed) Rules() []error {
	var errs []error
	if l.Input == nil {
		errs = append(errs, spec.Wrong("input", "is missing"))
	}
	if l.Output == nil {
		errs = append(errs, spec.Wrong("output", "is missing"))
	}
	if (l.Write5m == nil) != (l.Write1h == nil) {
		errs = append(errs, spec.Wrong("write_5m", "and write_1h go together; a single write price is write"))
	}
	return errs
}

// perToken fills in what the list leaves out, as the package comment describes, and
// returns USD per token.
func (l *listed) perToken() [numClasses]float64 {
	full := l.classes()
	for _, c := range []struct{ class, otherwise int }{
		{read, uncached}, {writeOther, write5m}, {writeOther, uncached}, {write5m, writeOther}, {write1h, writeOther},
	} {
		if full[c.class] == nil {
			full[c.class] = full[c.otherwise]
		}
	}
	var usd [numClasses]float64
	for i, v := range full {
		usd[i] = value(v) / perMillion
	}
	return usd
}

func (f *periodFile) period() period {
	p := period{from: f.From.Time, fast: value(f.Fast), storage: f.Storage, search: f.Search, unread: f.Read == nil, rate: Rate{base: f.perToken()}}
	for i := range f.Tiers {
		p.rate.tiers = append(p.rate.tiers, rateTier{f.Tiers[i].Above, f.Tiers[i].perToken()})
	}
	return p
}
