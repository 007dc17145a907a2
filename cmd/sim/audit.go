package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/internal/audit"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/traces"
)

// auditFlags are the flags of sim audit.
type auditFlags struct {
	traceFlags
	top       int
	reconcile string
}

func newAudit() *cobra.Command {
	var f auditFlags
	cmd := &cobra.Command{
		Use:   "audit [PATH…]",
		Short: "Explain the bill of recorded sessions: where the money went and what to do",
		Long: `Explains what the sessions under PATH were billed, from recorded usage alone:
nothing is simulated. It says what was paid for, what cache misses cost and why,
what other cache lifetimes would have cost, what compactions cost and gave, what
the contexts were made of, and for each finding where to look and what to set.

Prices are those of the API; a subscription pays none of it. With --reconcile the
recordings are held against a CSV exported from the provider's console, of its
page Usage or Cost.`,
		Example: `  sim audit ~/.claude/projects
  sim audit --since 7d --project api ~/.claude/projects
  sim audit --reconcile claude_api_tokens.csv --format markdown ~/.claude/projects`,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	f.bind(cmd)
	flags := cmd.Flags()
	flags.IntVar(&f.top, "top", 5, "`N` findings in full, and lines of each list; the others are summed up")
	flags.StringVar(&f.reconcile, "reconcile", "", "also compare with a usage or cost CSV `FILE` of the provider's console, by day and model")
	return cmd
}

func (f *auditFlags) run(cmd *cobra.Command, args []string) error {
	prices, err := f.prices.table()
	if f.top < 1 {
		err = errors.Join(err, fmt.Errorf("--top %d must be at least 1", f.top))
	}
	var export *audit.Export
	if err == nil && f.reconcile != "" {
		export, err = readExport(f.reconcile)
	}
	if err != nil {
		return usageError{err}
	}
	corpus, err := f.read.corpus(cmd, args)
	if err != nil {
		return err
	}
	defer corpus.Close()
	report, err := f.explain(corpus, prices, export)
	if err != nil {
		return err
	}
	var read results.Workload
	f.read.remark(cmd, &read, corpus)
	o := audit.DocumentOptions{Top: f.top, Remarks: read.Remarks}
	if f.prices.file != "" {
		o.Prices = filepath.Base(f.prices.file)
	}
	return report.Document(o).Write(cmd.OutOrStdout(), f.format)
}

// explain makes the report. Under --strict a model without a price is an error.
func (f *auditFlags) explain(corpus *traces.Corpus, prices *costmodel.Table, export *audit.Export) (*audit.Report, error) {
	if f.read.strict {
		for _, s := range corpus.Sessions {
			for _, model := range s.Models {
				if _, err := prices.Lookup(model, s.StartTime()); err != nil {
					return nil, fmt.Errorf("session %s: %w", s.ID, err)
				}
			}
		}
	}
	report := audit.Run(corpus.Sessions, audit.Options{Prices: prices, Top: f.top})
	if export != nil {
		report.Reconcile(export, prices)
	}
	return report, nil
}

func readExport(file string) (*audit.Export, error) {
	r, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("--reconcile: %w", err)
	}
	defer r.Close()
	return audit.ReadExport(r, file)
}
