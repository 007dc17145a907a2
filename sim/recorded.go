package sim

import (
	"sync"

	"github.com/compactsim/compactsim/sim/client"
	"github.com/compactsim/compactsim/sim/internal/course"
	"github.com/compactsim/compactsim/sim/internal/fetch"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
)

// recorded is what a recording says whatever simulates it. It is found once for the runs of a session that follow each other on a
// loop, and once for all loops of a batch.
type recorded struct {
	of      recording
	scores  [][]course.Score // by thread
	density fetch.Density    // of results
	behind  float64          // as behindCompactions has it
	ages    fileAges
	wrote   ownSummary
	listing int32 // the listing of all skills when the conversation opens, tokens
	fires   bool  // it compacts at a threshold
	written bool  // a call to an automatic cache wrote
}

// recording is a session, and how its client counts blocks.
type recording struct {
	session  *traces.Session
	counting client.Counting
	named    bool // names of tools count
}

// find makes r what a recording says, keeping storage.
func (r *recorded) find(of recording, by *client.Counter) {
	s := of.session
	scores := r.scores[:cap(r.scores)]
	for len(scores) < len(s.Threads) {
		scores = append(scores, nil)
	}
	scores = scores[:len(s.Threads)]
	for i := range s.Threads {
		scores[i] = course.ScoresOf(scores[i][:0], s, &s.Threads[i], by.Estimate)
	}
	*r = recorded{
		of: of, scores: scores, density: densityOf(s, r.density), wrote: ownSummaryOf(s), listing: listingOf(s),
		fires: boundsOf(s).firings > 0, written: agents.Written(s),
	}
	if agents.ClaudeCode(s) {
		r.behind, r.ages = behindCompactions(s, &r.density), fileAgesOf(s)
	}
}

// recordings are what the recordings of a batch say, for all its loops.
type recordings struct {
	list sync.Map // of *recordedOnce by recording
}

// recordedOnce is what a recording says, once it was found.
type recordedOnce struct {
	finding sync.Once
	recorded
}

// learn finds what the recording says, or takes what other loops of a batch have found. A session that is loaded late, when it
// begins, has one run.
func (s *replay) learn(all *recordings, late bool) {
	of := recording{s.session, s.counter.Counting, s.counter.Tools != nil}
	if all == nil || late {
		s.said.find(of, &s.counter) // again for a session that this loop has run: its caller may have changed it
		s.recorded = &s.said
		return
	}
	in, ok := all.list.Load(of)
	if !ok {
		in, _ = all.list.LoadOrStore(of, &recordedOnce{})
	}
	k := in.(*recordedOnce)
	k.finding.Do(func() { k.find(of, &s.counter) })
	s.recorded = &k.recorded
}

// densityOf returns the tokens of a byte of a session's results: of the growth between calls of main conversations. It takes the storage
// of d.
func densityOf(s *traces.Session, d fetch.Density) fetch.Density {
	d.Reset()
	for i := range s.Threads {
		t := &s.Threads[i]
		if t.Kind != traces.ThreadMain {
			continue
		}
		next := 0
		for r := range t.Rounds {
			changed := r == 0
			for ; next < len(t.Events) && int(t.Events[next].Round) <= r; next++ {
				changed = true
			}
			if in := t.Rounds[r].Input; !changed {
				d.Add(s.Blocks[in.From:in.To])
			}
		}
	}
	return d
}

// listingOf returns the tokens of the listing of skills in the input of a session's first call.
func listingOf(s *traces.Session) int32 {
	if len(s.Threads) == 0 || len(s.Threads[0].Rounds) == 0 {
		return 0
	}
	in := s.Threads[0].Rounds[0].Input
	for i := in.From; i < in.To; i++ {
		if s.Blocks[i].Flags&prompt.FlagListing != 0 {
			return s.Blocks[i].Tokens
		}
	}
	return 0
}
