package compare

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/internal/document"
	"github.com/compactsim/compactsim/sim/results"
)

// across holds each run against the first as if there were no others: a cell
// that a third run lacks is compared where it is.
func across(inputs []Input, wanted []string) ([]match, []string, error) {
	perRun := make([][]group, len(inputs))
	for i, in := range inputs {
		perRun[i] = groups(in.Run)
	}
	all := slices.Clone(perRun)
	narrow(perRun, wanted)
	var pairs [][]match
	var notes []string
	var errs []error
	for i := 1; i < len(inputs); i++ {
		m, left, err := acrossTwo([2]Input{inputs[0], inputs[i]}, [2][]group{perRun[0], perRun[i]}, [2][]group{all[0], all[i]})
		pairs = append(pairs, m)
		switch {
		case err != nil:
			errs = append(errs, err)
			notes = append(notes, sentence(err.Error()))
		case len(inputs) == 2:
			notes = append(notes, left.perRun()...)
		default:
			notes = append(notes, left.ofPair()...)
		}
	}
	if len(errs) == len(pairs) {
		return nil, nil, errors.Join(errs...)
	}
	merged := merge(pairs, perRun[0])
	return merged, append(differentCells(merged), notes...), nil
}

// acrossTwo matches the cells of two runs by name. When each has one alone,
// beside what was billed and recorded, these are compared whatever their names.
// An error gives all that a run has, when nothing is asked for of it.
func acrossTwo(in [2]Input, have, all [2][]group) ([]match, leftOut, error) {
	left := leftOut{labels: [2]string{in[0].Label, in[1].Label}}
	if m, ok := alone(in, have); ok {
		return []match{m}, left, nil
	}
	own, references := split(have)
	var matches []match
	if m, ok := alone(in, own); ok && m.name == "" {
		matches, have = append(matches, m), references
	}
	both := left.common(in, have)
	if len(matches)+len(both) == 0 {
		return nil, left, fmt.Errorf("no cell in common: %s has %s; %s has %s",
			in[0].Label, cellsOf(have[0], all[0]), in[1].Label, cellsOf(have[1], all[1]))
	}
	return append(matches, both...), left, nil
}

// cellsOf lists the groups of a run, or says that none of them is asked for.
func cellsOf(have, all []group) string {
	if len(have) == 0 {
		return fmt.Sprintf("no such cell (its cells are %s)", document.Few(groupNames(all)))
	}
	return "cells " + document.Few(groupNames(have))
}

// alone matches the only groups of two runs, false when one has none or several.
// The match has a name when both have the same.
func alone(in [2]Input, have [2][]group) (match, bool) {
	var m match
	for i, groups := range have {
		if len(groups) != 1 {
			return match{}, false
		}
		m.sides = append(m.sides, sideOf(in[i].Label, in[i].Run).of(groups[0]))
	}
	if have[0][0].name == have[1][0].name {
		m.name = have[0][0].name
	}
	return m, true
}

// split tells the strategies of runs from what was billed and recorded.
func split(have [2][]group) (own, references [2][]group) {
	for i, groups := range have {
		for _, g := range groups {
			if g.strategy == results.StrategyBilled || g.strategy == results.StrategyRecorded {
				references[i] = append(references[i], g)
			} else {
				own[i] = append(own[i], g)
			}
		}
	}
	return own, references
}

// leftOut is the names of the cells that only one of two runs has.
type leftOut struct {
	labels [2]string
	only   [2][]string
}

// common matches the groups that both runs have, and keeps the names of others.
func (l *leftOut) common(in [2]Input, have [2][]group) []match {
	var matches []match
	for i, groups := range have {
		for _, g := range groups {
			k := slices.IndexFunc(have[1-i], func(x group) bool { return x.name == g.name })
			switch {
			case k < 0:
				l.only[i] = append(l.only[i], g.name)
			case i == 0:
				matches = append(matches, match{g.name, []side{
					sideOf(in[0].Label, in[0].Run).of(g), sideOf(in[1].Label, in[1].Run).of(have[1][k])}})
			}
		}
	}
	return matches
}

// perRun says of each of two runs what it alone has.
func (l *leftOut) perRun() []string {
	var notes []string
	for i, names := range l.only {
		if len(names) > 0 {
			notes = append(notes, sentence(fmt.Sprintf("only in %s: cell %s", l.labels[i], document.Few(names))))
		}
	}
	return notes
}

// ofPair says the same of one pair among several.
func (l *leftOut) ofPair() []string {
	var parts []string
	for i, names := range l.only {
		if len(names) > 0 {
			parts = append(parts, fmt.Sprintf("only in %s: cell %s", l.labels[i], document.Few(names)))
		}
	}
	if len(parts) == 0 {
		return nil
	}
	return []string{sentence(fmt.Sprintf("left out of %s → %s, %s", l.labels[0], l.labels[1], strings.Join(parts, "; ")))}
}

// merge puts the matches of one name in all pairs together, in the order of the
// baseline's groups; those of cells with different names come first.
func merge(pairs [][]match, base []group) []match {
	var merged []match
	for _, name := range append([]string{""}, groupNames(base)...) {
		m := match{name: name}
		for _, matches := range pairs {
			i := slices.IndexFunc(matches, func(x match) bool { return x.name == name })
			switch {
			case i < 0:
			case len(m.sides) == 0:
				m.sides = slices.Clone(matches[i].sides)
			default:
				m.sides = append(m.sides, matches[i].sides[1])
			}
		}
		if len(m.sides) > 0 {
			merged = append(merged, m)
		}
	}
	return merged
}

// differentCells says which cells are compared where their names differ.
func differentCells(matches []match) []string {
	if matches[0].name != "" {
		return nil
	}
	var parts []string
	for _, s := range matches[0].sides {
		parts = append(parts, s.label+" "+s.name)
	}
	return []string{sentence("the cells compared: " + strings.Join(parts, ", "))}
}

// sentence makes a note of a text that begins with a word of ours.
func sentence(text string) string { return strings.ToUpper(text[:1]) + text[1:] + "." }
