package main

import (
	"errors"
	"regexp"
	"slices"

	"github.com/compactsim/compactsim/reports/compare"
	"github.com/compactsim/compactsim/reports/export"
	"github.com/compactsim/compactsim/sim/results"
)

// anonymize puts pseudonyms into runs, and into the names of cells that were asked
// for, when the flags ask for it.
func (f *compareRunsFlags) anonymize(inputs []compare.Input) error {
	if !f.keys.anonymize {
		if f.keys.file != "" {
			return errors.New("a key of pseudonyms belongs to --anonymize")
		}
		return nil
	}
	key, err := f.keys.key()
	if err != nil {
		return err
	}
	for i := range inputs {
		hidden := export.Anonymize(inputs[i].Run, key)
		hidden.Workload.Remarks = partialRemarks(inputs[i].Run)
		inputs[i].Run = hidden
	}
	called := func(name string) string {
		if p := export.Pseudonym(key, name); isCalled(inputs, p) {
			return p
		}
		return name
	}
	for i, name := range f.options.Cells {
		f.options.Cells[i] = called(name)
	}
	f.options.Baseline = called(f.options.Baseline)
	return nil
}

// partialForm matches the remark of a run that is not whole, which tells figures
// alone.
var partialForm = regexp.MustCompile(`^(interrupted|stopped by an error): \d+ of \d+ sessions simulated`)

// partialRemarks returns the beginnings of the remarks that say that a run is not
// whole: what is compared must not look complete for being without names.
func partialRemarks(run *results.Run) []string {
	var list []string
	for _, remark := range run.Workload.Remarks {
		if found := partialForm.FindString(remark); found != "" {
			list = append(list, found)
		}
	}
	return list
}

// isCalled reports whether a cell or strategy of a run has a name.
func isCalled(inputs []compare.Input, name string) bool {
	return slices.ContainsFunc(inputs, func(in compare.Input) bool {
		return slices.ContainsFunc(in.Run.Cells, func(c results.Cell) bool { return c.Cell == name || c.Strategy == name })
	})
}
