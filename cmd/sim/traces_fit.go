package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/compactsim/compactsim/traces/synthetic"
)

// fitFlags are the flags of sim traces fit.
type fitFlags struct {
	read readFlags
	out  string
	base string
}

// newTracesFit fits a profile of generated sessions.
func newTracesFit(stdin io.Reader) *cobra.Command {
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
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, stdin, args) },
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

func (f *fitFlags) run(cmd *cobra.Command, stdin io.Reader, args []string) error {
	base, err := f.check(cmd, args)
	if err != nil {
		return usageError{err}
	}
	corpus, _, err := f.read.corpus(cmd, stdin, args)
	if err != nil {
		return err
	}
	defer corpus.Close()
	fitted := synthetic.FitWorkload(base, corpus.Sessions)
	if errs := fitted.Validate(); len(errs) > 0 {
		return fmt.Errorf("no profile can be fitted on these sessions (of Claude Code?): %w", errors.Join(errs...))
	}
	if f.out == "" {
		return fitted.Write(cmd.OutOrStdout())
	}
	return writeFile(f.out, fitted.Write)
}

// check returns the base profile, or all that is wrong before anything is read.
func (f *fitFlags) check(cmd *cobra.Command, args []string) (*synthetic.Workload, error) {
	errs := []error{f.read.check(cmd), placeFor("-o", f.out)}
	if len(args) == 0 && !f.read.discover.wanted() {
		errs = append(errs, errors.New("which recordings? Give files or folders, or --discover"))
	}
	base, err := synthetic.LoadWorkload(f.base)
	return base, errors.Join(append(errs, err)...)
}
