package scenarios

import (
	"embed"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"

	"gopkg.in/yaml.v3"

	"github.com/compactsim/compactsim/internal/spec"
	"github.com/compactsim/compactsim/internal/studies"
	"github.com/compactsim/compactsim/sim/results"
)

//go:embed claims/*.yaml
var claimFiles embed.FS

// claimFolder holds the scenarios of claims; their names begin with it.
const claimFolder = "claims"

// claim is a statement of a document about what its agent does or saves, with
// the figures of a scenario that confirm or refute it.
type claim struct {
	ID     string `yaml:"id"`
	Claim  string `yaml:"claim"`  // in words of our own
	Source string `yaml:"source"` // document and line, for instance 003:1825
	// With are settings of the scenario for this claim, as PATH=VALUE. Without are
	// further settings that take away what the verdict rests on: the mechanism of a
	// claim that holds, or what refutes one that does not.
	With    []string `yaml:"with"`
	Without []string `yaml:"without"`
	Figures []figure `yaml:"figures"`
	// Reason says in a sentence what the verdict rests on. {NAME} stands for a
	// figure, {NAME.without} for the same without the mechanism.
	Reason string `yaml:"reason"`
}

// figure is a value of a run: an amount, minus a second one, divided by a third.
type figure struct {
	Name   string `yaml:"name"`
	amount `yaml:",inline"`
	Less   *amount `yaml:"less"`
	Over   *amount `yaml:"over"`
	// As selects the effect of the mechanism instead: saved is the value without it
	// minus the value with it, added the reverse.
	As string `yaml:"as"`
	// Unit is one of results.Unit…; "" for that of the amount.
	Unit string `yaml:"unit"`
	// Claimed is what the document says of the figure; nil for one that only the
	// reason needs.
	Claimed *bound `yaml:"claimed"`
	// Otherwise is what the document says of the figure without the mechanism.
	Otherwise *bound `yaml:"otherwise"`
	// Hand is the same value calculated by hand.
	Hand *struct {
		Form      string  `yaml:"form"`
		Value     float64 `yaml:"value"`
		Tolerance float64 `yaml:"tolerance"` // absolute
	} `yaml:"hand"`
}

// amount is one value of a cell: a metric, a sum over calls or compactions, how
// often a layer acted, or how often a layer gave a reason. Exactly one is set.
type amount struct {
	Cell       string       `yaml:"cell"`
	Metric     string       `yaml:"metric"`  // of results.Metrics
	Firings    string       `yaml:"firings"` // name of a layer
	Refusals   string       `yaml:"refusals"`
	Calls      *callSum     `yaml:"calls"`
	Compaction *compactions `yaml:"compactions"`
}

// callSum adds up calls of a cell. An empty field selects all.
type callSum struct {
	Of      string `yaml:"of"` // one of callFields
	Source  string `yaml:"source"`
	Session string `yaml:"session"`
	Thread  string `yaml:"thread"` // "main", or the number of a sub-agent from 1
	From    int32  `yaml:"from"`   // first round of its thread, from 1
	To      int32  `yaml:"to"`     // last round
	Nth     int    `yaml:"nth"`    // only the nth of them in order of completion, from 1
	Behind  int    `yaml:"behind"` // only the conversation's first call after its nth compaction, from 1
}

// compactions adds up compactions of a cell.
type compactions struct {
	Of  string `yaml:"of"`  // one of compactionFields
	Nth int    `yaml:"nth"` // only the nth, from 1; 0 for all
}

// bound is what a document says of a figure.
type bound struct {
	Is        string  `yaml:"is"` // one of relations
	Value     float64 `yaml:"value"`
	To        float64 `yaml:"to"`        // for between: the other end
	Tolerance float64 `yaml:"tolerance"` // for about: share of the value
}

// relation compares a figure with what is claimed.
type relation struct {
	words string
	holds func(v float64, b *bound) bool
}

var relations = map[string]relation{
	"about":    {"about", func(v float64, b *bound) bool { return max(v-b.Value, b.Value-v) <= b.Tolerance*max(b.Value, -b.Value) }},
	"between":  {"between", func(v float64, b *bound) bool { return v >= b.Value && v <= b.To }},
	"at_least": {"at least", func(v float64, b *bound) bool { return v >= b.Value }},
	"at_most":  {"at most", func(v float64, b *bound) bool { return v <= b.Value }},
	"above":    {"more than", func(v float64, b *bound) bool { return v > b.Value }},
	"below":    {"less than", func(v float64, b *bound) bool { return v < b.Value }},
}

// text returns the claim in words, in a unit.
func (b *bound) text(unit string) string {
	text := func(v float64) string { return (&studies.Figure{Value: v, Unit: unit}).Text() }
	switch {
	case b.Is == "between":
		return "between " + text(b.Value) + " and " + text(b.To)
	case b.Is == "about" && b.Tolerance == 0:
		return text(b.Value)
	}
	return relations[b.Is].words + " " + text(b.Value)
}

// measured is a quantity that is added up over calls or compactions.
type measured[T any] struct {
	unit  string
	value func(*T) float64
}

var callFields = map[string]measured[results.CallRecord]{
	"calls":    {results.UnitCalls, func(*results.CallRecord) float64 { return 1 }},
	"input":    {results.UnitTokens, func(c *results.CallRecord) float64 { return float64(c.Usage.Input()) }},
	"read":     {results.UnitTokens, func(c *results.CallRecord) float64 { return float64(c.Usage.Read) }},
	"written":  {results.UnitTokens, func(c *results.CallRecord) float64 { return float64(c.Usage.Writes()) }},
	"uncached": {results.UnitTokens, func(c *results.CallRecord) float64 { return float64(c.Usage.Uncached) }},
	"unread":   {results.UnitTokens, func(c *results.CallRecord) float64 { return float64(c.Usage.Input() - c.Usage.Read) }},
	"output":   {results.UnitTokens, func(c *results.CallRecord) float64 { return float64(c.Usage.Output) }},
	"context":  {results.UnitTokens, func(c *results.CallRecord) float64 { return float64(c.Context) }},
	"usd":      {results.UnitUSD, func(c *results.CallRecord) float64 { return c.Cost.Total() }},
	"input_usd": {results.UnitUSD, func(c *results.CallRecord) float64 {
		return c.Cost.Total() - c.Cost[results.ClassOutput]
	}},
}

var compactionFields = map[string]measured[studies.Compaction]{
	"number":    {results.UnitCount, func(*studies.Compaction) float64 { return 1 }},
	"before":    {results.UnitTokens, func(c *studies.Compaction) float64 { return float64(c.Before) }},
	"after":     {results.UnitTokens, func(c *studies.Compaction) float64 { return float64(c.After) }},
	"saved":     {results.UnitTokens, func(c *studies.Compaction) float64 { return float64(c.Saved) }},
	"value":     {results.UnitTokens, func(c *studies.Compaction) float64 { return float64(c.Value) }},
	"rewritten": {results.UnitTokens, func(c *studies.Compaction) float64 { return float64(c.Rewritten) }},
	"call_usd":  {results.UnitUSD, func(c *studies.Compaction) float64 { return c.CallCost.Total() }},
}

// takeClaims takes the claims out of a scenario, which can then be run, and returns them.
func takeClaims(tree *spec.Tree) *yaml.Node {
	claims := spec.Child(tree.Root, "claims")
	if claims != nil {
		remove(tree.Root, "claims")
	}
	return claims
}

// claimed returns the claims of a scenario, none when it has none, with all
// problems at once.
func (f *File) claimed() ([]claim, error) {
	var list []claim
	if f.claims == nil {
		return nil, nil
	}
	if errs := f.tree.Decode(f.claims, &list, "claims"); len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return list, nil
}

// inBraces matches the figures that a reason names.
var inBraces = regexp.MustCompile(`\{([a-z0-9_]+)(\.without)?\}`)

// Rules says what is wrong with a claim.
func (c *claim) Rules() []error {
	var errs []error
	bad := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("claim "+c.ID+": "+format, args...))
	}
	if c.ID == "" || c.Claim == "" || c.Source == "" || c.Reason == "" {
		bad("id, claim, source and reason must not be empty")
	}
	if len(c.Without) == 0 {
		bad("without says nothing: what would the verdict be without the mechanism?")
	}
	names := map[string]bool{}
	claimed := false
	for i := range c.Figures {
		f := &c.Figures[i]
		if f.Name == "" || names[f.Name] {
			bad("a figure needs a name of its own, not %q", f.Name)
		}
		names[f.Name] = true
		claimed = claimed || f.Claimed != nil
		for _, err := range f.problems() {
			bad("figure %s: %w", f.Name, err)
		}
	}
	if !claimed {
		bad("no figure is claimed to be anything")
	}
	for _, m := range inBraces.FindAllStringSubmatch(c.Reason, -1) {
		if !names[m[1]] {
			bad("the reason names no figure: %s", m[0])
		}
	}
	return errs
}

// problems says what is wrong with a figure.
func (f *figure) problems() []error {
	errs := []error{oneOf("as", f.As, []string{"", asSaved, asAdded})}
	for _, b := range []*bound{f.Claimed, f.Otherwise} {
		if b != nil && relations[b.Is].holds == nil {
			errs = append(errs, fmt.Errorf("claimed: unknown relation %q", b.Is))
		}
	}
	for _, a := range []*amount{&f.amount, f.Less, f.Over} {
		if a != nil {
			errs = append(errs, a.check())
		}
	}
	return slices.DeleteFunc(errs, func(err error) bool { return err == nil })
}

// Values of figure.As.
const (
	asSaved = "saved"
	asAdded = "added"
)

// check returns the first thing wrong with an amount.
func (a *amount) check() error {
	set := 0
	for _, given := range []bool{a.Metric != "", a.Firings != "", a.Refusals != "", a.Calls != nil, a.Compaction != nil} {
		if given {
			set++
		}
	}
	if a.Cell == "" || set != 1 {
		return errors.New("wants a cell and one of metric, firings, refusals, calls and compactions")
	}
	_, known := results.LookupMetric(a.Metric)
	switch {
	case a.Metric != "" && !known:
		return fmt.Errorf("unknown metric %q", a.Metric)
	case a.Compaction != nil:
		return oneOf("compactions.of", a.Compaction.Of, slices.Sorted(maps.Keys(compactionFields)))
	case a.Calls == nil:
		return nil
	}
	sources := []string{""}
	for s := range results.NumSources {
		sources = append(sources, results.Source(s).String())
	}
	_, err := a.Calls.thread()
	return errors.Join(oneOf("calls.of", a.Calls.Of, slices.Sorted(maps.Keys(callFields))),
		oneOf("calls.source", a.Calls.Source, sources), err)
}

// thread returns the index of the thread asked for, -1 for all.
func (c *callSum) thread() (int32, error) {
	switch c.Thread {
	case "":
		return -1, nil
	case "main":
		return 0, nil
	}
	n, err := strconv.Atoi(c.Thread)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("calls.thread %q: want main or the number of a sub-agent", c.Thread)
	}
	return int32(n), nil
}
