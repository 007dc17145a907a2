package main

import (
	"context"
	"math"
	"slices"

	"github.com/compactsim/compactsim/sim/needs"
	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/sim/results/recall"
	"github.com/compactsim/compactsim/traces"
)

// What agents did after recorded compactions fits what the closed loop draws: of the strings that were known before
// a compaction and are used after it, how many its summary has; and of the things that were lost and used, how many the
// agent read again. Points far from any compaction show how often it reads again what it has.

// fitRefetch fits to p, by kind of use, for outputs of commands apart, and for all, how often agents read again what a compaction
// removed before they use it, without what they read again in any case; the share of such reads that are made for that reason; and the share
// of strings that the summary has, of those that nothing else has. They stay nil without evidence.
func fitRefetch(ctx context.Context, corpus *traces.Corpus, p *profile.Profile) error {
	var behind fates
	var lost, known needs.Fates
	var again repeats
	for _, s := range corpus.Sessions {
		x, err := needs.Build(ctx, corpus, s)
		if err != nil {
			return err
		}
		was := x.Behind()
		lost.Add(&was)
		x.Habit(func(lost, all, odds float64) { again = append(again, repeat{lost, all, odds}) })
		for i := range s.Threads {
			t := newTrail(s, x, int32(i))
			if t == nil {
				continue
			}
			for k := range t.main.Events {
				t.compaction(&behind, &t.main.Events[k])
			}
			t.free(&known)
		}
	}
	p.Refetch, p.Reread = rereads(&lost, &known), again.due()
	p.Kept = shares(&behind, func(k *fate) profile.Estimate { return profile.Share(k.summary, k.summary+k.lost) })
	return nil
}

// rereads returns how often agents read what was lost before they used it, by kind, by whether a command had printed it, and for all.
func rereads(lost, known *needs.Fates) map[string]profile.Estimate {
	var all, anyway needs.Fate
	list := map[string]profile.Estimate{}
	put := func(name string, lost, known needs.Fate) bool {
		e := excess(shareOf(lost), shareOf(known).Value)
		if e.N >= enough {
			list[name] = e
		}
		return e.N >= enough
	}
	for k := range recall.NeedKind(recall.NumNeedKinds) {
		both, bothKnown := lost.Others[k], known.Others[k]
		both.Add(lost.Outputs[k])
		bothKnown.Add(known.Outputs[k])
		if !put(k.String(), lost.Others[k], known.Others[k]) {
			put(k.String(), both, bothKnown)
		}
		put(k.String()+profile.OutputSuffix, lost.Outputs[k], known.Outputs[k])
		all.Add(both)
		anyway.Add(bothKnown)
	}
	if all == (needs.Fate{}) {
		return nil
	}
	if all.Read+all.Used > 0 {
		list["all"] = excess(shareOf(all), shareOf(anyway).Value)
	}
	return list
}

// repeat counts what an agent repeated of things of one age: of what was removed, and of all; odds are those that one is of the removed if a
// loss changes nothing.
type repeat struct{ lost, all, odds float64 }

type repeats []repeat

// due returns the share of the repeats of what was removed that were made because of that: one less the rate of repeats of what the agent
// still had, of the same age, for one of what it had lost; most likely, and in the interval that the likelihood has at 95 %.
func (l repeats) due() *profile.Estimate {
	const step, drop = 0.01, 1.92 // of the logarithm; half the quantile of chi squared
	likelihood := func(more float64) (sum float64) {
		for _, r := range l {
			share := r.odds * math.Exp(more) / (1 + r.odds*math.Exp(more))
			sum += r.lost*math.Log(share) + (r.all-r.lost)*math.Log(1-share)
		}
		return sum
	}
	n, best, most := 0., 0., math.Inf(-1)
	for _, r := range l {
		n += r.all
	}
	if n == 0 {
		return nil
	}
	for more := 0.; more < 5; more += step { // what is repeated less when it is lost is not repeated for that
		if v := likelihood(more); v > most {
			best, most = more, v
		}
	}
	e := &profile.Estimate{Low: 1, N: int(n)}
	share := func(more float64) float64 { return math.Round(1e4*(1-math.Exp(-more))) / 1e4 }
	for more := 0.; more < 5; more += step {
		if likelihood(more) >= most-drop {
			e.Low, e.High = min(e.Low, share(more)), share(more)
		}
	}
	e.Value = share(best)
	return e
}

// shareOf returns the share of the things used that were read again first.
func shareOf(f needs.Fate) profile.Estimate { return profile.Share(int(f.Read), int(f.Read+f.Used)) }

// fate counts strings that are used after a point: those that only the summary has, and those that nothing has.
type fate struct{ summary, lost int }

// fates are the counts by kind.
type fates [recall.NumNeedKinds]fate

// sum returns the counts of all kinds.
func (f *fates) sum() (all fate) {
	for _, k := range f {
		all.summary, all.lost = all.summary+k.summary, all.lost+k.lost
	}
	return all
}

// enough is the least number of lost strings of a kind with its own share. Assumed.
const enough = 15

// shares returns the share of every kind with enough observations, and the share over all kinds.
func shares(behind *fates, of func(*fate) profile.Estimate) map[string]profile.Estimate {
	sum := behind.sum()
	all := of(&sum)
	if all.N == 0 {
		return nil
	}
	list := map[string]profile.Estimate{"all": all}
	for k := range recall.NeedKind(recall.NumNeedKinds) {
		if e := of(&behind[k]); e.N >= enough {
			list[k.String()] = e
		}
	}
	return list
}

// excess returns a share without what would have happened anyway.
func excess(e profile.Estimate, anyway float64) profile.Estimate {
	rest := func(v float64) float64 { return math.Round(1e4*max(0, v-anyway)/(1-min(anyway, 0.99))) / 1e4 }
	return profile.Estimate{Value: rest(e.Value), Low: rest(e.Low), High: rest(e.High), N: e.N}
}

// trail is a main thread with the data to look back from a round.
type trail struct {
	s      *traces.Session
	x      *needs.Index
	thread int32
	main   *traces.Thread
	round  map[int32]int32 // of blocks of requests
	cuts   []int32         // rounds of compactions and clearings
}

func newTrail(s *traces.Session, x *needs.Index, thread int32) *trail {
	t := &trail{s: s, x: x, thread: thread, main: &s.Threads[thread], round: map[int32]int32{}}
	if t.main.Kind != traces.ThreadMain || len(x.Thread(thread)) == 0 {
		return nil
	}
	for r := range t.main.Rounds {
		in := t.main.Rounds[r].Input
		for b := in.From; b < in.To; b++ {
			t.round[b] = int32(r)
		}
	}
	for i := range t.main.Events {
		if e := &t.main.Events[i]; e.Kind != traces.EventForget {
			t.cuts = append(t.cuts, e.Round)
		}
	}
	return t
}

// spot is where a block is, seen from a point.
type spot uint8

const (
	elsewhere spot = iota // after the point, or forgotten before
	gone                  // the agent had been told, and it was removed
	summed                // in the summary
	staying               // in what stayed or came back
)

// compaction adds what is used after an event, if that is a compaction whose summary can be read.
func (t *trail) compaction(f *fates, e *traces.Event) {
	if e.Kind != traces.EventCompact || e.Summary.Len() == 0 || e.Round == 0 || int(e.Round) >= len(t.main.Rounds) {
		return
	}
	first := t.main.Rounds[e.Round].Input.From + e.Absorbed
	same := t.preserved(e, first)
	t.uses(f, e.Round, func(block int32) spot {
		r, asked := t.round[block]
		switch {
		case block >= e.Summary.From && block < e.Summary.To:
			return summed
		case block >= same && block < first, block >= first && asked && r == e.Round:
			return staying
		case block < first:
			return gone
		}
		return elsewhere
	})
}

// preserved returns the first block of the messages that a compaction left unchanged, one per line; first for none.
func (t *trail) preserved(e *traces.Event, first int32) int32 {
	block, line := first, int32(0)
	for n := e.Preserved; block > 0; block-- {
		if at := t.s.Blocks[block-1].Line; at != line {
			if n--; n < 0 {
				break
			}
			line = at
		}
	}
	return block
}

// apart is the least distance of a point without a loss from a compaction or a clearing, in rounds. Assumed.
const apart = 20

// free adds the fates of what was known at points far from any compaction or clearing, up to the next one.
func (t *trail) free(f *needs.Fates) {
	for r := int32(apart); int(r)+apart < len(t.main.Rounds); r += apart / 2 {
		if slices.ContainsFunc(t.cuts, func(c int32) bool { return c > r-apart && c < r+apart }) {
			continue
		}
		n := t.x.After(t.s, t.thread, r, t.end(r), t.main.Rounds[r].Input.From, false)
		f.Add(&n)
	}
}

// end returns the round of the first compaction or clearing behind a round, or the number of rounds.
func (t *trail) end(round int32) int32 {
	end := int32(len(t.main.Rounds))
	for _, c := range t.cuts {
		if c > round {
			end = min(end, c)
		}
	}
	return end
}

// uses adds the strings that were known before a round and are used from it on, up to the next compaction or
// clearing, each once.
func (t *trail) uses(f *fates, round int32, where func(block int32) spot) {
	end := t.end(round)
	used := map[uint64]bool{}
	for r := round; r < end; r++ {
		for i, list := 0, t.x.Round(t.thread, r); i < len(list); i++ {
			if n := &list[i]; !used[n.Term] && n.Kind != recall.NeedRead {
				used[n.Term] = true
				t.use(f, n, round, where)
			}
		}
	}
}

// use adds a string that is used after the point before a round, if the agent had been told it before the point.
func (t *trail) use(f *fates, n *needs.Need, round int32, where func(block int32) spot) {
	var told, summary, stayed bool
	for _, p := range t.x.Places(n) {
		switch where(p.Block) {
		case gone:
			told = true
		case summed:
			summary = true
		case staying:
			stayed = true
			told = told || p.Block < t.main.Rounds[round].Input.From
		}
	}
	if !told {
		return
	}
	k := &f[n.Kind]
	switch {
	case stayed:
	case summary:
		k.summary++
	default:
		k.lost++
	}
}
