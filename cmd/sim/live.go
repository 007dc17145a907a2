package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/compactsim/compactsim/cmd/sim/internal/console"
	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/internal/kit/document"
	"github.com/compactsim/compactsim/scenarios"
	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/live"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/summarizer"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/texts"
	"github.com/spf13/cobra"
)

// liveCalls are the real calls of a run: those made now and those stored.
type liveCalls struct {
	flags  *liveFlags
	opts   live.Options
	priced func(model string) bool
	models map[string]int // calls to make by model, from a dry run
}

// live prepares the real calls of a plan over a corpus; nil if it has none. It calls no server.
func (f *liveFlags) live(plan *scenarios.Plan, corpus *traces.Corpus) (*liveCalls, error) {
	if !f.real() {
		return nil, nil
	}
	f.Settings = plan.Design.Scenario.Live
	prices := pricesNow{plan.Prices, time.Now()}
	c := &liveCalls{
		flags: f, priced: prices.known,
		opts: live.Options{
			Settings: f.Settings, Shared: &live.Shared{}, MaxOutputOf: prices.maxOutput, Prices: prices.usd,
			Texts: func(ctx context.Context, s *traces.Session) (live.Texts, error) { return texts.Open(ctx, corpus, s) },
		},
	}
	if err := c.open(prices); err != nil {
		return nil, console.Misuse(err)
	}
	if plan.Workers == 0 && f.asks() {
		plan.Workers = f.Concurrency
	}
	plan.Summarize = func(_ string, stub *summarizer.Stub) sim.Summarizer { return c.summarizer(stub, false) }
	return c, nil
}

// open opens the server, if calls are allowed, and then the cassettes, whose folder it may make.
func (c *liveCalls) open(prices pricesNow) (err error) {
	f := c.flags
	if f.asks() {
		if c.opts.Backend, err = f.server(prices); err != nil {
			return err
		}
	}
	if c.opts.Calls, err = live.OpenFolder(f.cassettes, f.mode()); err != nil {
		return fmt.Errorf("--cassettes: %w", err)
	}
	return nil
}

// summarizer returns a summariser with the stub of a cell.
func (c *liveCalls) summarizer(stub *summarizer.Stub, dry bool) sim.Summarizer {
	opts := c.opts
	opts.Stub, opts.Dry = stub, dry
	return live.New(opts)
}

// end returns what was done, nil for a run without real calls. Later calls,
// for instance for charts, come only from cassettes.
func (c *liveCalls) end() *live.Report {
	if c == nil {
		return nil
	}
	r := c.opts.Shared.Report()
	c.opts.Backend = nil
	return &r
}

// agree estimates the cost by running the cells with the stub and, on a
// terminal, asks whether to pay it if there is any.
func (c *liveCalls) agree(cmd *cobra.Command, plan *scenarios.Plan, corpus *traces.Corpus) error {
	if !c.flags.asks() {
		return nil
	}
	dry, err := c.estimate(cmd.Context(), plan, corpus)
	if err != nil {
		return err
	}
	if err := c.checkPrices(); err != nil {
		return err
	}
	console.Say(cmd.ErrOrStderr(), "%s", c.estimateText(&dry.Estimate))
	switch {
	case *c.flags.yes:
		return nil
	case dry.Estimate.Calls == dry.Estimate.Stored:
		c.opts.Backend = nil // nobody was asked whether to pay
		return nil
	case !console.IsTerminal(cmd.InOrStdin()) || !console.IsTerminal(cmd.ErrOrStderr()):
		return console.Misuse(errors.New("real calls cost money: --yes makes them without a question"))
	}
	yes, err := console.Ask(cmd.Context(), cmd.InOrStdin(), cmd.ErrOrStderr(),
		document.Printable(c.question(&dry.Estimate, corpus))+" ")
	switch {
	case err != nil:
		return fmt.Errorf("interrupted before any call was made: %w", err)
	case !yes:
		return errNoCalls
	}
	return nil
}

// question asks whether texts may leave this machine: how much text, of whose sessions, and to where.
func (c *liveCalls) question(e *live.Estimate, corpus *traces.Corpus) string {
	projects := map[string]bool{}
	for _, s := range corpus.Sessions {
		projects[s.Project] = true
	}
	names := slices.Sorted(maps.Keys(projects))
	const named = 3
	whose := strings.Join(names[:min(len(names), named)], ", ")
	if more := len(names) - named; more > 0 {
		whose += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("Send up to %s tokens of the texts of %s (%s) to %s? They leave this machine. [y/N]",
		live.Thousands(e.Usage.Input()), document.Count(len(corpus.Sessions), "session"), whose, c.flags.at)
}

// errNoCalls is returned when a person does not want real calls made.
var errNoCalls = errors.New("cancelled: no calls made")

// estimate runs the cells with the stub instead of real calls.
func (c *liveCalls) estimate(ctx context.Context, plan *scenarios.Plan, corpus *traces.Corpus) (live.Report, error) {
	dry := *plan
	dry.Done, dry.Workers = nil, 0
	dry.Summarize = func(_ string, stub *summarizer.Stub) sim.Summarizer { return c.summarizer(stub, true) }
	if _, err := dry.Run(ctx, corpus); err != nil {
		return live.Report{}, fmt.Errorf("estimate the real calls: %w", c.adviseOn(ctx, err))
	}
	r := c.opts.Shared.Report()
	c.opts.Shared, c.models = &live.Shared{}, r.Models
	return r, nil
}

// checkPrices returns, before the first call, an error for a budget without the prices of all models.
func (c *liveCalls) checkPrices() error {
	if none := c.findUnpriced(); c.flags.Budget > 0 && len(none) > 0 {
		return console.Misuse(fmt.Errorf("--budget-usd: %s", priceless(none)))
	}
	return nil
}

// findUnpriced returns the models to ask that have no price, by name.
func (c *liveCalls) findUnpriced() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(c.models)), c.priced)
}

// pricesNow are today's prices: real calls are made now, whenever their sessions were.
type pricesNow struct {
	table *costmodel.Table
	now   time.Time
}

// usd returns the price of a usage, USD; 0 for a model without a price.
func (p pricesNow) usd(model string, u prompt.Usage) float64 {
	price, err := p.table.Lookup(model, p.now)
	if err != nil {
		return 0
	}
	sum := 0.0
	for _, usd := range price.Cost(u) {
		sum += usd
	}
	return sum
}

func (p pricesNow) known(model string) bool {
	_, err := p.table.Lookup(model, p.now)
	return err == nil
}

// maxOutput returns the largest output of a model, tokens; 0 if no source states it.
func (p pricesNow) maxOutput(model string) int {
	if price, err := p.table.Lookup(model, p.now); err == nil {
		return price.Model.MaxOutput
	}
	return 0
}

// adviseOn adds advice to an error that every other call would get too.
func (c *liveCalls) adviseOn(ctx context.Context, err error) error {
	if c == nil || err == nil || ctx.Err() != nil {
		return err
	}
	const on = "what was answered is stored, and the same command goes on from there"
	var hint string
	var f *live.Failure
	switch {
	case errors.Is(err, live.ErrMissing):
		hint = "--summarizer live makes it"
	case errors.Is(err, live.ErrBreaker):
		hint = "try again later, or look at --base-url; " + on
	case errors.Is(err, live.ErrBudget), errors.Is(err, live.ErrMaxCalls):
		hint = on
	case errors.As(err, &f) && f.Cause == live.CauseAuth:
		hint = "check the key in " + c.flags.environment("API_KEY") + ", and --base-url if it is another server's; " + on
	case errors.As(err, &f) && f.Cause == live.CauseModel:
		hint = "--live-model asks another model, --base-url another server; " + on
	default:
		return err
	}
	return fmt.Errorf("%w; %s", err, hint)
}

// remark adds the real calls to the remarks of a run; c is nil without any, err what ended it. It
// also reports calls that the server refused on w, because such a run succeeds.
func (c *liveCalls) remark(w io.Writer, run *results.Run, err error) {
	if c == nil {
		return
	}
	if run.Provenance.Switches == nil {
		run.Provenance.Switches = map[string]string{}
	}
	run.Provenance.Switches["summarizer"] = c.flags.summarizer
	r := c.opts.Shared.Report()
	if n, text := live.Refusals(r.Calls); n > 0 {
		console.Say(w, "warning: the server refused %s: %s", document.Count(n, "real call"), text)
	}
	run.Workload.Remarks = append(run.Workload.Remarks, r.Text(c.findUnpriced(), err))
	for _, text := range r.Notes() {
		run.Notes = append(run.Notes, results.Note{Text: text})
	}
}

// estimateText says what real calls are expected to cost and take.
func (c *liveCalls) estimateText(e *live.Estimate) string {
	text := fmt.Sprintf("about %s, ", document.Count(e.Calls, "real call"))
	if e.Stored > 0 {
		text += fmt.Sprintf("%d recorded, ", e.Stored)
	}
	text += fmt.Sprintf("%s tokens in and %s out", live.Thousands(e.Usage.Input()), live.Thousands(e.Usage.Output))
	none := c.findUnpriced()
	if len(none) == 0 || e.MostUSD > 0 {
		text += fmt.Sprintf(": $%.2f, at most $%.2f, if none fails and nothing is read from the cache", e.USD, e.MostUSD)
	}
	if len(none) > 0 {
		text += "; " + priceless(none) + ", so no --budget-usd can hold"
	}
	if b := c.flags.Budget; b > 0 && e.USD > b {
		text += fmt.Sprintf("; the budget of $%.2f ends before", b)
	}
	return text
}

// priceless says that models have no price, and how to give them one.
func priceless(models []string) string {
	return fmt.Sprintf("no price is known for %s (--prices FILE or --price-as %s gives one)",
		strings.Join(models, ", "), document.Quoted(models[0]+"=MODEL"))
}

// summarizeStub is --summarizer for sizes drawn from a distribution; its other values are the modes of cassettes.
const summarizeStub = "stub"

// liveFlags say whether real models write the summaries, and within which
// limits. Where calls are stored and sent is not part of a scenario: somebody
// else's file must not choose who gets the key.
type liveFlags struct {
	summarizer string
	cassettes  string
	baseURL    string
	insecure   bool
	at         string // scheme and host of the server
	yes        *bool  // the flag of reading
	live.Settings
}

func (f *liveFlags) bind(cmd *cobra.Command, yes *bool) {
	f.yes = yes
	flags := cmd.Flags()
	f.summarizer = summarizeStub
	bindChoice(cmd, &f.summarizer, "summarizer", "`SOURCE` of summaries: stub, live (a real model, for calls that are not stored) or replay (stored calls); "+
		"--set live.KEY=VALUE sets what has no flag", []string{summarizeStub, string(live.Make), string(live.Replay)})
	flags.Lookup("yes").Usage += "; with --summarizer, answer yes to real calls only"
	flags.StringVar(&f.cassettes, "cassettes", "cassettes", "`DIR` that stores real calls for replays")
	flags.StringVar(&f.baseURL, "base-url", "",
		"`URL` of the server; without it ANTHROPIC_BASE_URL or OPENAI_BASE_URL")
	flags.BoolVar(&f.insecure, "insecure", false,
		"send conversations and the key without encryption: http to another machine")
	settings := settingFlags(cmd)
	settings.String("provider", live.DefaultSettings().Provider,
		"`NAME` of the interface for real calls: anthropic, or openai for any server compatible with it")
	settings.String("live-model", "", "`MODEL` to ask in place of the session's")
	settings.Float64("budget-usd", 0, "stop before real calls cost more than `USD`; 0 for no limit")
}

// real reports whether calls are real, now or when they were stored.
func (f *liveFlags) real() bool { return f.summarizer != summarizeStub }

// mode returns how real calls that are not stored are handled.
func (f *liveFlags) mode() live.Mode { return live.Mode(f.summarizer) }

// asks reports whether a server may be called.
func (f *liveFlags) asks() bool { return f.real() && f.mode() != live.Replay }

// environment returns the name of a variable of the provider.
func (f *liveFlags) environment(name string) string { return strings.ToUpper(f.Provider) + "_" + name }

// server returns the server to call, with the key from the environment.
func (f *liveFlags) server(prices pricesNow) (*live.Client, error) {
	keyName, baseName := f.environment("API_KEY"), f.environment("BASE_URL")
	c := live.Config{
		Settings: f.Settings, Key: live.NewSecret(os.Getenv(keyName)), BaseURL: cmp.Or(f.baseURL, os.Getenv(baseName)),
		Price: prices.usd, Priced: prices.known,
	}
	switch {
	case f.Provider == live.OpenAI && c.BaseURL == "":
		return nil, fmt.Errorf("--provider openai needs --base-url, or %s in the environment, as "+
			"https://api.openai.com/v1", baseName)
	case f.Provider == live.Anthropic && c.Key.IsZero():
		empty := ""
		if _, there := os.LookupEnv(keyName); there {
			empty = ", which is empty"
		}
		return nil, fmt.Errorf("--summarizer %s needs a key in the environment's %s%s; docs/live.md shows how to try it without one",
			f.summarizer, keyName, empty)
	}
	if live.Insecure(c.BaseURL) && !f.insecure {
		return nil, fmt.Errorf("%s is http to another machine: the key and what is sent can be read on the way; use https, "+
			"or --insecure", hostOf(c.BaseURL))
	}
	f.at = hostOf(cmp.Or(c.BaseURL, "https://api.anthropic.com"))
	client, err := live.NewClient(c)
	if err != nil {
		from := "--base-url"
		if f.baseURL == "" {
			from = baseName
		}
		return nil, fmt.Errorf("%w (the key is from %s, the base URL from %s)", err, keyName, from)
	}
	return client, nil
}

// hostOf returns scheme and host of a base URL, without path and user, which may be secrets.
func hostOf(base string) string {
	u, err := url.Parse(base)
	if err != nil {
		return "a server"
	}
	return u.Scheme + "://" + u.Host
}
