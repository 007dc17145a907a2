package client

import (
	"slices"

	"github.com/compactsim/compactsim/internal/kit/spec"
	"github.com/compactsim/compactsim/sim/prompt"
)

// Counting is how a client estimates tokens. True tokens and this count are two numbers: triggers use this one.
type Counting struct {
	// Trailing adds the estimate of everything after the last response to its usage; otherwise the usage alone counts.
	Trailing bool
	// StringIsFree counts 0 for a message whose content is a bare string, as versions 1.x do (001:1037).
	StringIsFree bool
	// LoggedOutput counts the output as logged, which is not final in those versions, instead of the whole output.
	LoggedOutput bool
	// Unpadded does not pad the quarter of the bytes.
	Unpadded bool
	// PadsLarge pads it by a third all the same for models that have a window of a million by themselves.
	PadsLarge bool
	// InputOnly takes only input_tokens as the usage of the last response, without
	// what was read or written, and without the output.
	InputOnly bool
	// NoOutput takes the input of the last call, without its output.
	NoOutput bool
	// DenseInput counts a token for two bytes of a tool call's input instead of four.
	DenseInput bool
	// Reasoning is the share of the reasoning ahead of the last prompt that counts once
	// more, though the provider has counted it or left it out.
	Reasoning float64
	// DocumentBytes counts a document by its bytes, as text.
	DocumentBytes bool
}

// Tokens of an image or a document.
const mediaTokens = 2000

// Block returns the client's estimate for one block, tokens and without a pad: a quarter of its bytes, rounded up;
// images and documents 2,000 unless DocumentBytes, each image in a result beside its text (001:1002-1016). Tools are
// the names of tools by Block.Tool: a call counts with its name (002:22). Nil leaves the names out.
func (c *Counting) Block(b *prompt.Block, tools []string) int64 {
	switch {
	case b.Kind == prompt.KindUnseen || b.Kind == prompt.KindTools || b.Kind == prompt.KindSystem:
		return 0 // not in the client's message list
	case b.Kind == prompt.KindImage || b.Kind == prompt.KindDocument && !c.DocumentBytes:
		return mediaTokens
	case c.StringIsFree && b.Flags&prompt.FlagString != 0:
		return 0
	case b.Kind == prompt.KindToolUse && int(b.Tool) < len(tools):
		return c.quarter(b, len(tools[b.Tool]))
	case b.Kind == prompt.KindToolResult:
		return c.quarter(b, 0) + int64(b.Flags.Images())*mediaTokens
	}
	return c.quarter(b, 0)
}

// Pad returns an estimate of what followed the last response, tokens, as the client counts it with a model: padded by
// a third unless Unpadded, and rounded up once for all blocks (001:1028, 1048).
func (c *Counting) Pad(estimate int64, model string) int64 {
	if !c.Unpadded || c.PadsLarge && named(model, large) {
		return (estimate*4 + 2) / 3
	}
	return estimate
}

// quarter returns a token for four bytes of a block and of its name, or for two bytes of a dense tool input.
func (c *Counting) quarter(b *prompt.Block, name int) int64 {
	if c.DenseInput && b.Kind == prompt.KindToolUse {
		return int64(int(b.Bytes)+1)/2 + int64(name+3)/4
	}
	return int64(int(b.Bytes)+name+3) / 4
}

// Response returns what the client takes from the usage of a response, tokens:
// effective is the request less what was deleted from it, logged the output as
// logged.
func (c *Counting) Response(u prompt.Usage, effective, logged int64) int64 {
	switch {
	case c.InputOnly:
		return u.Uncached
	case c.NoOutput:
		return effective
	case c.LoggedOutput:
		return effective + logged
	}
	return effective + u.Output
}

// count is what a scenario says about counting. "version" is the way of the client's version.
type count struct {
	Canonical      string `yaml:"canonical" enum:"full,input_only" doc:"What it takes from the last usage: full (input, read, written and output) or input_only (input_tokens alone, which undercounts)."`
	Trailing       string `yaml:"trailing" enum:"version,true,false" doc:"Adds an estimate of what followed: version, true or false."`
	StringIsFree   string `yaml:"string_is_free" enum:"version,true,false" doc:"Gives nothing for a message that is a bare string: version, true or false."`
	Padded         string `yaml:"padded" enum:"version,true,false" doc:"Pads the estimate by a third: version, true or false."`
	ToolInputBytes int    `yaml:"tool_input_bytes" doc:"Bytes of a token in the input of a tool call: 4 or 2."`
	Documents      string `yaml:"documents" enum:"fixed,bytes" doc:"Documents count 2,000 each (fixed), or by their bytes like text (bytes)."`
}

const byVersion = "version"

// Rules returns the errors that no tag expresses.
func (n *count) Rules() []error {
	if n.ToolInputBytes != 4 && n.ToolInputBytes != 2 {
		return []error{spec.Wrong("tool_input_bytes", "%d: a token takes 4 bytes, or 2", n.ToolInputBytes)}
	}
	return nil
}

// Over returns how a client counts whose version counts as c.
func (n *count) Over(c Counting) Counting {
	choose := func(to *bool, value string, yes bool) {
		if value == "true" || value == "false" {
			*to = (value == "true") == yes
		}
	}
	choose(&c.Trailing, n.Trailing, true)
	choose(&c.StringIsFree, n.StringIsFree, true)
	choose(&c.Unpadded, n.Padded, false)
	c.PadsLarge = c.PadsLarge && n.Padded == byVersion
	c.InputOnly = c.InputOnly || n.Canonical == "input_only"
	c.DenseInput = c.DenseInput || n.ToolInputBytes == 2
	c.DocumentBytes = c.DocumentBytes || n.Documents == "bytes"
	return c
}

// Counter counts the blocks of a session as its client does.
type Counter struct {
	Counting
	Tools []string // names of tools by Block.Tool; nil for a client that is not known to count them
}

// Estimate returns the client's estimate for one block, tokens and without a pad.
func (c *Counter) Estimate(b *prompt.Block) int64 { return c.Block(b, c.Tools) }

// Tally is a client's count of a conversation, tokens: the usage of the last response, and the estimate of what came
// behind it. Bind must have been called before any other method.
type Tally struct {
	by      *Counter
	counted int64
	behind  int64
	thought int64 // reasoning since the last compaction
	old     int64 // of thought, what comes before the last prompt
}

// Bind says how the client counts.
func (t *Tally) Bind(by *Counter) { t.by = by }

// Tokens returns the count with a model.
func (t *Tally) Tokens(model string) int64 {
	if t.by.Trailing {
		return t.counted + t.by.Pad(t.behind, model)
	}
	return t.counted
}

// Add counts a block behind the last response.
func (t *Tally) Add(b *prompt.Block) { t.behind += t.by.Estimate(b) }

// AddEstimate counts blocks behind the last response by their estimate.
func (t *Tally) AddEstimate(tokens int64) { t.behind += tokens }

// Respond takes the count from the usage of a response: effective is the request less what was deleted from it, logged
// the output as logged.
func (t *Tally) Respond(u prompt.Usage, effective, logged int64) {
	t.counted = t.by.Response(u, effective, logged) + int64(t.by.Reasoning*float64(t.old))
	t.behind = 0
}

// Think notes the reasoning of a reply. Reasoning of earlier calls is old if a person has written since.
func (t *Tally) Think(input, reply []prompt.Block) {
	if t.by.Reasoning <= 0 {
		return
	}
	if slices.ContainsFunc(input, func(b prompt.Block) bool { return b.Kind == prompt.KindPrompt }) {
		t.old = t.thought
	}
	for i := range reply {
		if reply[i].Kind == prompt.KindThinking {
			t.thought += int64(reply[i].Tokens)
		}
	}
}

// Cleared takes tokens off that were cleared from what the last response had counted.
func (t *Tally) Cleared(tokens int64) { t.counted = max(0, t.counted-tokens) }

// Stored takes tokens off that were put elsewhere before a response counted them.
func (t *Tally) Stored(tokens int64) { t.behind = max(0, t.behind-tokens) }

// Recount sets the count after a compaction to the estimate of every message, as
// there is no response to take the usage from.
func (t *Tally) Recount(c *prompt.Context) {
	*t = Tally{by: t.by}
	for i := c.Messages(); i < c.Len(); i++ {
		e, b := c.At(i), c.BlockAt(i)
		n := t.by.Estimate(b)
		if e.Form != prompt.FormVerbatim && b.Tokens > 0 {
			n = n * int64(e.Tokens) / int64(b.Tokens) // it is no longer whole
		}
		t.behind += n
	}
}
