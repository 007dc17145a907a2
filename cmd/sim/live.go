package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

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
		plan.Workers = f.concurrency
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
		Sources: f.sources, Model: f.model, Instructions: f.instructions, Betas: f.betas,
		MaxOutput: f.maxOutput, MaxOutputOf: prices.maxOutput, Provider: f.provider,
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
	c.opts.Effort, c.opts.Server.Trigger = f.effort, f.serverTrigger
	c.opts.NoCompaction, c.opts.NoThinking = f.provider == providerOpenAI, f.provider == providerOpenAI
	if c.opts.Server.Edits, err = f.edits(); err != nil {
		return err
	}
	if f.provider == providerAnthropic {
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
	f, err := c.flags, error(nil)
	mode := cassette.Record
	if f.summarizer != summarizeLive {
		if mode, err = cassette.ParseMode(f.summarizer); err != nil {
			return usageError{err}
		}
	}
	if c.folder, err = cassette.Open(f.cassettes, mode, cassette.Options{Redact: f.redact, Keep: live.Titles(), ReplaceBroken: f.replaceBroken}); err != nil {
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
		Concurrency: f.concurrency, Requests: f.perMinute, Calls: f.maxCalls, BudgetUSD: f.budget,
		Price:  func(model string, u wire.Usage) float64 { return prices.usd(model, u.Prompt()) },
		Priced: prices.known,
	}
	if c.gate, err = backend.NewGate(server, quota, nil); err != nil {
		return usageError{err}
	}
	c.opts.Backend = helpful{&backend.Breaker{Backend: &backend.Retry{
		Backend: c.gate, Attempts: f.attempts, Deadline: f.deadline(), Jitter: draws.Source{Seed: uint64(time.Now().UnixNano())},
	}}, f}
	return nil
}

// summarizer returns what answers the calls of a cell with a stub.
func (c *liveCalls) summarizer(cell string, stub *summarizer.Stub, dry bool) sim.Summarizer {
	opts := c.opts
	opts.Name, opts.Stub, opts.Dry = cell, stub, dry
	if s := c.strategies[cell]; s != nil && c.flags.provider == providerAnthropic {
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

// dryCalls are the stored calls in a dry run. It tells of those that are not
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

// agree tells what the calls are likely to cost, from a run of the same cells in
// which the stub answers, and asks on a terminal whether to make them. Nothing is
// asked when nothing is to be paid.
func (c *liveCalls) agree(cmd *cobra.Command, stdin io.Reader, plan *scenarios.Plan, corpus *traces.Corpus) error {
	for _, text := range []string{c.idle(), c.flags.mute(c.events)} {
		if text != "" {
			fmt.Fprintln(cmd.ErrOrStderr(), "sim: warning: "+text)
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
	fmt.Fprintln(cmd.ErrOrStderr(), "sim: "+c.estimateText(&e))
	switch {
	case *c.flags.yes:
		return nil
	case e.Calls == e.Stored:
		c.opts.Backend = nil // nobody was asked whether to pay
		return nil
	case !isTerminal(stdin) || !isTerminal(cmd.ErrOrStderr()):
		return usageError{errors.New("real calls cost money: --yes makes them without a question")}
	}
	yes, err := ask(cmd.Context(), stdin, cmd.ErrOrStderr(), "Make them? What is sent leaves this machine. [y/N] ")
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
// nobody knows what the calls cost.
func (c *liveCalls) checkModels() error {
	var errs []error
	for _, s := range slices.SortedFunc(maps.Keys(c.spoken), func(a, b spoken) int {
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.model, b.model), cmp.Compare(a.value, b.value))
	}) {
		mode, _, _ := strings.Cut(s.value, "/")
		switch {
		case s.name == "thinking" && !live.Takes(s.model, wire.Mode(mode)):
			errs = append(errs, fmt.Errorf("thinking %s: %s does not take it; from 4.6 on models take adaptive, up to 4.6 a number of tokens", s.value, s.model))
		case s.name == "effort" && c.flags.provider != providerOpenAI && !live.TakesEffort(s.model):
			errs = append(errs, fmt.Errorf("effort %s: %s does not take it; Opus does from 4.5 on, the others from 4.6 on", s.value, s.model))
		}
	}
	if none := c.unpriced(); c.flags.budget > 0 && len(none) > 0 {
		errs = append(errs, fmt.Errorf("--budget-usd: no price is known for %s; --prices FILE or --price-as %s=MODEL gives one", strings.Join(none, ", "), none[0]))
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

// idle says which flag changes nothing in this run, "" for none.
func (c *liveCalls) idle() string {
	if c.flags.serverTrigger == 0 {
		return ""
	}
	compacts := len(c.flags.sources) == 0 || slices.Contains(c.flags.sources, "compact")
	if compacts && slices.ContainsFunc(slices.Collect(maps.Values(c.strategies)), compactsOnServer) {
		return ""
	}
	return "--server-trigger changes nothing: no real call of these strategies is a compaction by the provider"
}

// announce says which strategies ask something of the server.
func (c *liveCalls) announce(w io.Writer) {
	if c.flags.provider != providerAnthropic {
		return
	}
	said := map[string]bool{}
	for _, cell := range slices.Sorted(maps.Keys(c.strategies)) {
		s := c.strategies[cell]
		if text := declaredText(s, c.flags.serverTrigger); text != "" && !said[s.Name+text] {
			said[s.Name+text] = true
			fmt.Fprintf(w, "sim: %s %s\n", s.Name, text)
		}
	}
}

// estimateText says what real calls are likely to take.
func (c *liveCalls) estimateText(e *live.Estimate) string {
	text := fmt.Sprintf("about %s, ", plural(e.Calls, "real call"))
	if e.Stored > 0 {
		text += fmt.Sprintf("%d of them on cassettes, ", e.Stored)
	}
	text += fmt.Sprintf("%s tokens in and %s out: ", thousands(e.Usage.Input()), thousands(e.Usage.Output))
	const when = "if none fails and nothing is read from the cache"
	switch none := c.unpriced(); {
	case len(none) > 0 && e.MostUSD > 0:
		text += fmt.Sprintf("$%.2f, at most $%.2f, %s, and besides the calls of %s", e.USD, e.MostUSD, when, priceless(none))
	case len(none) > 0:
		text += "at a price that is not known, that of " + priceless(none)
	default:
		text += fmt.Sprintf("$%.2f, at most $%.2f, %s", e.USD, e.MostUSD, when)
	}
	if b := c.flags.budget; b > 0 && e.USD > b {
		text += fmt.Sprintf("; the budget of $%.2f ends before", b)
	}
	return text
}

// priceless says of models that they have no price, and what gives them one.
func priceless(models []string) string {
	return fmt.Sprintf("%s, for which no price is known, so that no --budget-usd can hold (--prices FILE or --price-as %s=MODEL gives one)",
		strings.Join(models, ", "), models[0])
}

// thousands writes a number of tokens in thousands.
func thousands(n int64) string {
	if n < 10_000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%dk", (n+500)/1000)
}
