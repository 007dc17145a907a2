package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/compactsim/compactsim/cmd/sim/internal/console"
	"github.com/compactsim/compactsim/cmd/sim/internal/outputs"
	"github.com/compactsim/compactsim/reports/compare"
	"github.com/compactsim/compactsim/reports/pseudonym"
)

// compareRunsFlags are the flags of sim compare.
type compareRunsFlags struct {
	options compare.Options
	format  string
	keys    keyFlags
}

func newCompare() *cobra.Command {
	var f compareRunsFlags
	cmd := &cobra.Command{
		Use:   "compare [LABEL=]RUN [LABEL=]RUN…",
		Short: "Compare runs, or strategies of one run, session by session",
		Long: `Compares runs kept by sim run --out: RUN is such a folder or its rows.jsonl. Cells of
the same name are compared over the sessions that both runs have; if each run has one cell,
the names may differ. With a single RUN, --strategy names the cells or strategies to compare,
or patterns of them (*, ?, [a-z]). With more than two, each is compared with the first.

Values and differences describe these sessions. Intervals, p-values and verdicts
extend to other sessions of this kind.

--anonymize replaces session ids and everything that could be a path or a project by
keyed hashes; labels stay. The key is in the file of --anonymize-key or in the
variable ` + anonymizeKeyVariable + `.`,
		Example: `  sim run ~/.claude/projects --out before
  sim run ~/.claude/projects --out after --set full-compact.trigger.fixed=120000
  sim compare before after
  sim compare old=before new=after --strategy own --format markdown
  sim compare before --strategy recorded,own,none
  sim run thresholds ~/.claude/projects --out sweep
  sim compare sweep --strategy 'recorded,compact-at*'
  head -c 32 /dev/urandom > ~/sim.key
  sim compare before after --format markdown --anonymize --anonymize-key ~/sim.key`,
		RunE: f.run,
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&f.options.Cells, "strategy", nil,
		"`NAMES` of cells, of strategies or patterns such as 'auto-compact/*', separated by commas")
	flags.StringSliceVar(&f.options.Metrics, "metric", nil, "`METRICS` to compare, separated by commas")
	flags.BoolVar(&f.options.All, "all", false, "every metric, not only the run table's and classes of cost and misses that differ")
	bindFormat(cmd, &f.format, compare.Formats()...)
	f.keys.bind(cmd)
	return cmd
}

func (f *compareRunsFlags) run(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return console.Misuse(errors.New("which runs? Give folders of sim run --out"))
	}
	inputs, paths := make([]compare.Input, len(args)), make([]string, len(args))
	var errs []error
	for i, arg := range args {
		var err error
		inputs[i], paths[i], err = readInput(cmd.Context(), arg)
		if k := slices.IndexFunc(paths[:i], func(path string) bool { return outputs.SameRun(path, paths[i]) }); k >= 0 && arg == paths[i] {
			errs = append(errs, fmt.Errorf("%s and %s are one run, which has no difference to itself; LABEL=%s compares it all the same", args[k], arg, arg))
		} else if !slices.Contains(args[:i], arg) { // already reported
			errs = append(errs, err)
		}
	}
	if err := cmd.Context().Err(); err != nil {
		return fmt.Errorf("interrupted while reading: %w", err)
	}
	if err := errors.Join(errs...); err != nil {
		return console.Misuse(err)
	}
	if err := f.anonymize(inputs); err != nil {
		return console.Misuse(err)
	}
	report, err := compare.Run(cmd.Context(), inputs, f.options)
	switch {
	case cmd.Context().Err() != nil:
		return err
	case err != nil:
		return console.Misuse(err)
	}
	return compare.Write(cmd.OutOrStdout(), f.format, report)
}

// readInput reads [LABEL=]PATH, and returns the path too.
func readInput(ctx context.Context, arg string) (in compare.Input, path string, err error) {
	label, path := "", arg
	if l, p, found := strings.Cut(arg, "="); found {
		// A path may contain "=".
		if _, err := os.Stat(arg); err != nil {
			label, path = l, p
			if label == "" {
				return in, path, fmt.Errorf("%s: no label before =", arg)
			}
		}
	}
	run, err := outputs.ReadRun(ctx, path)
	if err == nil && label == "" {
		label, err = labelOf(path)
	}
	return compare.Input{Label: label, Run: run}, path, err
}

// labelOf returns the name of the folder of a run, or the name of the file if it
// does not have the usual name.
func labelOf(path string) (string, error) {
	full, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("path %s: %w", path, err)
	}
	if filepath.Base(full) == outputs.RowsFile {
		full = filepath.Dir(full)
	}
	return strings.TrimSuffix(filepath.Base(full), ".jsonl"), nil
}

// anonymize puts pseudonyms into runs when the flags ask for it. Patterns match the names that are shown.
func (f *compareRunsFlags) anonymize(inputs []compare.Input) error {
	key, err := f.keys.key()
	for i := range inputs {
		if key != nil {
			inputs[i].Run = pseudonym.Run(inputs[i].Run, key)
		}
	}
	return err
}
