package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/compactsim/compactsim/reports/charts"
	"github.com/compactsim/compactsim/scenarios"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/traces"
)

// study is what a verb simulates: the cells of a plan over the sessions of a corpus.
type study struct {
	plan   *scenarios.Plan
	file   *scenarios.File // the scenario, including the flags
	corpus *traces.Corpus
	folder *outFolder // nil without output files
	set    []string   // settings from --set
}

// study checks everything that needs no sessions. All problems are reported at
// once, with those that the verb has found.
func (f *runFlags) study(cmd *cobra.Command, args []string, problems ...error) (*study, error) {
	asked, paths, err := splitArgs(args)
	if err != nil {
		return nil, usageError{err}
	}
	plan, file, err := f.parsed(cmd, asked, paths)
	if err := errors.Join(append(problems, err)...); err != nil {
		return nil, usageError{err}
	}
	s := &study{plan: plan, file: file, set: f.set}
	if f.ready != nil {
		if err := f.ready(s); err != nil {
			return nil, usageError{err}
		}
	}
	return s, nil
}

// open returns an error for a folder in use, and reads the sessions, which the caller closes.
func (f *runFlags) open(cmd *cobra.Command, s *study, args []string) (err error) {
	if err := cmd.Context().Err(); err != nil {
		return fmt.Errorf("interrupted before anything was read: %w", err)
	}
	if !f.dryRun {
		if s.folder, err = f.output.folder(cmd, "run", holdsRun); err != nil {
			return err
		}
	}
	s.corpus, err = f.sessions(cmd, s.plan, args)
	return err
}

// found is what a verb has found out about the sessions of a study.
type found struct {
	run      *results.Run
	document func() report                    // after the remarks of the run are complete
	drawings func() ([]charts.Drawing, error) // the first is the main one
	save     func() error                     // writes the files into the folder of the study
}

// execute reads the sessions of a scenario, asks a question about them, and shows what was found. All
// problems of flags and scenario are reported at once, with those that the verb has found. A question that
// ended early may have found something.
func (f *runFlags) execute(cmd *cobra.Command, args []string, ask func(s *study) (*found, error), problems ...error) error {
	s, err := f.study(cmd, args, problems...)
	if err != nil {
		return err
	}
	defer f.read.spare(cmd, 50)() // rows stay, and are most of what is allocated
	if err := f.open(cmd, s, args); err != nil {
		return err
	}
	defer s.corpus.Close()
	out, runErr := ask(s)
	if out == nil {
		return runErr
	}
	f.read.remark(cmd, &out.run.Workload, s.corpus)
	write := func(w io.Writer) error { return out.document().Write(w, f.format) }
	errs := []error{runErr, writeOr(cmd, f.file, write), f.draw(cmd, s, out)}
	if s.folder != nil {
		errs = append(errs, out.save())
	}
	return errors.Join(errs...)
}

// draw draws the charts asked for, and the charts of the folder of a study.
func (f *runFlags) draw(cmd *cobra.Command, s *study, out *found) error {
	if s.folder == nil && len(f.output.charts) == 0 {
		return nil
	}
	drawings, err := out.drawings()
	if s.folder != nil {
		s.folder.addCharts(f.output.inFolder(drawings))
	}
	return errors.Join(err, f.output.draw(cmd, drawings))
}

// addRun adds what every folder of a run has. A folder with pseudonyms, that is with a key, has neither scenario nor profile.
func (s *study) addRun(run *results.Run, key []byte) error {
	s.folder.add(rowsFile, func(w io.Writer) error { return results.WriteRows(w, run) })
	s.folder.setSummary(documentFile, charts.Run(run, charts.Options{}))
	if key != nil {
		return nil
	}
	scenario, err := resolvedScenario(s.plan)
	s.folder.addText(scenarioFile, scenarios.WithGiven(scenario, s.set))
	if err != nil {
		return err
	}
	fitted, err := s.plan.Profile()
	if fitted != nil && err == nil {
		s.folder.add(profileFile, fitted.Write)
	}
	return err
}

// resolvedScenario returns the scenario with absolute paths, so that it can be run again
// from any folder. Standard input, "-", cannot be read again and stays.
func resolvedScenario(plan *scenarios.Plan) ([]byte, error) {
	paths := &plan.Design.Scenario.Sessions.Paths
	given := *paths
	defer func() { *paths = given }()
	*paths = slices.Clone(given)
	for i, path := range given {
		if path == "-" {
			continue
		}
		full, err := filepath.Abs(path)
		if err != nil {
			return nil, fmt.Errorf("path %s: %w", path, err)
		}
		(*paths)[i] = full
	}
	return plan.Design.Resolved()
}
