package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/compactsim/compactsim/cmd/sim/internal/console"
	"github.com/compactsim/compactsim/cmd/sim/internal/recordings"
	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/internal/kit/files"
	"github.com/compactsim/compactsim/reports/charts"
	"github.com/compactsim/compactsim/reports/check"
	"github.com/compactsim/compactsim/scenarios"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/traces"
)

// checkName is the check file of sim check when none is named.
const checkName = "sim-check.yaml"

// checkFlags are the flags of sim check.
type checkFlags struct {
	runFlags // the flags for reading and planning a run
	charts   chartFlags
	file     string
	output   string
	junit    string
	github   bool
	update   bool
	init     bool
	accept   []string
	corpus   *recordings.Opened // that was read; facts are priced with it after it was replayed
}

func newCheck() *cobra.Command {
	f := checkFlags{runFlags: runFlags{format: "table"}}
	cmd := &cobra.Command{
		Use:   "check [FILE] [PATH…]",
		Short: "Test a scenario against rules and a baseline: a gate for continuous integration",
		Long: `Runs the scenario of a check file (` + checkName + ` without FILE) and tests its rules.
It exits with 3 when a rule is broken or cannot be judged: no sessions, recordings that
cannot be read, a metric without a sample, a baseline made from other sessions, prices or
another scenario, or a rule that nothing could break.

With a window --update adds no run with a figure beyond its bar, be it by chance; --accept
names what is meant.

PATH replaces the sessions of the scenario. FILE ends in .yaml or .yml, or --file names
it. docs/ci.md describes every key of the file and has a workflow for GitHub.

--anonymize replaces projects, recordings and models with a resource name by keyed
hashes, in report and baseline. The key, 16 bytes or more, is in a file or in the variable
` + anonymizeKeyVariable + `, and in no output; --new-anonymize-key makes one. One key gives a session
the same pseudonym everywhere: sim run, compare and report take it too.`,
		Example: `  sim check --init
  sim check --update ~/.claude/projects
  sim check --junit check.xml sim-check.yaml ~/.claude/projects`,
		RunE: f.check,
	}
	flags := cmd.Flags()
	flags.StringVar(&f.file, "file", "", "the check `FILE`; all arguments are then paths of sessions")
	bindFormat(cmd, &f.output, check.Formats()...)
	flags.StringVar(&f.junit, "junit", "", "also write the results into this `FILE` as JUnit tests")
	flags.BoolVar(&f.github, "github", false,
		"annotate lines and write the step summary for GitHub; on by default if GITHUB_ACTIONS is set")
	flags.BoolVar(&f.update, "update", false, "rewrite the baseline")
	flags.StringArrayVar(&f.accept, "accept", nil,
		"take what is there now of a `FACT`, of prices or of an agent as meant: it breaks nothing, and --update forgets what was; repeatable")
	flags.BoolVar(&f.init, "init", false, "write a first check file and stop")
	f.charts.bind(cmd, charts.CheckKinds()...)
	f.keys.bind(cmd)
	flags.StringVar(&f.keys.create, "new-anonymize-key", "", "make a key and write it into a new `FILE`")
	f.read.bindReading(cmd)
	for _, other := range []string{"update", "junit", "chart", "anonymize"} {
		cmd.MarkFlagsMutuallyExclusive("init", other)
	}
	cmd.MarkFlagsMutuallyExclusive("anonymize", "verbose") // problems name files
	cmd.MarkFlagsMutuallyExclusive("anonymize-key", "new-anonymize-key")
	return cmd
}

func (f *checkFlags) check(cmd *cobra.Command, args []string) error {
	name, paths := checkName, args
	switch {
	case f.file != "":
		name = f.file
	case len(args) > 0 && isYAML(args[0]):
		name, paths = args[0], args[1:]
	}
	if f.init {
		return startCheck(cmd, name, paths)
	}
	key, err := f.keys.key()
	hide := hiding{key}
	file, plan, errs := f.open(cmd, name, paths)
	if err := errors.Join(err, errs); err != nil {
		return console.Misuse(err)
	}
	was := loadBaseline(file)
	if f.update {
		if err := replaceable(file, was.Err); err != nil {
			return console.Misuse(err)
		}
	}
	f.read.Lazy, f.read.Rows = true, true
	defer func() {
		if f.corpus != nil {
			f.corpus.Close()
		}
	}()
	place := placeOf(plan.Design.Scenario.Sessions.Paths)
	if hide.on() { // paths name projects
		place = " PATH"
	}
	file.Accept.Command = "sim check" + f.again(hide) + " --file " + document.Argument(name)
	if len(paths) > 0 {
		file.Accept.Command += place
	}
	if f.update && file.Accept.Renews() {
		was = check.Loaded{}
	}
	in, remarks, err := f.replay(cmd, file, plan, args, hide)
	switch {
	case errors.Is(err, traces.ErrNoSessions), errors.Is(err, traces.ErrNothingLeft):
		return f.publish(cmd, file.Empty(hide.reason(err)))
	case err != nil:
		return err
	}
	if f.keys.create != "" {
		if err := saveKey(cmd.Context(), f.keys.create, hide.key); err != nil {
			return err
		}
	}
	if in.Paths = place; plan.Design.Scenario.Sessions.Generate.Profile != "" {
		remarks = append(remarks, "the sessions are generated, as the scenario says: no recording was checked")
	}
	report := file.Judge(in, was)
	switch {
	case !f.update:
	case !file.Complete(in, was.Baseline):
		what := file.Baseline + " stays as it was"
		if was.Baseline == nil {
			what = file.Baseline + " is not written"
		}
		remarks = append(remarks, fmt.Sprintf("--update: %s, for not all sessions were read whole and counted; unread: and uncounted: in %s say how much may be lost", what, name))
	case report.Withheld(file) != "":
		remarks = append(remarks, "--update: "+report.Withheld(file))
	default:
		renewed, err := f.renew(cmd, file, in, was.Baseline)
		if err != nil {
			return err
		}
		if file.Window == 0 || !report.Compared() {
			held := report
			report = file.Judge(in, renewed)
			report.Replaces(held)
		}
		if was.Baseline == nil {
			report.Begins(file.Baseline)
		}
		if !report.OK {
			remarks = append(remarks, fmt.Sprintf("--update: %s is written though this run fails: later runs are held against its figures as they are", file.Baseline))
		}
	}
	report.Notes = append(report.Notes, remarks...)
	return f.publish(cmd, report)
}

// again returns the flags of this check that another one of the same baseline needs.
func (f *checkFlags) again(hide hiding) (text string) {
	if hide.on() {
		text += " --anonymize"
	}
	if f.keys.file != "" {
		text += " --anonymize-key " + document.Argument(f.keys.file)
	}
	if f.read.Estimate {
		text += " --estimate"
	}
	return text
}

// open reads the check file and its scenario. All problems are reported at once.
func (f *checkFlags) open(cmd *cobra.Command, name string, paths []string) (*check.File, *scenarios.Plan, error) {
	var errs []error
	text, err := files.Read(name)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w; sim check --init --file %s writes one", err, document.Argument(name))
	}
	if err != nil {
		return nil, nil, errors.Join(append(errs, err)...)
	}
	file, err := check.Parse(text, name)
	errs = append(errs, err)
	if file == nil {
		return nil, nil, errors.Join(errs...)
	}
	errs = append(errs, f.charts.check())
	if f.update && file.Baseline == "" {
		errs = append(errs, fmt.Errorf("--update: %s names no baseline (baseline: FILE)", name))
	}
	if file.Accept.Names = f.accept; file.Accept.Renews() && !f.update {
		errs = append(errs, fmt.Errorf("--accept %s begins the baseline anew, which --update writes", check.Anew))
	}
	asked, err := checkScenario(file, text)
	if asked == nil {
		return nil, nil, errors.Join(append(errs, err)...)
	}
	plan, _, err := f.parse(cmd, asked, paths)
	errs = append(errs, err, f.junitPlace(file))
	if plan != nil {
		if s := &plan.Design.Scenario.Sessions; len(s.Paths) == 0 && s.Generate.Profile == "" && !f.read.Discovery.Wanted() {
			errs = append(errs, fmt.Errorf("%s: no sessions are named: give PATH after the file, or sessions: {paths: […]} in the scenario", name))
		}
		errs = append(errs, file.Names(cellNames(plan)), sweepsSeed(asked.name, plan))
	}
	return file, plan, errors.Join(errs...)
}

// placeOf returns paths as the end of a command: a folder where all of its files are named.
func placeOf(paths []string) (text string) {
	in := map[string]int{}
	for _, p := range paths {
		in[filepath.Dir(p)]++
	}
	told := map[string]bool{}
	for _, p := range paths {
		if folder := filepath.Dir(p); in[folder] > 1 {
			if entries, err := os.ReadDir(folder); err == nil && len(entries) == in[folder] {
				p = folder
			}
		}
		if !told[p] {
			told[p] = true
			text += " " + document.Argument(p)
		}
	}
	return text
}

// checkScenario returns the scenario of a check: one within its text, a file beside it
// or a built-in one; nil if the check has none.
func checkScenario(file *check.File, text []byte) (found *scenarioText, err error) {
	switch s := &file.Scenario; {
	case s.Line == 0:
		return nil, nil
	case s.Path == "":
		return &scenarioText{name: file.Name, text: text, keys: []string{"scenario"}}, nil
	case isYAML(s.Path):
		found, err = readScenario(besideCheck(file, s.Path))
	default:
		found, err = builtinScenario(s.Path)
	}
	if err != nil {
		return nil, fmt.Errorf("%s:%d: %w", file.Name, file.Scenario.Line, err)
	}
	return found, nil
}

// besideCheck returns a path that is relative to the folder of the check file.
func besideCheck(file *check.File, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(file.Name), path)
}

// cellNames returns the names of the cells of a plan and of their strategies, each once.
func cellNames(plan *scenarios.Plan) []string {
	names := []string{measures.StrategyBilled}
	for i := range plan.Design.Cells {
		c := &plan.Design.Cells[i]
		for _, name := range []string{c.Strategy.Name, c.Name} {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// sweepsSeed returns an error for a scenario that sweeps the seed, because the check does.
func sweepsSeed(name string, plan *scenarios.Plan) error {
	for i := range plan.Design.Cells {
		if _, swept := plan.Design.Cells[i].Params[measures.SeedParam]; swept {
			return fmt.Errorf("%s: the scenario of a check has one seed; seeds: N in the check runs it under several", name)
		}
	}
	return nil
}

// replay simulates the sessions of a check. The remarks are about how they were read.
func (f *checkFlags) replay(
	cmd *cobra.Command, file *check.File, plan *scenarios.Plan, args []string, hide hiding,
) (*check.Input, []string, error) {
	f.read.useGenerated(plan)
	f.read.Listener = plan.Listener()
	quiet := f.read.Quiet
	f.read.Quiet = quiet || hide.on()
	corpus, err := f.read.openFiltered(cmd, plan.Design.Scenario.Sessions.Paths)
	f.read.Quiet = quiet
	if err != nil {
		return nil, nil, hintScenario(err, args)
	}
	f.corpus = corpus
	var remarks results.Workload
	if !hide.on() {
		f.read.Warn(plan.Design.Unmet())
	}
	seeded := *plan
	design, draws := withSeeds(plan.Design, file)
	seeded.Design = design
	run, err := f.read.runPlan(cmd, &seeded, corpus.Corpus)
	if err != nil {
		return nil, nil, err
	}
	in, err := checkInput(plan, corpus.Corpus, run, draws, hide)
	if err != nil {
		return nil, nil, err
	}
	if file.Predicts() {
		if err := f.foretell(cmd.Context(), plan, corpus.Sessions, run, in, hide); err != nil {
			return nil, nil, err
		}
	}
	if !hide.on() { // they name projects and sessions
		corpus.Remark(&remarks)
	}
	return in, remarks.Remarks, nil
}
