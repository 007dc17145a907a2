package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/compactsim/compactsim/internal/document"
	"github.com/compactsim/compactsim/sim/client"
	"github.com/compactsim/compactsim/strategies"
)

func newStrategies() *cobra.Command {
	return group("strategies", "Look at the ways of managing a context that sim knows", "",
		listing("List the strategies with their layers and the level each acts at", strategySheet),
		showing("strategy", "Print a strategy as YAML with every parameter written out and explained", strategyText),
		newStrategiesDiff())
}

// usualReading is the window and output limit that thresholds are shown for:
// those of the recorded sessions.
var usualReading = strategies.Reading{Window: 200_000, MaxOutput: client.MaxOutput}

// strategySheet lists strategies, one a row.
func strategySheet() (*document.Table, error) {
	registry, err := strategies.Builtin()
	if err != nil {
		return nil, err
	}
	s := &document.Table{
		Fitted: true,
		Columns: []document.Column{
			{Name: "name", Title: "NAME"},
			{Name: "layers", Title: "LAYERS"},
			{Name: "acts_at_tokens", Title: "ACTS AT", Right: true},
			{Name: "about", Title: "ABOUT"},
		},
		Notes: []string{
			fmt.Sprintf("ACTS AT: tokens by the client's count, layer by layer, at a window of %d and %d tokens of output.", usualReading.Window, usualReading.MaxOutput),
			"Of layers joined by else, the first that acts ahead of a request bars the rest. sim strategies show NAME prints every parameter, and the layers that are off.",
		},
	}
	for _, name := range registry.Presets() {
		strategy, err := registry.Strategy(name)
		if err != nil {
			return nil, err
		}
		var levels []string
		for _, t := range strategy.Thresholds(&usualReading) {
			levels = append(levels, strconv.FormatInt(t.Value, 10))
		}
		s.Rows = append(s.Rows, []any{name, strategy.InUse(), strings.Join(levels, ", "), firstSentence(strategy.Doc)})
	}
	return s, nil
}

// firstSentence returns a text up to its first full stop at the end of a word,
// on one line.
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
		Short: "List the parameters in which two strategies differ",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usageError{fmt.Errorf("which two strategies? sim strategies ls lists them")}
			}
			registry, err := strategies.Builtin()
			if err != nil {
				return err
			}
			one, err := registry.Strategy(args[0])
			other, otherErr := registry.Strategy(args[1])
			if err := errors.Join(err, otherErr); err != nil {
				return usageError{err}
			}
			return differenceSheet(one, other).Write(cmd.OutOrStdout(), format)
		},
	}
	bindFormat(cmd, &format)
	return cmd
}

// differenceSheet lists differing parameters, one a row.
func differenceSheet(a, b *strategies.Strategy) *document.Table {
	s := &document.Table{Columns: []document.Column{
		{Name: "parameter", Title: "PARAMETER"},
		{Name: "a", Title: a.Name},
		{Name: "b", Title: b.Name},
	}}
	for _, d := range strategies.Diff(a, b) {
		s.Rows = append(s.Rows, []any{d.Path, d.A, d.B})
	}
	if len(s.Rows) == 0 {
		s.Notes = []string{"No parameter differs."}
	}
	return s
}
