package live

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/compactsim/compactsim/internal/live/cassette"
	"github.com/compactsim/compactsim/internal/live/wire"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/summarizer"
)

// about returns what identifies a call. What is sent stands in the chain, so
// that nothing is composed for it; a repetition of a call that failed is another
// call, by its ordinal.
func (s *Summarizer) about(c *summarizer.Call, p *plan) cassette.Call {
	entries := c.Context.Seal()
	a := cassette.Call{
		Session: c.Session.ID, Source: c.Intent.Source, Model: p.model,
		Thread: c.Thread, Round: c.Round, Number: c.Intent.Number,
	}
	if n := len(entries); n > 0 {
		a.Chain = entries[n-1].Chain
	}
	a.Params = []string{
		"provider=" + s.opts.Provider,
		"model=" + p.model,
		"max_output=" + strconv.Itoa(p.maxOutput),
		"source=" + c.Intent.Source,
		"way=" + c.Intent.Way,
		"prefix=" + strconv.Itoa(int(c.Intent.Prefix)),
		"ordinal=" + strconv.Itoa(int(c.Intent.Ordinal)),
		fmt.Sprintf("part=%d@%d", p.part, p.pivot),
		"markers=" + markers(c.Markers),
		fmt.Sprintf("base=%x%x", c.Intent.Base.Hi, c.Intent.Base.Lo),
		"options=" + s.digest,
		"head=" + headDigest(c),
		"instruction=" + instructionVersion,
		"compose=" + composeVersion,
	}
	a.Params = append(a.Params, s.opts.said(p)...)
	if len(p.edits.tools) > 0 {
		if d := held(c.Context); !d.IsZero() {
			a.Params = append(a.Params, fmt.Sprintf("held=%016x", d.Hi))
		}
	}
	return a
}

// said returns the parameters of what only some calls say: a call that does not
// say it has none, so that it is the same call as ever.
func (o *Options) said(p *plan) []string {
	var list []string
	if p.kind == kindServer {
		list = append(list, "compaction="+o.Server.form())
	}
	if !p.edits.none() {
		list = append(list, "edits="+p.edits.param())
	}
	if p.thinking.Mode != wire.ThinkingUnsaid {
		list = append(list, "thinking="+p.thinking.String())
	}
	if p.room > 0 {
		list = append(list, "thinking_room="+strconv.Itoa(p.room))
	}
	if p.effort != "" {
		list = append(list, "effort="+p.effort)
	}
	return list
}

// headDigest identifies what the chain does not tell of a head of placeholders:
// the names of the session's tools, and the sizes.
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

// markers writes where breakpoints stand and how long they ask for.
func markers(list []prompt.Marker) string {
	var b strings.Builder
	for i, m := range list {
		if i > 0 {
			b.WriteByte(' ')
		}
		fmt.Fprintf(&b, "%d/%s", m.Position, m.TTL)
	}
	return b.String()
}

// digest identifies the options that are part of every request. What stands in
// said is not among them: an option that a call says nothing of is no part of its
// key.
func (o *Options) digest() (string, error) {
	b, err := json.Marshal([]any{o.System, o.Tools, o.Betas, o.Instructions, (&Server{}).object(nil, o.Server.Instructions)}, json.Deterministic(true))
	if err != nil {
		return "", fmt.Errorf("live summariser: head of the requests: %w", err)
	}
	d := prompt.DigestBytes(b)
	return fmt.Sprintf("%016x%016x", d.Hi, d.Lo), nil
}
