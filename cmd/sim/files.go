package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/internal/nearest"
	"github.com/compactsim/compactsim/reports"
	"github.com/compactsim/compactsim/sim/results"
)

// printable words an error so that no file name in it speaks to the terminal.
func printable(err error) string {
	lines := strings.Split(err.Error(), "\n")
	for i := range lines {
		lines[i] = reports.Printable(lines[i])
	}
	return strings.Join(lines, "\n")
}

// checkFormat returns an error that names the nearest known format.
func checkFormat(format string, known []string) error {
	for _, k := range known {
		if format == k {
			return nil
		}
	}
	return fmt.Errorf("unknown format %q%s; known: %s", format, nearest.Hint(format, known), strings.Join(known, ", "))
}

// priceTable returns the built-in prices with a file's merged in and aliases
// set.
func priceTable(file string, aliases []string) (*costmodel.Table, error) {
	table, err := costmodel.Default()
	if err != nil {
		return nil, err
	}
	if file != "" {
		over, err := loadPrices(file)
		if err != nil {
			return table, err
		}
		table = table.Merge(over)
	}
	as := map[string]string{}
	for _, a := range aliases {
		from, to, err := costmodel.ParseAlias(a)
		if err != nil {
			return table, err
		}
		as[from] = to
	}
	if len(as) == 0 {
		return table, nil
	}
	aliased, err := table.WithAliases(as)
	if err != nil {
		return table, err
	}
	return aliased, nil
}

func loadPrices(file string) (*costmodel.Table, error) {
	r, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("read prices: %w", err)
	}
	defer r.Close()
	return costmodel.Load(r, file)
}

// writeChart draws the chart of a run into a file.
func writeChart(file string, run *results.Run) error {
	format, err := reports.ChartFormat(file)
	if err != nil {
		return usageError{err}
	}
	return writeFile(file, func(w io.Writer) error { return reports.Chart(w, format, run) })
}
