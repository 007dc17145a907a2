package compare

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/sim/results"
)

// across compares each run with the first, independently of the others: a cell
// that a third run lacks is still compared. Matches with one name are joined,
// in the order of the baseline's groups; cells with different names come first.
func across(inputs []Input, wanted []string) ([]match, []string, error) {
	joined := map[string]*match{}
	var notes []string
	var errs []error
	base := groups(inputs[0].Run)
	for _, in := range inputs[1:] {
		p := runPair{in: [2]Input{inputs[0], in}, all: [2][]group{base, groups(in.Run)}}
		for i := range p.all {
			p.have[i] = narrowed(p.all[i], wanted)
		}
		matches, err := p.matches()
		if err != nil {
			errs = append(errs, err)
			notes = append(notes, document.Sentence(err.Error()))
			continue
		}
		for _, m := range matches {
			if joined[m.name] == nil {
				joined[m.name] = &match{m.name, m.sides[:1:1]}
			}
			joined[m.name].sides = append(joined[m.name].sides, m.sides[1])
		}
		notes = append(notes, p.leftOut(len(inputs) == 2)...)
	}
	if len(errs) == len(inputs)-1 {
		return nil, nil, errors.Join(errs...)
	}
	var list []match
	for _, name := range append([]string{""}, groupNames(base)...) {
		if m := joined[name]; m != nil {
			list = append(list, *m)
		}
	}
	return list, append(differentCells(list), notes...), nil
}

// runPair is two runs whose cells are matched.
type runPair struct {
	in        [2]Input
	have, all [2][]group  // what was asked for, and everything there is
	only      [2][]string // names of cells that only one run has
}

// matches pairs the cells by name. If each run has a single cell besides the
// billed and the recorded one, these are compared whatever their names.
func (p *runPair) matches() ([]match, error) {
	if m, ok := p.alone(p.have); ok {
		return []match{m}, nil
	}
	var own, references [2][]group
	for i, groups := range p.have {
		for _, g := range groups {
			if g.Strategy == results.StrategyBilled || g.Strategy == results.StrategyRecorded {
				references[i] = append(references[i], g)
			} else {
				own[i] = append(own[i], g)
			}
		}
	}
	var list []match
	have := p.have
	if m, ok := p.alone(own); ok && m.name == "" {
		list, have = append(list, m), references
	}
	if list = append(list, p.common(have)...); len(list) == 0 {
		return nil, fmt.Errorf("no cell in common: %s has %s; %s has %s", p.in[0].Label, p.cells(0), p.in[1].Label,
			p.cells(1))
	}
	return list, nil
}

// cells lists the groups of a run, or says that it has none of those asked for.
func (p *runPair) cells(i int) string {
	if len(p.have[i]) == 0 {
		return fmt.Sprintf("no such cell (its cells are %s)", document.Few(groupNames(p.all[i])))
	}
	return "cells " + document.Few(groupNames(p.have[i]))
}

// alone matches the only groups of two runs; false when one has none or
// several. The match has a name if both groups have the same.
func (p *runPair) alone(have [2][]group) (match, bool) {
	if len(have[0]) != 1 || len(have[1]) != 1 {
		return match{}, false
	}
	name := ""
	if have[0][0].Cell == have[1][0].Cell {
		name = have[0][0].Cell
	}
	return p.match(name, have[0][0], have[1][0]), true
}

func (p *runPair) match(name string, base, other group) match {
	return match{name, []side{
		sideOf(p.in[0].Label, p.in[0].Run).of(base), sideOf(p.in[1].Label, p.in[1].Run).of(other),
	}}
}

// common matches the groups that both runs have, and stores the names of others.
func (p *runPair) common(have [2][]group) []match {
	var list []match
	for i, groups := range have {
		for _, g := range groups {
			k := slices.IndexFunc(have[1-i], func(x group) bool { return x.Cell == g.Cell })
			if k < 0 {
				p.only[i] = append(p.only[i], g.Cell)
			} else if i == 0 {
				list = append(list, p.match(g.Cell, g, have[1][k]))
			}
		}
	}
	return list
}

// leftOut says what only one of the runs has: a note for each run or, if the
// pair is one of several, one note.
func (p *runPair) leftOut(single bool) []string {
	var parts []string
	for i, names := range p.only {
		if len(names) > 0 {
			parts = append(parts, fmt.Sprintf("only in %s: cell %s", p.in[i].Label, document.Few(names)))
		}
	}
	if !single && len(parts) > 0 {
		parts = []string{fmt.Sprintf("left out of %s → %s, %s", p.in[0].Label, p.in[1].Label,
			strings.Join(parts, "; "))}
	}
	for i := range parts {
		parts[i] = document.Sentence(parts[i])
	}
	return parts
}

// differentCells says which cells with different names are compared.
func differentCells(matches []match) []string {
	if matches[0].name != "" {
		return nil
	}
	var parts []string
	for _, s := range matches[0].sides {
		parts = append(parts, s.label+" "+s.name)
	}
	return []string{document.Sentence("the cells compared: " + strings.Join(parts, ", "))}
}
