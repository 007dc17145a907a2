package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/compactsim/compactsim/reports"
	"github.com/compactsim/compactsim/scenarios"
	"github.com/compactsim/compactsim/strategies"
)

func newScenarios() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "scenarios",
		Short: "Look at the scenarios that come with the program",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError{fmt.Errorf("unknown command %q; see sim scenarios --help", args[0])}
			}
			return cmd.Help()
		},
		Args: cobra.ArbitraryArgs,
	}
	cmd.AddCommand(newScenariosList(), newScenariosShow(), newScenariosRun())
	return cmd
}

func newScenariosList() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List the built-in scenarios",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError{fmt.Errorf("sim scenarios ls takes no arguments")}
			}
			if err := checkFormat(format, reports.Formats()); err != nil {
				return usageError{err}
			}
			sheet, err := scenarioSheet()
			if err != nil {
				return err
			}
			return sheet.Write(cmd.OutOrStdout(), format)
		},
	}
	cmd.Flags().StringVar(&format, "format", "table", "output: table, markdown, csv or json")
	return cmd
}

// scenarioSheet lists the built-in scenarios with what they expand to.
func scenarioSheet() (*reports.Sheet, error) {
	registry, err := strategies.Builtin()
	if err != nil {
		return nil, err
	}
	all, err := scenarios.Builtins()
	if err != nil {
		return nil, err
	}
	s := &reports.Sheet{
		Columns: []reports.SheetColumn{
			{Name: "name", Title: "NAME"},
			{Name: "cells", Title: "CELLS", Right: true},
			{Name: "doc", Title: "WHAT"},
		},
		Notes: []string{"sim run NAME [PATH…] runs one, sim scenarios show NAME prints it, sim scenarios show reference the manual.",
			"sim scenarios run claims tries what the documents claim."},
		Fitted: true,
	}
	for _, b := range all {
		file, err := scenarios.Parse(registry, b.Text, b.Name+".yaml")
		if err != nil {
			return nil, err
		}
		design, err := file.Expand()
		if err != nil {
			return nil, err
		}
		s.Rows = append(s.Rows, []any{b.Name, len(design.Cells), strings.Join(strings.Fields(b.Doc), " ")})
	}
	return s, nil
}

// referenceName is what sim scenarios show calls the manual.
const referenceName = "reference"

func newScenariosShow() *cobra.Command {
	return &cobra.Command{
		Use:   "show NAME",
		Short: "Print a built-in scenario, or the manual under the name reference",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usageError{fmt.Errorf("which scenario? sim scenarios ls lists them")}
			}
			text := scenarios.Reference
			if args[0] != referenceName {
				b, err := scenarios.LookupBuiltin(args[0])
				if err != nil {
					return usageError{err}
				}
				text = b.Text
			}
			_, err := cmd.OutOrStdout().Write(text)
			return err
		},
	}
}
