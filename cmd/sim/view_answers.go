package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/reports/charts"
	"github.com/compactsim/compactsim/scenarios"
	"github.com/compactsim/compactsim/scenarios/advise"
	"github.com/compactsim/compactsim/sim/explain"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
)

// viewAsk is a request of the page.
type viewAsk struct {
	Strategy string   `json:"strategy"`
	Dials    []string `json:"dials"` // PATH=VALUE of sliders
	Agent    string   `json:"agent"`
	Sessions []string `json:"sessions"` // ids, none for all
	// The call to explain: its cell, and its number in the only session.
	Cell string `json:"cell"`
	Call int    `json:"call"`
}

// turn leaves to a request the dials that its strategy has. What is no dial of the page is an error.
func (v *viewer) turn(ask *viewAsk) error {
	known, fits := v.allDials(), v.fits(ask.Strategy)
	if len(ask.Dials) > len(known) {
		return fmt.Errorf("%d settings: the page has %d", len(ask.Dials), len(known))
	}
	var set []string
	for _, assignment := range ask.Dials {
		path, _, _ := strings.Cut(assignment, "=")
		if !slices.ContainsFunc(known, func(d dial) bool { return d.Path == path }) {
			return fmt.Errorf("%s: the page cannot change %s; sim run --set does", document.Quoted(assignment), document.Quoted(path))
		}
		if slices.Contains(fits, path) {
			set = append(set, assignment)
		}
	}
	ask.Dials = set
	return nil
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
	strategy, set := ask.Strategy, ask.Dials
	if ask.Cell == results.StrategyRecorded {
		strategy, set = ask.Cell, nil
	}
	chosen := v.choose(ask).Sessions
	if len(chosen) != 1 {
		return nil, fmt.Errorf("a call is of one session, and %d are asked for", len(chosen))
	}
	plan, err := v.planOf(strategy, set)
	if err != nil {
		return nil, err
	}
	config, err := plan.Config(strategy, append(slices.Clone(set), "profile="+learned))
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
	plan := v.plan
	a, err := advise.Run(ctx, &plan, v.choose(ask))
	if err != nil {
		return nil, err
	}
	d := a.Document(nil, advise.AsDollars)
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
	plan, err := v.planOf(ask.Strategy, ask.Dials)
	if err != nil {
		return nil, err
	}
	run, err := plan.Run(ctx, chosen)
	if err != nil {
		return nil, err
	}
	longest := *chosen
	longest.Sessions = []*traces.Session{slices.MaxFunc(chosen.Sessions, func(a, b *traces.Session) int {
		return cmp.Compare(a.NumCalls(), b.NumCalls())
	})}
	calls, _, err := plan.Follow(ctx, &longest, run)
	if err != nil {
		return nil, err
	}
	run.Workload.Remarks = append(run.Workload.Remarks, v.remarks...)
	scenario, err := plan.Design.Resolved()
	if err != nil {
		return nil, err
	}
	parts := charts.PageParts{Chosen: map[string]string{}, Calls: calls, Labels: labelsOf(chosen.Sessions), Scenario: string(scenario),
		Verdict: document.List{}} // what to set has a card of its own
	for _, c := range run.Cells {
		switch c.Strategy {
		case results.StrategyRecorded:
			parts.Chosen[c.Cell] = "--strategy " + results.StrategyRecorded + v.reads(v.paths)
		case ask.Strategy:
			parts.Chosen[c.Cell] = "--strategy " + document.Quoted(ask.Strategy) + settingsText(ask.Dials) + v.reads(v.paths)
		}
	}
	for _, agent := range agentsOf(chosen.Sessions) {
		parts.Agents = append(parts.Agents, agents.Of(agent).Title)
	}
	d := charts.Page(run, parts)
	how := []document.Block{document.Raw(v.command(ask, chosen.Sessions))}
	if text := inClient(chosen.Sessions, ask.Dials); text != "" && ask.Strategy == "own" {
		how = append(how, document.Text{Text: "In the client:"}, document.Raw(text))
	}
	d.Sections = append([]document.Section{{Blocks: how}}, d.Sections...)
	return d, nil
}

// command returns the command line with the same result as a request.
func (v *viewer) command(ask *viewAsk, sessions []*traces.Session) string {
	strategies := slices.Compact([]string{results.StrategyRecorded, ask.Strategy})
	line := "sim run --strategy " + document.Quoted(strings.Join(strategies, ",")) + settingsText(ask.Dials)
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

// settingsText returns settings as arguments, each after a space.
func settingsText(set []string) (text string) {
	for _, assignment := range set {
		text += " --set " + document.Quoted(assignment)
	}
	return text
}

// planOf returns the plan of a strategy with settings, and of the recorded one.
func (v *viewer) planOf(strategy string, set []string) (*scenarios.Plan, error) {
	file, err := scenarios.Parse(v.plan.Registry, []byte("schema: 1\n"), "view")
	if err != nil {
		return nil, err
	}
	plan := v.plan
	errs := []error{
		file.Choose("strategy", slices.Compact([]string{results.StrategyRecorded, strategy})),
		file.Set("profile", learned, "profile"),
	}
	for _, assignment := range set {
		errs = append(errs, file.Assign(assignment))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	plan.Design, err = file.Expand()
	return &plan, err
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
			parts = append(parts, path.Base(strings.ReplaceAll(s.Project, `\`, "/")))
		}
		labels[s.ID] = strings.Join(append(parts, agents.Of(s.Agent).Title, document.Count(s.NumCalls(), "call")), " · ")
	}
	return labels
}
