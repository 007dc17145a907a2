package sim

import (
	"github.com/compactsim/compactsim/internal/breaks"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/strategies"
)

// told is what a thread's client tells its break detector of the next call.
type told struct {
	state     breaks.State
	edits     uint32 // 1 + edits of the context that the state was taken at, 0 for never
	ttl       prompt.TTL
	overage   bool
	compacted bool // messages were replaced by a summary since the last call
	cleared   bool // content was cleared in place since then
}

// note takes what a layer did to the context: the client registers what it does
// itself, so that the fall behind it is expected (000, 003). Deletions inside the
// cached prefix are told by the server's count of them, and a truncation by
// nobody: no client that is documented has both it and a detector.
func (d *told) note(b *strategies.Boundary) {
	switch b.Kind {
	case strategies.BoundaryCompact:
		d.compacted = true
	case strategies.BoundaryMicro, strategies.BoundaryServer:
		d.cleared = d.cleared || b.Deleted == 0
	}
}

// snapshot notes what the client sends with the call of a flight.
func (l *Loop) snapshot(t *thread, c *call, i int32) {
	if !l.config.Breaks {
		return
	}
	for len(l.told) <= int(i) {
		l.told = append(l.told, breaks.Call{})
	}
	f, d := &l.flights[i], &l.told[i]
	f.told = i + 1
	d.Source, d.Thread, d.Model = f.source, t.index, t.live.models.of(f.model).name
	if d.Source == results.SourceCompact {
		d.Source = ownSource(t.trace.Kind) // whose baseline a summary call has
	}
	d.At, d.Context, d.Compacted, d.Cleared = t.live.now(f.start), f.context, false, false
	if c.layer >= 0 {
		d.State = l.stateOf(t, c)
		return
	}
	k := &t.told
	if edits := t.context.Edits() + 1; k.edits != edits || k.ttl != c.marks.TTL || k.overage != t.live.overage {
		k.state, k.edits, k.ttl, k.overage = l.stateOf(t, c), edits, c.marks.TTL, t.live.overage
	}
	d.State, d.Compacted, d.Cleared = k.state, k.compacted, k.cleared
	k.compacted, k.cleared = false, false
}

// detect asks the client's break detector about a call that has ended.
func (l *Loop) detect(t *thread, f *flight) {
	if f.told == 0 {
		return
	}
	d, s := &l.told[f.told-1], t.live
	d.End, d.Read, d.Deleted = s.now(l.clock.now), f.outcome.Usage.Read, f.outcome.Deleted
	if f.source == results.SourceCompact {
		d.Deleted = t.serverDeleted // to the server it is another conversation, whose count begins anew
	}
	v := s.detector.See(d)
	b := &s.row.Breaks
	if f.layer >= 0 {
		b.Beside[v.Reason]++
		return
	}
	b.Add(v.Reason, f.outcome.Miss)
	if !v.Broke() {
		return
	}
	for i := range b.Changed {
		if v.Changed>>i&1 != 0 {
			b.Changed[i][f.outcome.Miss]++
		}
	}
}
