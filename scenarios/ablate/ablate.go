// Package ablate switches the mechanisms of strategies one at a time. It has no promise to importers.
package ablate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/scenarios"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/sim/results/studies"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces"
)

// Ablation is a scenario together with, for each of its strategies, one cell per
// mechanism that is switched. A scenario could name every one of these cells.
type Ablation struct {
	// Design has the cells of the scenario, followed by one for each change.
	Design  *scenarios.Design
	Changes []studies.Change
	Refused []studies.Refusal

	file  *scenarios.File
	bases []scenarios.Cell
}

// Of returns the cells of the scenario, and for each of its strategies one
// cell per mechanism, client switch and server switch with that one alone
// switched. The recorded strategy is only a reference, unless there is no
// other. A swept parameter is an error.
func Of(f *scenarios.File) (*Ablation, error) {
	d, err := f.Expand()
	if err != nil {
		return nil, err
	}
	if axis := swept(f, d); axis != "" {
		return nil, fmt.Errorf("%s is swept: an ablation wants one value for each parameter", axis)
	}
	a := &Ablation{file: f, bases: ablated(d.Cells)}
	around := switchesAround(&d.Scenario)
	cells := slices.Clone(d.Cells)
	for i := range a.bases {
		base := &a.bases[i]
		for _, m := range slices.Concat(mechanisms(base.Strategy.Members()), around) {
			if cell, ok := a.change(base, m); ok {
				cells = append(cells, *cell)
			}
		}
	}
	changed := *d
	changed.Cells = cells
	a.Design = &changed
	return a, nil
}

// mechanisms returns what can be switched in any of the strategies, each switch once. A strategy of each session's own
// client has its mechanisms in the generations of the clients; a switch acts in the sessions whose generation has it.
func mechanisms(members []*strategies.Strategy) []strategies.Mechanism {
	var list []strategies.Mechanism
	for _, s := range members {
		for _, m := range s.Mechanisms() {
			if !slices.ContainsFunc(list, func(x strategies.Mechanism) bool { return x.Path == m.Path && x.Then == m.Then }) {
				list = append(list, m)
			}
		}
	}
	return list
}

// Bases returns the number of strategies whose mechanisms are switched.
func (a *Ablation) Bases() int { return len(a.bases) }

// swept returns the name of a swept parameter, "" when there is none.
func swept(f *scenarios.File, d *scenarios.Design) string {
	for _, name := range append([]string{""}, f.StrategyNames()...) {
		if axes := d.Axes(name); len(axes) > 0 {
			return strings.TrimPrefix(axes[0].Path, "strategies.")
		}
	}
	return ""
}

// ablated returns the cells of strategies other than recorded, or all when there is no other.
func ablated(cells []scenarios.Cell) []scenarios.Cell {
	list := slices.DeleteFunc(slices.Clone(cells), func(c scenarios.Cell) bool { return c.Strategy.Name == measures.StrategyRecorded })
	if len(list) == 0 {
		return cells
	}
	return list
}

// switchesAround returns the switches of a scenario's client and server.
func switchesAround(s *scenarios.Scenario) []strategies.Mechanism {
	around := struct {
		Client scenarios.Client `yaml:"client"`
		Server scenarios.Server `yaml:"server"`
	}{s.Client, s.Server}
	return strategies.Switches(around)
}

// change adds a base with a mechanism switched to the changes and returns its
// cell. If there is no such cell, it adds the reason to Refused.
func (a *Ablation) change(base *scenarios.Cell, m strategies.Mechanism) (*scenarios.Cell, bool) {
	c := studies.Change{Base: base.Name, Path: m.Path, Set: m.Path + "=" + m.Then, On: m.On}
	c.Cell = base.Name + " " + c.Set
	cell, err := cellOf(a.file, base.Strategy.Name, c.Set)
	if err != nil {
		a.refuse(&c, err)
		return nil, false
	}
	cell.Rename(base.Name, [2]string{m.Path, m.Then})
	a.Changes = append(a.Changes, c)
	return cell, true
}

// refuse adds the reason why a change has no cell, on one line, without the file, flag and assignment it names.
func (a *Ablation) refuse(c *studies.Change, err error) {
	text := strings.Join(strings.Fields(err.Error()), " ")
	for _, origin := range []string{a.file.Name() + ":", "--", ablationOrigin} {
		if _, rest, found := strings.Cut(text, ": "); found && strings.HasPrefix(text, origin) {
			text = rest
		}
	}
	text, _, _ = strings.Cut(text, " (at --set ")
	a.Refused = append(a.Refused, studies.Refusal{Base: c.Base, Set: c.Set, Reason: text})
}

// cellOf returns the cell of one strategy of the scenario with an assignment applied.
func cellOf(f *scenarios.File, strategy, assignment string) (*scenarios.Cell, error) {
	own := f.Clone()
	err := own.Choose(ablationOrigin, []string{strategy})
	if path, _, _ := strings.Cut(assignment, "."); path != "client" && path != "server" {
		assignment = "strategies." + strategy + "." + assignment
	}
	if err = errors.Join(err, own.Assign(assignment)); err != nil {
		return nil, err
	}
	d, err := own.Expand()
	if err != nil {
		return nil, err
	}
	for i := range d.Cells {
		if d.Cells[i].Strategy.Name == strategy {
			return &d.Cells[i], nil
		}
	}
	return nil, fmt.Errorf("no cell of strategy %s", strategy)
}

// ablationOrigin is the origin that messages give for an assignment of an
// ablation.
const ablationOrigin = "ablation"

// Run runs an ablation over the sessions of a corpus.
func (a *Ablation) Run(ctx context.Context, p *scenarios.Plan, corpus *traces.Corpus) (*studies.Ablation, error) {
	out := &studies.Ablation{}
	for i := range a.bases {
		out.Bases = append(out.Bases, a.bases[i].Name)
	}
	var err error
	if out.Run, err = p.Execute(ctx, corpus, scenarios.Study{Cells: func(s []*traces.Session) (*scenarios.Design, error) { return a.within(p, s) }}); out.Run == nil {
		return nil, err
	}
	out.Changes, out.Refused = a.Changes, a.Refused
	return out, err
}

// drop takes out the changes of layers that no session runs under its own client's generation.
func (a *Ablation) drop(sessions []*traces.Session) {
	gone := map[string]bool{}
	for i := range a.bases {
		base := &a.bases[i]
		if len(base.Strategy.Members()) < 2 {
			continue
		}
		var used []*strategies.Strategy
		for _, s := range sessions {
			if g := base.Strategy.For(s.Agent, s.Version(), s.Variant); !slices.Contains(used, g) {
				used = append(used, g)
			}
		}
		has := mechanisms(used)
		for _, c := range a.Changes {
			around := strings.HasPrefix(c.Path, "client.") || strings.HasPrefix(c.Path, "server.")
			if c.Base == base.Name && !around && !slices.ContainsFunc(has, func(m strategies.Mechanism) bool { return c.Set == m.Path+"="+m.Then }) {
				gone[c.Cell] = true
			}
		}
	}
	a.Changes = slices.DeleteFunc(slices.Clone(a.Changes), func(c studies.Change) bool { return gone[c.Cell] })
	d := *a.Design
	d.Cells = slices.DeleteFunc(slices.Clone(d.Cells), func(c scenarios.Cell) bool { return gone[c.Name] })
	a.Design = &d
}

// within returns the design without the changes that no session's generation has, and without the
// changes whose threshold makes no sense for the windows of the sessions; it adds changes with
// such a threshold to Refused.
func (a *Ablation) within(p *scenarios.Plan, sessions []*traces.Session) (*scenarios.Design, error) {
	a.drop(sessions)
	d := *a.Design
	errs := p.CheckCells(d.Cells, sessions)
	d.Cells = nil
	for k := range a.Design.Cells {
		c := &a.Design.Cells[k]
		i := slices.IndexFunc(a.Changes, func(x studies.Change) bool { return x.Cell == c.Name })
		if i < 0 || errs[k] == nil {
			d.Cells = append(d.Cells, *c)
			continue
		}
		a.refuse(&a.Changes[i], errs[k])
		a.Changes = slices.Delete(slices.Clone(a.Changes), i, i+1)
	}
	return &d, nil
}
