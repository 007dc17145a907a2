package assembly

import (
	"slices"
	"strings"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
)

// webSearch is the tool that the provider runs inside a call.
const webSearch = "web_search"

// searched reports whether a reply searched the web.
func searched(reply []Block) bool {
	return slices.ContainsFunc(reply, func(b Block) bool { return b.Tool == webSearch })
}

// dropFound removes tokens of the last call from the context, such as the results of a web
// search. They count as input of that call, where they come last, and no later call has them. Other unseen tokens come before the visible blocks.
func (f *fitter) dropFound(tokens int64) Event {
	return Event{Event: traces.Event{Kind: traces.EventForget, Saved: clamp32(tokens)}, forgot: []*Block{f.part(f.last, tokens)}}
}

// holdsFound reports whether what the provider found can be half of lost tokens.
func (f *fitter) holdsFound(lost int64) bool {
	var have int64
	for _, rd := range f.found {
		have += unseenOf(rd)
	}
	return have > lost/2
}

// loseFound returns the event of a context that lost what the provider had found, oldest first. No line has the results of such
// searches; they stay with the provider while the client goes on from its last response, and where it sends the conversation anew they are
// gone, whatever the agent's strategy. In a session of Codex 0.142.5 this took 22,010 tokens amid a turn, when the ids of responses
// changed their common beginning.
func (f *fitter) loseFound(lost int64) Event {
	ev := Event{Event: traces.Event{Kind: traces.EventForget, Saved: clamp32(lost)}}
	for _, rd := range f.found {
		if n := min(lost, unseenOf(rd)); n > 0 {
			ev.forgot = append(ev.forgot, f.part(rd, n))
			lost -= n
		}
	}
	return ev
}

// unseenOf returns the unseen tokens of a call that no later one has lost: what was lost stands behind them.
func unseenOf(rd *Round) int64 {
	if i := slices.IndexFunc(rd.Before, isUnseen); i >= 0 {
		return int64(rd.Before[i].Tokens)
	}
	return 0
}

func isUnseen(b Block) bool { return b.Kind == prompt.KindUnseen }

// part makes tokens of a call's input, unseen ones if it has so many, a block of their own and returns it.
func (f *fitter) part(rd *Round, tokens int64) *Block {
	if i := slices.IndexFunc(rd.Before, isUnseen); i >= 0 && int64(rd.Before[i].Tokens) >= tokens {
		rd.Before[i].Tokens -= int32(tokens)
	} else {
		scale(Tokens(rd.Before)-tokens, rd.Before)
	}
	old := rd.Before
	f.s.unseen(rd, tokens)
	for e := range f.events { // what was lost before has moved
		for k, b := range f.events[e].forgot {
			for i := range old {
				if b == &old[i] {
					f.events[e].forgot[k] = &rd.Before[i]
				}
			}
		}
	}
	last := &rd.Before[len(rd.Before)-1]
	last.Digest = last.Digest.ExtendInt(1) // must differ from the digest of other unseen tokens
	return last
}

// countUnshown counts calls that no line shows by their models, in order of these, and kinds.
func countUnshown(list []traces.UnshownCall) (counts []traces.Unshown) {
	for i := range list {
		c := &list[i]
		at, found := slices.BinarySearchFunc(counts, c.Model, func(u traces.Unshown, model string) int { return strings.Compare(u.Model, model) })
		if !found {
			counts = slices.Insert(counts, at, traces.Unshown{Model: c.Model})
		}
		switch u := &counts[at]; {
		case c.Summary():
			u.Summaries++
		case c.Cut:
			u.Cut++
		default:
			u.Others++
		}
	}
	return counts
}
