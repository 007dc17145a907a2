package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/compactsim/compactsim/cmd/sim/internal/console"
	"github.com/compactsim/compactsim/cmd/sim/internal/outputs"
	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/reports/charts"
	"github.com/compactsim/compactsim/reports/pseudonym"
	"github.com/compactsim/compactsim/scenarios"
	"github.com/compactsim/compactsim/scenarios/advise"
	"github.com/compactsim/compactsim/sim/audit"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/sim/results/studies"
	"github.com/compactsim/compactsim/traces"
)

// reportFlags are the flags of sim report.
type reportFlags struct{ runFlags }

func newReport() *cobra.Command {
	var f reportFlags
	cmd := &cobra.Command{
		Use:   "report [SCENARIO] [PATH…] | RUN",
		Short: "Write one page: what to set, what it saves and loses, and every call",
		Long: `Writes one HTML file that needs nothing else, for mail, CI and papers: what to set,
the strategies, charts with their values, the calls of each conversation, compactions, and what
the figures rest on.

It simulates the sessions under PATH as sim run does, with the same flags. RUN is a folder of
sim run --out: the page then has what that run kept.

--anonymize replaces session ids and everything that could be a path or a project by keyed hashes.
The key is in the file of --anonymize-key or in the variable ` + anonymizeKeyVariable + `.`,
		Example: `  sim report ~/.claude/projects -o report.html
  sim report thresholds ~/.claude/projects -o thresholds.html
  sim report before -o before.html`,
		RunE: f.run,
	}
	f.bindCells(cmd)
	flags := cmd.Flags()
	flags.StringVarP(&f.file, "output", "o", "", "write the page into `FILE` instead of standard output")
	flags.Bool("bound", false, fmt.Sprintf(
		"show how far each strategy is from the best schedule; on by default up to %d calls", maxBounded))
	f.keys.bind(cmd)
	_ = flags.MarkHidden("format") // a page is HTML
	return cmd
}

func (f *reportFlags) run(cmd *cobra.Command, args []string) error {
	key, err := f.keys.key()
	if err := errors.Join(err, pageFor("--output", f.file)); err != nil {
		return console.Misuse(err)
	}
	f.format, f.read.Lazy = "html", true
	if len(args) == 1 && outputs.HoldsRun(args[0]) {
		return f.writeStored(cmd, args[0], key)
	}
	s, err := f.study(cmd, args)
	if err != nil {
		return err
	}
	if s.plan.Design.Scenario.Users.Any() {
		return console.Misuse(errors.New("users have no recordings to advise on: sim run SCENARIO --out DIR, then sim report DIR"))
	}
	if err := f.readInto(cmd, s); err != nil {
		return err
	}
	defer s.corpus.Close()
	if scenario := &s.plan.Design.Scenario; !cmd.Flags().Changed("bound") && scenario.Sessions.Cohort == 0 {
		scenario.Bound = scenario.Bound || numCalls(s.corpus.Sessions) <= maxBounded
	}
	advised := *s.plan
	advised.Summarize = nil                                             // advice uses the stub: nobody agreed to pay for it
	advice, err := advise.Run(cmd.Context(), &advised, s.corpus.Corpus) // ahead of the run, whose rows stay in memory
	if err != nil {
		return fmt.Errorf("advice for the page: %w", err)
	}
	run, err := f.read.runPlan(cmd, s.plan, s.corpus.Corpus)
	if err != nil {
		return err
	}
	parts, err := s.parts(cmd.Context(), run, advice)
	if err != nil {
		return err
	}
	s.corpus.Remark(&run.Workload)
	return f.write(cmd, makePage(key, run, parts))
}

// writeStored writes the page of a stored run.
func (f *reportFlags) writeStored(cmd *cobra.Command, dir string, key []byte) error {
	if err := refuseSimulation(cmd); err != nil {
		return console.Misuse(err)
	}
	run, err := outputs.ReadRun(cmd.Context(), dir)
	if err != nil {
		return console.Misuse(err)
	}
	return f.write(cmd, makePage(key, run, charts.PageParts{}))
}

// pageFor is placeFor for a page, which is HTML whatever the extension of its name.
func pageFor(flag, file string) error {
	switch ext := strings.ToLower(filepath.Ext(file)); ext {
	case "", ".html", ".htm":
		return outputs.PlaceFor(flag, file)
	default:
		return fmt.Errorf("%s %s: a page is HTML, not %s: name a file that ends in .html", flag, file, ext[1:])
	}
}

// refuseSimulation returns an error for flags that say what to simulate.
func refuseSimulation(cmd *cobra.Command) error {
	var names []string
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		switch flag.Name {
		case "output", "format", "anonymize", "anonymize-key", "quiet", "verbose", "workers", "max-memory", "no-store":
		default:
			names = append(names, "--"+flag.Name)
		}
	})
	if len(names) == 0 {
		return nil
	}
	return fmt.Errorf("%s: only with PATH, because a finished run has its sessions and strategies", strings.Join(names, ", "))
}

// makePage makes the document of a page, with pseudonyms if key is not nil.
func makePage(key []byte, run *results.Run, parts charts.PageParts) *document.Document {
	if key == nil {
		return charts.Page(run, parts)
	}
	parts.Scenario, parts.Labels = "", nil
	return charts.Page(hideNames(key, run, parts.Calls, parts.Chains), parts)
}

// hideNames returns run with pseudonyms, which it puts into its calls and compactions too; run itself if key is nil.
func hideNames(key []byte, run *results.Run, calls []results.CellCalls, chains []studies.Chains) *results.Run {
	if key == nil {
		return run
	}
	out := pseudonym.Run(run, key)
	names := map[string]string{}
	for i := range run.Cells {
		names[run.Cells[i].Cell] = out.Cells[i].Cell
	}
	for i := range calls {
		calls[i].Cell = names[calls[i].Cell]
		for j := range calls[i].Calls {
			calls[i].Calls[j].Session = pseudonym.Of(key, calls[i].Calls[j].Session)
		}
	}
	for i := range chains {
		chains[i].Cell = names[chains[i].Cell]
		for j := range chains[i].Compactions {
			c := &chains[i].Compactions[j]
			c.Session, c.Thread, c.File = pseudonym.Of(key, c.Session), "", ""
		}
	}
	return out
}

// parts returns what a page has beside the figures of a run over the sessions of s.
func (s *study) parts(ctx context.Context, run *results.Run, advice *advise.Advice) (parts charts.PageParts, err error) {
	parts.Chosen = map[string]string{}
	sessions := s.plan.Design.Scenario.Sessions
	read := readsAgain(&sessions)
	sessions.Agents = nil // commands of advice name one
	advice.Again = readsAgain(&sessions)
	parts.Advice, parts.Verdict = advice.Document(nil, advise.AsDollars), advice.Verdict()
	if seed := run.Provenance.Seed; seed != 1 {
		read = fmt.Sprintf(" --seed %d", seed) + read
	}
	for i := range run.Cells {
		c := &run.Cells[i]
		told := c.Strategy != measures.StrategyBilled && s.plan.Design.Scenario.Profile == scenarios.ProfileDefault
		if told && len(c.Params)+len(run.Provenance.Switches) == 0 { // sim explain has flags for the rest
			parts.Chosen[c.Cell] = "--strategy " + document.Quoted(c.Strategy) + read
		}
	}
	if parts.Calls, parts.Chains, err = s.plan.Follow(ctx, s.corpus.Corpus, run); err != nil {
		return parts, fmt.Errorf("calls and compactions for the page: %w", err)
	}
	billed, err := s.plan.Billed(s.corpus.Corpus)
	if err != nil {
		return parts, err
	}
	parts.Calls = append([]results.CellCalls{billed}, parts.Calls...)
	if parts.Dearest, err = audit.Dearest(s.corpus.Sessions, s.plan.Prices, time.UTC); err != nil {
		return parts, err
	}
	text, err := resolveScenario(s.plan)
	if err != nil {
		return parts, err
	}
	parts.Scenario = string(text)
	parts.Labels = labelsOf(s.corpus.Sessions)
	return parts, nil
}

// readsAgain returns the arguments, each after a space, that read the same sessions.
func readsAgain(s *scenarios.Sessions) string {
	text := ""
	for _, x := range []struct {
		flag   string
		values []string
	}{{"since", []string{s.Since}}, {"until", []string{s.Until}}, {"project", s.Projects}, {"model", s.Models}, {"agent", s.Agents}} {
		for _, value := range x.values {
			if value != "" {
				text += " --" + x.flag + " " + document.Quoted(value)
			}
		}
	}
	if len(s.Paths) > 0 {
		text += " " + document.Quoted(s.Paths...)
	}
	return text
}

// maxBounded is the largest number of calls whose best schedule a page has without being asked: about two seconds of work.
const maxBounded = 8_000

func numCalls(sessions []*traces.Session) (n int) {
	for _, s := range sessions {
		n += s.NumCalls()
	}
	return n
}
