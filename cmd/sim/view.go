package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"net"
	"net/http"
	command "os/exec"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/compactsim/compactsim/cmd/sim/internal/console"
	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/scenarios"
	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces"
)

// viewScript is the script of the dials.
//
//go:embed view/view.js
var viewScript string

// viewFlags are the flags of sim view.
type viewFlags struct {
	traceFlags
	listen string
	noOpen bool
}

func newView() *cobra.Command {
	var f viewFlags
	cmd := &cobra.Command{
		Use:   "view [PATH…]",
		Short: "Try settings on a page in the browser: every change simulates again",
		Long: `Serves a page to this machine only: choose sessions, a strategy and settings, and every figure follows.
Step through the calls of a conversation, or copy the command that prints what is on the screen.
Without a path it shows the samples.

The address holds a random token, without which the server refuses to answer. Starting a browser may show the address
to other users of the machine, in the list of processes: --no-open avoids that.`,
		Example: `  sim view ~/.claude/projects
  sim view --discover --no-open`,
		RunE: f.run,
	}
	f.read.bind(cmd)
	f.prices.bind(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.listen, "listen", "127.0.0.1:0", "`HOST:PORT` of this machine to listen at; port 0 for any that is free")
	flags.BoolVar(&f.noOpen, "no-open", false, "print the address and open no browser")
	return cmd
}

func (f *viewFlags) run(cmd *cobra.Command, args []string) error {
	if err := checkLoopback(f.listen); err != nil {
		return console.Misuse(err)
	}
	v, err := f.viewer(cmd, args)
	if err != nil {
		return err
	}
	defer v.corpus.Close()
	ctx := cmd.Context()
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", f.listen)
	if err != nil {
		return fmt.Errorf("listening at %s: %w", f.listen, err)
	}
	v.host, v.token = strings.TrimSuffix(l.Addr().String(), ":80"), rand.Text() // browsers leave out :80
	url := fmt.Sprintf("http://%s/?t=%s", v.host, v.token)
	fmt.Fprintf(cmd.OutOrStdout(), "%s until Ctrl-C\n", url)
	if !f.noOpen {
		openBrowser(ctx, url)
	}
	if err := serve(ctx, l, v); err != nil {
		return fmt.Errorf("serving at %s: %w", v.host, err)
	}
	return nil
}

// checkLoopback returns an error for an address to listen at that other machines can reach.
func checkLoopback(listen string) error {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return fmt.Errorf("--listen %q: want HOST:PORT", listen)
	}
	if ip := net.ParseIP(host); host == "localhost" || ip != nil && ip.IsLoopback() {
		return nil
	}
	return fmt.Errorf("--listen %q: other machines could reach that; use a loopback address such as 127.0.0.1:0", listen)
}

// shutdownGrace is the time for open requests after an interrupt.
const shutdownGrace = 2 * time.Second

// A page needs one or two connections, which send their requests at once.
const (
	maxConnections = 64
	patience       = 10 * time.Second
)

// serve serves until the context ends, and then gives open requests some time.
func serve(ctx context.Context, l net.Listener, h http.Handler) error {
	var open atomic.Int64
	server := &http.Server{Handler: h, ReadTimeout: patience, IdleTimeout: patience, ConnState: func(c net.Conn, s http.ConnState) {
		switch s {
		case http.StateNew:
			if open.Add(1) > maxConnections {
				_ = c.Close()
			}
		case http.StateClosed, http.StateHijacked:
			open.Add(-1)
		}
	}}
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

// openBrowser opens a page. The address has been printed, so that without a browser it can be opened by hand.
func openBrowser(ctx context.Context, url string) {
	open := map[string][]string{"darwin": {"open"}, "windows": {"rundll32", "url.dll,FileProtocolHandler"}}[runtime.GOOS]
	if open == nil {
		open = []string{"xdg-open"}
	}
	_ = command.CommandContext(ctx, open[0], append(open[1:], url)...).Start() //nolint:gosec // a fixed program and our address
}

// viewer serves the page and the requests of its dials.
type viewer struct {
	corpus      *traces.Corpus
	plan        scenarios.Plan // what all variants have in common
	paths       []string
	sample      bool     // the sessions are the embedded samples
	remarks     []string // what was read, and what could not be
	chosen      string   // arguments that select sessions and prices, for commands to copy
	host, token string
	fit         sync.Map // by name of a strategy: the paths of its dials
}

// learned is the name under which variants find the profile fitted to all sessions of the page.
const learned = "of these sessions"

// viewer reads the sessions and what the profile learns from them.
func (f *viewFlags) viewer(cmd *cobra.Command, args []string) (*viewer, error) {
	registry, err := strategies.Builtin()
	if err != nil {
		return nil, err
	}
	table, err := f.prices.table()
	if err != nil {
		return nil, console.Misuse(err)
	}
	v := &viewer{paths: args}
	v.plan = scenarios.Plan{Registry: registry, Prices: table, Seed: 1, Workers: f.read.Workers, Version: version()}
	f.read.Listener = v.plan.Listener()
	opened, err := f.read.open(cmd, args)
	if err != nil {
		return nil, err
	}
	v.corpus = opened.Corpus
	if given := givenFlags(cmd, "since", "until", "tz", "project", "model", "agent", "prices", "price-as"); len(given) > 0 {
		v.chosen = " " + document.Quoted(given...)
	}
	v.sample, v.remarks = opened.Sample, opened.Remarks()
	if opened.Found != nil {
		v.paths = opened.Found
	}
	if err := v.plan.Prepare(cmd.Context(), v.corpus); err != nil {
		return nil, errors.Join(err, v.corpus.Close())
	}
	fitted, err := v.plan.Profile()
	if err != nil {
		return nil, errors.Join(err, v.corpus.Close())
	}
	v.plan.Profiles = map[string]*profile.Profile{learned: fitted}
	return v, nil
}

// ServeHTTP serves requests with the token that come from this page.
func (v *viewer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	token := cmp.Or(r.Header.Get("X-Sim-Token"), r.URL.Query().Get("t"))
	origin := r.Header.Get("Origin")
	if r.Host != v.host || origin != "" && origin != "http://"+v.host || subtle.ConstantTimeCompare([]byte(token), []byte(v.token)) != 1 {
		http.Error(w, "open the address that sim view printed, with its token", http.StatusForbidden)
		return
	}
	var b bytes.Buffer
	var err error
	switch r.Method + " " + r.URL.Path {
	case "GET /":
		err = v.page(r.Context(), &b)
	case "POST /simulate", "POST /explain", "POST /advise":
		var ask viewAsk
		body := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20))
		body.DisallowUnknownFields()
		var d *document.Document
		if err = body.Decode(&ask); err != nil {
			err = fmt.Errorf("reading what was asked for: %w", err)
		} else {
			err = v.turn(&ask)
		}
		switch {
		case err != nil:
		case r.URL.Path == "/explain":
			d, err = v.explain(&ask)
		case r.URL.Path == "/advise":
			d, err = v.advise(r.Context(), &ask)
		default:
			h.Set("X-Sim-Fits", strings.Join(v.fits(ask.Strategy), " "))
			h.Set("X-Sim-Agent", onlyAgent(v.choose(&ask).Sessions))
			d, err = v.document(r.Context(), &ask)
		}
		if err == nil {
			fmt.Fprintf(&b, "<h1>%s</h1>\n", html.EscapeString(document.Printable(d.Title)))
			err = d.WriteBody(&b)
		}
	default:
		http.NotFound(w, r)
		return
	}
	if err != nil {
		http.Error(w, document.Printable(err.Error()), http.StatusBadRequest)
		return
	}
	h.Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(b.Bytes()) // a client that has gone needs no answer
}

// page writes the whole page with the current settings.
func (v *viewer) page(ctx context.Context, b *bytes.Buffer) error {
	ask := viewAsk{Strategy: "own"}
	d, err := v.document(ctx, &ask)
	if err != nil {
		return err
	}
	return d.WritePage(b, document.Page{Panel: v.panel(), Script: viewScript, Live: true})
}
