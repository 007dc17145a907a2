package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/internal/kit/nearest"
	"github.com/compactsim/compactsim/scenarios"
	"github.com/compactsim/compactsim/strategies"
)

// group returns a command that only holds verbs.
func group(use, short, long string, verbs ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use:   use,
		Short: short,
		Long:  long,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			return cmd.Help()
		},
		Args: cobra.ArbitraryArgs,
	}
	cmd.AddCommand(verbs...)
	return cmd
}

// unknownCommand returns the error of a verb that does not exist.
func unknownCommand(cmd *cobra.Command, name string) error {
	if err := removed(cmd, name); err != nil {
		return err
	}
	var known []string
	for _, c := range cmd.Commands() {
		known = append(known, c.Name())
	}
	return usageError{fmt.Errorf("unknown command %q%s; see %s --help", name, nearest.Hint(name, known), cmd.CommandPath())}
}

// noArgs returns an error if there are arguments.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageError{fmt.Errorf("%s takes no arguments, not %q", cmd.CommandPath(), args)}
	}
	return nil
}

// listing returns a verb ls that prints a table of what the program has.
func listing(short string, build func() (*document.Table, error)) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "ls",
		Short: short,
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			sheet, err := build()
			if err != nil {
				return err
			}
			return sheet.Write(cmd.OutOrStdout(), format)
		},
	}
	bindFormat(cmd, &format)
	return cmd
}

// showing returns a verb show that prints a named thing of the kind that ls
// lists.
func showing(what, short string, names func() []string, text func(name string) ([]byte, error)) *cobra.Command {
	return &cobra.Command{
		Use:               "show NAME",
		Short:             short,
		ValidArgsFunction: complete(names),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usageError{fmt.Errorf("which %s? %s ls lists them", what, cmd.Parent().CommandPath())}
			}
			b, err := text(args[0])
			if err != nil {
				return usageError{err}
			}
			_, err = cmd.OutOrStdout().Write(b)
			return err
		},
	}
}

// complete returns the completions of names at a position, or after a comma
// there.
func complete(names func() []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
		list := slices.Clone(names())
		for i := range list {
			list[i] = begun[:strings.LastIndex(begun, ",")+1] + list[i]
		}
		return list, cobra.ShellCompDirectiveDefault // files are possible too
	}
}

// completeFlag sets the completions of a flag's values.
func completeFlag(cmd *cobra.Command, flag string, names func() []string) {
	// The error means a flag that does not exist, or one registered twice.
	if err := cmd.RegisterFlagCompletionFunc(flag, complete(names)); err != nil {
		panic(err)
	}
}

// presetNames returns the strategies that come with the program.
func presetNames() []string {
	registry, err := strategies.Builtin()
	if err != nil {
		return nil
	}
	return registry.Presets()
}

// scenarioNames returns the scenarios that come with the program.
func scenarioNames() []string {
	list, err := scenarios.Builtins()
	if err != nil {
		return nil
	}
	var names []string
	for _, b := range list {
		names = append(names, b.Name)
	}
	return names
}

// bindFormat adds the flag --format to a command. Without known the formats are the formats of
// reports; the first is the default.
func bindFormat(cmd *cobra.Command, name *string, known ...string) {
	if len(known) == 0 {
		known = document.Formats()
	}
	*name = known[0]
	last := len(known) - 1
	bindChoice(cmd, name, "format", "output `FORMAT`: "+strings.Join(known[:last], ", ")+" or "+known[last], known)
}

// bindChoice adds a flag to a command whose value, which has its default, is one of the known names. The usage says between
// back quotes what they name.
func bindChoice(cmd *cobra.Command, value *string, flag, usage string, known []string) {
	what, _ := pflag.UnquoteUsage(&pflag.Flag{Usage: usage})
	cmd.Flags().Var(&choice{value, strings.ToLower(what), known}, flag, usage)
	completeFlag(cmd, flag, func() []string { return known })
}

// choice is the value of a flag that takes one of some names.
type choice struct {
	value *string
	what  string // the names name
	known []string
}

// String returns the name.
func (c *choice) String() string {
	if c.value == nil {
		return ""
	}
	return *c.value
}

// Set takes a known name; that none is given is reported with all that is wrong with the flags.
func (c *choice) Set(name string) error {
	if *c.value = name; name == "" || slices.Contains(c.known, name) {
		return nil
	}
	return fmt.Errorf("unknown %s %q%s", c.what, name, nearest.Among(name, c.known))
}

// Type returns the word for the value in help.
func (c *choice) Type() string { return "string" }

// gone names what serves in place of a command, a flag or a value of a flag that earlier states of
// the program had. A key is a command path, followed by the flag or the value; a flag or a value
// that was the same for all commands stands alone. The table ends with the first release.
var gone = map[string]string{
	"sim traces ls --wide":        "--format csv and json have whole ids and all columns",
	"sim scenarios run":           "docs/claims.md has every claim with its figures",
	"sim strategies generations":  "sim strategies diff A B lists what differs between two, sim strategies show NAME prints one",
	"sim audit --reconcile":       "sim audit --format json lists every day by model",
	"--dpi":                       "a PNG has 144 dots an inch, or 600 with --style paper",
	"--footnotes":                 "a chart has two lines of footnotes, a caption of --style paper and the report have all",
	"sim run --html":              pageOf,
	"sim run --format html":       pageOf,
	"sim run --closed-loop":       closedLoop,
	"sim ablate --closed-loop":    closedLoop,
	"sim tune --closed-loop":      closedLoop,
	"sim report --closed-loop":    closedLoop,
	"sim devserver":               "any local server with the interface of OpenAI serves; docs/live.md shows three",
	"sim tune --sensitivity":      "sim run --set PATH=[VALUE, …] --chart FILE draws the effect of one parameter",
	"--format csv-raw":            "--format csv keeps spreadsheets from taking a text for a formula, --format json has texts unchanged",
	"sim validate --fidelity":     "sim calibrate fits what agents fetch again after compactions",
	"sim validate --chart-dir":    "--chart FILE draws how often calls read what was left in the cache",
	"sim traces show":             "sim explain SESSION shows every call with --all, and all figures with --format csv",
	"sim chains":                  "sim audit --compactions takes the same scenario, flags and paths",
	"sim traces compare":          "sim traces fit writes a profile of each set of sessions; diff the two",
	"sim merge":                   "a sweep takes seconds on one machine, and sim-beam divides larger ones (docs/scale.md)",
	"sim run --resume":            "a run takes seconds: run it again; an interrupted one leaves its folder as it was",
	"sim run --shard":             "a sweep takes seconds on one machine, and sim-beam divides larger ones (docs/scale.md)",
	"sim fleet":                   "users are a part of a scenario: sim run office simulates some, sim scenarios ls lists those that come with sim",
	"sim export":                  "rows.jsonl of sim run --out, or sim run --format csv --per-session; sim run --anonymize for others to read",
	"sim ablate --pairs":          "sim ablate --set PATH=VALUE switches one mechanism, and shows what each other one is worth then",
	"sim tune --subject-to":       "--chart front=FILE draws cost against recall, and --format csv lists both for every setting",
	"sim tune --design":           "settings are drawn by Halton's sequence",
	"sim compare --baseline":      "the run or strategy that is named first is the one that others are compared with",
	"sim compare --level":         ninetyFive,
	"sim compare --resamples":     ninetyFive,
	"sim compare --seed":          ninetyFive,
	"sim validate --folds time":   "--folds session serves",
	"sim validate --folds user":   "--folds repository serves",
	"sim traces gen --format":     "gzip packs what it writes, and every command reads that",
	"--summarizer record-missing": "--summarizer live makes the calls that are not stored, and replays all other calls",
}

// pageOf says what writes a page.
const pageOf = "sim report PATH -o FILE writes the page, also of a folder of sim run --out"

// ninetyFive says how intervals of a comparison are made.
const ninetyFive = "intervals are of 95 %, from 1,000 resamples"

// closedLoop says what --closed-loop was.
const closedLoop = "the loop is closed unless --open-loop is given"

// removed returns the error of a command, flag or value that is gone, or nil where name, as gone
// has it behind the command's path, never was one.
func removed(cmd *cobra.Command, name string) error {
	for _, key := range []string{cmd.CommandPath() + " " + name, name} {
		if instead, ok := gone[key]; ok {
			return usageError{fmt.Errorf("%s is gone: %s", key, instead)}
		}
	}
	return nil
}
