// Command sim shows what agent sessions cost under different ways of managing
// their context. Run `sim help` for its verbs.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	_ "time/tzdata" // for --tz where the system has no time zones

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/compactsim/compactsim/cmd/sim/internal/console"
	"github.com/compactsim/compactsim/cmd/sim/internal/outputs"
	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/internal/kit/nearest"
	"github.com/compactsim/compactsim/reports/check"
	"github.com/compactsim/compactsim/scenarios"
	"github.com/compactsim/compactsim/scenarios/tune"
	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/live"
	"github.com/compactsim/compactsim/traces"
)

// Exit codes of the command.
const (
	exitOK          = 0
	exitRuntime     = 1   // something failed while running
	exitUsage       = 2   // wrong flags, names or configuration
	exitCheck       = 3   // a check did not hold
	exitInvariant   = 4   // the program contradicted itself
	exitInterrupted = 130 // stopped by a signal
)

// execute runs the command line and returns its exit code. It is the one place
// where errors become text and codes.
func execute(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetOut(console.ScreenOf(stdout))
	root.SetErr(stderr)
	root.SetIn(stdin)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	var ended commandEnded
	if errors.As(err, &ended) { // it has said why
		return ended.code
	}
	console.Say(stderr, "%s", inLine(err.Error(), args))
	var usage console.UsageError
	var refused *live.Failure // from a server of real calls
	var strict traces.Problem
	var unpriced *costmodel.UnknownModelError
	switch {
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.Is(err, check.ErrFailed):
		return exitCheck
	case errors.Is(err, sim.ErrInvariant):
		return exitInvariant
	case errors.As(err, &refused) && refused.Fatal():
		return exitUsage
	case errors.As(err, &strict), errors.As(err, &unpriced): // --strict refuses them
		return exitUsage
	case errors.As(err, &usage), errors.Is(err, scenarios.ErrContradiction), errors.Is(err, scenarios.ErrEvents), errors.Is(err, tune.ErrBudget):
		return exitUsage
	}
	return exitRuntime
}

// inLine returns a message in which what comes from the command line begins no line of its own: whole
// arguments, and what stands on either side of their equals signs.
func inLine(text string, args []string) string {
	for _, arg := range args {
		for part := arg; strings.ContainsAny(part, "\n\r"); {
			text = strings.ReplaceAll(text, part, escaped.Replace(part))
			before, after, _ := strings.Cut(part, "=")
			if strings.ContainsAny(before, "\n\r") {
				text = strings.ReplaceAll(text, before, escaped.Replace(before))
			}
			part = after
		}
	}
	return text
}

// escaped writes ends of lines as in Go.
var escaped = strings.NewReplacer("\n", `\n`, "\r", `\r`)

func newRoot() *cobra.Command {
	var f traceFlags
	root := &cobra.Command{
		Use:   "sim [PATH…]",
		Short: "What agent sessions cost under different ways of managing their context",
		Long: `sim replays recorded coding-agent sessions through context-compaction strategies
against a model of the provider's prompt cache, and reports cost, cache hits and
compactions. Without a command it says what the sessions at PATH cost, and what to set;
without a PATH it takes the sessions in the usual places of coding agents.`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       version(),
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, arg := range args {
				if !isPath(arg) {
					return unknownCommand(cmd, arg)
				}
			}
			return f.begin(cmd, args, time.Now())
		},
		Args:              cobra.ArbitraryArgs,
		PersistentPreRunE: givenValues,
	}
	f.read.bind(root)
	f.prices.bind(root)
	root.SetFlagErrorFunc(flagError)
	root.SetUsageFunc(usage)
	root.SetHelpFunc(help)
	root.AddCommand(
		newAdvise(),
		newRun(),
		newReport(),
		newView(),
		newRecord(),
		newExplain(),
		newAblate(),
		newTune(),
		newRank(),
		newCompare(),
		newScenarios(),
		newStrategies(),
		newTraces(),
		newValidate(),
		newCalibrate(),
		newAudit(),
		newCheck(),
		newVersion(),
	)
	root.AddCommand(topics()...)
	refuseUnknownHelp(root)
	return root
}

// isPath reports whether an argument names sessions: what is there, what stands in a folder or ends like a file, and standard input.
func isPath(arg string) bool {
	return arg == "-" || strings.ContainsAny(arg, `/\.`) || outputs.IsThere(arg)
}

// givenValues returns an error for flags that exclude each other, and for those without the value they
// ask for, such as --out "$DIR" of an unset variable. No price file is a value, and periods report it with all that is wrong.
func givenValues(cmd *cobra.Command, _ []string) error {
	var errs []error
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if f.Value.Type() == "string" && f.Value.String() == "" && !slices.Contains([]string{"prices", "since", "until"}, f.Name) {
			name, _ := pflag.UnquoteUsage(f)
			errs = append(errs, fmt.Errorf("--%s: no %s given", f.Name, name))
		}
		if list, ok := f.Value.(pflag.SliceValue); ok && f.Value.Type() == "stringSlice" {
			errs = append(errs, checkList(f.Name, list.GetSlice()))
		}
	})
	if err := cmd.ValidateFlagGroups(); err != nil {
		_, given, _ := strings.Cut(err.Error(), "; [")
		given, _, _ = strings.Cut(given, "]")
		errs = append(errs, fmt.Errorf("--%s exclude each other", strings.ReplaceAll(given, " ", " and --")))
	}
	if err := errors.Join(errs...); err != nil {
		return console.Misuse(err)
	}
	return nil
}

// checkList returns an error for a list that has an empty item, or one item twice.
func checkList(flag string, items []string) error {
	for i, item := range items {
		switch {
		case item == "":
			return fmt.Errorf("--%s %s: item %d of the list is empty", flag, strings.Join(items, ","), i+1)
		case slices.Contains(items[:i], item):
			return fmt.Errorf("--%s %s: %s is given twice", flag, strings.Join(items, ","), item)
		}
	}
	return nil
}

// checkCounts returns an error for every flag that counts something and is negative.
func checkCounts(cmd *cobra.Command) error {
	var errs []error
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if f.Value.Type() == "int" && strings.HasPrefix(f.Value.String(), "-") {
			errs = append(errs, fmt.Errorf("--%s %s must not be negative", f.Name, f.Value))
		}
	})
	return errors.Join(errs...)
}

// flagError describes an error in the flags of a command for the user.
func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "" {
		if args := cmd.Flags().Args(); cmd.HasSubCommands() && len(args) > 0 && !isPath(args[0]) {
			return unknownCommand(cmd, args[0]) // whose flag it is meant to be
		}
		name := unknown.GetSpecifiedName()
		var known []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
		err = fmt.Errorf("unknown flag --%s%s", name, nearest.Hint(name, known))
	}
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) {
		reason := invalid.Unwrap()
		var number *strconv.NumError
		if errors.As(reason, &number) {
			wants := map[string]string{"ParseFloat": "a number", "ParseBool": "true or false", "ParseUint": "a whole number from 0"}
			want := cmp.Or(wants[number.Func], "a whole number")
			if unit, usage := pflag.UnquoteUsage(invalid.GetFlag()); len(unit) > 1 && usage != invalid.GetFlag().Usage { // named between backquotes
				want += " of " + unit
			}
			reason = errors.New("want " + want)
		}
		if value := strconv.Quote(invalid.GetValue()); strings.Contains(reason.Error(), value) {
			err = fmt.Errorf("--%s: %w", invalid.GetFlag().Name, reason)
		} else {
			err = fmt.Errorf("--%s %s: %w", invalid.GetFlag().Name, value, reason)
		}
	}
	return console.Misuse(fmt.Errorf("%w; see %s --help", err, cmd.CommandPath()))
}

// release is the version of a released binary, set when it is linked.
var release string

// version returns the version the program was built from.
func version() string {
	if release != "" {
		return release
	}
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "devel"
	}
	return info.Main.Version
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	code := execute(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
