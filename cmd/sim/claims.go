package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/reports"
	"github.com/compactsim/compactsim/scenarios"
	"github.com/compactsim/compactsim/strategies"
)

// claimsName is what sim scenarios run calls the scenarios that try claims.
const claimsName = "claims"

func newScenariosRun() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "run claims",
		Short: "Try what the documents claim: reproduced or refuted, with the figures",
		Long: `Runs a scenario for every claim of the documents on sessions made for the purpose
and tells what was simulated, whether the claim holds, and why.

sim scenarios show claims/NAME prints one of them, sim run claims/NAME runs it.`,
		Example: "  sim scenarios run claims\n  sim scenarios run claims --format markdown",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 || args[0] != claimsName {
				return usageError{fmt.Errorf("sim scenarios run takes one argument, %s; sim run NAME runs a scenario", claimsName)}
			}
			if err := checkFormat(format, reports.Formats()); err != nil {
				return usageError{err}
			}
			registry, err := strategies.Builtin()
			if err != nil {
				return err
			}
			prices, err := costmodel.Default()
			if err != nil {
				return err
			}
			list, err := scenarios.TryClaims(cmd.Context(), registry, prices)
			if err != nil {
				return err
			}
			return reports.Claims(list).Write(cmd.OutOrStdout(), format)
		},
	}
	cmd.Flags().StringVar(&format, "format", "table", "output: table, markdown, csv or json")
	return cmd
}
