package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

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
	chart  string
}

func newTracesCompare(stdin io.Reader) *cobra.Command {
	var f compareFlags
	cmd := &cobra.Command{
		Use:   "compare GENERATED RECORDED",
		Short: "Hold generated sessions against recorded ones, dimension by dimension",
		Long: `Compares two sets of sessions: quantiles and the Kolmogorov–Smirnov distance of turns,
calls, sizes, times, contexts and sub-agents. Each of the two is a file or folder of
transcripts, or a profile (a name of sim traces gen --list, or a file that ends in
.yaml), of which sessions are generated. --chart draws all of it in one picture.`,
		Example: `  sim traces compare recorded ~/.claude/projects --sessions 500 --chart compared.png`,
		RunE:    func(cmd *cobra.Command, args []string) error { return f.run(cmd, stdin, args) },
	}
	f.gen.bind(cmd, 300)
	f.read.bind(cmd)
	cmd.Flags().StringVar(&f.format, "format", "table", "output: table, markdown, csv or json")
	cmd.Flags().StringVar(&f.chart, "chart", "", "draw the distributions into this `FILE`, .svg or .png")
	return cmd
}

func (f *compareFlags) run(cmd *cobra.Command, stdin io.Reader, args []string) error {
	if len(args) != 2 {
		return usageError{errors.New("compare takes two: the generated sessions (a profile or a path) and the recorded ones")}
	}
	if err := checkFormat(f.format, reports.Formats()); err != nil {
		return usageError{err}
	}
	var format string
	if f.chart != "" {
		var err error
		if format, err = reports.ChartFormat(f.chart); err != nil {
			return usageError{err}
		}
	}
	var observed [2][]synthetic.Observation
	for i, arg := range args {
		c, err := f.sessions(cmd, stdin, arg)
		if err != nil {
			return err
		}
		observed[i] = synthetic.Observe(c.Sessions)
		c.Close()
	}
	compared := reports.CompareCorpora(observed[0], observed[1])
	compared.Names = [2]string{args[0], args[1]}
	if f.chart != "" {
		if err := writeFile(f.chart, func(w io.Writer) error { return reports.CorpusChart(w, format, compared) }); err != nil {
			return err
		}
	}
	return compared.Sheet().Write(cmd.OutOrStdout(), f.format)
}

// sessions returns the sessions of a profile or under a path.
func (f *compareFlags) sessions(cmd *cobra.Command, stdin io.Reader, arg string) (*traces.Corpus, error) {
	if slices.Contains(synthetic.WorkloadNames(), arg) || strings.HasSuffix(arg, ".yaml") {
		f.gen.workers = f.read.workers
		_, c, err := f.gen.corpus(cmd.Context(), arg)
		return c, err
	}
	c, _, err := f.read.corpus(cmd, stdin, []string{arg})
	return c, err
}

// newTracesFit fits a profile of generated sessions.
func newTracesFit(stdin io.Reader) *cobra.Command {
	var read readFlags
	var out, base string
	cmd := &cobra.Command{
		Use:   "fit PATH… [-o FILE]",
		Short: "Fit a profile for sim traces gen from recorded sessions",
		Long: `Writes a profile with the sizes, times, mix and shares of the sessions under PATH:
quantiles and numbers, nothing of what was said. What no recording tells, the client's
version among it, is the base profile's.`,
		Example: `  sim traces fit ~/.claude/projects -o mine.yaml
  sim traces compare mine.yaml ~/.claude/projects`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError{errors.New("which recordings? Give files or folders")}
			}
			w, err := synthetic.LoadWorkload(base)
			if err != nil {
				return usageError{err}
			}
			corpus, _, err := read.corpus(cmd, stdin, args)
			if err != nil {
				return err
			}
			defer corpus.Close()
			fitted := synthetic.FitWorkload(w, corpus.Sessions)
			if errs := fitted.Validate(); len(errs) > 0 {
				return fmt.Errorf("no profile can be fitted on these sessions (of Claude Code?): %w", errors.Join(errs...))
			}
			if out == "" {
				return fitted.Write(cmd.OutOrStdout())
			}
			return writeFile(out, fitted.Write)
		},
	}
	read.bind(cmd)
	cmd.Flags().StringVarP(&out, "output", "o", "", "write the profile into this `FILE`; standard output when empty")
	cmd.Flags().StringVar(&base, "base", "short-fix", "profile that gives what recordings do not tell")
	return cmd
}
