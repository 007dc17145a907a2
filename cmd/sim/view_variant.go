package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/internal/document"
	"github.com/compactsim/compactsim/internal/reports"
	"github.com/compactsim/compactsim/scenarios"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/traces"
)

// Variant is a strategy with settings.
type Variant struct {
	Strategy string   `json:"strategy"`
	Set      []string `json:"set"`
}

// viewAsk is what the page asks for.
type viewAsk struct {
	Variant
	Agent   string   `json:"agent"`
	Session string   `json:"session"`
	Pinned  *Variant `json:"pinned"`
}

// answer writes the body of the page under other settings.
func (v *viewer) answer(ctx context.Context, b *bytes.Buffer, ask *viewAsk) error {
	d, err := v.document(ctx, ask)
	if err != nil {
		return err
	}
	return d.WriteBody(b)
}

// document simulates what is asked for.
func (v *viewer) document(ctx context.Context, ask *viewAsk) (*document.Document, error) {
	chosen := *v.corpus
	chosen.Sessions = nil
	for _, s := range v.corpus.Sessions {
		if (ask.Agent == "" || s.Agent == ask.Agent) && (ask.Session == "" || s.ID == ask.Session) {
			chosen.Sessions = append(chosen.Sessions, s)
		}
	}
	plan, err := v.planOf(&ask.Variant)
	if err != nil {
		return nil, err
	}
	run, calls, err := simulated(ctx, plan, &chosen)
	if err != nil {
		return nil, err
	}
	run.Workload.Remarks = append(run.Workload.Remarks, v.remarks...)
	scenario, err := plan.Design.Resolved()
	if err != nil {
		return nil, err
	}
	if ask.Pinned != nil {
		if err := v.pin(ctx, &chosen, run, &calls, ask.Pinned); err != nil {
			return nil, fmt.Errorf("pinned: %w", err)
		}
	}
	chosenBy := map[string]string{}
	for _, c := range run.Cells {
		switch of := strings.TrimPrefix(c.Cell, pinMark); {
		case of != c.Cell:
			chosenBy[c.Cell] = "--strategy " + reports.Quoted(ask.Pinned.Strategy) + settingsText(ask.Pinned.Set)
		case c.Strategy == results.StrategyRecorded:
			chosenBy[c.Cell] = "--strategy " + results.StrategyRecorded
		case c.Strategy == ask.Strategy:
			chosenBy[c.Cell] = "--strategy " + reports.Quoted(ask.Strategy) + settingsText(ask.Set)
		}
	}
	parts := reports.PageParts{Chosen: chosenBy, Calls: calls, Paths: pathsOf(chosen.Sessions, v.sample), Scenario: string(scenario)}
	d := reports.Page(run, parts)
	line := fmt.Sprintf("sim run --strategy recorded,%s%s", ask.Strategy, settingsText(ask.Set))
	paths := v.paths
	if ask.Session != "" {
		paths = parts.Paths[ask.Session]
	} else if ask.Agent != "" {
		line += " --agent " + reports.Quoted(ask.Agent)
	}
	line += v.chosen + strings.TrimSuffix(" "+reports.Quoted(paths...), " ")
	d.Sections = append([]document.Section{{Blocks: []document.Block{document.Raw(line)}}}, d.Sections...)
	return d, nil
}

// settingsText returns assignments as arguments.
func settingsText(set []string) string {
	text := ""
	for _, assignment := range set {
		text += " --set " + reports.Quoted(assignment)
	}
	return text
}

// planOf returns the plan of a variant beside the recorded strategy.
func (v *viewer) planOf(of *Variant) (*scenarios.Plan, error) {
	file, err := scenarios.Parse(v.plan.Registry, []byte("schema: 1\n"), "view")
	if err != nil {
		return nil, err
	}
	errs := []error{
		file.Choose("strategy", slices.Compact([]string{results.StrategyRecorded, of.Strategy})),
		file.Set("profile", learned, "profile"),
	}
	for _, assignment := range of.Set {
		errs = append(errs, file.Assign(assignment))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	plan := v.plan
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
	calls, err := plan.Calls(ctx, &longest, run)
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
			c.Cell, c.Strategy = pinMark+c.Cell, pinMark+c.Strategy // a strategy of its own in tables and charts
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

// pathsOf returns the files of each session, by id, none for samples.
func pathsOf(sessions []*traces.Session, samples bool) map[string][]string {
	paths := map[string][]string{}
	for _, s := range sessions {
		if paths[s.ID] = s.Files; samples {
			paths[s.ID] = nil
		}
	}
	return paths
}
