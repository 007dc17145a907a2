package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/compactsim/compactsim/cmd/sim/internal/console"
	"github.com/compactsim/compactsim/cmd/sim/internal/recordings"
	"github.com/compactsim/compactsim/scenarios"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/traces"
)

// readFlags are the flags of every verb that reads recordings.
type readFlags struct {
	recordings.Options // bind sets most; a verb sets Lazy, Once, Rows and Listener, openFiltered the rest
	choice             filterFlags
}

func (f *readFlags) bind(cmd *cobra.Command) {
	f.bindReading(cmd)
	f.choice.bind(cmd)
	flags := cmd.Flags()
	flags.BoolVar(&f.Discovery.Asked, "discover", false,
		"read the sessions in the usual places of coding agents; asks first on a terminal")
	flags.BoolVarP(&f.Discovery.Yes, "yes", "y", false,
		"answer yes: read what --discover finds")
}

// bindReading binds the flags about how any sessions are read.
func (f *readFlags) bindReading(cmd *cobra.Command) {
	cmd.Flags().IntVar(&f.Workers, "workers", 0, "`N` files read and sessions simulated at once; 0 means one per core")
	cmd.Flags().BoolVarP(&f.Quiet, "quiet", "q", false, "print the report alone")
	cmd.Flags().BoolVar(&f.Strict, "strict", false, "stop at the first bad line, unreadable file or count, or model without a price")
	cmd.Flags().BoolVar(&f.Estimate, "estimate", false, "also read sessions without token counts, sized by their text; their bill is unknown")
	cmd.Flags().IntVar(&f.Memory, "max-memory", 1024, "use at most this much memory, in `MiB`, to read")
	cmd.Flags().BoolVar(&f.NoStore, "no-store", false, "read recordings afresh and keep nothing for the next run")
	cmd.Flags().BoolVarP(&f.Verbose, "verbose", "v", false, "list every problem found while reading")
	cmd.MarkFlagsMutuallyExclusive("quiet", "verbose")
}

// check sets the filter, and returns what is wrong with the flags.
func (f *readFlags) check(cmd *cobra.Command) (err error) {
	f.Filter, err = f.choice.parse(cmd)
	if err := errors.Join(checkCounts(cmd), err); err != nil {
		return console.Misuse(err)
	}
	return nil
}

// open opens the sessions under paths that pass the filter of the flags. The caller closes them.
func (f *readFlags) open(cmd *cobra.Command, paths []string) (*recordings.Opened, error) {
	if err := f.check(cmd); err != nil {
		return nil, err
	}
	return f.openFiltered(cmd, paths)
}

// openFiltered opens the sessions under paths that pass Filter, which check has set, or parse of runFlags for a scenario. The caller closes them.
func (f *readFlags) openFiltered(cmd *cobra.Command, paths []string) (*recordings.Opened, error) {
	f.In, f.Err, f.Command = cmd.InOrStdin(), cmd.ErrOrStderr(), cmd.CommandPath()
	if format := cmd.Flags().Lookup("format"); format != nil && strings.HasPrefix(format.Value.String(), "csv") {
		f.Bare = true
	}
	return recordings.Open(cmd.Context(), paths, f.Options)
}

// useGenerated replaces recordings with the sessions that the plan generates.
func (f *readFlags) useGenerated(plan *scenarios.Plan) {
	if g := plan.Design.Scenario.Sessions.Generate; g.Profile != "" {
		f.Generate = (&genFlags{profile: g.Profile, sessions: g.Sessions, seed: g.Seed, workers: f.Workers}).corpus
	}
	if plan.Design.Scenario.Users.Any() {
		f.Draw = plan.Draw
	}
}

// watchPlan shows how far the simulations of a plan are, until stop is called.
func (f *readFlags) watchPlan(plan *scenarios.Plan) (stop func()) {
	var s console.Simulating
	plan.Done = s.Done
	return f.Watch(s.Text)
}

// runPlan runs a plan and shows progress.
func (f *readFlags) runPlan(cmd *cobra.Command, plan *scenarios.Plan, corpus *traces.Corpus) (*results.Run, error) {
	defer f.watchPlan(plan)()
	return plan.Run(cmd.Context(), corpus)
}

// filterFlags select among the sessions that are read.
type filterFlags struct {
	text   traces.FilterText
	tz     string
	zone   *time.Location // that tz names
	byCall bool           // --since and --until select calls
}

func (f *filterFlags) bind(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.text.Since, "since", "",
		"sessions since `WHEN`: a date, an RFC 3339 time or an age such as 7d or 36h")
	flags.StringVar(&f.text.Until, "until", "", "sessions up to `WHEN`")
	flags.StringVar(&f.tz, "tz", "Local", "time zone `ZONE` of days, such as UTC or Europe/Berlin")
	flags.StringArrayVar(&f.text.Projects, "project", nil,
		"sessions whose project contains or matches `TEXT` (*, ?, [a-z]); repeatable")
	flags.StringArrayVar(&f.text.Models, "model", nil, "sessions with calls of a model that matches `PATTERN`; repeatable")
	flags.StringArrayVar(&f.text.Agents, "agent", nil, "sessions of the agent `NAME`, such as claude-code; repeatable")
}

// parse returns the filter, or all that is wrong with the flags.
func (f *filterFlags) parse(cmd *cobra.Command) (filter traces.Filter, err error) {
	if f.zone, err = time.LoadLocation(f.tz); err != nil {
		return filter, fmt.Errorf("--tz %s: no such time zone; known are names such as UTC and Europe/Berlin", f.tz)
	}
	filter, err = f.text.Parse(time.Now(), f.zone)
	filter.ByCall = f.byCall
	return filter, errors.Join(append(f.empty(cmd), err)...)
}

// of returns the filter of a scenario that has the flags, or all that is wrong with it.
func (f *filterFlags) of(cmd *cobra.Command, s *scenarios.Sessions) (traces.Filter, error) {
	if _, err := f.parse(cmd); err != nil { // for what it finds wrong: the values of the flags are in s already
		return traces.Filter{}, err
	}
	zone := f.zone
	if flag := cmd.Flags().Lookup("tz"); flag == nil || !flag.Changed {
		zone = nil
	}
	return s.Select(time.Now(), zone)
}

// empty returns an error for every flag that needs a time and has none.
func (f *filterFlags) empty(cmd *cobra.Command) []error {
	var errs []error
	for _, name := range []string{"since", "until"} {
		if flag := cmd.Flags().Lookup(name); flag != nil && flag.Changed && flag.Value.String() == "" {
			errs = append(errs, fmt.Errorf("--%s: no time given", name))
		}
	}
	return errs
}
