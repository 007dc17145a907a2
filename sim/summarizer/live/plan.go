package live

import (
	"cmp"
	"slices"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/summarizer"
)

// Part is the part of a conversation that a summary stands for.
type Part uint8

// The parts.
const (
	PartWhole Part = iota
	PartUpTo       // what comes ahead of messages that stay, which are not sent
	PartFrom       // what comes behind messages that stay, which are sent
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
	part      Part
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
	p.part, p.pivot = part(c)
	if o.Part != nil {
		p.part = o.Part(c)
	}
	if p.part != PartFrom {
		p.pivot = 0
	}
	return p
}

// live reports whether calls of a source are made.
func (o *Options) live(source string) bool { return slices.Contains(o.Sources, source) }

// part tells from the sizes whether a summary stands for all that is sent or
// only for what comes behind a pivot, and where that is. What a call leaves out
// makes it smaller, never larger, so that all of it is never taken for a part.
func part(c *summarizer.Call) (Part, int) {
	ctx := c.Context
	from, to := ctx.Messages(), ctx.Len()
	if c.Intent.Instruction > 0 {
		to--
	}
	for from < to && ctx.At(from).Kind == prompt.KindReminder {
		from++
	}
	sum := -int64(c.Intent.Lead)
	for i := from; i < to; i++ {
		sum += int64(ctx.At(i).Tokens)
	}
	left := int64(c.Intent.Summarised)
	if c.Intent.Source != sourceCompact || left <= 0 || left >= sum {
		return PartWhole, 0
	}
	pivot := to
	for pivot > from && left > 0 {
		pivot--
		left -= int64(ctx.At(pivot).Tokens)
	}
	return PartFrom, pivot
}
