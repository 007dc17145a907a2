package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/internal/kit/spec"
	"github.com/compactsim/compactsim/internal/serving/client"
	"github.com/compactsim/compactsim/strategies"
)

func newGenerations() *cobra.Command {
	cmd := listing("Compare the generations of clients: when each compacts, how, what stays, and what its client sends",
		generationSheet)
	cmd.Use = "generations"
	return cmd
}

// generationSheet lists the presets that are a generation of a client, one per row.
func generationSheet() (*document.Table, error) {
	registry, err := strategies.Builtin()
	if err != nil {
		return nil, err
	}
	s := &document.Table{
		Fitted: true,
		Columns: []document.Column{
			{Name: "name", Title: "GENERATION"},
			{Name: "versions", Title: "VERSIONS"},
			{Name: "acts_at_tokens", Title: "COMPACTS AT", Right: true},
			{Name: "summary", Title: "SUMMARY BY"},
			{Name: "stays", Title: "STAYS"},
			{Name: "beside", Title: "BESIDE"},
			{Name: "client", Title: "CLIENT"},
		},
		Notes: []string{
			fmt.Sprintf("VERSIONS are those that the sources cover; the nearest generation stands for others. COMPACTS AT is in tokens by "+
				"the client's count, at a window of %d and %d tokens of output. sim strategies show NAME prints every parameter.",
				usualReading.Window, usualReading.MaxOutput),
		},
	}
	for _, g := range registry.Generations() {
		p, ok := g.Params(strategies.CompactName).(strategies.CompactParams)
		if !ok {
			continue
		}
		worn, err := clientOf(g)
		if err != nil {
			return nil, err
		}
		beside := slices.DeleteFunc(g.LayerNames(), func(name string) bool { return name == strategies.CompactName })
		s.Rows = append(s.Rows, []any{
			g.Name, versionsOf(&g.Generation), compactsAt(g), waysOf(&p), stays(&p), strings.Join(beside, ", "), worn,
		})
	}
	return s, nil
}

// versionsOf names the versions of a generation.
func versionsOf(g *strategies.Generation) string {
	switch through := strings.ReplaceAll(g.Through, "999", "x"); {
	case g.From == "0":
		return "all"
	case through == "":
		return "from " + g.From
	default:
		return g.From + " to " + through
	}
}

// compactsAt returns the level of full compaction.
func compactsAt(g *strategies.Strategy) string {
	for _, t := range g.Thresholds(&usualReading) {
		if t.Layer == strategies.CompactName {
			return strconv.FormatInt(t.Value, 10)
		}
	}
	return ""
}

// waysOf says how the summary call is made.
func waysOf(p *strategies.CompactParams) string {
	var ways []string
	for _, w := range p.Call {
		ways = append(ways, w.String())
	}
	text := strings.Join(ways, " else ")
	if p.Verify {
		text += ", verified"
	}
	return text
}

// stays says which messages a compaction leaves unchanged.
func stays(p *strategies.CompactParams) string {
	switch k := &p.Keep; {
	case k.Rounds == 1:
		return "the newest round"
	case k.Rounds > 1:
		return fmt.Sprintf("the newest %d rounds", k.Rounds)
	case k.Tokens > 0:
		return fmt.Sprintf("the newest %d tokens", k.Tokens)
	case k.Share > 0:
		return "the newest " + document.Percent(k.Share)
	case k.User > 0:
		return fmt.Sprintf("%d tokens of the person's", k.User)
	}
	return "nothing"
}

// clientOf describes what the client half of a generation sends.
func clientOf(g *strategies.Strategy) (string, error) {
	if g.ClientHalf() == nil {
		return "as recorded", nil
	}
	var c struct {
		Version string
		System  struct{ Split string }
		TTL     struct {
			Choice string
			Latch  *bool
		}
		Levels struct{ Block string }
	}
	if err := spec.Clone(g.ClientHalf()).Decode(&c); err != nil {
		return "", fmt.Errorf("client of %s: %w", g.Name, err)
	}
	of := client.ForVersion(c.Version)
	parts := []string{document.Count(of.MessageMarkers, "marker") + " on messages"}
	if !of.Count.Trailing {
		parts = append(parts, "counts the last response alone")
	}
	if c.System.Split == client.SplitSections {
		parts = append(parts, "sections with scopes, memoised")
	}
	if c.TTL.Choice == client.ChoicePolicy && (c.TTL.Latch == nil || *c.TTL.Latch) {
		parts = append(parts, "1h by a latched policy")
	} else if c.TTL.Choice != "" {
		parts = append(parts, c.TTL.Choice)
	}
	if c.Levels.Block == "compact" {
		parts = append(parts, "stops input when full")
	}
	return strings.Join(parts, ", "), nil
}
