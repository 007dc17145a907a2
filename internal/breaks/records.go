package breaks

import "github.com/compactsim/compactsim/sim/results"

// Records makes calls of call records: the simulated ones of a session, in order
// of completion. The zero Records is ready to use.
//
// A record does not say that the messages were replaced. A client knows because
// it made the summary call: the call of the conversation behind one is taken for
// the first after a compaction.
type Records struct {
	compacted map[int32]bool // threads whose summary call has returned
}

// Call returns the call of a record.
func (r *Records) Call(c *results.CallRecord) Call {
	out := Call{
		Source: c.Source, Thread: c.Thread, Model: c.Model, At: c.Start, End: c.End,
		Read: c.Usage.Read, Context: c.Context,
	}
	switch {
	case c.Source == results.SourceCompact:
		if r.compacted == nil {
			r.compacted = map[int32]bool{}
		}
		r.compacted[c.Thread] = true
	case c.Round >= 0 && r.compacted[c.Thread]:
		out.Compacted = true
		delete(r.compacted, c.Thread)
	}
	return out
}
