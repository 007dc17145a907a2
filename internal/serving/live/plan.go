package live

import (
	"regexp"
	"strings"

	"github.com/compactsim/compactsim/internal/serving/summarizer"
	"github.com/compactsim/compactsim/sim/prompt"
)

// Words by which layers name calls and their ways.
const (
	sourceCompact = "compact"
	wayServer     = "server" // the provider's own compaction
)

// whyNotMade is why a call for the provider's own compaction fails.
const whyNotMade = "the provider's own compaction is not asked for in real calls"

// plan is what a call requests; it depends only on sizes.
type plan struct {
	part      prompt.Part
	pivot     int // position of the first entry the summary replaces
	model     string
	maxOutput int // tokens of the answer
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
	if p.part = in.Part; p.part == prompt.PartFrom {
		p.pivot = pivot(c)
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

// made reports whether a call is made for real: a compaction whose answer is not recorded.
func made(in *prompt.Intent) bool { return in.Known == nil && in.Source == sourceCompact }

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

// expected returns what a call would take, from its sizes alone and with a cold
// cache, because the server's cache is unknown in advance.
func (s *Summarizer) expected(c *summarizer.Call, p *plan) Estimate {
	u := coldUsage(c)
	u.Output = int64(s.opts.Stub.Summarize(c.Intent, c.Draws, c.Event, c.Span).Output)
	u.Output = min(u.Output, int64(p.maxOutput))
	most := u
	most.Output = int64(p.maxOutput)
	return Estimate{Calls: 1, Usage: u, USD: s.opts.Prices(p.model, u), MostUSD: s.opts.Prices(p.model, most)}
}

// coldUsage returns the input of a call that reads nothing: what precedes a marker is written for its lifetime. The
// recorded head is not sent.
func coldUsage(c *summarizer.Call) prompt.Usage {
	var u prompt.Usage
	entries, head := c.Context.Seal(), int64(0)
	if n := c.Context.Messages(); n > 0 {
		head = int64(entries[n-1].Cum)
	}
	done := head
	for _, m := range c.Markers {
		if m.Position < 0 || int(m.Position) >= len(entries) {
			continue
		}
		n := max(int64(entries[m.Position].Cum)-done, 0)
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
