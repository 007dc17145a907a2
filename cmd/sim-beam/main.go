// Command sim-beam runs a scenario over sessions as a pipeline of Apache Beam: in this process (Prism), or on a
// cluster of Flink, Spark or Dataflow. Its rows equal sim run's, byte for byte. README.md says how to begin.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // for workers whose system has no time zones

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/spf13/pflag"

	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/scenarios"
	"github.com/compactsim/compactsim/sim"
)

// usageError marks an error as the caller's: wrong flags, or requested files that do not exist.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

const usage = `sim-beam [flags] GLOB…

Simulates the sessions in the files that match, as sim run does, as a pipeline of Apache Beam, and writes a run into --out
that sim compare and report read.

`

func main() {
	var o options
	flags := pflag.NewFlagSet("sim-beam", pflag.ContinueOnError)
	o.bind(flags)
	flags.SetOutput(io.Discard)
	own := flags.FlagUsages()
	flags.AddGoFlagSet(flag.CommandLine) // Beam's own flags
	err := flags.Parse(os.Args[1:])
	if errors.Is(err, pflag.ErrHelp) {
		fmt.Print(usage, own, "\nFlags of Beam, such as --runner, --endpoint and --environment_type, are taken too: README.md.\n")
		return
	}
	_ = flag.CommandLine.Parse(nil) // pflag has set the flags
	beam.Init()                     // does not return in a worker
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	if err != nil {
		err = usageError{err}
	} else {
		err = o.run(ctx, flags, os.Stdout, os.Stderr)
	}
	interrupted := ctx.Err() != nil
	stop()
	if err == nil {
		return
	}
	fmt.Fprintln(os.Stderr, "sim-beam: "+document.Printable(err.Error()))
	var wrong usageError
	switch { // as in sim
	case interrupted:
		os.Exit(130)
	case errors.Is(err, sim.ErrInvariant):
		os.Exit(4)
	case errors.As(err, &wrong), errors.Is(err, scenarios.ErrContradiction), errors.Is(err, scenarios.ErrEvents):
		os.Exit(2)
	}
	os.Exit(1)
}
