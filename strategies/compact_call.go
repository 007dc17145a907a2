package strategies

import (
	"time"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
)

// summaryCall is the state of the compaction under way: what is summarised and
// which way of making the call is tried.
type summaryCall struct {
	from, to  int       // entries the call sends; from moves when the oldest are dropped
	low, high int       // entries the summary stands for
	end       int       // where what comes back is put: behind the messages that stay
	way       int       // index into CompactParams.Call
	repeats   int       // repetitions of the way under way
	retries   int       // repetitions with the oldest rounds dropped
	fallbacks int       // changes to another way
	made      int       // calls made
	began     int64     // ns on the session's clock
	by        startedBy // what started it
}

// count counts what became of a compaction that ends. While it lasts the client
// signals every so many seconds that it is alive.
func (s *summaryCall) count(t *Turn, signal int64) {
	t.Count(results.CountRetries, int64(s.retries))
	t.Count(results.CountFallbacks, int64(s.fallbacks))
	if signal > 0 {
		t.Count(results.CountSignals, (t.Now-s.began)/(signal*int64(time.Second)))
	}
}

// ask makes the summary call in the way that is its turn.
func (l *compact) ask(t *Turn) Outcome { return t.Call(l.intent(t)) }

// intent is the summary call in the way that is its turn.
func (l *compact) intent(t *Turn) prompt.Intent {
	s := &l.call
	way := l.params.Call[s.way]
	in := prompt.Intent{
		Source:      sourceCompact,
		Way:         way.String(),
		From:        int32(s.from),
		To:          int32(s.to),
		Lead:        l.lead(t),
		Instruction: l.params.Instruction + l.params.Hooks.PreCompact,
		Summarised:  int32(tokensBetween(t.Context, max(s.from, s.low), s.high)),
		Part:        l.params.Partial.Direction.part(),
		Ordinal:     uint8(s.made),
	}
	switch way {
	case WayFork:
		p := &l.params.Fork
		in.Prefix, in.SkipCacheWrite, in.MaxOutput, in.Rekey = prompt.PrefixShared, p.SkipCacheWrite, p.MaxOutput, p.MaxOutput > 0
		in.Strip = strip(p.Strip, p.Strip, false)
	case WayServer:
		in.Prefix, in.Instruction = prompt.PrefixShared, l.params.Server.Instructions
	case WayStreaming:
		p := &l.params.Streaming
		in.Prefix, in.Head, in.MaxOutput = prompt.PrefixOwn, p.Head, p.MaxOutput
		in.Strip = strip(p.StripMedia, p.StripListings, false)
	case WaySmallModel:
		p := &l.params.SmallModel
		in.Prefix, in.Head, in.MaxOutput, in.Model = prompt.PrefixOwn, p.Head, p.MaxOutput, p.Model
		in.Strip = strip(p.StripMedia, p.StripListings, p.StripThinking)
	}
	s.made++
	return in
}

func strip(media, listings, thinking bool) prompt.Strip {
	var s prompt.Strip
	if media {
		s |= prompt.StripMedia
	}
	if listings {
		s |= prompt.StripListings
	}
	if thinking {
		s |= prompt.StripThinking
	}
	return s
}

// IntentResult takes the summary, or goes on after a failure: the same way
// again, the next way, or from the first way with the oldest rounds dropped
// (002:120-132).
func (l *compact) IntentResult(t *Turn, r *prompt.Result) Outcome {
	s := &l.call
	switch {
	case r.Failed == "":
		return l.apply(t, r)
	case r.Failed != prompt.FailTooLong && s.repeats < l.repeats():
		s.repeats++
		return l.ask(t)
	case s.way+1 < len(l.params.Call):
		s.way++
		s.repeats = 0
		s.fallbacks++
		return l.ask(t)
	case r.Failed == prompt.FailTooLong && s.retries < l.params.TooLong.Retries:
		if !l.dropOldest(t, r.Excess) {
			return l.fail(t, "prompt too long, and nothing left to summarise")
		}
		s.retries++
		s.way, s.repeats = 0, 0
		return l.ask(t)
	}
	return l.fail(t, r.Failed)
}

// repeats returns how often the way under way is repeated after a failure.
func (l *compact) repeats() int {
	switch l.params.Call[l.call.way] {
	case WayStreaming:
		return l.params.Streaming.Retries
	case WaySmallModel:
		return l.params.SmallModel.Retries
	}
	return 0
}
