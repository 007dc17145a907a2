package live

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/compactsim/compactsim/internal/live/wire"
	"github.com/compactsim/compactsim/sim/prompt"
)

// System prompts of this package, for the head of a request.
const (
	agentSystem = "You are an agent that helps a person with software. You read and change files and run " +
		"commands by your tools."
	summarySystem = "You summarise conversations between a person and a coding agent so that the work can go on " +
		"from your summary."
)

// The fixed words of a tool definition take about so many tokens.
const toolTokens = 30

// headPlaces are the entries that the blocks of the head show, for markers:
// those of the system prompt, one each, and the last one of the tools.
type headPlaces struct {
	tools  int
	system []int
}

// head puts tools and system prompt into a request: given ones for a call that
// shares the conversation's, else ones of the size that the call's entries have.
func (p *composer) head(r *wire.Request) headPlaces {
	c := p.call.Context
	var tools int32
	var sizes []int32
	places := headPlaces{tools: -1}
	for i := range c.Messages() {
		if e := c.At(i); e.Kind == prompt.KindTools {
			tools += e.Tokens
			places.tools = i
		} else {
			sizes = append(sizes, e.Tokens)
			places.system = append(places.system, i)
		}
	}
	if p.call.Intent.Prefix == prompt.PrefixOwn {
		p.ownHead(r, sizes)
		return places
	}
	r.Tools, r.System = slices.Clone(p.opts.Tools), slices.Clone(p.opts.System)
	for i := range r.Tools { // breakpoints are the client's
		r.Tools[i].Cache = wire.CacheNone
	}
	for i := range r.System {
		r.System[i].Cache = wire.CacheNone
	}
	if len(r.Tools) == 0 {
		r.Tools = p.tools(tools)
	}
	for i := len(r.System); i < len(sizes) && len(p.opts.System) == 0; i++ {
		r.System = append(r.System, systemBlock(agentSystem, sizes[i]))
	}
	return places
}

// ownHead puts in the system prompt of a call that has one of its own, and the
// tools that its messages call: the API wants them defined.
func (p *composer) ownHead(r *wire.Request, sizes []int32) {
	if slices.ContainsFunc(p.blocks, func(b placed) bool { return b.block.Kind == wire.KindToolUse }) {
		r.Tools = p.tools(0)
	}
	for i, size := range sizes {
		if i == 0 {
			size -= int32(len(r.Tools)) * toolTokens
		}
		r.System = append(r.System, systemBlock(summarySystem, size))
	}
	if len(r.System) == 0 {
		r.System = append(r.System, wire.Block{Kind: wire.KindText, Text: summarySystem})
	}
}

// systemBlock is a system prompt of about so many tokens; a short one is the
// words alone.
func systemBlock(words string, tokens int32) wire.Block {
	if rest := int(tokens) - len(words)/bytesPerToken; rest > toolTokens {
		words += "\n\n" + stand("the rest of a system prompt", int32(rest))
	}
	return wire.Block{Kind: wire.KindText, Text: words}
}

// tools defines the tools of the session in about so many tokens. All of them
// stand in every request of the session: the head is the same each time.
func (p *composer) tools(tokens int32) []wire.Tool {
	names := p.names()
	if len(names) == 0 {
		return nil
	}
	each := max(0, tokens/int32(len(names))-toolTokens)
	list := make([]wire.Tool, len(names))
	for i, name := range names {
		list[i] = wire.Tool{Name: name, Description: "A tool of the agent.", InputSchema: jsontext.Value(`{"type":"object"}`)}
		if each > 0 {
			list[i].Description = stand("the description of a tool", each)
		}
	}
	return list
}

// names returns the names of the session's tools as the API takes them, in the
// session's order, each once.
func (p *composer) names() []string {
	var list []string
	add := func(name string) {
		if name = safeName(name); !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	for _, name := range p.call.Session.Tools {
		if name != "" {
			add(name)
		}
	}
	for i := range p.blocks {
		if b := &p.blocks[i].block; b.Kind == wire.KindToolUse {
			add(b.Name)
		}
	}
	return list
}

// toolName returns the name of the tool that a block calls.
func (p *composer) toolName(b *prompt.Block, read string) string {
	if t := p.call.Session.Tools; b.Tool > 0 && int(b.Tool) < len(t) {
		return safeName(t[b.Tool])
	}
	return safeName(read)
}

// safeName returns a name in the characters and the length the API takes for
// tools.
func safeName(name string) string {
	const longest = 64
	name = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, name)
	if name == "" {
		return "tool"
	}
	return name[:min(len(name), longest)]
}
