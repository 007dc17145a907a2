package compare

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/sim/results"
)

// matched returns the pairs of sides to compare, and what has no counterpart.
func matched(inputs []Input, o Options) ([]*pairs, []string, error) {
	wanted, err := Cells(inputs, o.Cells)
	switch {
	case err != nil:
		return nil, nil, err
	case len(inputs) == 1:
		list, err := within(inputs[0], wanted)
		return list, nil, err
	}
	return across(inputs, wanted)
}

// within makes a side for each name of a cell or strategy of one run.
func within(in Input, wanted []string) (list []*pairs, err error) {
	if len(wanted) < 2 {
		return nil, fmt.Errorf("%s is one run: give another, or --strategy with two or more of its cells or strategies: %s",
			in.Label, strings.Join(known(in), ", "))
	}
	sides := make([]side, len(wanted))
	for i, name := range wanted {
		sides[i] = in.sides(name)[0]
		sides[i].label = name
		if i > 0 {
			list = append(list, &pairs{sides: [2]side{sides[0], sides[i]}})
		}
	}
	return list, nil
}

// across compares each run with the first, independently of the others: a cell that a third run lacks is
// still compared. Pairs are in the order of the baseline's cells; cells with different names come first.
func across(inputs []Input, wanted []string) (list []*pairs, notes []string, err error) {
	var errs []error
	for _, in := range inputs[1:] {
		found, only, err := inputs[0].match(in, wanted)
		if err != nil {
			errs = append(errs, err)
			notes = append(notes, document.Sentence(err.Error()))
			continue
		}
		list = append(list, found...)
		if len(inputs) > 2 && len(only) > 0 {
			only = []string{fmt.Sprintf("left out of %s → %s, %s", inputs[0].Label, in.Label, strings.Join(only, "; "))}
		}
		for _, note := range only {
			notes = append(notes, document.Sentence(note))
		}
	}
	if len(list) == 0 {
		return nil, nil, errors.Join(errs...)
	}
	order := sideNames(inputs[0].sides())
	slices.SortStableFunc(list, func(a, b *pairs) int {
		return cmp.Compare(slices.Index(order, a.name), slices.Index(order, b.name))
	})
	return list, notes, nil
}

// match pairs the cells of two runs by name, and says which only one of them has. If each run has a single
// cell, or one besides the billed and the recorded one, these are compared whatever their names.
func (in Input) match(other Input, wanted []string) (list []*pairs, only []string, err error) {
	inputs := [2]Input{in, other}
	var have, own [2][]side
	var texts [2]string
	for i, x := range inputs {
		have[i] = x.sides(wanted...)
		if texts[i] = "cells " + document.Few(sideNames(have[i])); len(have[i]) == 0 {
			texts[i] = fmt.Sprintf("no such cell (its cells are %s)", document.Few(sideNames(x.sides())))
		}
		own[i] = slices.DeleteFunc(slices.Clone(have[i]), func(s side) bool {
			return s.strategy == results.StrategyBilled || s.strategy == results.StrategyRecorded
		})
	}
	for _, single := range [][2][]side{have, own} {
		if len(single[0]) == 1 && len(single[1]) == 1 && single[0][0].name != single[1][0].name {
			list = append(list, &pairs{sides: [2]side{single[0][0], single[1][0]}})
			for i := range have {
				have[i] = slices.DeleteFunc(have[i], func(s side) bool { return s.name == list[0].sides[i].name })
			}
			break
		}
	}
	for i := range have {
		var alone []string
		for _, s := range have[i] {
			k := slices.Index(sideNames(have[1-i]), s.name)
			if k < 0 {
				alone = append(alone, s.name)
			} else if i == 0 {
				list = append(list, &pairs{name: s.name, sides: [2]side{s, have[1][k]}})
			}
		}
		if len(alone) > 0 {
			only = append(only, fmt.Sprintf("only in %s: cell %s", inputs[i].Label, document.Few(alone)))
		}
	}
	if len(list) == 0 {
		err = fmt.Errorf("no cell in common: %s has %s; %s has %s", in.Label, texts[0], other.Label, texts[1])
	}
	return list, only, err
}
