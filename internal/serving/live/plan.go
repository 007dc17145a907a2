package live

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/compactsim/compactsim/internal/serving/live/api"
	"github.com/compactsim/compactsim/internal/serving/live/cassette"
	"github.com/compactsim/compactsim/internal/serving/summarizer"
	"github.com/compactsim/compactsim/sim/prompt"
)

// kind is the kind of a call's answer.
type kind uint8

const (
	kindSummary kind = iota // nine sections after an analysis
	kindMemory              // the session memory: ten sections
	kindServer              // the provider's own compaction
)

// Names that the layers give to calls.
const (
	sourceCompact       = "compact"
	sourceSessionMemory = "session_memory"
	wayServer           = "server"
)

// plan is what a call requests; it depends only on sizes and digests.
type plan struct {
	kind      kind
	part      prompt.Part
	pivot     int // position of the first entry the summary replaces
	model     string
	maxOutput int // tokens of the answer
	betas     []string
	key       cassette.Key
}

func (o *Options) plan(c *summarizer.Call) plan {
	in := c.Intent
	p := plan{model: askedName(c.Model), maxOutput: o.MaxOutput}
	if o.Model != "" && in.Model == "" {
		p.model = o.Model
	}
	if in.MaxOutput > 0 {
		p.maxOutput = int(in.MaxOutput)
	}
	p.maxOutput = o.bounded(p.maxOutput, p.model, c)
	switch {
	case in.Way == wayServer:
		p.kind = kindServer
	case in.Source == sourceSessionMemory:
		p.kind = kindMemory
	}
	if p.part = in.Part; p.part == prompt.PartFrom {
		p.pivot = pivot(c)
	}
	p.betas = append([]string(nil), o.Betas...) // nil for none
	if p.kind == kindServer && !slices.Contains(p.betas, api.BetaOnDemand) {
		p.betas = append(p.betas, api.BetaOnDemand)
	}
	return p
}

// leastOutput is the least output that a call requests, however small its window seems, tokens:
// sizes are estimates, and it is up to the server to refuse a prompt that is too long.
const leastOutput = 1024

// estimateError is the part of a prompt, one in 20, that a server may count beyond the estimate. Assumed.
const estimateError = 20

// bounded returns the output a call may request, tokens: what the model can answer and
// its window leaves. The window of a model that replaces the session's is unknown.
func (o *Options) bounded(output int, model string, c *summarizer.Call) int {
	if o.MaxOutputOf != nil {
		if most := o.MaxOutputOf(model); most > 0 {
			output = min(output, most)
		}
	}
	if model == askedName(c.Model) && c.Window > 0 {
		sent := int64(c.Context.Tokens())
		if rest := c.Window - sent - sent/estimateError; rest < int64(output) {
			output = max(int(rest), min(output, leastOutput))
		}
	}
	return output
}

var (
	platformPrefix = regexp.MustCompile(`^(?:arn:.*/)?(?:[a-z-]+\.)?anthropic\.`)
	platformSuffix = regexp.MustCompile(`-v[0-9]+(:[0-9]+k?)*$`)
)

// askedName returns a recorded name in the form of the provider's own endpoint:
// "us.anthropic.claude-opus-4-5-20251101-v1:0", "claude-opus-4-5@20251101" and
// "claude-opus-4-5[1m]" are names of platforms, of a window and of terms of service.
func askedName(recorded string) string {
	name, _, _ := strings.Cut(recorded, "[")
	if m := platformPrefix.FindString(name); m != "" {
		return platformSuffix.ReplaceAllString(name[len(m):], "")
	}
	if strings.HasPrefix(name, "claude-") {
		return strings.Replace(name, "@", "-", 1)
	}
	return name
}

// made reports whether a call is made for real: its source is live, and its answer not recorded.
func (o *Options) made(in *prompt.Intent) bool {
	return (in.Known == nil || in.Sized) && slices.Contains(o.Sources, in.Source)
}

// pivot returns the position of the first entry that a summary of the later part replaces, by its size.
func pivot(c *summarizer.Call) int {
	ctx := c.Context
	from, to := ctx.Messages(), ctx.Len()
	if c.Intent.Instruction > 0 {
		to--
	}
	for left := int64(c.Intent.Summarised); to > from && left > 0; {
		to--
		left -= int64(ctx.At(to).Tokens)
	}
	return to
}

// Estimate returns what a call would take, from its sizes alone and with a cold
// cache, because the server's cache is unknown in advance. A call that is not
// live, or that the recording answers, takes nothing.
func (s *Summarizer) Estimate(c *summarizer.Call) Estimate {
	if !s.opts.made(c.Intent) {
		return Estimate{}
	}
	p := s.opts.plan(c)
	if p.kind == kindServer && s.opts.Provider == OpenAI {
		return Estimate{}
	}
	if s.opts.Calls != nil && s.opts.Calls.Has(s.about(c, &p)) {
		return Estimate{Calls: 1, Stored: 1}
	}
	u := coldUsage(c)
	u.Output = int64(s.opts.Stub.Summarize(c.Intent, c.Draws, c.Event, c.Span).Output)
	if p.kind == kindMemory {
		u.Output = max(u.Output, s.memorySize(c))
	}
	u.Output = min(u.Output, int64(p.maxOutput))
	most := u
	most.Output = int64(p.maxOutput)
	return Estimate{Calls: 1, Usage: u, USD: s.opts.Prices(p.model, u), MostUSD: s.opts.Prices(p.model, most)}
}

// memorySize returns the size of a session memory that is updated, tokens: a
// call writes all of it again.
func (s *Summarizer) memorySize(c *summarizer.Call) int64 {
	size := int64(c.Intent.Instruction)
	if w, ok := s.memory.find(c.Intent.Base); ok {
		size = int64(w.tokens)
	}
	return min(size, memoryTokens)
}

// coldUsage returns the input of a call that reads nothing: what precedes a marker is written for its lifetime.
func coldUsage(c *summarizer.Call) prompt.Usage {
	var u prompt.Usage
	entries, done := c.Context.Seal(), int64(0)
	for _, m := range c.Markers {
		if m.Position < 0 || int(m.Position) >= len(entries) {
			continue
		}
		n := int64(entries[m.Position].Cum) - done
		if n <= 0 {
			continue
		}
		done += n
		if m.TTL == prompt.TTL1h {
			u.Write1h += n
		} else {
			u.Write5m += n
		}
	}
	u.Uncached = int64(c.Context.Tokens()) - done
	return u
}

// about returns what identifies a call. What it sends is in the chain, so that nothing is
// composed for it; a repetition of a failed call differs by its ordinal.
func (s *Summarizer) about(c *summarizer.Call, p *plan) cassette.Call {
	in := c.Intent
	prefix := "prefix=0" // the conversation's
	if in.Own {
		prefix = "prefix=1"
	}
	a := cassette.Call{
		Session: c.Session.ID, Source: in.Source, Model: p.model, Thread: c.Thread, Round: c.Round, Number: in.Number,
		Params: []string{
			"provider=" + s.opts.Provider,
			"model=" + p.model,
			"max_output=" + strconv.Itoa(p.maxOutput),
			"source=" + in.Source,
			"way=" + in.Way,
			prefix,
			"ordinal=" + strconv.Itoa(int(in.Ordinal)),
			fmt.Sprintf("part=%d@%d", p.part, p.pivot),
			"markers=" + markers(c.Markers),
			fmt.Sprintf("base=%x%x", in.Base.Hi, in.Base.Lo),
			"options=" + s.digest,
			"head=" + headDigest(c),
			"instruction=" + instructionVersion,
			"compose=" + composeVersion,
		},
	}
	if entries := c.Context.Seal(); len(entries) > 0 {
		a.Chain = entries[len(entries)-1].Chain
	}
	if p.kind == kindServer {
		a.Params = append(a.Params, "compaction=on-demand")
	}
	return a
}

// headDigest identifies a head of placeholders by the names of the session's tools and by sizes.
func headDigest(c *summarizer.Call) string {
	var d prompt.Digest
	for _, name := range c.Session.Tools {
		d = d.Extend(prompt.DigestString(name))
	}
	for i := range c.Context.Messages() {
		e := c.Context.At(i)
		d = d.ExtendInt(uint64(e.Kind)).ExtendInt(uint64(e.Tokens))
	}
	return fmt.Sprintf("%016x%016x", d.Hi, d.Lo)
}

// markers writes where breakpoints are and how long they ask for.
func markers(list []prompt.Marker) string {
	parts := make([]string, len(list))
	for i, m := range list {
		parts[i] = fmt.Sprintf("%d/%s", m.Position, m.TTL)
	}
	return strings.Join(parts, " ")
}

// digest identifies the options that are part of every request, without those
// that about adds for single calls.
func (o *Options) digest() string {
	// The last member is how calls used to request a compaction; it stays so that stored calls are found.
	words := jsontext.Value(`{"edits":[{"type":"compact_20260112",` +
		`"trigger":{"type":"input_tokens","value":50000},"pause_after_compaction":true`)
	if strings.TrimSpace(o.Instructions) != "" {
		words, _ = jsontext.AppendQuote(append(words, `,"instructions":`...), clean(serverInstructions(o.Instructions)))
	}
	words = append(words, "}]}"...)
	b, _ := json.Marshal([]any{o.System, o.Tools, o.Betas, o.Instructions, words}, json.Deterministic(true)) // valid JSON
	d := prompt.DigestBytes(b)
	return fmt.Sprintf("%016x%016x", d.Hi, d.Lo)
}
