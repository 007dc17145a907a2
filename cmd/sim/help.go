package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/compactsim/compactsim/cmd/sim/internal/console"
	"github.com/compactsim/compactsim/internal/kit/document"
)

// flagGroup is a heading of help and the names of the flags under it. The flags of a topic are
// described once, by sim help TOPIC, and only named in the help of a command.
type flagGroup struct {
	title string
	topic string
	flags []string
}

// flagGroups are the headings of help and the flags under each. Flags of no
// group appear under "Flags".
var flagGroups = []flagGroup{
	{"Sessions", "sessions", []string{
		"agent", "discover", "model", "project", "since", "until", "tz", "strict", "yes",
	}},
	{"Strategies and settings", "", []string{
		"strategy", "set", "open-loop", "seed", "window", "profile", "server", "replications", "preset", "change", "from", "to",
	}},
	{"Prices", "prices", []string{"prices", "prices-at", "price-as"}},
	{"Output", "", []string{
		"format", "split", "top", "per-session", "all", "chart", "out", "output", "force", "dry-run",
		"anonymize", "anonymize-key", "bound", "sessions",
	}},
	{"Charts", "charts", []string{"style", "size"}},
	{"Real summaries", "live", []string{
		"summarizer", "provider", "live-model", "base-url", "budget-usd", "cassettes", "insecure",
	}},
	{"Engine and memory", "scale", []string{"workers", "max-memory", "no-store", "verify"}},
	{"General", "", []string{"quiet", "verbose", "help", "version"}},
}

// verbGroups are the headings under which help lists the commands of the program.
var verbGroups = []struct {
	title string
	verbs []string
}{
	{"Your sessions", []string{"advise", "audit", "explain", "run", "report", "view", "record"}},
	{"Experiments", []string{"scenarios", "strategies", "tune", "rank", "ablate", "compare", "traces"}},
	{"Continuous integration", []string{"check"}},
	{"Evidence", []string{"validate", "calibrate"}},
}

// topics returns what sim help says about flags that many commands have.
func topics() []*cobra.Command {
	return []*cobra.Command{
		{Use: "sessions", Short: "Which sessions a command reads", Long: `PATH is a file, a folder or - for standard input; several
are read together. These flags choose among the sessions.`},
		{Use: "prices", Short: "Which prices calls are billed at", Long: "Prices are the API's at the date of each call, in USD."},
		{Use: "charts", Short: "The look and size of charts", Long: `--chart FILE draws the main chart of a command, --chart KIND=FILE another
one, and KIND alone draws it into the folder of --out. Its data go into
FILE-data.csv next to it. --style paper leaves title and notes to FILE-caption.txt.`},
		{Use: "marks", Short: "What ~ and ? before a difference say", Long: `run, ablate, report and compare print them by one rule; the places of rank and
the choices of tune and advise follow the same rule. ?: fewer than six sessions differ, too few to say anything of other sessions.
~: chance can explain the difference or, for a cost, chance and the model's error. A difference without a mark is shown
for other sessions of this kind. docs/compare.md says how.`},
		{Use: "live", Short: "Summaries by real models", Long: `sim run --summarizer live asks a real model for each summary.
It says what the calls will cost and asks before the first. --set live.KEY=VALUE sets what has no flag;
docs/live.md has an example.`},
		{Use: "scale", Short: "Cores, memory and what is kept between runs", Long: `Sessions that were read are kept in the user's cache
folder, and the next run over the same files starts at once. docs/scale.md says what fits on one machine.`},
	}
}

// newVersion returns the verb that prints the version.
func newVersion() *cobra.Command {
	return &cobra.Command{Use: "version", Short: "Print the version", Args: noArgs, RunE: func(cmd *cobra.Command, _ []string) error {
		_, err := fmt.Fprintln(cmd.OutOrStdout(), "sim version "+version())
		return err
	}}
}

// refuseUnknownHelp has sim help refuse what is neither a command nor a topic; cobra's own prints the help of the program.
func refuseUnknownHelp(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	cmd, _, err := root.Find([]string{"help"})
	if err != nil {
		panic(err) // it was added just now
	}
	cmd.Run, cmd.RunE = nil, func(_ *cobra.Command, args []string) error {
		of, rest, err := root.Find(args)
		if err != nil || len(rest) > 0 {
			return unknownCommand(of, args[len(args)-max(1, len(rest))])
		}
		return of.Help()
	}
}

// help prints what a command does and how to use it, or what there is to say on a topic.
func help(cmd *cobra.Command, _ []string) {
	w := cmd.OutOrStdout()
	width := console.WidthOf(w)
	text := document.Flowed(cmp.Or(cmd.Long, cmd.Short), width) + "\n"
	if topic := topicOf(cmd); topic != nil {
		text += "\n" + topic.title + ":\n" + topic.usages(cmd.Root()).FlagUsagesWrapped(width)
	} else if !cmd.IsAdditionalHelpTopicCommand() {
		text += "\n" + usageText(cmd, width)
	}
	fmt.Fprint(w, text)
}

// topicOf returns the flags of a topic, nil for a command.
func topicOf(cmd *cobra.Command) *flagGroup {
	i := slices.IndexFunc(flagGroups, func(g flagGroup) bool { return !cmd.Runnable() && g.topic == cmd.Name() })
	if i < 0 {
		return nil
	}
	return &flagGroups[i]
}

// usages returns the flags of a group as sim run describes them.
func (g *flagGroup) usages(root *cobra.Command) *pflag.FlagSet {
	list := pflag.NewFlagSet("", pflag.ContinueOnError)
	run, _, err := root.Find([]string{"run"})
	if err != nil {
		return list
	}
	for _, name := range g.flags {
		if f := run.Flags().Lookup(name); f != nil {
			list.AddFlag(f)
		}
	}
	return list
}

// usage prints how to use a command.
func usage(cmd *cobra.Command) error {
	w := cmd.OutOrStderr()
	_, err := fmt.Fprint(w, usageText(cmd, console.WidthOf(w)))
	return err
}

// usageText says how to use a command, in lines of a width: its form, examples,
// verbs and flags by group.
func usageText(cmd *cobra.Command, width int) string {
	var b strings.Builder
	b.WriteString("Usage:\n")
	if cmd.Runnable() && (!cmd.HasAvailableSubCommands() || !cmd.HasParent()) {
		b.WriteString("  " + cmd.UseLine() + "\n")
	}
	if cmd.HasAvailableSubCommands() {
		b.WriteString("  " + cmd.CommandPath() + " COMMAND\n")
		writeVerbs(&b, cmd, width)
	}
	if cmd.HasExample() {
		b.WriteString("\nExamples:\n" + cmd.Example + "\n")
	}
	writeFlags(&b, cmd.Flags(), width)
	if cmd.HasAvailableSubCommands() {
		b.WriteString("\n" + cmd.CommandPath() + " COMMAND --help says more about a command.\n")
	}
	return b.String()
}

// writeVerbs lists the commands under cmd, the program's own under the headings of their groups.
func writeVerbs(b *strings.Builder, cmd *cobra.Command, width int) {
	write := func(title string, shown func(*cobra.Command) bool) {
		b.WriteString("\n" + title + ":\n")
		for _, c := range cmd.Commands() {
			if !shown(c) {
				continue
			}
			indent := "\n" + strings.Repeat(" ", c.NamePadding()+3)
			text := strings.ReplaceAll(document.Flowed(c.Short, width-len(indent)), "\n", indent)
			fmt.Fprintf(b, "  %-*s %s\n", c.NamePadding(), c.Name(), text)
		}
	}
	usable := func(c *cobra.Command) bool { return c.IsAvailableCommand() || c.Name() == "help" }
	if cmd.HasParent() {
		write("Commands", usable)
		return
	}
	grouped := map[string]bool{}
	for _, g := range verbGroups {
		for _, verb := range g.verbs {
			grouped[verb] = true
		}
		write(g.title, func(c *cobra.Command) bool { return slices.Contains(g.verbs, c.Name()) })
	}
	write("Other", func(c *cobra.Command) bool { return usable(c) && !grouped[c.Name()] })
	write("Topics of sim help", func(c *cobra.Command) bool { return c.IsAdditionalHelpTopicCommand() && c.Name() != "help" })
}

// neededFlag is the annotation of a flag that a command takes only together with another flag, which it names.
const neededFlag = "needs"

// writeFlags writes flags under the headings of their groups, and the names of a topic's flags.
func writeFlags(b *strings.Builder, flags *pflag.FlagSet, width int) {
	groups := make([]*pflag.FlagSet, len(flagGroups)+1)
	for i := range groups {
		groups[i] = pflag.NewFlagSet("", pflag.ContinueOnError)
	}
	with := map[string]*pflag.FlagSet{} // by the flag that they need
	flags.VisitAll(func(f *pflag.Flag) {
		if needs := f.Annotations[neededFlag]; len(needs) > 0 {
			if with[needs[0]] == nil {
				with[needs[0]] = pflag.NewFlagSet("", pflag.ContinueOnError)
			}
			with[needs[0]].AddFlag(f)
			return
		}
		i := slices.IndexFunc(flagGroups, func(g flagGroup) bool { return slices.Contains(g.flags, f.Name) })
		groups[i+1].AddFlag(f)
	})
	var named []string
	for i, g := range groups {
		title := "Flags"
		if i > 0 {
			title = flagGroups[i-1].title
		}
		switch {
		case !g.HasAvailableFlags():
		case i > 0 && flagGroups[i-1].topic != "":
			var names []string
			g.VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
			named = append(named, document.Flowed(title+" (sim help "+flagGroups[i-1].topic+"): "+strings.Join(names, " "), width))
		default:
			b.WriteString("\n" + title + ":\n" + g.FlagUsagesWrapped(width))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(with)) {
		b.WriteString("\nOnly with --" + name + ":\n" + with[name].FlagUsagesWrapped(width))
	}
	if len(named) > 0 {
		b.WriteString("\n" + strings.Join(named, "\n") + "\n")
	}
}
