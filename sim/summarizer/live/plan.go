package live

import (
	"cmp"
	"slices"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/summarizer"
)

// kind is what a call asks for.
type kind uint8

const (
	kindSummary kind = iota // nine sections behind an analysis
	kindMemory              // the session memory: ten sections
	kindServer              // the provider's own compaction
)

// Names that the layers give to calls.
const (
	sourceCompact       = "compact"
	sourceSessionMemory = "session_memory"
	wayServer           = "server"
)

// plan is what a call asks for, decided by sizes and digests alone.
type plan struct {
	kind      kind
	part      prompt.Part
	pivot     int // position of the first entry the summary stands for
	model     string
	maxOutput int // tokens
}

func (o *Options) plan(c *summarizer.Call) plan {
	in := c.Intent
	p := plan{model: cmp.Or(o.Model, c.Model), maxOutput: o.MaxOutput}
	if in.MaxOutput > 0 {
		p.maxOutput = int(in.MaxOutput)
	}
	switch {
	case in.Way == wayServer:
		p.kind = kindServer
	case in.Source == sourceSessionMemory:
		p.kind = kindMemory
	}
	if p.part = in.Part; p.part == prompt.PartFrom {
		p.pivot = pivot(c)
	}
	return p
}

// made reports whether a call is made for real: one of a source that is live,
// whose answer is not recorded.
func (o *Options) made(in *prompt.Intent) bool {
	return (in.Known == nil || in.Sized) && slices.Contains(o.Sources, in.Source)
}

// pivot returns the position of the first entry that a summary of the later part
// stands for: told from its size, as the call sends what is ahead too.
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
