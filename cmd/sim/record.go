package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	command "os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/compactsim/compactsim/cmd/sim/internal/console"
	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/traces/recorder"
)

// recordFlags are the flags of sim record.
type recordFlags struct {
	listen, out, upstream string
	quiet                 bool
}

func newRecord() *cobra.Command {
	var f recordFlags
	cmd := &cobra.Command{
		Use:   "record [--] [COMMAND [ARG…]]",
		Short: "Write down what a client sends to its model while it works",
		Long: `Runs COMMAND with ANTHROPIC_BASE_URL and OPENAI_BASE_URL set to a forwarder on this machine, and writes every call
of a model into a request log, which sim reads like other sessions: bodies of requests and responses, cache
markers, retries, failed and hidden calls. It stops with the command and ends with its exit code. Without a
command it listens until it is interrupted; point the client to the address that it prints.

Streams pass through as they come. Requests go where the two variables point now, else to Anthropic and OpenAI,
by path. Headers, which hold keys, are never written, nor are requests other than calls of a model. Bodies are,
with all code and text in them: only you can read the files. A client with an address of its own in its settings
is not seen, and some clients behave a little differently toward an address that is not their provider's.`,
		Example: `  sim record -- claude -p "fix the tests"
  sim record --out logs --upstream https://openrouter.ai/api/v1 -- python agent.py
  sim record --listen 127.0.0.1:8787
  sim audit requests`,
		RunE: f.run,
	}
	flags := cmd.Flags()
	flags.SetInterspersed(false) // flags behind COMMAND are its own
	flags.StringVar(&f.listen, "listen", "127.0.0.1:0", "`HOST:PORT` of this machine to listen at; port 0 for any that is free")
	flags.StringVarP(&f.out, "out", "o", "requests", "`FOLDER` for the log")
	flags.StringVar(&f.upstream, "upstream", "", "`URL` that all requests go to, as the client would be given it")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "say only what went wrong")
	return cmd
}

// commandEnded is the end of a command with an exit code of its own.
type commandEnded struct{ code int }

func (e commandEnded) Error() string {
	return fmt.Sprintf("the command ended with exit code %d", e.code)
}

func (f *recordFlags) run(cmd *cobra.Command, args []string) error {
	if err := checkLoopback(f.listen); err != nil {
		return console.Misuse(err)
	}
	log, err := f.create()
	if err != nil {
		return err
	}
	r, err := recorder.New(log, recorder.Upstreams{
		Anthropic: cmp.Or(f.upstream, os.Getenv("ANTHROPIC_BASE_URL"), recorder.Anthropic),
		OpenAI:    cmp.Or(f.upstream, os.Getenv("OPENAI_BASE_URL"), recorder.OpenAI),
	})
	if err != nil {
		return console.Misuse(errors.Join(err, log.Close(), os.Remove(log.Name())))
	}
	err = f.serve(cmd, r, args)
	if failed := errors.Join(r.Close(), log.Close()); failed != nil {
		console.Say(cmd.ErrOrStderr(), "the log %s is not whole: %v", log.Name(), failed)
		err = cmp.Or(err, failed)
	}
	told := f.conclude(cmd, r, log.Name())
	return cmp.Or(err, told)
}

// create makes the log, which only its user can read.
func (f *recordFlags) create() (*os.File, error) {
	if err := os.MkdirAll(f.out, 0o700); err != nil {
		return nil, fmt.Errorf("--out: %w", err)
	}
	name := fmt.Sprintf("%s-%d.jsonl", time.Now().Format("2006-01-02T150405"), os.Getpid())
	log, err := os.OpenFile(filepath.Join(f.out, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("--out: %w", err)
	}
	return log, nil
}

// serve forwards until the command ends, or without one until it is interrupted.
func (f *recordFlags) serve(cmd *cobra.Command, r *recorder.Recorder, args []string) error {
	var lc net.ListenConfig
	l, err := lc.Listen(cmd.Context(), "tcp", f.listen)
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	server := &http.Server{Handler: r, ReadHeaderTimeout: time.Minute}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(l) }()
	address := "http://" + l.Addr().String()
	if len(args) > 0 {
		err = f.command(address, args)
	} else {
		console.Say(cmd.ErrOrStderr(), "give clients %s as Anthropic's address or %s/v1 as OpenAI's; an interrupt ends it", address, address)
		select {
		case err = <-failed:
		case <-cmd.Context().Done(): // as intended
		}
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(cmd.Context()), grace)
	defer cancel()
	if server.Shutdown(last) != nil {
		err = errors.Join(err, server.Close()) // what is under way is written as far as it came
	}
	return err
}

// signalled is added to the number of the signal that ended a command, as shells do.
const signalled = 128

// grace is how long calls under way may take when the command has ended.
const grace = time.Second

// command runs the command with the forwarder's address.
func (f *recordFlags) command(address string, args []string) error {
	c := command.Command(args[0], args[1:]...) //nolint:noctx // signals reach it below
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	c.Env = append(os.Environ(), "ANTHROPIC_BASE_URL="+address, "OPENAI_BASE_URL="+address+"/v1", "OPENAI_API_BASE="+address+"/v1")
	for _, name := range []string{"NO_PROXY", "no_proxy"} {
		value := "127.0.0.1,::1,localhost"
		if was := os.Getenv(name); was != "" {
			value = was + "," + value
		}
		c.Env = append(c.Env, name+"="+value)
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	if err := c.Start(); err != nil {
		return console.Misuse(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	for {
		select {
		case s := <-signals:
			if s == os.Interrupt && term.IsTerminal(int(os.Stdin.Fd())) {
				continue // the terminal has told the command too
			}
			_ = c.Process.Signal(s) // it may have ended
		case err := <-ended:
			var exit *command.ExitError
			if errors.As(err, &exit) {
				if s, ok := exit.Sys().(syscall.WaitStatus); ok && s.Signaled() {
					return commandEnded{signalled + int(s.Signal())}
				}
				return commandEnded{exit.ExitCode()}
			}
			return err
		}
	}
}

// conclude says where the calls are, whatever became of the command. A log without calls is removed.
func (f *recordFlags) conclude(cmd *cobra.Command, r *recorder.Recorder, name string) error {
	calls, failed := r.Calls()
	if calls == 0 {
		console.Say(cmd.ErrOrStderr(), "no call of a model came: a client is seen only if it takes its address from ANTHROPIC_BASE_URL or OPENAI_BASE_URL; see sim record --help")
		return os.Remove(name)
	}
	if f.quiet {
		return nil
	}
	text := document.Count(calls, "call")
	if failed > 0 {
		text += fmt.Sprintf(" (%s failed)", document.Whole(failed))
	}
	console.Say(cmd.ErrOrStderr(), "recorded %s in %s; sim audit %s shows the bill", text, name, f.out)
	return nil
}
