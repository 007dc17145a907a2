package sim

import (
	"math"
	"slices"

	"github.com/compactsim/compactsim/internal/kit/draws"
	"github.com/compactsim/compactsim/sim/client"
	"github.com/compactsim/compactsim/sim/needs"
	"github.com/compactsim/compactsim/sim/profile"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/sim/results/recall"
)

// In a closed loop the agent does not act as recorded whatever was forgotten: a round that needs what the context does
// not have, and the recorded context had, may fetch it first, in a call of its own that grows the
// context, takes time, and can lead to the next compaction. What a file or a pointer has is read;
// what a tool had shown is asked again; what a person or an answer said cannot be had again. What
// the recording has comes back: the call, and
// the result with its file and its size. On the other side, what the recorded agent read again because its context had
// lost it is left out where the simulated context still has it (input.go).

// Refetch says which of the things that are missing an agent fetches.
type Refetch uint8

// Ways to choose.
const (
	RefetchNever  Refetch = iota // the loop is open
	RefetchLow                   // the low end of what the profile says of the kind
	RefetchFitted                // what the profile says
	RefetchHigh                  // its high end
	RefetchAlways                // all
)

// Names returns the names of the ways in files.
func (Refetch) Names() []string { return []string{"never", "low", "fitted", "high", "always"} }

// Agent is how the agent departs from what it did in the recording.
type Agent struct {
	Refetch    Refetch `yaml:"refetch" doc:"What it fetches again, in calls of its own, of what its next action needs and the context does not have (docs/fidelity.md): never (the loop is open), or each thing with a probability by kind: low, fitted or high of the profile, or always. Needs texts."`
	Elongation float64 `yaml:"elongation" min:"0" max:"1" doc:"Further rounds after compactions, as a share of the recorded ones: 0.15 and 0.18 are published for agents whose observations were summarised (The Complexity Trap). Each weighs what the round before it weighed." unit:"share"`
}

// share returns the probability that an agent fetches what it lacks of a kind, by whether a command printed it; lean is how far the
// session's agent leans to fetching.
func (r Refetch) share(p *profile.Profile, kind string, output bool, lean float64) float64 {
	switch {
	case r == RefetchAlways:
		return 1
	case r == RefetchNever || p == nil:
		return 0
	}
	e := p.RefetchOf(kind, output)
	return leaning([...]float64{RefetchLow: e.Low, RefetchFitted: e.Value, RefetchHigh: e.High}[r], lean)
}

// caused returns the probability that an agent read again for that reason what its context had lost.
func (r Refetch) caused(p *profile.Profile, lean float64) float64 {
	if r == RefetchAlways || p == nil {
		return 1
	}
	e := p.RereadShare() // the more is left out, the less is fetched
	return leaning([...]float64{RefetchLow: e.High, RefetchFitted: e.Value, RefetchHigh: e.Low}[r], lean)
}

// leanSpread is the standard deviation of how far agents of different sessions lean to reading again, in units of
// log odds: the likelihood of 34 recordings with compactions is greatest at 1.0 to 1.3.
const leanSpread = 1.3

// leaning returns a share for an agent that leans to reading again, by log odds.
func leaning(share, lean float64) float64 {
	if share <= 0 || share >= 1 {
		return share
	}
	return 1 / (1 + (1-share)/share*math.Exp(-lean))
}

// leanOf returns how much more than the profile's share the agent of a session reads again what it has lost, in log
// odds: the most likely value, given what it did behind the recorded compactions.
func leanOf(p *profile.Profile, did *needs.Fates) (lean float64) {
	if p == nil {
		return 0
	}
	var buffer [2 * recall.NumNeedKinds]struct{ share, read, all float64 }
	list := buffer[:0]
	did.Each(func(kind recall.NeedKind, output bool, n needs.Fate) {
		if n.Read+n.Used > 0 {
			share := p.RefetchOf(kind.String(), output).Value
			list = append(list, struct{ share, read, all float64 }{share, float64(n.Read), float64(n.Read + n.Used)})
		}
	})
	for range 20 { // Newton's method: the logarithm of the likelihood is concave
		slope, bend := -lean/(leanSpread*leanSpread), -1/(leanSpread*leanSpread)
		for _, x := range list {
			share := leaning(x.share, lean)
			if share <= 0 || share >= 1 {
				continue
			}
			slope += x.read - x.all*share
			bend -= x.all * share * (1 - share)
		}
		was := lean
		if lean -= max(-1, min(1, slope/bend)); lean == was {
			break
		}
	}
	return lean
}

// extra is a round that no recording has.
type extra struct {
	output int32 // of its call, tokens
	result int32 // of what it brings, tokens
}

// extend makes a round of its own before the request, if there is something to fetch or the agent takes longer. It
// reports whether it did.
func (l *Loop) extend(t *thread) bool {
	a := &l.config.Agent
	if t.extended || t.replay.replays || *a == (Agent{}) {
		return false
	}
	t.extended = true
	x := t.fetch()
	if t.Chain > 0 {
		t.owed += a.Elongation
	}
	if t.owed >= 1 && t.Round > 0 {
		t.owed--
		last := &t.Trace.Rounds[t.Round-1]
		x.output += int32(last.Usage.Output)
		for b := t.Current().Input.From; b < t.Current().Input.To; b++ {
			x.result += t.replay.session.Blocks[b].Tokens
		}
	}
	if x == (extra{}) {
		return false
	}
	t.TTL = t.head.Renew(t.Current())
	l.fly(t, &call{
		layer: -1, extra: x, entries: t.Context.Seal(), deletions: t.deleted.resolve(&t.Context),
		marks: client.Marks{TTL: t.TTL}, tail: t.Current().Tail, change: t.Context.Sent(), model: t.model(),
		answer: prompt.Answer{Output: x.output},
	})
	return true
}

// fetch returns the round that fetches what the agent fetches of what is missing, and notes the blocks that it brings.
// Whether the agent fetches a thing is drawn once between two compactions.
func (t *thread) fetch() extra {
	var x extra
	how := t.replay.loop.config.Agent.Refetch
	if t.fetched = t.fetched[:0]; how == RefetchNever {
		return x
	}
	for i := range t.missing {
		n := &t.missing[i]
		block := n.Source()
		if block < 0 || t.judge.Holds(block) || slices.Contains(t.fetched, block) {
			continue
		}
		if t.drawOf(block, "refetch") >= (1-n.kept)*how.share(t.replay.loop.config.Profile, n.Kind.String(), t.replay.session.Blocks[block].Op == prompt.OpExec, t.replay.lean) {
			continue
		}
		t.fetched = append(t.fetched, block)
		x.result = int32(min(int64(x.result)+t.replay.weight(block), math.MaxInt32/2))
		x.output += t.replay.callTokens(block)
	}
	if x.output > 0 {
		t.replay.book.Row.Figures[results.Needs+results.ID(recall.Fetches)]++
	}
	t.missing = t.missing[:0]
	return x
}

// drawOf returns the draw about a thing, 0…1, which is the same up to the next compaction. A file is one thing, whatever
// block shows it.
func (t *thread) drawOf(block int32, about string) float64 {
	thing := block
	if o := t.replay.session.Blocks[block].Object; o >= 0 {
		thing = 1<<23 + o
	}
	return draws.Unit(t.replay.draws.Uint64(draws.Layer, draws.Event(t.Index, thing, client.DrawKey(about), uint8(t.Chain))))
}

// weight returns the tokens of a result that is fetched again, at the session's own tokens a byte where lines show fewer.
func (s *replay) weight(block int32) int64 {
	b := &s.session.Blocks[block]
	return max(int64(b.Tokens), int64(s.perByte*float64(b.Bytes)))
}

// extended appends to the context the call of a round that no recording has, and what it brought, and asks the layers
// again before the recorded request.
func (l *Loop) extended(t *thread, f *flight) {
	s := t.replay
	s.extras++
	seen, from := f.extra, t.Context.Len()
	for _, block := range t.fetched { // calls come before results
		t.Context.Append(s.called(t, block))
	}
	t.tally.Respond(f.Outcome.Usage, f.Context, int64(f.answer.Output))
	from += len(t.fetched)
	for _, block := range t.fetched {
		t.Context.Append(s.brought(t, block))
		seen.output -= s.callTokens(block)
		seen.result -= s.session.Blocks[block].Tokens
	}
	if seen.output > 0 { // a round of an agent that takes longer
		t.Context.Add(s.invented(t, prompt.KindToolUse, seen.output))
		from++
		t.Context.Add(s.invented(t, prompt.KindToolResult, max(0, seen.result)))
	} else if seen.result > 0 {
		t.Context.Add(s.invented(t, prompt.KindUnseen, seen.result))
	}
	for i := from; i < t.Context.Len(); i++ {
		t.tally.Add(t.Context.BlockAt(i))
	}
	t.fetched = t.fetched[:0]
	t.usage, t.serverDeleted = f.Outcome.Usage, f.Outcome.Deleted
	t.LastEnd, t.Started = l.clock.now, true
	t.rounds++
	t.replay.book.Waited(results.WaitOther, l.clock.now-f.Start)
	t.retried, t.barred = false, 0
	t.showJudge()
	l.ask(t, 0)
}

// callOf returns the call of a result, -1 for none: the file that a call wrote has none that read it.
func (s *replay) callOf(result int32) int32 {
	b := &s.session.Blocks[result]
	for k := result - 1; k >= 0 && b.Kind == prompt.KindToolResult; k-- {
		if c := &s.session.Blocks[k]; c.Kind == prompt.KindToolUse && c.Call == b.Call {
			return k
		}
	}
	return -1
}

// callTokens returns the tokens of the call that brings a block again.
func (s *replay) callTokens(block int32) int32 {
	if k := s.callOf(block); k >= 0 {
		return s.session.Blocks[k].Tokens
	}
	return fetchOutput
}

// called returns that call: the one of the recording, or a read of the file that a call wrote.
func (s *replay) called(t *thread, block int32) prompt.Ref {
	if k := s.callOf(block); k >= 0 {
		return prompt.Ref(k)
	}
	call := s.invented(t, prompt.KindToolUse, fetchOutput)
	call.Op, call.Object = prompt.OpRead, s.session.Blocks[block].Object
	call.Call -= block
	call.Digest = call.Digest.ExtendInt(uint64(block))
	return s.arena.Add(call)
}

// brought returns the result of such a call.
func (s *replay) brought(t *thread, block int32) prompt.Ref {
	if s.callOf(block) >= 0 {
		return prompt.Ref(block)
	}
	b := &s.session.Blocks[block]
	result := s.invented(t, prompt.KindToolResult, b.Tokens)
	result.Op, result.Object, result.Bytes = prompt.OpRead, b.Object, b.Bytes
	result.Call -= block
	result.Digest = result.Digest.ExtendInt(uint64(block))
	return s.arena.Add(result)
}

// invented returns a block of a round that no recording has.
func (s *replay) invented(t *thread, k prompt.Kind, tokens int32) prompt.Block {
	b := prompt.Block{
		Kind: k, Op: prompt.OpNone, Object: -1, Call: -(1<<24 + s.extras), Tokens: tokens,
		Digest: prompt.DigestString("extra").ExtendInt(uint64(t.Index)<<32 | uint64(s.extras)).ExtendInt(uint64(k)<<32 | uint64(tokens)),
	}
	if k == prompt.KindUnseen {
		b.Call = 0
	} else {
		b.Bytes = int32(min(int64(tokens)*3, math.MaxInt32))
	}
	return b
}
