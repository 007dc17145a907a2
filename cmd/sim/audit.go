package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/compactsim/compactsim/cmd/sim/internal/console"
	"github.com/compactsim/compactsim/cmd/sim/internal/recordings"
	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/reports/charts"
	"github.com/compactsim/compactsim/sim/audit"
	"github.com/compactsim/compactsim/sim/calls"
	"github.com/compactsim/compactsim/sim/explain"
	"github.com/compactsim/compactsim/sim/needs"
	"github.com/compactsim/compactsim/traces"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// auditFlags are the flags of sim audit.
type auditFlags struct {
	traceFlags
	top         int
	by          []string
	all         bool
	compactions bool
	cells       runFlags // whose compactions are shown
	simulated   []string // names of the flags of cells
	charts      chartFlags
}

func newAudit() *cobra.Command {
	var f auditFlags
	cmd := &cobra.Command{
		Use:   "audit [--compactions [SCENARIO]] [PATH…]",
		Short: "Explain the bill of recorded sessions: where the money went",
		Long: `Explains the bill of the sessions under PATH from recorded usage. It shows what
was paid for, what cache misses cost and why, what the contexts held, and for each finding
where to look. --since and --until choose calls, not sessions; days, weeks (ISO 8601) and
months are in the zone --tz. Two things are simulated: which compactions cost more than they
saved, and the last line, the best change that sim advise finds. Prices are the API's; a
subscription is billed none of this.

--by shows one table instead, such as --by day or --by project,model: nothing is simulated
but sessions with calls whose input is in no log, for what the bill lacks.

--compactions shows instead what every compaction of the recording, and of other strategies,
cost and whether it paid off: what started it, what its summary call and the re-writing
after it cost, what later calls saved, after how many calls it paid for itself, and where a
conversation compacts again and again for nothing. --since and --until then choose sessions.`,
		Example: `  sim audit ~/.claude/projects
  sim audit --since 7d --project api ~/.claude/projects
  sim audit --by day,model --since 7d ~/.claude/projects
  sim audit --by mcp --top 10 --format csv ~/.claude/projects
  sim audit --top 0 --tz Europe/Berlin ~/.claude/projects
  sim audit --compactions --strategy auto-compact/167k --set full-compact.trigger.fixed=60000
  sim audit --compactions --format csv thresholds ~/.claude/projects`,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case f.compactions && len(f.by) > 0:
				return console.Misuse(errors.New("--by divides the bill, --compactions lists compactions: give one"))
			case f.compactions:
				return f.chains(cmd, args)
			}
			return f.run(cmd, args)
		},
	}
	f.bind(cmd, append(document.Formats(), formatMetrics)...)
	before := names(cmd)
	f.cells.bindStrategies(cmd)
	f.simulated = slices.DeleteFunc(names(cmd), func(name string) bool { return slices.Contains(before, name) })
	for _, name := range f.simulated {
		cmd.Flags().Lookup(name).Annotations = map[string][]string{neededFlag: {"compactions"}}
	}
	f.charts.bind(cmd, "misses", "dearest", "compactions", "cost")
	flags := cmd.Flags()
	flags.BoolVar(&f.compactions, "compactions", false, "show what every compaction cost and whether it paid off")
	flags.StringSliceVar(&f.by, "by", nil, "a table of the bill by `NAMES`, the first outermost: "+byNames())
	flags.BoolVar(&f.all, "all", false, "every finding, and the bill by class, model, day and project, misses and contexts")
	flags.IntVar(&f.top, "top", 5, "show `N` findings in full and N lines of each list, and sum up the rest; 0 for all")
	return cmd
}

// names returns the names of a command's flags.
func names(cmd *cobra.Command) (list []string) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) { list = append(list, f.Name) })
	return list
}

// chains shows the compactions of the cells of a scenario.
func (f *auditFlags) chains(cmd *cobra.Command, args []string) error {
	c := &f.cells
	c.read, c.format, c.prices, c.output.chartFlags = f.read, f.format, f.prices, f.charts
	s, err := c.open(cmd, args, f.onlyHere("misses", "excludes --compactions"), f.onlyHere("dearest", "excludes --compactions"))
	if err != nil {
		return err
	}
	defer s.corpus.Close()
	stop := c.read.watchPlan(s.plan)
	run, cells, err := s.plan.Chains(cmd.Context(), s.corpus.Corpus)
	stop()
	if run == nil {
		return err
	}
	most := maxLines
	if cmd.Flags().Changed("top") {
		most = f.top
	}
	s.corpus.Remark(&run.Workload)
	return errors.Join(err, c.write(cmd, charts.Chains(run, cells, most)),
		c.draw(cmd, s, func() []charts.Drawing { return charts.ChainDrawings(run, cells) }))
}

func (f *auditFlags) run(cmd *cobra.Command, args []string) error {
	prices, err := f.prices.table()
	err = errors.Join(err, f.charts.check(), f.onlyHere("compactions", "needs --compactions"))
	if f.format == formatMetrics && len(f.by) == 0 {
		err = errors.Join(err, fmt.Errorf("--format %s writes a table: give --by NAMES", formatMetrics))
	}
	if len(f.by) > 0 {
		err = errors.Join(err, f.onlyHere("misses", "excludes --by"), f.onlyHere("dearest", "excludes --by"))
	} else {
		err = errors.Join(err, f.onlyHere("cost", "needs --by"))
	}
	for _, name := range f.simulated {
		if cmd.Flags().Changed(name) {
			err = errors.Join(err, fmt.Errorf("--%s needs --compactions", name))
		}
	}
	if err != nil {
		return console.Misuse(err)
	}
	f.read.choice.byCall = true
	if len(f.by) > 0 {
		return f.breakdown(cmd, args, prices)
	}
	f.read.Listener = needs.NewListener() // the simulation asks what was used later
	f.read.Lazy = true
	corpus, err := f.read.open(cmd, args)
	if err != nil {
		return err
	}
	defer corpus.Close()
	return f.show(cmd, corpus, prices, f.sameSessions(cmd, args))
}

// show writes the report on the bill of sessions, which other verbs read with the arguments in again.
func (f *auditFlags) show(cmd *cobra.Command, corpus *recordings.Opened, prices *costmodel.Table, again string) error {
	report, err := f.reportOn(cmd.Context(), corpus.Corpus, prices)
	if err != nil {
		return err
	}
	lacks, err := f.unlogged(cmd.Context(), corpus.Corpus, prices)
	if err != nil {
		return err
	}
	report.Remarks = append(remarkBill(corpus, prices), lacks...)
	o := f.document(prices, report.Until)
	o.Again, o.Brief = again, !f.all && f.format == "table"
	if f.forPeople() {
		advice, err := f.advice(cmd, corpus.Corpus, prices)
		if err != nil {
			return err
		}
		o.Advice = advice.Line()
	}
	return errors.Join(report.Document(o).Write(cmd.OutOrStdout(), f.format), f.charts.draw(cmd, charts.AuditDrawings(report)))
}

// forPeople reports whether the output has a place for remarks and advice.
func (f *auditFlags) forPeople() bool {
	return f.format != "json" && f.format != formatMetrics && !strings.HasPrefix(f.format, "csv")
}

// remarkBill says what was read, and which searches have no price.
func remarkBill(corpus *recordings.Opened, prices *costmodel.Table) []string {
	list := corpus.Remarks()
	if text := calls.UnpricedSearches(prices, corpus.Sessions); text != "" {
		list = append(list, text)
	}
	return list
}

// document says how a bill up to a day is shown: how many lines, and which prices it has.
func (f *auditFlags) document(prices *costmodel.Table, until string) audit.DocumentOptions {
	o := audit.DocumentOptions{Top: f.top}
	if f.prices.file != "" {
		o.Prices = filepath.Base(f.prices.file) + prices.List()
	}
	if last, err := time.Parse(time.DateOnly, until); err == nil {
		o.AsOf = prices.Stale(last)
	}
	return o
}

// onlyHere returns an error for a chart of a kind that only the other report has.
func (f *auditFlags) onlyHere(other, why string) error {
	if f.charts.wants(other) {
		return fmt.Errorf("--chart %s=FILE %s", other, why)
	}
	return nil
}

// reportOn returns the report on sessions: the report of the last time if nothing that it depends on has changed.
func (f *auditFlags) reportOn(ctx context.Context, corpus *traces.Corpus, prices *costmodel.Table) (*audit.Report, error) {
	keep, _ := corpus.Kept()
	key, in := corpus.Key(), &f.read.Filter
	if in.Since.Nanosecond()+in.Until.Nanosecond() > 0 {
		key = "" // an age counts from now: no other audit has this period
	}
	if key != "" {
		key = fmt.Sprintf("audit %d %v %d %d %s %s %s", f.top, f.read.Strict, in.Since.UnixNano(), in.Until.UnixNano(), zoneKey(f.read.choice.zone),
			prices.Key(), key)
		report := new(audit.Report)
		if keep.Get(key, report) {
			return report, nil
		}
	}
	report, err := f.explain(ctx, corpus, prices)
	if err != nil {
		return nil, err
	}
	if report.Heads, err = explain.Heads(corpus, prices); err != nil {
		return nil, err
	}
	if key != "" {
		keep.Put(key, report)
	}
	return report, nil
}

// zoneKey identifies what time it is in a zone, whatever its name: Local is another zone for every user.
func zoneKey(zone *time.Location) string {
	h := sha256.New()
	for at := time.Unix(0, 0).In(zone); at.Year() < 2100; {
		name, offset := at.Zone()
		_, end := at.ZoneBounds()
		if fmt.Fprintln(h, name, offset, end.Unix()); end.IsZero() {
			break
		}
		if !end.After(at) { // in zones with a rule for all years the last days of a leap year end where they begin (Go 1.26)
			end = at.AddDate(0, 0, 1)
		}
		at = end
	}
	return fmt.Sprintf("%s %x", zone, h.Sum(nil))
}

func (f *auditFlags) explain(ctx context.Context, corpus *traces.Corpus, prices *costmodel.Table) (*audit.Report, error) {
	o := audit.Options{Prices: prices, Top: f.top, Zone: f.read.choice.zone, In: f.read.Filter.InPeriod}
	plan, err := f.plan(prices)
	if err != nil {
		return nil, err
	}
	switch _, cells, err := plan.Chains(ctx, corpus); {
	case err == nil:
		o.Compactions = cells[0].Compactions
	case !errors.Is(err, traces.ErrNoSessions): // sessions without a call have no advice
		return nil, err
	}
	return audit.Run(corpus.Sessions, o)
}

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

// breakdown writes the bill by the names of --by. It simulates nothing but sessions with calls of which the log has the output alone.
func (f *auditFlags) breakdown(cmd *cobra.Command, args []string, prices *costmodel.Table) error {
	if !cmd.Flags().Changed("top") {
		f.top = 0
	}
	f.read.Lazy, f.read.Once = true, true
	if f.format == formatMetrics {
		f.read.Bare = true
	}
	corpus, err := f.read.open(cmd, args)
	if err != nil {
		return err
	}
	defer corpus.Close()
	o := audit.Options{Prices: prices, Zone: f.read.choice.zone, In: f.read.Filter.InPeriod}
	b, err := audit.Break(corpus.Sessions, f.by, o, time.Now())
	if err != nil {
		return console.Misuse(err)
	}
	if b.Remarks = remarkBill(corpus, prices); f.forPeople() {
		lacks, err := f.unlogged(cmd.Context(), corpus.Corpus, prices)
		if err != nil {
			return err
		}
		b.Remarks = append(b.Remarks, lacks...)
	}
	if f.format == formatMetrics {
		err = b.WriteMetrics(cmd.OutOrStdout())
	} else {
		err = b.Document(f.document(prices, b.Until)).Write(cmd.OutOrStdout(), f.format)
	}
	return errors.Join(err, f.charts.draw(cmd, charts.BreakdownDrawings(b)))
}
