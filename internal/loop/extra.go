package loop

import (
	"math"

	"github.com/compactsim/compactsim/internal/kit/draws"
	"github.com/compactsim/compactsim/internal/results/recall"
	"github.com/compactsim/compactsim/internal/serving/client"
	"github.com/compactsim/compactsim/internal/serving/profile"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
)

// In a closed loop the agent does not act as recorded whatever was forgotten: a round that needs what the context does
// not have may fetch it first, in a call of its own that grows the context, takes time, and can lead to the next
// compaction. What a file or a pointer has is read; what a tool had shown is searched for, and weighs what the
// recording's own result weighed; what a person or an answer said cannot be had again.

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

// share returns the probability that an agent fetches what it lacks of a kind.
func (r Refetch) share(p *profile.Profile, kind string) float64 {
	switch {
	case r == RefetchAlways:
		return 1
	case r == RefetchNever || p == nil:
		return 0
	}
	e := p.RefetchOf(kind)
	return [...]float64{RefetchLow: e.Low, RefetchFitted: e.Value, RefetchHigh: e.High}[r]
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
	x := l.fetch(t)
	if t.chain > 0 {
		t.owed += a.Elongation
	}
	if t.owed >= 1 && t.round > 0 {
		t.owed--
		last := &t.trace.Rounds[t.round-1]
		x.output += int32(last.Usage.Output)
		for b := t.current().Input.From; b < t.current().Input.To; b++ {
			x.result += t.replay.session.Blocks[b].Tokens
		}
	}
	if x == (extra{}) {
		return false
	}
	l.keepTTL(t, t.current())
	l.fly(t, &call{
		layer: -1, extra: x, entries: t.context.Seal(), deletions: t.deleted.resolve(&t.context),
		marks: client.Marks{TTL: t.ttl}, tail: t.current().Tail, change: t.context.Sent(), model: t.model(),
		answer: prompt.Answer{Output: x.output},
	})
	return true
}

// fetch returns the round that fetches what the agent fetches of what is missing.
func (l *Loop) fetch(t *thread) extra {
	var x extra
	how := l.config.Agent.Refetch
	if how == RefetchNever {
		return x
	}
	key := layerKey("refetch")
	for i := range t.missing {
		n := &t.missing[i]
		block := n.Fetch
		if block < 0 {
			block = n.Found
		}
		if block < 0 || t.judge.Has(block) {
			continue
		}
		draw := draws.Unit(t.replay.draws.Uint64(draws.Layer, draws.Event(t.index, t.round, key, uint8(i))))
		if draw >= (1-n.kept)*how.share(l.config.Profile, n.Kind.String()) {
			continue
		}
		tokens := t.replay.session.Blocks[block].Tokens
		t.judge.Fetch(block, tokens)
		x.result = int32(min(int64(x.result)+int64(tokens), math.MaxInt32/2))
		x.output = fetchOutput
	}
	if x.output > 0 {
		t.replay.row.Figures[results.Needs+results.ID(recall.Fetches)]++
	}
	t.missing = t.missing[:0]
	return x
}

// extended appends to the context the call of a round that no recording has, and what it brought, and asks the layers
// again before the recorded request.
func (l *Loop) extended(t *thread, f *flight) {
	s := t.replay
	s.extras++
	call := prompt.Block{
		Kind: prompt.KindToolUse, Op: prompt.OpNone, Object: -1, Call: -(1<<24 + s.extras), Tokens: f.extra.output,
		Bytes: f.extra.output * 3, Digest: prompt.DigestString("extra").ExtendInt(uint64(t.index)<<32 | uint64(s.extras)),
	}
	result := call
	result.Kind, result.Tokens = prompt.KindToolResult, f.extra.result
	result.Bytes = int32(min(int64(f.extra.result)*3, math.MaxInt32))
	result.Digest = call.Digest.ExtendInt(uint64(f.extra.result))
	t.context.Add(call)
	t.counted, t.trailing = s.counted(t, f, int64(f.answer.Output)), 0
	t.context.Add(result)
	t.trailing += s.estimate(&result)
	t.usage, t.serverDeleted = f.outcome.Usage, f.outcome.Deleted
	t.lastEnd, t.started = l.clock.now, true
	t.rounds++
	l.waited(t, f.start, results.WaitOther)
	t.retried, t.barred = false, 0
	t.look()
	l.ask(t, 0)
}
