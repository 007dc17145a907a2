package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// helpWidth is the width of help, in columns.
const helpWidth = 100

// flagGroup is a heading of help and the names of the flags below it.
type flagGroup struct {
	title string
	flags []string
}

// flagGroups are the headings of help and the flags below each. What is in none
// of them stands under "Flags".
var flagGroups = []flagGroup{
	{"Sessions", []string{"discover", "yes", "since", "until", "utc", "project", "model", "agent", "strict", "sessions", "top"}},
	{"Strategies and settings", []string{"strategy", "set", "seed", "window", "profile", "verify", "folds", "replications", "preset", "change", "from", "to"}},
	{"Prices", []string{"prices", "prices-at", "price-as"}},
	{"Output", []string{"format", "split", "per-session", "all", "wide", "chart", "out", "output", "force", "dry-run"}},
	{"Real summaries", []string{
		"summarizer", "cassettes", "provider", "base-url", "live-model", "budget-usd", "max-calls", "concurrency", "rpm",
		"attempts", "timeout", "beta", "effort", "thinking", "max-output", "instructions", "live-sources", "system", "tools",
		"server-edits", "server-trigger", "redact", "replace-broken",
	}},
	{"General", []string{"workers", "quiet", "verbose", "help", "version"}},
}

// usage prints how a command is called: its form, examples, verbs and flags by
// group.
func usage(cmd *cobra.Command) error {
	var b strings.Builder
	b.WriteString("Usage:\n")
	if cmd.Runnable() && !cmd.HasAvailableSubCommands() {
		b.WriteString("  " + cmd.UseLine() + "\n")
	}
	if cmd.HasAvailableSubCommands() {
		b.WriteString("  " + cmd.CommandPath() + " COMMAND\n\nCommands:\n")
		for _, c := range cmd.Commands() {
			if c.IsAvailableCommand() || c.Name() == "help" {
				fmt.Fprintf(&b, "  %-*s %s\n", c.NamePadding(), c.Name(), c.Short)
			}
		}
	}
	if cmd.HasExample() {
		b.WriteString("\nExamples:\n" + cmd.Example + "\n")
	}
	writeFlags(&b, cmd.Flags())
	if cmd.HasAvailableSubCommands() {
		b.WriteString("\n" + cmd.CommandPath() + " COMMAND --help says more about a command.\n")
	}
	_, err := fmt.Fprint(cmd.OutOrStderr(), b.String())
	return err
}

// writeFlags writes flags under the headings of their groups.
func writeFlags(b *strings.Builder, flags *pflag.FlagSet) {
	groups := make([]*pflag.FlagSet, len(flagGroups)+1)
	for i := range groups {
		groups[i] = pflag.NewFlagSet("", pflag.ContinueOnError)
	}
	flags.VisitAll(func(f *pflag.Flag) {
		i := slices.IndexFunc(flagGroups, func(g flagGroup) bool { return slices.Contains(g.flags, f.Name) })
		groups[i+1].AddFlag(f)
	})
	for i, g := range groups {
		if !g.HasAvailableFlags() {
			continue
		}
		title := "Flags"
		if i > 0 {
			title = flagGroups[i-1].title
		}
		b.WriteString("\n" + title + ":\n" + g.FlagUsagesWrapped(helpWidth))
	}
}
