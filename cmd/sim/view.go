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
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/compactsim/compactsim/internal/document"
	"github.com/compactsim/compactsim/internal/profile"
	"github.com/compactsim/compactsim/internal/reports"
	"github.com/compactsim/compactsim/scenarios"
	"github.com/compactsim/compactsim/sim/results"
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
		Short: "Open a page in the browser on which settings are tried: each change simulates again",
		Long: `Serves a page on this machine alone: choose sessions, a strategy and settings, and every figure follows.
Pin a setting to compare it with another, step through the calls of a conversation, copy the
command that gives what is on the screen. Without a path it shows the samples.

The address holds a random token; without it the server answers nothing. A browser is started with the address, which other
users of the machine may then see among its processes: --no-open avoids that.`,
		Example: `  sim view ~/.claude/projects
  sim view --discover --no-open`,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
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
		return usageError{err}
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
	v.host, v.token = strings.TrimSuffix(l.Addr().String(), ":80"), rand.Text() // a browser leaves out :80
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

// openBrowser shows a page. The address was printed: where there is no browser it is opened by hand.
func openBrowser(ctx context.Context, url string) {
	open := map[string][]string{"darwin": {"open"}, "windows": {"rundll32", "url.dll,FileProtocolHandler"}}[runtime.GOOS]
	if open == nil {
		open = []string{"xdg-open"}
	}
	_ = command.CommandContext(ctx, open[0], append(open[1:], url)...).Start() //nolint:gosec // a fixed program and our address
}

// viewer answers the page and what its dials ask for.
type viewer struct {
	corpus      *traces.Corpus
	plan        scenarios.Plan // what all variants have in common
	paths       []string
	sample      bool     // the sessions are those that come with the program
	remarks     []string // what was read, and what could not be
	chosen      string   // arguments that choose sessions and prices, for commands to copy
	host, token string
}

// learned is the name that variants know the profile by that was fitted to all sessions of the page.
const learned = "of these sessions"

// viewer reads the sessions and what the profile learns from them.
func (f *viewFlags) viewer(cmd *cobra.Command, args []string) (*viewer, error) {
	registry, err := strategies.Builtin()
	if err != nil {
		return nil, err
	}
	table, err := f.prices.table()
	if err != nil {
		return nil, usageError{err}
	}
	v := &viewer{paths: args}
	v.plan = scenarios.Plan{Registry: registry, Prices: table, Seed: 1, Workers: f.read.workers, Version: version()}
	f.read.listener = v.plan.Listener()
	if v.corpus, err = f.read.corpus(cmd, args); err != nil {
		return nil, err
	}
	for _, flag := range []string{"since", "until", "tz", "project", "model", "agent", "prices", "price-as"} {
		if given := cmd.Flags().Lookup(flag); given != nil && given.Changed {
			v.chosen += " --" + flag + " " + reports.Quoted(strings.Trim(given.Value.String(), "[]"))
		}
	}
	v.sample = f.read.sample
	if f.read.found != nil {
		v.paths = f.read.found
	}
	var read results.Workload
	f.read.remark(cmd, &read, v.corpus)
	v.remarks = read.Remarks
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

// ServeHTTP answers who has the token and comes from this page.
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
	case "POST /simulate":
		var ask viewAsk
		body := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<16))
		body.DisallowUnknownFields()
		if err = body.Decode(&ask); err == nil {
			err = v.answer(r.Context(), &b, &ask)
		} else {
			err = fmt.Errorf("reading what was asked for: %w", err)
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
	_, _ = w.Write(b.Bytes()) // who has gone needs no answer
}

// dial is a setting with the values that its slider takes.
type dial struct {
	Label, Path string
	Values      []string
}

// dials are the sliders of the page. Every other parameter is a line of text.
func dials() []dial {
	var thresholds []string
	for n := 20_000; n <= 950_000; n += 10_000 {
		if n > 200_000 {
			n += 40_000
		}
		thresholds = append(thresholds, fmt.Sprint(n))
	}
	return []dial{
		{"Compact at (tokens)", "full-compact.trigger.fixed", thresholds},
		{"Keep messages (tokens)", "full-compact.keep.tokens", []string{"5000", "10000", "20000", "40000", "80000"}},
		{"Summary (tokens)", "summarizer.median", []string{"500", "1000", "2000", "3000", "4000", "6000", "8000", "12000", "20000"}},
		{"Entries live", "client.ttl.choice", []string{"5m", "1h"}},
		{"Window (tokens)", "client.window", []string{"100000", "200000", "272000", "400000", "1000000"}},
		{"Prices of", "prices.at", []string{"today"}},
		{"Fetches again", "agent.refetch", []string{"fitted"}},
	}
}

// maxChoices is how many sessions can be chosen by name.
const maxChoices = 2000

// page writes the whole page with the settings as they are.
func (v *viewer) page(ctx context.Context, b *bytes.Buffer) error {
	ask := viewAsk{Variant: Variant{Strategy: "own"}}
	d, err := v.document(ctx, &ask)
	if err != nil {
		return err
	}
	var ids, agents []string
	for _, s := range v.corpus.Sessions {
		if len(ids) < maxChoices {
			ids = append(ids, s.ID)
		}
		if !slices.Contains(agents, s.Agent) {
			agents = append(agents, s.Agent)
		}
	}
	names := append([]string{"own"}, slices.DeleteFunc(v.plan.Registry.Presets(), func(name string) bool { return name == "own" })...)
	return d.WritePage(b, document.Page{Panel: panel(names, agents, ids, len(v.corpus.Sessions)), Script: viewScript, Live: true})
}

// panel returns the form with the dials.
func panel(names, agents, ids []string, sessions int) string {
	var b strings.Builder
	choice := func(label, name, all string, options []string) {
		fmt.Fprintf(&b, "<label>%s <select name=\"%s\">", label, name)
		if all != "" {
			fmt.Fprintf(&b, "<option value=\"\">%s</option>", all)
		}
		for _, option := range options {
			fmt.Fprintf(&b, "<option>%s</option>", html.EscapeString(option))
		}
		b.WriteString("</select></label>\n")
	}
	b.WriteString("<form id=\"dials\" class=\"choice\">\n")
	choice("Strategy", "strategy", "", names)
	choice("Agent", "agent", "all", agents)
	choice("Session", "session", fmt.Sprintf("all %d", sessions), ids)
	for _, d := range dials() {
		fmt.Fprintf(&b, "<label title=\"%[1]s\">%[2]s <input type=\"range\" data-path=\"%[1]s\" data-values=\"%[3]s\" min=\"0\" max=\"%[4]d\" value=\"0\"> "+
			"<output>as it is</output></label>\n", d.Path, d.Label, strings.Join(d.Values, " "), len(d.Values))
	}
	b.WriteString(`<label>More settings <input name="more" size="34" placeholder="server.lookback=21 full-compact.breaker=0" autocomplete="off" spellcheck="false"></label>
<button type="button" id="pin">Pin this</button> <button type="button" id="unpin" hidden>Take the pin out</button> <button type="reset">As it is</button>
<span id="state" role="status"></span>
</form>`)
	return b.String()
}
