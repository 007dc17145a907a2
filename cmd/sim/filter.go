package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/compactsim/compactsim/traces"
)

// filterFlags choose among the sessions that are read.
type filterFlags struct {
	text traces.FilterText
	utc  bool
}

func (f *filterFlags) bind(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.text.Since, "since", "", "only sessions that begin on or after `WHEN`: a date, an RFC 3339 time or an age like 7d or 36h")
	flags.StringVar(&f.text.Until, "until", "", "only sessions that begin on or before the day `WHEN`, or before that time or age")
	flags.BoolVar(&f.utc, "utc", false, "dates of --since and --until are days in UTC, not in local time")
	flags.StringArrayVar(&f.text.Projects, "project", nil, "only sessions whose project holds `TEXT`, or matches it as a pattern (*, ?, [a-z]); may be repeated")
	flags.StringArrayVar(&f.text.Models, "model", nil, "only sessions with calls of a model like `PATTERN`; may be repeated")
	flags.StringArrayVar(&f.text.Agents, "agent", nil, "only sessions of the agent `NAME`, such as claude-code; may be repeated")
}

// parse returns the filter, or all that is wrong with the flags.
func (f *filterFlags) parse(cmd *cobra.Command) (traces.Filter, error) {
	errs := f.empty(cmd)
	if f.utc && f.text.Since == "" && f.text.Until == "" {
		errs = append(errs, errors.New("--utc belongs to --since and --until"))
	}
	zone := time.Local
	if f.utc {
		zone = time.UTC
	}
	filter, err := f.text.Parse(time.Now(), zone)
	return filter, errors.Join(append(errs, err)...)
}

// empty returns an error for every flag that wants a time and has none.
func (f *filterFlags) empty(cmd *cobra.Command) []error {
	var errs []error
	for _, name := range []string{"since", "until"} {
		if flag := cmd.Flags().Lookup(name); flag != nil && flag.Changed && flag.Value.String() == "" {
			errs = append(errs, fmt.Errorf("--%s: no time given", name))
		}
	}
	return errs
}
