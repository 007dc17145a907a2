package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/internal/draws"
	"github.com/compactsim/compactsim/internal/live"
	"github.com/compactsim/compactsim/internal/live/backend"
	"github.com/compactsim/compactsim/internal/live/cassette"
	"github.com/compactsim/compactsim/internal/live/fidelity"
	"github.com/compactsim/compactsim/internal/live/shadow"
	"github.com/compactsim/compactsim/internal/live/wire"
	"github.com/compactsim/compactsim/internal/texts"
	"github.com/compactsim/compactsim/scenarios"
	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/client"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/summarizer"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces"
)

// liveCalls are the real calls of a run: those made now and those stored.
type liveCalls struct {
	flags      *liveFlags
	folder     *cassette.Folder
	gate       *backend.Gate // nil when no server may be asked
	opts       live.Options
	priced     func(model string) bool
	strategies map[string]*strategies.Strategy // by cell
	events     []client.Event
	// asked are the models of calls that a dry run found to be made.
	asked map[string]bool
	// spoken is what these calls say of thinking and effort.
	spoken map[spoken]bool

	mu   sync.Mutex
	made []*live.Summarizer // one for each cell
}

// live prepares the real calls of a plan over a corpus, nil when there are to be
// none. It asks no server.
func (f *liveFlags) live(plan *scenarios.Plan, corpus *traces.Corpus) (*liveCalls, error) {
	if !f.real() {
		return nil, nil
	}
	c := &liveCalls{flags: f}
	if err := c.prepare(plan, corpus); err != nil {
		return nil, err
	}
	if plan.Workers == 0 && f.asks() {
		plan.Workers = f.Concurrency
	}
	plan.Summarize = func(cell string, stub *summarizer.Stub) sim.Summarizer { return c.summarizer(cell, stub, false) }
	return c, nil
}

// prepare sets what all cells have in common.
func (c *liveCalls) prepare(plan *scenarios.Plan, corpus *traces.Corpus) error {
	f := c.flags
	prices := pricesNow{plan.Prices, time.Now()}
	c.priced = prices.known
	c.opts = live.Options{
		Shared:  &live.Shared{},
		Sources: f.Sources, Model: f.Model, Instructions: f.Instructions, Betas: f.Betas,
		MaxOutput: f.MaxOutput, MaxOutputOf: prices.maxOutput, Provider: f.Provider,
		Prices: prices.usd, Fidelity: fidelity.Words{},
		Texts: func(ctx context.Context, s *traces.Session) (live.Texts, error) { return texts.Open(ctx, corpus, s) },
	}
	c.strategies = map[string]*strategies.Strategy{}
	for i := range plan.Design.Cells {
		c.strategies[plan.Design.Cells[i].Name] = plan.Design.Cells[i].Strategy
	}
	if err := f.checkEvents(plan.Design.Scenario.Events); err != nil {
		return usageError{err}
	}
	c.events = plan.Design.Scenario.Events
	var err error
	if c.opts.Thinking, err = f.thinks(); err != nil {
		return usageError{err}
	}
	c.opts.Effort, c.opts.Server.Trigger = f.Effort, f.ServerTrigger
	c.opts.NoCompaction, c.opts.NoThinking = f.Provider == providerOpenAI, f.Provider == providerOpenAI
	if c.opts.Server.Edits, err = f.edits(); err != nil {
		return err
	}
	if f.Provider == providerAnthropic {
		// Chat completions have no breakpoints, and no cache that is documented
		// well enough to predict.
		c.opts.Shadow = &shadow.Cache{MinTokens: prices.minTokens}
	}
	if c.opts.System, c.opts.Tools, err = f.head(); err != nil {
		return err
	}
	return c.open(prices)
}

// open opens the cassettes and, if it may be asked, the server.
func (c *liveCalls) open(prices pricesNow) error {
	f := c.flags
	var err error
	mode := cassette.Record
	if f.summarizer != summarizeLive {
		if mode, err = cassette.ParseMode(f.summarizer); err != nil {
			return usageError{err}
		}
	}
	o := cassette.Options{Redact: f.Redact, Keep: live.Titles(), ReplaceBroken: f.ReplaceBroken}
	if c.folder, err = cassette.Open(f.Cassettes, mode, o); err != nil {
		return usageError{fmt.Errorf("--cassettes: %w", err)}
	}
	c.opts.Calls = hinted{c.folder}
	if !f.asks() {
		return nil
	}
	server, err := f.server()
	if err != nil {
		return usageError{err}
	}
	quota := backend.Quota{
		Concurrency: f.Concurrency, Requests: f.PerMinute, Calls: f.MaxCalls, BudgetUSD: f.Budget,
		Price:  func(model string, u wire.Usage) float64 { return prices.usd(model, u.Prompt()) },
		Priced: prices.known,
	}
	if c.gate, err = backend.NewGate(server, quota, nil); err != nil {
		return usageError{err}
	}
	c.opts.Backend = helpful{&backend.Breaker{Backend: &backend.Retry{
		Backend: c.gate, Attempts: f.Attempts, Deadline: f.deadline(),
		Jitter: draws.Source{Seed: uint64(time.Now().UnixNano())},
	}}, f}
	return nil
}

// summarizer returns what answers the calls of a cell with a stub.
func (c *liveCalls) summarizer(cell string, stub *summarizer.Stub, dry bool) sim.Summarizer {
	opts := c.opts
	opts.Name, opts.Stub, opts.Dry = cell, stub, dry
	if s := c.strategies[cell]; s != nil && c.flags.Provider == providerAnthropic {
		opts.Server.Clear = declares(s)
	}
	if dry {
		opts.Calls = dryCalls{hinted{c.folder}, c.unstored}
	}
	s, err := live.New(opts)
	if err != nil {
		return failingSummarizer{Stub: stub, err: err}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.made = append(c.made, s)
	return s
}

// dryCalls are the stored calls in a dry run. It notes those that are not
// stored.
type dryCalls struct {
	hinted
	missing func(cassette.Call)
}

// Has reports whether a call is stored.
func (d dryCalls) Has(call cassette.Call) bool {
	has := d.Folder.Has(call)
	if !has {
		d.missing(call)
	}
	return has
}

// spoken is what a call to be made says of thinking or effort, and to whom.
type spoken struct{ model, name, value string }

// unstored notes the model of a call that is to be made, and what it says of
// thinking and effort.
func (c *liveCalls) unstored(call cassette.Call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.asked == nil {
		c.asked, c.spoken = map[string]bool{}, map[spoken]bool{}
	}
	c.asked[call.Model] = true
	for _, p := range call.Params {
		if name, value, _ := strings.Cut(p, "="); name == "thinking" || name == "effort" {
			c.spoken[spoken{call.Model, name, value}] = true
		}
	}
}

// failingSummarizer ends a run at its first call.
type failingSummarizer struct {
	*summarizer.Stub
	err error
}

func (s failingSummarizer) Compose(context.Context, *summarizer.Call) (prompt.Answer, error) {
	return prompt.Answer{}, s.err
}

// report returns what was done, of all cells together.
func (c *liveCalls) report() live.Report {
	c.mu.Lock()
	defer c.mu.Unlock()
	var sum live.Report
	for _, s := range c.made {
		r := s.Report()
		sum.Add(&r)
	}
	if c.gate != nil {
		// The gate knows of every request, also of a call that came to no end.
		spent := c.gate.Spent()
		sum.USD, sum.Usage = spent.USD, spent.Usage.Prompt()
	}
	return sum
}

// done returns what was done, nil for a run without real calls. From then on calls
// are taken from their cassettes alone: what is simulated again for a chart costs
// nothing.
func (c *liveCalls) done() *live.Report {
	if c == nil {
		return nil
	}
	r := c.report()
	c.opts.Backend = nil
	return &r
}

// agree says what the calls are likely to cost, from a run of the same cells in
// which the stub answers, and asks on a terminal whether to make them. Nothing is
// asked when nothing is to be paid.
func (c *liveCalls) agree(cmd *cobra.Command, plan *scenarios.Plan, corpus *traces.Corpus) error {
	for _, text := range []string{c.idle(), c.flags.mute(c.events)} {
		if text != "" {
			say(cmd.ErrOrStderr(), "warning: %s", text)
		}
	}
	if !c.flags.asks() {
		return nil
	}
	e, err := c.estimate(cmd.Context(), plan, corpus)
	if err != nil {
		return err
	}
	if err := c.checkModels(); err != nil {
		return err
	}
	c.announce(cmd.ErrOrStderr())
	say(cmd.ErrOrStderr(), "%s", c.estimateText(&e))
	switch {
	case *c.flags.yes:
		return nil
	case e.Calls == e.Stored:
		c.opts.Backend = nil // nobody was asked whether to pay
		return nil
	case !isTerminal(cmd.InOrStdin()) || !isTerminal(cmd.ErrOrStderr()):
		return usageError{errors.New("real calls cost money: --yes makes them without a question")}
	}
	yes, err := ask(cmd.Context(), cmd.InOrStdin(), cmd.ErrOrStderr(),
		"Make them? What is sent leaves this machine. [y/N] ")
	switch {
	case err != nil:
		return fmt.Errorf("interrupted before any call was made: %w", err)
	case !yes:
		return errNoCalls
	}
	return nil
}

// errNoCalls is returned when a person does not want real calls made.
var errNoCalls = errors.New("no call was made, as you wish")

// estimate runs the cells with the stub in the place of real calls.
func (c *liveCalls) estimate(ctx context.Context, plan *scenarios.Plan, corpus *traces.Corpus) (live.Estimate, error) {
	dry := *plan
	dry.Done, dry.Workers = nil, 0
	dry.Summarize = func(cell string, stub *summarizer.Stub) sim.Summarizer { return c.summarizer(cell, stub, true) }
	if _, err := dry.Run(ctx, corpus); err != nil {
		return live.Estimate{}, fmt.Errorf("estimate the real calls: %w", err)
	}
	e := c.report().Estimate
	c.made = nil
	return e, nil
}

// checkModels refuses what the models to ask are known not to do, ahead of the
// first call: thinking in a form that is not theirs, effort, a budget of money where
// no price is known.
func (c *liveCalls) checkModels() error {
	var errs []error
	for _, s := range slices.SortedFunc(maps.Keys(c.spoken), func(a, b spoken) int {
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.model, b.model), cmp.Compare(a.value, b.value))
	}) {
		mode, _, _ := strings.Cut(s.value, "/")
		switch {
		case s.name == "thinking" && !live.Takes(s.model, wire.Mode(mode)):
			errs = append(errs, fmt.Errorf("thinking %s: %s does not take it; from 4.6 on models take adaptive, up to "+
				"4.6 a number of tokens", s.value, s.model))
		case s.name == "effort" && c.flags.Provider != providerOpenAI && !live.TakesEffort(s.model):
			errs = append(errs, fmt.Errorf("effort %s: %s does not take it; Opus does from 4.5 on, the others from 4.6 on",
				s.value, s.model))
		}
	}
	if none := c.unpriced(); c.flags.Budget > 0 && len(none) > 0 {
		errs = append(errs, fmt.Errorf("--budget-usd: no price is known for %s; --prices FILE or --price-as %s=MODEL "+
			"gives one", strings.Join(none, ", "), none[0]))
	}
	if len(errs) > 0 {
		return usageError{errors.Join(errs...)}
	}
	return nil
}

// unpriced returns the models to ask that have no price, by name.
func (c *liveCalls) unpriced() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(c.asked)), c.priced)
}

// pricesNow are prices as they are today: real calls are made now, whenever their
// sessions were.
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

// known reports whether a model has a price.
func (p pricesNow) known(model string) bool {
	_, err := p.table.Lookup(model, p.now)
	return err == nil
}

// maxOutput returns the most tokens that a model can answer, 0 when no source
// states it.
func (p pricesNow) maxOutput(model string) int {
	if price, err := p.table.Lookup(model, p.now); err == nil {
		return price.Model.MaxOutput
	}
	return 0
}

// minTokens returns the shortest prefix that a model caches, tokens; 1,024, which
// most of them have, when no source states it.
func (p pricesNow) minTokens(model string) int32 {
	if price, err := p.table.Lookup(model, p.now); err == nil && price.Model.MinCache > 0 {
		return int32(price.Model.MinCache)
	}
	return 1024
}

// hinted are stored calls whose errors say how to go on.
type hinted struct{ *cassette.Folder }

// Do is that of the folder.
func (h hinted) Do(ctx context.Context, call cassette.Call, ask cassette.Ask) (*cassette.Cassette, bool, error) {
	got, there, err := h.Folder.Do(ctx, call, ask)
	switch {
	case errors.Is(err, cassette.ErrBroken):
		err = fmt.Errorf("%w; or go on with --summarizer record-missing --replace-broken, which keeps the file beside "+
			"the new one", err)
	case errors.Is(err, cassette.ErrMissing):
		err = fmt.Errorf("%w; --summarizer record-missing makes what is missing, or replay under the settings that "+
			"were recorded", err)
	}
	return got, there, err
}

// helpful is a server whose errors say what to do, where they end the run.
type helpful struct {
	backend.Backend
	flags *liveFlags
}

// Do makes a call.
func (h helpful) Do(ctx context.Context, r *wire.Request) (*wire.Reply, error) {
	reply, err := h.Backend.Do(ctx, r)
	if hint := h.hint(err); hint != "" && ctx.Err() == nil {
		return nil, fmt.Errorf("%w; %s", err, hint)
	}
	return reply, err
}

// hint says how to go on from an error that every other call would meet, "" for any
// other.
func (h helpful) hint(err error) string {
	const on = "what was answered is stored, and --summarizer record-missing goes on from there"
	var f *wire.Failure
	switch {
	case errors.Is(err, backend.ErrBreaker):
		return "try again later, or look at --base-url; " + on
	case errors.Is(err, backend.ErrBudget), errors.Is(err, backend.ErrMaxCalls):
		return on
	case !errors.As(err, &f):
		return ""
	case f.Cause == wire.CauseAuth:
		return "check the key in " + h.flags.environment("API_KEY") + ", and --base-url if it is another server's; " + on
	case f.Cause == wire.CauseModel:
		return "--live-model asks another model, --base-url another server; " + on
	}
	return ""
}
