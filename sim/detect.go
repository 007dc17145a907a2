package sim

import (
	"github.com/compactsim/compactsim/sim/breaks"
	"github.com/compactsim/compactsim/sim/changes"
	"github.com/compactsim/compactsim/sim/internal/account"
	"github.com/compactsim/compactsim/sim/internal/head"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/results/confusion"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/strategies"
)

// briefing is what a thread's client tells its break detector of the next call.
type briefing struct {
	state     breaks.State
	same      uint64 // number of the state
	edits     uint32 // 1 + edits of the context that the state was taken at, 0 for never
	ttl       exchange.TTL
	overage   bool
	compacted bool // messages were replaced by a summary since the last call
	cleared   bool // content was cleared in place since then
}

// note takes what a layer did to the context: the client registers what it does itself,
// so that the fall after it is expected (000, 003). Deletions inside the cached prefix
// show in the server's count of deletions; truncations show nowhere, as no documented client has
// both truncation and a detector.
func (d *briefing) note(b *strategies.Boundary) {
	switch b.Kind {
	case strategies.BoundaryCompact:
		d.compacted = true
	case strategies.BoundaryMicro, strategies.BoundaryServer:
		d.cleared = d.cleared || b.Deleted == 0
	}
}

// watch is the break detector of a session's client, and what the detector has said.
type watch struct {
	breaks.Detector
	said confusion.Matrix
}

// detection is what break detectors are told of the calls under way.
type detection struct {
	calls  []breaks.Call // by place of the flight
	states uint64        // states of requests so far
}

// copyFrom makes n an independent copy, keeping storage.
func (n *detection) copyFrom(o *detection) {
	n.calls, n.states = append(n.calls[:0], o.calls...), o.states
}

// sent notes what the client sends with the call of a flight, given with its place.
func (n *detection) sent(t *thread, c *call, f *flight, i int32) {
	for len(n.calls) <= int(i) {
		n.calls = append(n.calls, breaks.Call{})
	}
	d := &n.calls[i]
	f.told = i + 1
	d.Source, d.Thread, d.Model = f.Source, t.Index, t.replay.book.Models.Of(f.Model).Name
	if d.Source == measures.SourceCompact {
		d.Source = account.OwnSource(t.Trace.Kind) // whose baseline a summary call has
	}
	d.At, d.Context, d.Compacted, d.Cleared = t.replay.now(f.Start), f.Context, false, false
	if c.side != nil {
		d.State, d.Same = t.stateOf(c), 0
		return
	}
	k := &t.briefing
	if edits := t.Context.Edits() + 1; k.edits != edits || k.ttl != c.marks.TTL || k.overage != t.replay.heads.Overage() {
		k.state, k.edits, k.ttl, k.overage = t.stateOf(c), edits, c.marks.TTL, t.replay.heads.Overage()
		n.states++
		k.same = n.states
	}
	if d.Same != k.same {
		d.State, d.Same = k.state, k.same
	}
	d.Compacted, d.Cleared = k.compacted, k.cleared
	k.compacted, k.cleared = false, false
}

// ended asks the client's break detector about a call that has ended now, ns on the cohort's clock.
func (n *detection) ended(t *thread, f *flight, now int64) {
	if f.told == 0 {
		return
	}
	d, s := &n.calls[f.told-1], t.replay
	d.End, d.Read, d.Deleted = s.now(now), f.Outcome.Usage.Read, f.Outcome.Deleted
	if f.Source == measures.SourceCompact {
		d.Deleted = t.Gone // to the server it is another conversation, whose count begins anew
	}
	v := s.detector.See(d)
	b := &s.detector.said
	if f.layer >= 0 {
		b[confusion.Beside+int(v.Reason)]++
		return
	}
	b.Add(v.Reason, f.Outcome.Miss)
	if !v.Broke() {
		return
	}
	if o, ok := s.loop.config.Observer.(breakObserver); ok {
		o.Broke(t.point(now), v.Text())
	}
	for i := range confusion.NumFields {
		if v.Changed>>i&1 != 0 {
			b.Changed(confusion.Field(i))[f.Outcome.Miss]++
		}
	}
}

// stateOf returns what the client hashes of a request before a call (000:604).
// Auto mode is not simulated and stays unknown.
func (t *thread) stateOf(c *call) breaks.State {
	h := &t.head
	s := breaks.State{
		FastMode: flag(!h.Key(changes.ActionFastMode).IsZero()), Overage: flag(t.replay.heads.Overage()),
		CachedMicro: flag(t.hooks.deletes), GlobalStrategy: h.GlobalStrategy(), Effort: h.Value(changes.ActionEffort),
		Betas: []string{}, ExtraBodyParams: extraBody(h), SystemMarkers: markersHash(c), TTL: c.marks.TTL.String(),
	}
	if !h.Key(changes.ActionBeta).IsZero() {
		s.Betas = append(s.Betas, h.Value(changes.ActionBeta))
	}
	hashHead(&s, t, c.entries)
	if t.replay.detector.OldAndNew {
		s.EachTool = t.eachTool()
	}
	return s
}

// hashHead takes tools and system prompt from the entries of a request. Web
// search is a tool of the server's, so that it stands among the tools.
func hashHead(s *breaks.State, t *thread, entries []prompt.Entry) {
	tools, system := t.head.Key(changes.ActionWebSearch), prompt.Digest{}
	for i := range entries {
		b := t.Context.Block(entries[i].Block)
		switch entries[i].Kind.Level() {
		case prompt.LevelTools:
			tools = tools.Extend(b.Digest)
		case prompt.LevelSystem:
			system = system.Extend(b.Digest)
			s.SystemChars += int(b.Bytes)
		default:
			s.Tools, s.SystemText = hashOf(tools), hashOf(system)
			return
		}
	}
	s.Tools, s.SystemText = hashOf(tools), hashOf(system)
}

// markersHash stands for the markers ahead of the messages: places, scopes and
// the lifetime.
func markersHash(c *call) breaks.Hash {
	d := prompt.Digest{}.ExtendInt(uint64(c.marks.TTL))
	for _, m := range c.marks.Head {
		d = d.ExtendInt(uint64(m.Position)<<8 | uint64(m.Scope))
	}
	return hashOf(d)
}

// extraBody stands for the further parameters of a request. The client has no setting of
// its own for tool choice and citations, so these are assumed to come this way. Thinking
// has a setting, which is not hashed (000:604): the detector does not see it change.
func extraBody(h *head.Head) breaks.Hash {
	return hashOf(h.Key(changes.ActionToolChoice).Extend(h.Key(changes.ActionCitations)))
}

// eachTool returns the tool definitions as far as they can be distinguished: the client's own, the
// definitions of servers, and web search.
func (t *thread) eachTool() []breaks.Tool {
	var list []breaks.Tool
	base, known, servers := t.head.Tools()
	if _, to := head.Stretch(&t.Context, prompt.LevelTools); to > 0 {
		own := t.Context.At(to - 1).Block
		if known {
			own = base
		}
		list = append(list, breaks.Tool{Name: "built-in tools", Schema: hashOf(t.Context.Block(own).Digest)})
	}
	if servers > 0 {
		list = append(list, breaks.Tool{Name: "mcp", Schema: breaks.Hash(servers)})
	}
	if key := t.head.Key(changes.ActionWebSearch); !key.IsZero() {
		list = append(list, breaks.Tool{Name: "web_search", Schema: hashOf(key)})
	}
	return list
}

// hashOf returns a hash that is never 0, which means unknown.
func hashOf(d prompt.Digest) breaks.Hash { return breaks.Hash(d.Lo | 1) }

func flag(on bool) breaks.Flag {
	if on {
		return breaks.On
	}
	return breaks.Off
}
