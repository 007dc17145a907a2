package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/compactsim/compactsim/cmd/sim/internal/console"
	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/internal/kit/files"
	"github.com/compactsim/compactsim/internal/kit/nearest"
	"github.com/compactsim/compactsim/scenarios/builtin"
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
	var known []string
	for _, c := range cmd.Commands() {
		known = append(known, c.Name())
	}
	return console.Misuse(fmt.Errorf("unknown command %q%s; see %s --help", name, nearest.Hint(name, known), cmd.CommandPath()))
}

// noArgs returns an error if there are arguments.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return console.Misuse(fmt.Errorf("%s takes no arguments, not %q", cmd.CommandPath(), args))
	}
	return nil
}

// newLs returns a verb ls that prints a table of what the program has.
func newLs(short string, build func() (*document.Table, error)) *cobra.Command {
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

// newShow returns a verb show that prints a named thing of the kind that ls
// lists.
func newShow(what, short string, names func() []string, text func(name string) ([]byte, error)) *cobra.Command {
	return &cobra.Command{
		Use:               "show NAME",
		Short:             short,
		ValidArgsFunction: complete(names),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return console.Misuse(fmt.Errorf("which %s? %s ls lists them", what, cmd.Parent().CommandPath()))
			}
			b, err := text(args[0])
			if err != nil {
				return console.Misuse(err)
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
	list, err := builtin.All()
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

// writeOr writes to a file, or to standard output without one.
func writeOr(cmd *cobra.Command, file string, write func(io.Writer) error) error {
	if file == "" {
		return write(cmd.OutOrStdout())
	}
	return files.Write(cmd.Context(), file, write)
}
