package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/compactsim/compactsim/cmd/sim/internal/console"
	"github.com/compactsim/compactsim/cmd/sim/internal/outputs"
	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/internal/kit/files"
	"github.com/compactsim/compactsim/internal/kit/nearest"
	"github.com/compactsim/compactsim/scenarios"
	"github.com/compactsim/compactsim/scenarios/builtin"
	"github.com/compactsim/compactsim/sim/client"
	"github.com/compactsim/compactsim/strategies"
)

func newScenarios() *cobra.Command {
	return group("scenarios", "List and print the built-in scenarios", "",
		newLs("List the built-in scenarios", scenarioSheet), newShow("scenario",
			"Print a built-in scenario, or the manual under the name reference", scenarioNames, scenarioByName))
}

// scenarioSheet lists the built-in scenarios with what they expand to.
func scenarioSheet() (*document.Table, error) {
	registry, err := strategies.Builtin()
	if err != nil {
		return nil, err
	}
	all, err := builtin.All()
	if err != nil {
		return nil, err
	}
	withUsers := func(b builtin.Scenario) int { return min(1, bytes.Count(b.Text, []byte("\nusers:"))) }
	slices.SortStableFunc(all, func(a, b builtin.Scenario) int { return withUsers(a) - withUsers(b) })
	s := &document.Table{
		Columns: []document.Column{
			{Name: "name", Title: "NAME"},
			{Name: "users", Title: "USERS", Right: true},
			{Name: "cells", Title: "CELLS", Right: true},
			{Name: "doc", Title: "WHAT"},
		},
		Notes: []string{"sim run NAME [PATH…] runs a scenario, sim scenarios show NAME prints it, and sim scenarios show reference prints the " +
			"manual. Scenarios with users take no PATH."},
		Fitted: true,
	}
	for _, b := range all {
		file, err := scenarios.Parse(registry, b.Text, b.Name+".yaml")
		if err != nil {
			return nil, err
		}
		design, err := file.Expand()
		if err != nil {
			return nil, err
		}
		var users any // of recordings: none
		if u := &design.Scenario.Users; u.Any() {
			users = u.Count()
		}
		s.Rows = append(s.Rows, []any{b.Name, users, len(design.Cells), strings.Join(strings.Fields(b.Doc), " ")})
	}
	return s, nil
}

// referenceName is the name of the manual in sim scenarios show.
const referenceName = "reference"

// scenarioByName returns the text of a built-in scenario, or the manual.
func scenarioByName(name string) ([]byte, error) {
	if name == referenceName {
		return scenarios.Reference()
	}
	b, err := builtin.Lookup(name)
	if err != nil {
		return nil, err
	}
	return b.Text, nil
}

// scenarioText is a scenario file as read.
type scenarioText struct {
	name    string // of the file, for messages
	text    []byte
	builtin bool     // comes with the program
	keys    []string // that lead to it within a file of more
}

// scenarioPrefix makes an argument a scenario even if something else has its name.
const scenarioPrefix = "scenario:"

// splitArgs finds the scenario among the arguments: a built-in name, a .yaml
// file, or scenario:NAME; the rest are paths of recordings. Without one it
// returns the default scenario.
func splitArgs(args []string) (*scenarioText, []string, error) {
	var found *scenarioText
	var foundAs string
	var paths []string
	var errs []error
	for _, arg := range args {
		s, err := asScenario(arg)
		switch {
		case err != nil:
			errs = append(errs, err)
		case s == nil:
			paths = append(paths, arg)
		case found != nil:
			errs = append(errs, fmt.Errorf("two scenarios, %s and %s: run one at a time", foundAs, arg))
		default:
			found, foundAs = s, arg
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, nil, err
	}
	if found == nil {
		var err error
		if found, err = builtinScenario("default"); err != nil {
			return nil, nil, err
		}
	}
	return found, paths, nil
}

// asScenario returns the scenario that an argument names, nil for a path.
func asScenario(arg string) (*scenarioText, error) {
	if name, ok := strings.CutPrefix(arg, scenarioPrefix); ok {
		if isYAML(name) {
			return readScenario(name)
		}
		return builtinScenario(name)
	}
	info, statErr := os.Stat(arg)
	if isYAML(arg) && (statErr != nil || !info.IsDir()) {
		return readScenario(arg)
	}
	known, err := builtin.Lookup(arg)
	if err != nil {
		return nil, nil // a path; reading it shows whether it exists
	}
	// An output folder with the name of the scenario holds no recordings.
	if statErr == nil && !(info.IsDir() && outputs.HoldsRun(arg)) {
		kind := "file"
		if info.IsDir() {
			kind = "folder"
		}
		return nil, fmt.Errorf("%q is both a built-in scenario and a %s: "+
			"write scenario:%[1]s for the scenario or ./%[1]s for the %[2]s", arg, kind)
	}
	return &scenarioText{name: known.Name + ".yaml", text: known.Text, builtin: true}, nil
}

func isYAML(name string) bool {
	ext := strings.ToLower(filepath.Ext(name))
	return ext == ".yaml" || ext == ".yml"
}

// isFile reports whether there is a file with a name.
func isFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && !info.IsDir()
}

func builtinScenario(name string) (*scenarioText, error) {
	b, err := builtin.Lookup(name)
	if err != nil {
		return nil, err
	}
	return &scenarioText{name: b.Name + ".yaml", text: b.Text, builtin: true}, nil
}

func readScenario(file string) (*scenarioText, error) {
	text, err := files.Read(file)
	if err != nil {
		return nil, fmt.Errorf("read scenario: %w", err)
	}
	return &scenarioText{name: file, text: text}, nil
}

// hintScenario adds to the error of a missing path the scenario that may have
// been meant.
func hintScenario(err error, args []string) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, arg := range args {
		if _, statErr := os.Stat(arg); statErr == nil {
			continue
		}
		if name, ok := nearest.Name(arg, scenarioNames()); ok {
			return console.Misuse(fmt.Errorf("%w; did you mean the scenario %q?", err, name))
		}
	}
	return err
}

func newStrategies() *cobra.Command {
	return group("strategies", "List, print, compare and check strategies", "",
		newStrategiesList(), newShow("strategy", "Print a strategy as YAML with every parameter written out and explained",
			presetNames, strategyText),
		newStrategiesDiff(), newStrategiesCheck())
}

// newStrategiesList lists strategies, all or the ones that match patterns.
func newStrategiesList() *cobra.Command {
	var patterns []string
	cmd := newLs("List the strategies with their layers and the level each acts at", func() (*document.Table, error) { return strategySheet(patterns) })
	cmd.Use, cmd.Example = "ls [PATTERN…]", "  sim strategies ls 'codex/*' 'cline/*'"
	cmd.Args = func(_ *cobra.Command, args []string) error { patterns = args; return nil }
	return cmd
}

// usualReading is the window and output limit for which thresholds are shown: the limits of the
// recorded sessions.
var usualReading = strategies.Reading{Window: 200_000, MaxOutput: client.MaxOutput}

// strategySheet lists the strategies that match one of some patterns, all for none, one per row.
func strategySheet(patterns []string) (*document.Table, error) {
	registry, err := strategies.Builtin()
	if err != nil {
		return nil, err
	}
	s := &document.Table{
		Fitted: true,
		Columns: []document.Column{
			{Name: "name", Title: "NAME"},
			{Name: "layers"},
			{Name: "acts_at_tokens", Title: "ACTS AT", Right: true},
			{Name: "group", Title: "KIND"},
			{Name: "about", Title: "ABOUT"},
		},
		Notes: []string{
			fmt.Sprintf("ACTS AT is in tokens by the client's count unless it says otherwise, for each layer, at a window of %d and %d tokens of output.",
				usualReading.Window, usualReading.MaxOutput),
			"sim strategies show NAME prints a strategy in full: layers, parameters and source.",
		},
	}
	for _, name := range registry.Presets() {
		if len(patterns) > 0 && !slices.ContainsFunc(patterns, func(p string) bool { return p == strategies.AllStrategies || nearest.Match(p, name) }) {
			continue
		}
		strategy, err := registry.Strategy(name)
		if err != nil {
			return nil, err
		}
		about := firstSentence(strategy.Doc)
		if why := strategy.Origin.NotRun; why != "" {
			about += "; not run: " + why
		}
		s.Rows = append(s.Rows, []any{name, strategy.InUse(), levelsOf(strategy, &usualReading), kinds[strategy.Group],
			document.Cell{Value: about, Text: cutToLine(about)}})
	}
	if len(s.Rows) == 0 {
		return nil, console.Misuse(fmt.Errorf("no strategy matches %q: sim strategies ls lists all", patterns))
	}
	return s, nil
}

// kinds are groups of strategies in the singular.
var kinds = map[string]string{"agents": "agent", "libraries": "library", "papers": "paper"}

// levelsOf returns the levels at which a strategy acts, in tokens unless they have a unit.
func levelsOf(s *strategies.Strategy, r *strategies.Reading) string {
	var levels []string
	for _, t := range s.Thresholds(r) {
		level := strconv.FormatInt(t.Value, 10)
		switch t.Measure {
		case strategies.MeasureClientTokens, strategies.MeasureTokens:
		case strategies.MeasureIdle:
			level = fmt.Sprintf("%d m idle", t.Value/int64(time.Minute))
		default:
			level += " " + t.Measure.String()
		}
		levels = append(levels, level)
	}
	return strings.Join(levels, ", ")
}

// aboutWidth is the width of what a listing says of a strategy, in characters.
const aboutWidth = 44

// cutToLine returns the words of a text that fit a line of a listing.
func cutToLine(text string) string {
	if utf8.RuneCountInString(text) <= aboutWidth {
		return text
	}
	cut := string([]rune(text)[:aboutWidth])
	return strings.TrimRight(cut[:max(strings.LastIndexByte(cut, ' '), 1)], ",;: ") + " …"
}

// firstSentence returns a text up to its first full stop after a word, on one
// line.
func firstSentence(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if i := strings.Index(text, ". "); i >= 0 {
		return text[:i]
	}
	return strings.TrimSuffix(text, ".")
}

// strategyText returns a strategy as YAML.
func strategyText(name string) ([]byte, error) {
	registry, err := strategies.Builtin()
	if err != nil {
		return nil, err
	}
	s, err := registry.Strategy(name)
	if err != nil {
		return nil, err
	}
	return s.YAML()
}

func newStrategiesDiff() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "diff A B",
		Short: "List the parameters that differ between two strategies",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return console.Misuse(fmt.Errorf("which two strategies? sim strategies ls lists them"))
			}
			registry, err := strategies.Builtin()
			if err != nil {
				return err
			}
			one, err := registry.Strategy(args[0])
			other, otherErr := registry.Strategy(args[1])
			if err := errors.Join(err, otherErr); err != nil {
				return console.Misuse(err)
			}
			return differenceSheet(one, other).Write(cmd.OutOrStdout(), format)
		},
	}
	bindFormat(cmd, &format)
	return cmd
}

// differenceSheet lists differing parameters, one per row.
func differenceSheet(a, b *strategies.Strategy) *document.Table {
	s := &document.Table{Columns: []document.Column{
		{Name: "parameter", Title: "PARAMETER"},
		{Name: "a", Title: a.Name},
		{Name: "b", Title: b.Name},
	}}
	for _, d := range a.Diff(b) {
		s.Rows = append(s.Rows, []any{d.Path, d.A, d.B})
	}
	if len(s.Rows) == 0 {
		s.Notes = []string{"No parameter differs."}
	}
	return s
}
