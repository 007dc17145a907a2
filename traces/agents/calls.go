package agents

import (
	"fmt"
	"time"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/facts"
	"github.com/compactsim/compactsim/traces/internal/assembly"
)

// Conversation is what a program that keeps no log knows of one of its sessions.
type Conversation struct {
	ID      string
	Project string // "" for unknown
	// Markers is how many messages of a request carry a cache marker, where the provider
	// needs them; -1 for none. 0 is the last message alone.
	Markers int8
	Calls   []Call
}

// Call is one call of a model.
type Call struct {
	ID, Model string
	// Start is when the request was sent, First when the response began, and End when it
	// was complete. First may be zero.
	Start, First, End time.Time
	// Lane names the sub-agent whose call it is, "" for the conversation itself.
	Lane string
	// Tools and System are what precedes the messages, as they were sent; "" where unknown.
	Tools, System string
	// Messages are all that was sent, oldest first. A call goes on from the one whose messages
	// it repeats. Nil where unknown: then sessions have sizes and no content.
	Messages [][]Block
	Reply    []Block
	Usage    prompt.Usage // as billed; its input must not be 0
}

// Block is a part of a message.
type Block struct {
	Kind   prompt.Kind // whether a message is the assistant's follows from the kind of its first block
	Text   string      // of a tool call its input as JSON
	ID     string      // pairs a tool call with its result
	Tool   string      // name, of a tool call
	Failed bool        // of a result
}

// FromCalls returns sessions made of what a program knows of its own calls, without a
// recording. It is an error if a conversation has no calls or a call has no input tokens.
func FromCalls(opts traces.Options, list ...Conversation) (*traces.Corpus, error) {
	opts = opts.WithDefaults()
	mk := assembly.Maker{Ear: opts.Listener}
	var drafts []*assembly.Session
	for _, c := range list {
		f := assembly.NewFile(c.ID, opts)
		var requests []*assembly.Request
		for i := range c.Calls {
			r := c.Calls[i].request(mk)
			r.Breakpoints = c.breakpoints()
			r.Source, r.Line, r.Prompted = f, int32(i+1), i == 0
			if f.Lines++; !r.Usage.OK {
				return nil, fmt.Errorf("conversation %s: call %d has no usable input tokens", c.ID, i+1)
			}
			requests = append(requests, r)
		}
		if len(requests) == 0 {
			return nil, fmt.Errorf("conversation %s has no calls", c.ID)
		}
		s := assembly.Draft(&opts, facts.Requests, c.ID, requests)
		s.Project = c.Project
		drafts = append(drafts, s)
	}
	return assembly.Assemble(&opts, drafts)
}

// breakpoints returns where requests are marked: behind tools and system prompt, and behind the last message or the last two.
func (c *Conversation) breakpoints() *traces.Breakpoints {
	var b traces.Breakpoints
	if c.Markers < 0 {
		return &b
	}
	b.Add(traces.Breakpoint{Level: prompt.LevelSystem, Share: 1})
	if c.Markers > 1 {
		b.Add(traces.Breakpoint{Level: prompt.LevelMessages, Message: 1})
	}
	b.Add(traces.Breakpoint{Level: prompt.LevelMessages})
	return &b
}

// request returns a call as the assembly takes it.
func (c *Call) request(mk assembly.Maker) *assembly.Request {
	ns := func(t time.Time) int64 {
		if t.IsZero() {
			return 0
		}
		return t.UnixNano()
	}
	r := &assembly.Request{
		ID: c.ID, Model: c.Model, Lane: c.Lane, Start: ns(c.Start), First: ns(c.First), End: max(ns(c.Start), ns(c.End)),
		Signs: assembly.Signs{Whole: true}, Reply: blocks(mk, c.Reply),
	}
	if r.First < r.Start || r.First > r.End {
		r.First = r.End
	}
	if u := c.Usage; min(u.Uncached, u.Read, u.Write5m, u.Write1h, u.Output) >= 0 && u.Input() > 0 && u.Input() <= assembly.MaxTokens {
		r.Usage = assembly.Usage{Usage: u, Reasoning: -1, OK: true}
	}
	r.Show(prompt.KindTools, []byte(c.Tools))
	r.Show(prompt.KindSystem, []byte(c.System))
	for _, m := range c.Messages {
		r.Messages = append(r.Messages, assembly.NewMessage(len(m) > 0 && m[0].Kind.Assistant(), blocks(mk, m)))
	}
	return r
}

func blocks(mk assembly.Maker, list []Block) (out []assembly.Block) {
	for i := range list {
		switch b := &list[i]; b.Kind {
		case prompt.KindToolUse:
			out = append(out, mk.Use(assembly.CallID(b.ID), b.Tool, []byte(b.Text)))
		case prompt.KindToolResult:
			out = append(out, mk.Result(assembly.CallID(b.ID), b.Text, b.Failed, false))
		default:
			out = append(out, mk.Text(b.Kind, b.Text))
		}
	}
	return out
}
