package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/internal/document"
	"github.com/compactsim/compactsim/internal/live"
	"github.com/compactsim/compactsim/internal/live/backend"
	"github.com/compactsim/compactsim/internal/live/cassette"
	"github.com/compactsim/compactsim/internal/live/wire"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/strategies"
)

// declares returns what the requests of a strategy ask of the provider's server, in
// the terms of its parameters.
func declares(s *strategies.Strategy) live.Clearing {
	p, ok := s.Params(strategies.APIContextName).(strategies.APIContextParams)
	on := s.LayerNames()
	if !ok || !slices.Contains(on, strategies.APIContextName) {
		return live.Clearing{}
	}
	c := live.Clearing{SkipAgents: !p.Subagents}
	if p.Thinking.Enabled {
		c.Thinking = &live.ClearThinking{Keep: int(p.Thinking.Keep)}
	}
	for _, e := range []strategies.ClearToolUses{p.Results, p.Uses} {
		if e.Enabled {
			c.Tools = append(c.Tools, live.ClearTools{
				InputTokens: e.InputTokens, ToolUses: e.ToolUses, Keep: e.Keep, AtLeast: e.ClearAtLeast,
				Only: e.Tools, Exclude: e.ExcludeTools, Inputs: e.ClearInputs,
			})
		}
	}
	return c
}

// compactsOnServer reports whether a strategy has the provider compact, and how
// many tokens of instructions of its own it has for that.
func compactsOnServer(s *strategies.Strategy) bool {
	p, ok := s.Params(strategies.CompactName).(strategies.CompactParams)
	return ok && slices.Contains(s.LayerNames(), strategies.CompactName) && slices.Contains(p.Call, strategies.WayServer)
}

// declaredText says what the requests of a strategy ask of the server, "" for
// nothing.
func declaredText(s *strategies.Strategy, trigger int64) string {
	var parts []string
	if c := declares(s); len(c.Tools) > 0 || c.Thinking != nil {
		parts = append(parts, fmt.Sprintf("%s (beta context-management-2025-06-27)", edits(&c)))
	}
	switch {
	case compactsOnServer(s) && trigger > 0:
		parts = append(parts, fmt.Sprintf("to compact from %d tokens on (beta compact-2026-01-12)", trigger))
	case compactsOnServer(s):
		parts = append(parts, "to compact on demand (beta compact-2026-09-04)")
	}
	if len(parts) == 0 {
		return ""
	}
	return "asks the server " + strings.Join(parts, ", and ")
}

// edits names what is to be cleared.
func edits(c *live.Clearing) string {
	var parts []string
	if n := len(c.Tools); n > 0 {
		parts = append(parts, fmt.Sprintf("to clear tool results by %s", plural(n, "edit")))
	}
	if c.Thinking != nil {
		parts = append(parts, "to clear thinking where a call thinks")
	}
	return strings.Join(parts, " and ")
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

// hinted are stored calls that tell how to go on where one cannot be had.
type hinted struct{ *cassette.Folder }

// Do is that of the folder.
func (h hinted) Do(ctx context.Context, call cassette.Call, ask func(context.Context) (*cassette.Cassette, error)) (*cassette.Cassette, bool, error) {
	got, there, err := h.Folder.Do(ctx, call, ask)
	var missing *cassette.MissingError
	switch {
	case errors.Is(err, cassette.ErrBroken):
		err = fmt.Errorf("%w; or go on with --summarizer record-missing --replace-broken, which keeps the file beside the new one", err)
	case errors.As(err, &missing):
		err = missingCall{missing}
	}
	return got, there, err
}

// missingCall is the error of a call that is not stored, as a terminal shows it behind
// a line that names session, strategy and call.
type missingCall struct{ *cassette.MissingError }

// Unwrap returns the error of the folder.
func (e missingCall) Unwrap() error { return e.MissingError }

// Error says what to do, what differs, and which file it is that is not there, in lines
// of its own.
func (e missingCall) Error() string {
	const indent = "  "
	text := ""
	for _, sentence := range []string{
		"it is not stored: --summarizer record-missing makes what is missing; or replay under the settings that were recorded",
		e.Difference(),
		fmt.Sprintf("asked of %s, it would be %s.json there", e.Call.Model, e.Key),
	} {
		for _, line := range document.Wrap(sentence, document.Width-len(indent)) {
			text += "\n" + indent + line
		}
	}
	return text
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
