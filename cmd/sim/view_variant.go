package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/internal/report/charts"
	"github.com/compactsim/compactsim/internal/study/explain"
	"github.com/compactsim/compactsim/scenarios"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
)

// Variant is a strategy with settings.
type Variant struct {
	Strategy string   `json:"strategy"`
	Set      []string `json:"set"`
	Dials    []string `json:"dials"` // like Set, but ignored if the strategy lacks the parameter
	As       string   `json:"as"`    // model whose prices apply to all, "" for each model's own
}

// turn puts the dials that the strategy has before the other settings.
func (v *viewer) turn(of *Variant) {
	fits := strings.Fields(v.fits(of.Strategy))
	of.Set = append(slices.DeleteFunc(of.Dials, func(assignment string) bool {
		path, _, _ := strings.Cut(assignment, "=")
		return !slices.Contains(fits, path)
	}), of.Set...)
	of.Dials = nil
}

// viewAsk is a request of the page.
type viewAsk struct {
	Variant
	Agent    string   `json:"agent"`
	Sessions []string `json:"sessions"` // ids, none for all
	Pinned   *Variant `json:"pinned"`
	// The call to explain: its cell, and its number in the only session.
	Cell string `json:"cell"`
	Call int    `json:"call"`
}

// choose returns the requested sessions.
func (v *viewer) choose(ask *viewAsk) *traces.Corpus {
	wanted := map[string]bool{}
	for _, id := range ask.Sessions {
		wanted[id] = true
	}
	chosen := *v.corpus
	chosen.Sessions = nil
	for _, s := range v.corpus.Sessions {
		if (ask.Agent == "" || s.Agent == ask.Agent) && (len(wanted) == 0 || wanted[s.ID]) {
			chosen.Sessions = append(chosen.Sessions, s)
		}
	}
	return &chosen
}

// explain says what led to a call, what it was expected to read and why it missed.
func (v *viewer) explain(ask *viewAsk) (*document.Document, error) {
	of := &ask.Variant
	switch name := strings.TrimPrefix(ask.Cell, pinMark); {
	case name != ask.Cell && ask.Pinned != nil:
		of = ask.Pinned
	case ask.Cell == results.StrategyRecorded:
		of = &Variant{Strategy: results.StrategyRecorded, As: of.As}
	}
	chosen := v.choose(ask).Sessions
	if len(chosen) != 1 {
		return nil, fmt.Errorf("a call is of one session, and %d are asked for", len(chosen))
	}
	plan, err := v.planOf(of)
	if err != nil {
		return nil, err
	}
	config, err := plan.Config(of.Strategy, append(slices.Clone(of.Set), "profile="+learned))
	if err != nil {
		return nil, err
	}
	e, err := explain.Session(config, chosen[0], ask.Call)
	if err != nil {
		return nil, err
	}
	recorded, err := plan.Config(results.StrategyRecorded, []string{"profile=" + learned})
	if err != nil {
		return nil, err
	}
	if err := explain.Bill(e, chosen[0], recorded); err != nil {
		return nil, err
	}
	return explain.Document(e, explain.Options{Call: ask.Call, Asked: ask.Cell != results.StrategyRecorded})
}

// advise says what to set in the clients of the chosen sessions, as sim advise does for them: in brief, and whole.
func (v *viewer) advise(ctx context.Context, ask *viewAsk) (*document.Document, error) {
	chosen := v.choose(ask)
	var ids []string
	for _, s := range chosen.Sessions {
		ids = append(ids, s.ID)
	}
	key := strings.Join(ids, "\n")
	v.advising.Lock()
	defer v.advising.Unlock()
	a := v.advised[key]
	if a == nil {
		plan := v.plan
		var err error
		if a, err = plan.Advise(ctx, chosen); err != nil {
			return nil, err
		}
		v.advised[key] = a
	}
	d := a.Document(nil, scenarios.AsDollars)
	d.Head = nil
	for i := range d.Sections {
		s := &d.Sections[i]
		s.Title, s.Folded = cmp.Or(s.Title, "What was paid"), true
	}
	d.Sections = append([]document.Section{{Title: "What to set", Blocks: []document.Block{a.Verdict()}}}, d.Sections...)
	return d, nil
}

// document simulates what was requested.
func (v *viewer) document(ctx context.Context, ask *viewAsk) (*document.Document, error) {
	chosen := v.choose(ask)
	plan, err := v.planOf(&ask.Variant)
	if err != nil {
		return nil, err
	}
	run, calls, err := simulated(ctx, plan, chosen)
	if err != nil {
		return nil, err
	}
	run.Workload.Remarks = append(run.Workload.Remarks, v.remarks...)
	scenario, err := plan.Design.Resolved()
	if err != nil {
		return nil, err
	}
	if ask.Pinned != nil {
		if err := v.pin(ctx, chosen, run, &calls, ask.Pinned); err != nil {
			return nil, fmt.Errorf("pinned: %w", err)
		}
	}
	chosenBy, read := map[string]string{}, v.reads(v.paths)
	for _, c := range run.Cells {
		switch of := strings.TrimPrefix(c.Cell, pinMark); {
		case of != c.Cell:
			chosenBy[c.Cell] = "--strategy " + document.Quoted(ask.Pinned.Strategy) + v.settingsText(ask.Pinned) + read
		case c.Strategy == results.StrategyRecorded:
			chosenBy[c.Cell] = "--strategy " + results.StrategyRecorded + read
		case c.Strategy == ask.Strategy:
			chosenBy[c.Cell] = "--strategy " + document.Quoted(ask.Strategy) + v.settingsText(&ask.Variant) + read
		}
	}
	parts := reports.PageParts{Chosen: chosenBy, Calls: calls, Labels: labelsOf(chosen.Sessions), Scenario: string(scenario),
		Verdict: document.List{}} // what to set has a card of its own
	for _, agent := range agentsOf(chosen.Sessions) {
		parts.Agents = append(parts.Agents, agents.Of(agent).Title)
	}
	d := reports.Page(run, parts)
	how := []document.Block{document.Raw(v.command(ask, chosen.Sessions))}
	if text := inClient(chosen.Sessions, ask.Set); text != "" && ask.Strategy == "own" {
		how = append(how, document.Text{Text: "In the client:"}, document.Raw(text))
	}
	d.Sections = append([]document.Section{{Blocks: how}}, d.Sections...)
	return d, nil
}

// command returns the command line with the same result as a request.
func (v *viewer) command(ask *viewAsk, sessions []*traces.Session) string {
	strategies := slices.Compact([]string{results.StrategyRecorded, ask.Strategy})
	line := "sim run --strategy " + document.Quoted(strings.Join(strategies, ",")) + v.settingsText(&ask.Variant)
	paths := v.paths
	if len(ask.Sessions) > 0 && !v.sample {
		paths = nil
		for _, s := range sessions {
			paths = append(paths, s.Files...)
		}
		slices.Sort(paths)
		paths = slices.Compact(paths)
	} else if ask.Agent != "" {
		line += " --agent " + document.Quoted(ask.Agent)
	}
	return line + v.reads(paths)
}

// reads returns the arguments, each after a space, that read paths as the page did.
func (v *viewer) reads(paths []string) string {
	return v.chosen + strings.TrimSuffix(" "+document.Quoted(paths...), " ")
}

// settingsText returns the settings of a variant as arguments.
func (v *viewer) settingsText(of *Variant) string {
	text := ""
	for _, assignment := range of.Set {
		text += " --set " + document.Quoted(assignment)
	}
	as := v.aliases(of)
	for _, model := range slices.Sorted(maps.Keys(as)) {
		text += " --price-as " + document.Quoted(model+"="+of.As)
	}
	return text
}

// aliases returns the models of all sessions that a variant bills as another model.
func (v *viewer) aliases(of *Variant) map[string]string {
	as := map[string]string{}
	for _, s := range v.corpus.Sessions {
		for _, model := range s.Models {
			if of.As != "" && model != of.As {
				as[model] = of.As
			}
		}
	}
	return as
}

// maxSettings is the most settings of a request.
const maxSettings = 100

// fixed are the keys of a scenario that the page cannot change, with what can.
var fixed = map[string]string{
	"schema": "", "name": "", "doc": "",
	"sessions":    "choose sessions on the page, or give sim view other paths and filters",
	"strategies":  "choose a strategy on the page",
	"live":        "sim run --summarizer live makes real calls",
	"design":      "sim run simulates several settings",
	"prices.file": "sim view --prices FILE",
	"prices.as":   "choose prices on the page, or sim view --price-as",
}

// changeable returns an error for settings that the page would show and not follow.
func changeable(settings []string) error {
	if len(settings) > maxSettings {
		return fmt.Errorf("%d settings: a request has at most %d", len(settings), maxSettings)
	}
	for _, assignment := range settings {
		path, _, _ := strings.Cut(assignment, "=")
		keys := strings.Split(strings.TrimSpace(path), ".")
		for _, key := range []string{keys[0], strings.Join(keys[:min(2, len(keys))], ".")} {
			if instead, ok := fixed[key]; ok {
				return fmt.Errorf("%s: the page cannot change %s%s", document.Quoted(assignment), key, strings.TrimSuffix(": "+instead, ": "))
			}
		}
		if len(keys) == 1 && keys[0] == "prices" {
			return fmt.Errorf("%s: set prices.at, the rest of prices belongs to sim view", document.Quoted(assignment))
		}
	}
	return nil
}

// planOf returns the plan of a variant and the recorded strategy.
func (v *viewer) planOf(of *Variant) (*scenarios.Plan, error) {
	file, err := scenarios.Parse(v.plan.Registry, []byte("schema: 1\n"), "view")
	if err != nil {
		return nil, err
	}
	plan, as := v.plan, v.aliases(of)
	errs := []error{
		changeable(of.Set),
		file.Choose("strategy", slices.Compact([]string{results.StrategyRecorded, of.Strategy})),
		file.Set("profile", learned, "profile"),
	}
	if len(as) > 0 {
		errs = append(errs, file.Set("billed as", as, "prices", "as"))
		plan.Prices, err = plan.Prices.WithAliases(as)
		errs = append(errs, err)
	}
	for _, assignment := range of.Set {
		errs = append(errs, file.Assign(assignment))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	plan.Design, err = file.Expand()
	return &plan, err
}

// simulated returns the run of a plan, and the calls of its longest session.
func simulated(ctx context.Context, plan *scenarios.Plan, corpus *traces.Corpus) (*results.Run, []results.CellCalls, error) {
	run, err := plan.Run(ctx, corpus)
	if err != nil {
		return nil, nil, err
	}
	longest := *corpus
	longest.Sessions = []*traces.Session{slices.MaxFunc(corpus.Sessions, func(a, b *traces.Session) int {
		return cmp.Compare(a.NumCalls(), b.NumCalls())
	})}
	calls, _, err := plan.Follow(ctx, &longest, run)
	return run, calls, err
}

// pinMark begins the names of cells that were pinned.
const pinMark = "pinned "

// pin adds the cells of another variant to a run.
func (v *viewer) pin(ctx context.Context, corpus *traces.Corpus, run *results.Run, calls *[]results.CellCalls, of *Variant) error {
	plan, err := v.planOf(of)
	if err != nil {
		return err
	}
	other, more, err := simulated(ctx, plan, corpus)
	if err != nil {
		return err
	}
	foreign := func(name string) bool { return name != results.StrategyBilled && name != results.StrategyRecorded }
	for _, c := range other.Cells {
		if foreign(c.Strategy) {
			c.Cell, c.Strategy = pinMark+c.Cell, pinMark+c.Strategy // a separate strategy in tables and charts
			run.Cells = append(run.Cells, c)
		}
	}
	for _, c := range more {
		if foreign(c.Cell) {
			c.Cell = pinMark + c.Cell
			*calls = append(*calls, c)
		}
	}
	return nil
}

// labelsOf returns the labels of sessions on a page, by id.
func labelsOf(sessions []*traces.Session) map[string]string {
	labels := map[string]string{}
	for _, s := range sessions {
		var parts []string
		if at := s.StartTime(); !at.IsZero() {
			parts = append(parts, at.UTC().Format(time.DateOnly))
		}
		if s.Project != "" {
			parts = append(parts, path.Base(filepath.ToSlash(s.Project)))
		}
		labels[s.ID] = strings.Join(append(parts, agents.Of(s.Agent).Title, document.Count(s.NumCalls(), "call")), " · ")
	}
	return labels
}
