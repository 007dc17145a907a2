// Command libraries holds presets of libraries against the libraries. It installs each at a pinned version, lets it work through
// conversations with a scripted model, and compares what it sent with what the simulator says its preset would have sent.
//
//	libraries                  simulate the presets and compare with what the libraries did, without running any
//	libraries -run [NAME…]     install and run the libraries anew, all or the named ones (Python with venv, npm)
//	libraries -run -talks 'tiny 5 59 100 200, both 2 9 9000 calls=3 say=2000 prompt=5000, chat 40 0'
//	                           the same in conversations of other shapes, and keep nothing: do presets hold where nobody looked?
//
// A new library is an entry of libraries and a driver in drivers.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := start(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "libraries:", err)
		os.Exit(1)
	}
}

func start(ctx context.Context) error {
	var (
		folder = flag.String("folder", "tools/libraries", "`folder` with the drivers, and what libraries did")
		doc    = flag.String("doc", "", "`page` to write")
		anew   = flag.Bool("run", false, "install the libraries and run them, all or the named ones")
		env    = flag.String("env", filepath.Join(os.TempDir(), "sim-libraries"), "`folder` for their environments, which stay for the next run")
		logs   = flag.String("logs", "", "`folder` for the conversations, as sim reads them, and for what libraries send")
		python = flag.String("python", "python3", "`interpreter` for libraries in Python")
		reuse  = flag.Bool("reuse", false, "with -run: run nothing, and take the requests that an earlier run left in -logs")
		latest = flag.Bool("latest", false, "with -run: install the newest versions, and change nothing that is kept")
		shapes = flag.String("talks", "", "with -run: `conversations` in the place of the usual, with commas between them, each a name, prompts, rounds of each, and sizes of results in turn in tokens; then calls=N calls in each round, say=N and prompt=N tokens of the text beside calls and of prompts, errors=N for an error in the place of one result in N, resume=1 for agents made anew from their store at each prompt; nothing is kept")
	)
	flag.Parse()
	chosen, err := choose(flag.Args())
	if err != nil {
		return err
	}
	if *shapes != "" {
		if usual, err = parseTalks(*shapes); err != nil {
			return err
		}
	}
	keeps := !*latest && *shapes == ""
	into := *logs
	if into == "" {
		if into, err = os.MkdirTemp("", "sim-libraries-logs-"); err != nil {
			return err
		}
		defer os.RemoveAll(into) //nolint:errcheck // a temporary folder
	}
	b := &bench{folder: *folder, env: *env, logs: into, python: *python, latest: *latest, reuse: *reuse}
	var kept []*outcome
	if *shapes == "" {
		if kept, err = readOutcomes(filepath.Join(*folder, outcomesName)); err != nil {
			return err
		}
	}
	if *anew {
		for _, l := range chosen {
			kept = b.renew(ctx, l, kept)
			if err := ctx.Err(); err != nil {
				return err
			}
			if !keeps {
				continue
			}
			if err := writeOutcomes(filepath.Join(*folder, outcomesName), kept); err != nil {
				return err
			}
		}
	}
	s, err := newSimulator(into)
	if err != nil {
		return err
	}
	defer s.close()
	var lines []*line
	for _, l := range libraries {
		more, err := s.compare(ctx, l, kept)
		if err != nil {
			return err
		}
		lines = append(lines, more...)
	}
	if *doc != "" && keeps {
		if err := os.WriteFile(*doc, []byte(page(lines)), 0o644); err != nil { //nolint:gosec // a page for everyone
			return err
		}
	}
	lines = slices.DeleteFunc(lines, func(l *line) bool { return !slices.Contains(chosen, l.library) })
	fmt.Print(plain(lines))
	if bad := disagreements(lines); len(bad) > 0 {
		return errors.New(strings.Join(bad, "\n"))
	}
	return nil
}

// renew runs a library and returns the outcomes with its own in the place of older ones. What stands in the way is an outcome, too; it stands
// beside the figures of an earlier run, where there are some.
func (b *bench) renew(ctx context.Context, l *library, kept []*outcome) []*outcome {
	begun := time.Now()
	list := b.run(ctx, l)
	for _, o := range list {
		if was := find(kept, o.Preset, o.Talk); o.Did == nil && was != nil && was.Did != nil {
			fault := o.Date + ": " + o.Fault
			*o = *was
			o.Fault = fault
		}
	}
	kept = slices.DeleteFunc(kept, func(o *outcome) bool {
		return slices.ContainsFunc(list, func(n *outcome) bool { return n.Preset == o.Preset && n.Talk == o.Talk })
	})
	fmt.Fprintf(os.Stderr, "%s: %.0f s\n", l.name, time.Since(begun).Seconds())
	return append(kept, list...)
}
