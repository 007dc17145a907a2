package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/reports"
	"github.com/compactsim/compactsim/traces"
)

func newTraces(stdin io.Reader) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "traces",
		Short: "Look at recorded sessions",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError{fmt.Errorf("unknown command %q; see sim traces --help", args[0])}
			}
			return cmd.Help()
		},
		Args: cobra.ArbitraryArgs,
	}
	cmd.AddCommand(newTracesList(stdin), newTracesShow(stdin), newTracesGen(), newTracesCompare(stdin), newTracesFit(stdin))
	return cmd
}

// traceFlags are the flags of the verbs under traces.
type traceFlags struct {
	read    readFlags
	format  string
	prices  string
	priceAs []string
}

func (f *traceFlags) bind(cmd *cobra.Command) {
	f.read.bind(cmd)
	cmd.Flags().StringVar(&f.format, "format", "table", "output: table, markdown, csv or json")
	cmd.Flags().StringVar(&f.prices, "prices", "", "`FILE` with prices that add to or replace the built-in ones")
	cmd.Flags().StringArrayVar(&f.priceAs, "price-as", nil, "`A=B`: bill model A as model B; may be repeated")
}

func (f *traceFlags) table() (*costmodel.Table, error) {
	if err := checkFormat(f.format, reports.Formats()); err != nil {
		return nil, usageError{err}
	}
	table, err := priceTable(f.prices, f.priceAs)
	if err != nil {
		return nil, usageError{err}
	}
	return table, nil
}

// findSession returns the one session whose id begins with prefix.
func findSession(corpus *traces.Corpus, prefix string) (*traces.Session, error) {
	var found []*traces.Session
	for _, s := range corpus.Sessions {
		if s.ID == prefix {
			return s, nil
		}
		if strings.HasPrefix(s.ID, prefix) {
			found = append(found, s)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return nil, usageError{fmt.Errorf("no session %s among %s; sim traces ls lists them", prefix, plural(len(corpus.Sessions), "session"))}
	}
	ids := make([]string, len(found))
	for i, s := range found {
		ids[i] = s.ID
	}
	return nil, usageError{fmt.Errorf("%s is the beginning of %d ids: %s", prefix, len(found), strings.Join(ids, ", "))}
}
