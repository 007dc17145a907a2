package scenarios

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/internal/results/studies"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces"
)

// Ablation is a scenario together with, for each of its strategies, one cell per
// mechanism that is switched. A scenario could name every one of these cells.
type Ablation struct {
	// Design has the cells of the scenario, followed by one for each change.
	Design  *Design
	Changes []studies.Change
	Refused []studies.Refusal

	file  *File
	bases []Cell
}

// Ablate returns the cells of the scenario, and for each of its strategies one
// cell per mechanism, client switch and server switch with that one alone
// switched. The recorded strategy is only a reference, unless there is no
// other. A swept parameter is an error.
func (f *File) Ablate() (*Ablation, error) {
	d, err := f.Expand()
	if err != nil {
		return nil, err
	}
	if axis := d.anyAxis(); axis != "" {
		return nil, fmt.Errorf("%s is swept: an ablation wants one value for each parameter", axis)
	}
	a := &Ablation{file: f, bases: ablated(d.Cells)}
	around := switchesAround(&d.Scenario)
	cells := slices.Clone(d.Cells)
	for i := range a.bases {
		base := &a.bases[i]
		for _, m := range slices.Concat(base.Strategy.Mechanisms(), around) {
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

// Bases returns the number of strategies whose mechanisms are switched.
func (a *Ablation) Bases() int { return len(a.bases) }

// anyAxis returns the name of a swept parameter, "" when there is none.
func (d *Design) anyAxis() string {
	if len(d.axes) > 0 {
		return d.axes[0].Path
	}
	for _, e := range d.entries {
		if len(e.axes) > 0 {
			return e.name + "." + e.axes[0].Path
		}
	}
	return ""
}

// ablated returns the cells of strategies other than recorded, or all when there is no other.
func ablated(cells []Cell) []Cell {
	list := slices.DeleteFunc(slices.Clone(cells), func(c Cell) bool { return c.Strategy.Name == results.StrategyRecorded })
	if len(list) == 0 {
		return cells
	}
	return list
}

// switchesAround returns the switches of a scenario's client and server.
func switchesAround(s *Scenario) []strategies.Mechanism {
	around := struct {
		Client Client `yaml:"client"`
		Server Server `yaml:"server"`
	}{s.Client, s.Server}
	list := strategies.Switches(around)
	for i := range list {
		list[i].Doc = ""
	}
	return list
}

// change adds a base with mechanisms switched to the changes and returns its
// cell. If there is no such cell, it adds the reason to Refused.
func (a *Ablation) change(base *Cell, list ...strategies.Mechanism) (*Cell, bool) {
	c := studies.Change{Base: base.Name, On: true}
	for _, m := range list {
		c.Paths, c.Set = append(c.Paths, m.Path), append(c.Set, m.Path+"="+m.Then)
		c.On, c.Doc = c.On && m.On, m.Doc
	}
	c.Cell = base.Name + " " + strings.Join(c.Set, " ")
	cell, err := a.file.cell(base.Strategy.Name, c.Set)
	if err != nil {
		a.Refused = append(a.Refused, studies.Refusal{Base: c.Base, Set: strings.Join(c.Set, " "), Reason: a.reason(err, c.Set)})
		return nil, false
	}
	cell.Name = c.Cell
	cell.Params, cell.names = map[string]string{}, nil
	for i, path := range c.Paths {
		cell.Params[path] = list[i].Then
		cell.names = append(cell.names, path)
	}
	a.Changes = append(a.Changes, c)
	return cell, true
}

// cell returns the cell of one strategy of the scenario with assignments applied.
func (f *File) cell(strategy string, assignments []string) (*Cell, error) {
	own := f.clone()
	errs := []error{own.Choose(ablationOrigin, []string{strategy})}
	for _, a := range assignments {
		if path, _, _ := strings.Cut(a, "."); path != "client" && path != "server" {
			a = "strategies." + strategy + "." + a
		}
		errs = append(errs, own.Assign(a))
	}
	if err := errors.Join(errs...); err != nil {
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

// reason returns the text of an error on one line, without the file, flag and
// assignments it names.
func (a *Ablation) reason(err error, set []string) string {
	text := strings.Join(strings.Fields(err.Error()), " ")
	for _, origin := range []string{a.file.tree.Name + ":", "--", ablationOrigin} {
		if _, rest, found := strings.Cut(text, ": "); found && strings.HasPrefix(text, origin) {
			text = rest
		}
	}
	for _, s := range append([]string{""}, set...) {
		text, _, _ = strings.Cut(text, " (at --set "+s)
	}
	return text
}

// ablationOrigin is the origin that messages give for an assignment of an
// ablation.
const ablationOrigin = "ablation"

// Ablate runs an ablation over the sessions of a corpus. With pairs it also
// switches the mechanisms that make a difference by themselves two at a time.
func (p *Plan) Ablate(ctx context.Context, corpus *traces.Corpus, a *Ablation, pairs bool) (*studies.Ablation, error) {
	out := &studies.Ablation{}
	for i := range a.bases {
		out.Bases = append(out.Bases, a.bases[i].Name)
	}
	var err error
	if out.Run, err = p.Execute(ctx, corpus, Study{Cells: a.within}); out.Run == nil {
		return nil, err
	}
	out.Changes, out.Refused = a.Changes, a.Refused
	if !pairs || err != nil {
		return out, err
	}
	return out, p.ablatePairs(ctx, corpus, a, out)
}

// within returns the design without the changes whose threshold makes no sense
// for the windows of the sessions, and adds those to Refused.
func (a *Ablation) within(sessions []*traces.Session) (*Design, error) {
	w := windows{}
	for _, s := range sessions {
		w.add(windowsOf(s))
	}
	d := *a.Design
	d.Cells = slices.DeleteFunc(slices.Clone(d.Cells), func(c Cell) bool {
		i := slices.IndexFunc(a.Changes, func(x studies.Change) bool { return x.Cell == c.Name })
		if i < 0 {
			return false
		}
		err := checkWindows(&Design{Cells: []Cell{c}}, w)
		if err == nil {
			return false
		}
		x := a.Changes[i]
		a.Changes = slices.Delete(slices.Clone(a.Changes), i, i+1)
		a.Refused = append(a.Refused, studies.Refusal{Base: x.Base, Set: strings.Join(x.Set, " "), Reason: a.reason(err, x.Set)})
		return true
	})
	return &d, nil
}

// maxPairs is the largest number of mechanisms of a strategy that are switched
// in pairs: those with the largest differences.
const maxPairs = 24

// ablatePairs adds to an ablation all pairs of mechanisms that each make a
// difference.
func (p *Plan) ablatePairs(ctx context.Context, corpus *traces.Corpus, a *Ablation, out *studies.Ablation) error {
	both := Ablation{file: a.file, bases: a.bases}
	d := *a.Design
	d.Cells = slices.DeleteFunc(slices.Clone(a.Design.Cells), func(c Cell) bool { return c.Strategy.Name != results.StrategyRecorded })
	for i := range a.bases {
		base := &a.bases[i]
		list := effective(out, base.Name)
		for j := range list {
			for k := range list[:j] {
				if under(list[k].Path, list[j].Path) || under(list[j].Path, list[k].Path) {
					continue
				}
				if cell, ok := both.change(base, list[k], list[j]); ok {
					d.Cells = append(d.Cells, *cell)
				}
			}
		}
	}
	both.Design = &d
	_, err := p.Execute(ctx, corpus, Study{Cells: both.within, Judge: func(run *results.Run) error {
		for i := range run.Cells {
			c := &run.Cells[i]
			if slices.ContainsFunc(both.Changes, func(x studies.Change) bool { return x.Cell == c.Cell }) {
				out.Run.Cells = append(out.Run.Cells, *c)
			}
		}
		out.Changes = append(out.Changes, both.Changes...)
		out.Refused = append(out.Refused, both.Refused...)
		return nil
	}})
	return err
}

// effective returns the mechanisms of a base that make a difference, largest
// difference first.
func effective(out *studies.Ablation, base string) []strategies.Mechanism {
	var list []strategies.Mechanism
	for _, d := range out.Differences(base, 1) {
		if d.None() || len(list) == maxPairs {
			continue
		}
		c := d.Change
		list = append(list, strategies.Mechanism{
			Path: c.Paths[0], Then: strings.TrimPrefix(c.Set[0], c.Paths[0]+"="), On: c.On, Doc: c.Doc,
		})
	}
	return list
}

// under reports whether a parameter means nothing once a switch is off: it belongs
// to the same layer or group.
func under(path, off string) bool {
	group, ok := strings.CutSuffix(off, "enabled")
	return ok && strings.HasPrefix(path, group)
}
