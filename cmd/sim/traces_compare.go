package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/compactsim/compactsim/reports"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/synthetic"
)

// compareFlags are the flags of sim traces compare.
type compareFlags struct {
	gen    genFlags
	read   readFlags
	format string
	output outputFlags
}

func newTracesCompare() *cobra.Command {
	var f compareFlags
	cmd := &cobra.Command{
		Use:   "compare GENERATED [RECORDED]",
		Short: "Hold generated sessions against recorded ones, dimension by dimension",
		Long: `Compares two sets of sessions: quantiles and the Kolmogorov–Smirnov distance of turns,
calls, sizes, times, contexts and sub-agents. Each of the two is a file or folder of
transcripts, or a profile (a name of sim traces gen --list, or a file that ends in
.yaml or .yml), of which sessions are generated. Without RECORDED those are the
samples that come with sim, with --discover those in the usual places. --chart draws
all of it in one picture.

--sessions and --seed are those of profiles; --since, --project and the other
filters choose among the sessions of paths.`,
		Example: `  sim traces compare recorded
  sim traces compare recorded ~/.claude/projects --sessions 500 --chart compared.png`,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	f.gen.bind(cmd, 300)
	bindReading(cmd, &f.read)
	bindFormat(cmd, &f.format)
	f.output.bindChart(cmd, "the distributions")
	return cmd
}

func (f *compareFlags) run(cmd *cobra.Command, args []string) error {
	if err := f.check(cmd, args); err != nil {
		return usageError{err}
	}
	var observed [2][]synthetic.Observation
	var names [2]string
	var remarks []string
	for i, paths := range [2][]string{args[:1], args[1:]} {
		c, name, more, err := f.sessions(cmd, paths)
		if err != nil {
			return err
		}
		observed[i], names[i], remarks = synthetic.Observe(c.Sessions), name, append(remarks, more...)
		c.Close()
	}
	compared := reports.CompareCorpora(observed[0], observed[1])
	compared.Names, compared.Remarks = names, remarks
	return errors.Join(compared.Document().Write(cmd.OutOrStdout(), f.format),
		f.output.draw(func(w io.Writer, format string) error { return reports.CorpusChart(w, format, compared) }))
}

// check returns all that is wrong before anything is read or generated.
func (f *compareFlags) check(cmd *cobra.Command, args []string) error {
	if len(args) != 1 && len(args) != 2 {
		return errors.New("compare takes the generated sessions and the recorded ones, each a profile or a path; " +
			"without the latter the samples that come with sim")
	}
	f.gen.workers = f.read.workers
	errs := []error{f.read.check(cmd), f.output.check()}
	if f.read.discover.wanted() && len(args) == 2 {
		errs = append(errs, fmt.Errorf("--discover looks for the recorded sessions: leave out %s", args[1]))
	}
	profiles := 0
	for _, arg := range args {
		if isProfile(arg) {
			_, _, err := f.gen.generator(arg)
			errs, profiles = append(errs, err), profiles+1
		}
	}
	if profiles == 0 {
		errs = append(errs, changing(cmd, "is for profiles, of which none is compared", "sessions", "seed"))
	}
	if profiles == 2 {
		errs = append(errs, changing(cmd, "chooses among sessions of paths, and only profiles are compared",
			"since", "until", "project", "model", "agent"))
	}
	return errors.Join(errs...)
}

// changing returns an error that says why those of some flags that were given are
// of no use.
func changing(cmd *cobra.Command, why string, flags ...string) error {
	var errs []error
	for _, name := range flags {
		if cmd.Flags().Changed(name) {
			errs = append(errs, fmt.Errorf("--%s %s", name, why))
		}
	}
	return errors.Join(errs...)
}

// isProfile reports whether an argument is a profile and no path.
func isProfile(arg string) bool {
	return slices.Contains(synthetic.WorkloadNames(), arg) || isYAML(arg)
}

// sessions returns the sessions of a profile or under a path, or those that are
// there when none is given: what to call them, and remarks on how they were chosen.
func (f *compareFlags) sessions(cmd *cobra.Command, paths []string) (
	c *traces.Corpus, name string, remarks []string, err error,
) {
	if len(paths) == 1 && isProfile(paths[0]) {
		c, err = f.generate(cmd, paths[0])
		return c, "profile " + paths[0], nil, err
	}
	read := f.read
	if len(paths) == 1 {
		name, read.discover = paths[0], discoverFlags{}
	}
	c, err = read.corpus(cmd, paths)
	switch {
	case read.sample:
		name = "the samples that come with sim"
	case len(paths) == 0:
		name = "the sessions found"
	}
	return c, name, read.remarks(), err
}

// generate makes the sessions of a profile, and says so where a file or folder has
// its name.
func (f *compareFlags) generate(cmd *cobra.Command, profile string) (*traces.Corpus, error) {
	if _, err := os.Lstat(profile); err == nil && !f.read.quiet && slices.Contains(synthetic.WorkloadNames(), profile) {
		say(cmd.ErrOrStderr(), "%[1]s is the profile of that name; ./%[1]s is what lies here under it", profile)
	}
	return f.gen.corpus(cmd.Context(), profile)
}

// fitFlags are the flags of sim traces fit.
type fitFlags struct {
	read readFlags
	out  string
	base string
}

func newTracesFit() *cobra.Command {
	var f fitFlags
	cmd := &cobra.Command{
		Use:   "fit PATH… [-o FILE]",
		Short: "Fit a profile for sim traces gen from recorded sessions",
		Long: `Writes a profile with the sizes, times, mix and shares of the sessions under PATH:
quantiles and numbers, nothing of what was said. What no recording tells, the client's
version among it, is the base profile's.

This is the profile that sessions are generated from. That of sim calibrate is
another: what the simulation itself reckons with.`,
		Example: `  sim traces fit ~/.claude/projects -o mine.yaml
  sim traces compare mine.yaml ~/.claude/projects`,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	bindReading(cmd, &f.read)
	cmd.Flags().StringVarP(&f.out, "output", "o", "", "write the profile into this `FILE`; standard output when empty")
	cmd.Flags().StringVar(&f.base, "base", "short-fix", "profile that gives what recordings do not tell")
	return cmd
}

// bindReading binds the flags of reading to a verb that makes no calls.
func bindReading(cmd *cobra.Command, f *readFlags) {
	f.bind(cmd)
	cmd.Flags().Lookup("yes").Usage = "no question: read what --discover finds, which it implies"
}

func (f *fitFlags) run(cmd *cobra.Command, args []string) error {
	base, err := synthetic.LoadWorkload(f.base)
	errs := []error{f.read.check(cmd), placeFor("-o", f.out), err}
	if len(args) == 0 && !f.read.discover.wanted() {
		errs = append(errs, errors.New("which recordings? Give files or folders, or --discover"))
	}
	if err := errors.Join(errs...); err != nil {
		return usageError{err}
	}
	corpus, err := f.read.corpus(cmd, args)
	if err != nil {
		return err
	}
	defer corpus.Close()
	fitted := synthetic.FitWorkload(base, corpus.Sessions)
	if errs := fitted.Validate(); len(errs) > 0 {
		return fmt.Errorf("no profile can be fitted on these sessions (of Claude Code?): %w", errors.Join(errs...))
	}
	return writeOr(cmd, f.out, fitted.Write)
}
