package main

import (
	"cmp"
	"regexp"
	"strings"

	"github.com/compactsim/compactsim/internal/compare"
	"github.com/compactsim/compactsim/internal/export"
	"github.com/compactsim/compactsim/sim/results"
)

// anonymize puts pseudonyms into runs, and into the names of cells that were asked
// for, when the flags ask for it.
func (f *compareRunsFlags) anonymize(inputs []compare.Input) error {
	key, err := f.keys.key()
	if err != nil || key == nil {
		return err
	}
	// Patterns are of the names that a person knows.
	if f.options.Cells, err = compare.Cells(inputs, f.options.Cells); err != nil {
		return err
	}
	hiddenAs := map[string]string{}
	for i := range inputs {
		hidden := export.Anonymize(inputs[i].Run, key)
		hidden.Workload.Remarks = partialRemarks(inputs[i].Run)
		rename(hiddenAs, inputs[i].Run, hidden)
		inputs[i].Run = hidden
	}
	called := func(name string) string { return cmp.Or(hiddenAs[name], name) }
	for i, name := range f.options.Cells {
		f.options.Cells[i] = called(name)
	}
	f.options.Baseline = called(f.options.Baseline)
	return nil
}

// rename notes what the strategies and cells of a run are called once it is
// hidden: cells also without the seed, as repetitions are.
func rename(as map[string]string, run, hidden *results.Run) {
	for i := range run.Cells {
		was, is := &run.Cells[i], &hidden.Cells[i]
		as[was.Strategy], as[was.Cell] = is.Strategy, is.Cell
		if seed, ok := was.Params[seedParam]; ok {
			set := " " + seedParam + "=" + seed
			as[strings.Replace(was.Cell, set, "", 1)] = strings.Replace(is.Cell, set, "", 1)
		}
	}
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
