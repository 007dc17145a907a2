package main

import (
	"errors"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/reports/charts"
	"github.com/compactsim/compactsim/sim/audit"
	"github.com/compactsim/compactsim/sim/calls"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/traces"
)

// formatMetrics is the format for dashboards, of breakdowns alone.
const formatMetrics = "openmetrics"

// byNames lists the names that --by takes.
func byNames() string {
	var list []string
	for _, d := range audit.Dimensions() {
		list = append(list, d.Name)
	}
	return strings.Join(list, ", ")
}

// breakdown writes the bill by the names of --by. It simulates nothing.
func (f *auditFlags) breakdown(cmd *cobra.Command, args []string, prices *costmodel.Table) error {
	if !cmd.Flags().Changed("top") {
		f.top = 0
	}
	f.read.lazy, f.read.once = true, true
	if f.format == formatMetrics {
		f.read.bare = true
	}
	return f.read.reading(cmd, args, func(corpus *traces.Corpus) error {
		o := audit.Options{Prices: prices, Zone: f.read.choice.zone, In: f.read.filter.InPeriod}
		b, err := audit.Break(corpus.Sessions, f.by, o, time.Now())
		if err != nil {
			return usageError{err}
		}
		var read results.Workload
		f.read.remark(cmd, &read, corpus)
		if b.Remarks = read.Remarks; calls.UnpricedSearches(prices, corpus.Sessions) != "" {
			b.Remarks = append(b.Remarks, calls.UnpricedSearches(prices, corpus.Sessions))
		}
		with := audit.DocumentOptions{Top: f.top}
		if f.prices.file != "" {
			with.Prices = filepath.Base(f.prices.file) + prices.List()
		}
		if last, err := time.Parse(time.DateOnly, b.Until); err == nil {
			with.AsOf = prices.Stale(last)
		}
		if f.format == formatMetrics {
			return errors.Join(b.WriteMetrics(cmd.OutOrStdout()), f.charts.draw(cmd, charts.BreakdownDrawings(b)))
		}
		return errors.Join(b.Document(with).Write(cmd.OutOrStdout(), f.format), f.charts.draw(cmd, charts.BreakdownDrawings(b)))
	})
}
