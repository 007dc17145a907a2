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

// about returns what identifies a call. What is sent is in the chain, so that
// nothing is composed for it; a repetition of a call that failed is another call,
// by its ordinal. The last parameters are those of what only some calls say: a call
// that does not say it has none, so that it is the same call as ever.
func (s *Summarizer) about(c *summarizer.Call, p *plan) cassette.Call {
	in := c.Intent
	a := cassette.Call{
		Session: c.Session.ID, Source: in.Source, Model: p.model, Thread: c.Thread, Round: c.Round, Number: in.Number,
		Params: []string{
			"provider=" + s.opts.Provider,
			"model=" + p.model,
			"max_output=" + strconv.Itoa(p.maxOutput),
			"source=" + in.Source,
			"way=" + in.Way,
			"prefix=" + strconv.Itoa(int(in.Prefix)),
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
	said := func(when bool, name string, value func() string) {
		if when {
			a.Params = append(a.Params, name+"="+value())
		}
	}
	said(p.kind == kindServer, "compaction", s.opts.Server.form)
	said(!p.edits.none(), "edits", p.edits.param)
	said(p.thinking.Mode != wire.ThinkingUnsaid, "thinking", p.thinking.String)
	said(p.room > 0, "thinking_room", func() string { return strconv.Itoa(p.room) })
	said(p.effort != "", "effort", func() string { return p.effort })
	if len(p.edits.tools) > 0 {
		d := held(c.Context)
		said(!d.IsZero(), "held", func() string { return fmt.Sprintf("%016x", d.Hi) })
	}
	return a
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

// held identifies what the chain does not tell of a call that declares edits: which
// of the cleared calls and results the client has no more or not whole. It is zero
// where it has them all.
func held(c *prompt.Context) prompt.Digest {
	var d prompt.Digest
	for i := c.Messages(); i < c.Len(); i++ {
		e := c.At(i)
		tool := e.Kind == prompt.KindToolUse || e.Kind == prompt.KindToolResult
		if tool && e.Form == prompt.FormCleared && e.Had != c.BlockAt(i).Tokens {
			d = d.ExtendInt(uint64(i)).ExtendInt(uint64(e.Had))
		}
	}
	return d
}

// markers writes where breakpoints are and how long they ask for.
func markers(list []prompt.Marker) string {
	parts := make([]string, len(list))
	for i, m := range list {
		parts[i] = fmt.Sprintf("%d/%s", m.Position, m.TTL)
	}
	return strings.Join(parts, " ")
}

// digest identifies the options that are part of every request. Those that about adds
// for single calls are not among them: an option that a call leaves out is no part
// of its key.
func (o *Options) digest() (string, error) {
	words := (&Server{}).object(nil, o.Server.Instructions)
	b, err := json.Marshal([]any{o.System, o.Tools, o.Betas, o.Instructions, words}, json.Deterministic(true))
	if err != nil {
		return "", fmt.Errorf("live summariser: head of the requests: %w", err)
	}
	d := prompt.DigestBytes(b)
	return fmt.Sprintf("%016x%016x", d.Hi, d.Lo), nil
}
