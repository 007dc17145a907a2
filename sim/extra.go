package sim

import (
	"slices"

	"github.com/compactsim/compactsim/sim/client"
	"github.com/compactsim/compactsim/sim/internal/fetch"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/strategies"
)

// Agent is how the agent departs from what it did in the recording.
type Agent = fetch.Agent

// Refetch says which of the things that are missing an agent fetches.
type Refetch = fetch.Refetch

// Ways to choose.
const (
	RefetchNever  = fetch.Never  // the loop is open
	RefetchLow    = fetch.Low    // the low end of what the profile says of the kind
	RefetchFitted = fetch.Fitted // what the profile says
	RefetchHigh   = fetch.High   // its high end
	RefetchAlways = fetch.Always // all
)

// replays reports whether a strategy repeats what the recording did, in which the agent fetched what it lacked.
func replays(s *strategies.Strategy) bool {
	return slices.ContainsFunc(s.LayerNames(), func(layer string) bool { return s.Traits(layer).Replays })
}

// worded is a Summarizer whose summaries have words: what they keep of what is needed is looked up, not modelled.
type worded interface {
	// Words returns what a summary says that it gave, "" where that is not known.
	Words(summary *prompt.Block) string
}

// extend makes a round of its own before the request, if there is something to fetch or the agent takes longer. It
// reports whether it did.
func (l *Loop) extend(t *thread) bool {
	x := t.fetch.Extend()
	if x == (fetch.Extra{}) {
		return false
	}
	t.TTL = t.head.Renew(t.Current())
	l.fly(t, &call{
		extra: x, entries: t.Context.Seal(), deletions: t.Deleted.Resolve(&t.Context),
		marks: client.Marks{TTL: t.TTL}, tail: t.Current().Tail, change: t.Context.Sent(), model: t.head.Model(),
		answer: prompt.Answer{Output: x.Output},
	})
	return true
}

// extended takes what a round that no recording has brings, and asks the layers again before the recorded request.
func (l *Loop) extended(t *thread, f *flight) {
	t.tally.Respond(f.Outcome.Usage, f.Context, int64(f.answer.Output))
	t.fetch.Bring(f.extra)
	t.Usage, t.Gone = f.Outcome.Usage, f.Outcome.Deleted
	t.LastEnd, t.Started = l.clock.now, true
	t.Since++
	t.replay.book.Waited(measures.WaitOther, l.clock.now-f.Start)
	t.retried, t.barred = false, 0
	t.fetch.Look()
	l.ask(t, 0)
}
