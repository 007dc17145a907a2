package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/compactsim/compactsim/internal/document"
)

// group returns a command that does nothing but hold verbs.
func group(use, short, long string, verbs ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use:   use,
		Short: short,
		Long:  long,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError{fmt.Errorf("unknown command %q; see %s --help", args[0], cmd.CommandPath())}
			}
			return cmd.Help()
		},
		Args: cobra.ArbitraryArgs,
	}
	cmd.AddCommand(verbs...)
	return cmd
}

// noArgs refuses arguments.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageError{fmt.Errorf("%s takes no arguments, not %q", cmd.CommandPath(), args)}
	}
	return nil
}

// listing returns a verb ls that prints a table of what the program holds.
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

// bindFormat adds the flag --format, which says how a report is written, to a
// command. Without names the known formats are those of reports; the first is the
// default.
func bindFormat(cmd *cobra.Command, name *string, known ...string) {
	if len(known) == 0 {
		known = document.Formats()
	}
	*name = known[0]
	last := len(known) - 1
	usage := "output: " + strings.Join(known[:last], ", ") + " or " + known[last]
	cmd.Flags().Var(&formatFlag{name, known}, "format", usage)
}

// formatFlag is the name of a format among those known.
type formatFlag struct {
	name  *string
	known []string
}

// String returns the name.
func (f *formatFlag) String() string {
	if f.name == nil {
		return ""
	}
	return *f.name
}

// Set takes the name of a known format.
func (f *formatFlag) Set(name string) error {
	*f.name = name
	return checkFormat(name, f.known)
}

// Type returns what help calls the value.
func (f *formatFlag) Type() string { return "string" }
