package strategies

import "github.com/compactsim/compactsim/sim/prompt"

// summaryCall is the state of the compaction under way: what is summarised and
// which way of making the call is tried.
type summaryCall struct {
	from, to  int  // entries to summarise; from moves when the oldest are dropped
	way       int  // index into CompactParams.Call
	repeats   int  // repetitions of the way under way
	retries   int  // repetitions with the oldest rounds dropped
	fallbacks int  // changes to another way
	made      int  // calls made
	manual    bool // asked for by a person
}

// ask makes the summary call in the way that is its turn.
func (l *compact) ask(t *Turn) Outcome {
	s := &l.call
	way := l.params.Call[s.way]
	in := prompt.Intent{
		Source:      sourceCompact,
		Way:         way.String(),
		From:        int32(s.from),
		To:          int32(s.to),
		Lead:        l.lead(t),
		Instruction: l.params.Instruction + l.params.Hooks.PreCompact,
		Summarised:  int32(tokensBetween(t.Context, s.from, s.to)),
		Ordinal:     uint8(s.made),
	}
	switch way {
	case WayFork:
		in.Prefix, in.SkipCacheWrite = prompt.PrefixShared, l.params.Fork.SkipCacheWrite
		in.Strip = strip(l.params.Fork.Strip, l.params.Fork.Strip, false)
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
	return t.Call(in)
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
			return l.fail("prompt too long, and nothing left to summarise")
		}
		s.retries++
		s.way, s.repeats = 0, 0
		return l.ask(t)
	}
	return l.fail(r.Failed)
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
