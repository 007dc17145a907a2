package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/compactsim/compactsim/cmd/sim/internal/console"
	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/scenarios"
	"github.com/compactsim/compactsim/sim/explain"
	"github.com/compactsim/compactsim/sim/results/studies"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces"
)

// newStrategiesCheck is the verb for a strategy of one's own.
func newStrategiesCheck() *cobra.Command {
	var f traceFlags
	var window int64
	cmd := &cobra.Command{
		Use:   "check FILE [PATH…]",
		Short: "Check a strategy file of your own and draw what it does to a session",
		Long: `Reads a strategy file in the form that sim strategies show prints, and says with file and line
what is wrong in it and what is odd: a trigger that cannot fire in this window, or kept messages
larger than the level it acts at. Then it draws the context of the largest session under PATH,
call by call, with the strategy and without it.`,
		Example: "  sim strategies check mine.yaml\n  sim run --strategy mine.yaml,recorded ~/.claude/projects",
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) == 0:
				return console.Misuse(fmt.Errorf("which file? sim strategies show NAME prints one to start from"))
			case f.format == "csv" || f.format == "json":
				return console.Misuse(fmt.Errorf("a strategy is checked in words: use --format table, markdown or html"))
			}
			return checkStrategy(cmd, &f, args[0], args[1:], window)
		},
	}
	f.bind(cmd)
	cmd.Flags().Int64Var(&window, "window", usualReading.Window, "context window, `TOKENS`")
	return cmd
}

// checkStrategy prints what is wrong and odd in a strategy, and what it does.
func checkStrategy(cmd *cobra.Command, f *traceFlags, file string, paths []string, window int64) error {
	registry, err := strategies.Builtin()
	if err != nil {
		return err
	}
	s, err := registry.Load(file)
	if err != nil {
		return console.Misuse(err)
	}
	reading := strategies.Reading{Window: window, MaxOutput: usualReading.MaxOutput}
	if err := s.ValidateFor(&reading); err != nil {
		return console.Misuse(fmt.Errorf("%s: %w", file, err))
	}
	d := &document.Document{Head: []string{fmt.Sprintf("%s: %s, %s", s.Name, s.InUse(), cmp.Or(levelsOf(s, &reading), "without a level"))}}
	for _, odd := range s.Odd(&reading) {
		d.Head = append(d.Head, "odd: "+odd)
	}
	f.read.Bare = true
	corpus, err := f.read.open(cmd, paths)
	if err != nil {
		return err
	}
	defer corpus.Close()
	if len(corpus.Sessions) == 0 {
		return d.Write(cmd.OutOrStdout(), f.format)
	}
	session := slices.MaxFunc(corpus.Sessions, func(a, b *traces.Session) int { return cmp.Compare(a.NumCalls(), b.NumCalls()) })
	plan := scenarios.Plan{Seed: 1, Window: window, Registry: registry}
	if plan.Prices, err = f.prices.table(); err != nil {
		return err
	}
	d.Head = append(d.Head, "", fmt.Sprintf("the main conversation of %s in a window of %d; a full block is the whole window:", session.ID, window))
	for _, name := range []string{"none", s.Name} {
		config, err := plan.Config(name, nil)
		if err != nil {
			return console.Misuse(err)
		}
		e, err := explain.Session(config, session, 0)
		if err != nil {
			return err
		}
		d.Head = append(d.Head, drawContext(name, e, window)...)
	}
	return d.Write(cmd.OutOrStdout(), f.format)
}

// drawnColumns is the width of a drawing, in characters.
const drawnColumns = 96

// drawContext returns the context of the main conversation's calls as a line of blocks, and what
// happened to it: C a compaction or truncation, c a clearing.
func drawContext(name string, e *studies.Explanation, window int64) []string {
	var main []*studies.ExplainedCall
	for i := range e.Calls {
		if c := &e.Calls[i]; c.Kind == traces.ThreadMain.String() && c.Layer == "" {
			main = append(main, c)
		}
	}
	var usd float64
	for i := range e.Calls {
		usd += e.Calls[i].CostUSD
	}
	bars, marks := []rune(strings.Repeat(" ", min(drawnColumns, len(main)))), []rune(strings.Repeat(" ", min(drawnColumns, len(main))))
	acts := 0
	for at := range bars {
		var most int64
		for _, c := range main[at*len(main)/len(bars) : (at+1)*len(main)/len(bars)] {
			most = max(most, c.Context)
			for _, step := range c.Steps {
				switch step.Boundary {
				case "":
					continue
				case strategies.BoundaryMicro.String(), strategies.BoundaryServer.String(), strategies.BoundaryStore.String():
					if marks[at] == ' ' {
						marks[at] = 'c'
					}
				default:
					marks[at] = 'C'
				}
				acts++
			}
		}
		bars[at] = []rune("▁▂▃▄▅▆▇█")[min(7, max(0, most*8/max(1, window)))]
	}
	return []string{"", fmt.Sprintf("%s: $%.2f, acts %s", name, usd, document.Count(acts, "time")), string(bars), strings.TrimRight(string(marks), " ")}
}
