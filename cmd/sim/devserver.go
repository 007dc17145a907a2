package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/compactsim/compactsim/internal/document"
	"github.com/compactsim/compactsim/internal/live/devserver"
	"github.com/compactsim/compactsim/internal/spec"
)

// devserverFlags are the flags of sim devserver.
type devserverFlags struct {
	listen      string
	allowRemote bool
	faults      []string
	options     devserver.Options
}

func newDevserver() *cobra.Command {
	f := devserverFlags{options: devserver.Options{
		Window: devserver.DefaultWindow, SummaryTokens: devserver.DefaultSummaryTokens, Seed: 1,
	}}
	cmd := &cobra.Command{
		Use:   "devserver",
		Short: "Serve the APIs of models without a model, for trying live calls out",
		Long: `Speaks Anthropic's Messages API and chat completions, streamed and not, until it
is interrupted. There is no model behind it and nothing costs anything: summaries
are made of what they summarise, and usage comes from a prompt cache built after
the provider's documentation. Any key that begins with dev is taken. What was asked
how often is at /debug/counts.

--fault KIND[:retry-after=SECONDS][@WHICH] makes things go wrong, and may be repeated. KIND
is an HTTP status, or one of
` + devserver.FaultHelp() + `WHICH lists requests by their ordinals (2,5-7) or is a share of them (10%); without
it all are meant.`,
		Example: `  sim devserver
  sim devserver --listen 127.0.0.1:8080 --fault 429:retry-after=1@2,5 --fault reset@10%`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.listen, "listen", "127.0.0.1:0", "`HOST:PORT` to listen at; port 0 for any that is free")
	flags.BoolVar(&f.allowRemote, "allow-remote", false, "listen at an address that other machines can reach")
	flags.StringArrayVar(&f.faults, "fault", nil, "`FAULT` to make, as above")
	o := &f.options
	flags.Int64Var(&o.Window, "window", o.Window, "longest prompt, `TOKENS`")
	flags.DurationVar(&o.Latency, "latency", 0, "`TIME` to the first token, such as 500ms")
	flags.IntVar(&o.SummaryTokens, "summary-tokens", o.SummaryTokens, "`TOKENS` of a summary, its analysis included")
	flags.Uint64Var(&o.Seed, "seed", o.Seed, "seed `N` of faults that meet a share of the requests")
	return cmd
}

// check returns the server, or everything that is wrong with the flags.
func (f *devserverFlags) check() (*devserver.Server, error) {
	faults, err := devserver.ParseFaults(f.faults...)
	f.options.Faults = faults
	errs := []error{err, f.checkListen()}
	if f.options.Window == 0 || f.options.SummaryTokens == 0 {
		errs = append(errs, errors.New("--window and --summary-tokens must be positive"))
	}
	for _, p := range spec.Validate(&f.options) {
		errs = append(errs, errors.New("--"+strings.ReplaceAll(p.Error(), "_", "-")))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return devserver.New(f.options)
}

func (f *devserverFlags) checkListen() error {
	err := checkLoopback(f.listen)
	if !errors.Is(err, errReachable) {
		return err
	}
	if f.allowRemote {
		return nil
	}
	return fmt.Errorf("%w; add --allow-remote if they may", err)
}

// errReachable is the error of an address that other machines can reach.
var errReachable = errors.New("other machines could reach that")

// checkLoopback returns an error for an address to listen at that other machines can reach.
func checkLoopback(listen string) error {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return fmt.Errorf("--listen %q: want HOST:PORT", listen)
	}
	if ip := net.ParseIP(host); host == "localhost" || ip != nil && ip.IsLoopback() {
		return nil
	}
	return fmt.Errorf("--listen %q: %w", listen, errReachable)
}

func (f *devserverFlags) run(cmd *cobra.Command) error {
	s, err := f.check()
	if err != nil {
		return usageError{err}
	}
	ctx := cmd.Context()
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", f.listen)
	if err != nil {
		return fmt.Errorf("listening at %s: %w", f.listen, err)
	}
	url := "http://" + l.Addr().String()
	fmt.Fprintf(cmd.OutOrStdout(), `listening at %s until Ctrl-C

export ANTHROPIC_BASE_URL=%[1]s ANTHROPIC_API_KEY=dev
export OPENAI_BASE_URL=%[1]s/v1 OPENAI_API_KEY=dev
`, url)
	if err := serve(ctx, l, s); err != nil {
		return fmt.Errorf("serving at %s: %w", url, err)
	}
	c := s.Counts()
	return fmt.Errorf("interrupted after %s, %s of them answered: %w", document.Count(c.Requests, "request"), document.Whole(c.Answered),
		context.Cause(ctx))
}

// shutdownGrace is the time for open requests after an interrupt.
const shutdownGrace = 2 * time.Second

// serve serves until the context ends, and then gives open requests some time.
func serve(ctx context.Context, l net.Listener, h http.Handler) error {
	server := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	stopped := make(chan struct{})
	context.AfterFunc(ctx, func() {
		defer close(stopped)
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownGrace)
		defer cancel()
		if server.Shutdown(grace) != nil {
			_ = server.Close() // ends the remaining requests
		}
	})
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	<-stopped
	return nil
}
