package strategies

import (
	"slices"
	"time"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/ask"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/strategies/standard"
)

// summaryCall is the state of the compaction under way: what is summarised and
// which way of making the call is tried.
type summaryCall struct {
	from, to  int            // entries the calls send; from moves when the oldest are dropped, and to the part of the next call
	low, high int            // entries the summary replaces
	end       int            // where what comes back is put: after the messages that stay
	way       int            // index into CompactParams.Call
	repeats   int            // repetitions of the way under way
	retries   int            // repetitions with the oldest rounds dropped, or the newest left out
	rounds    int            // API rounds of the first call, where later ones leave out the newest
	fallbacks int            // changes to another way
	made      int            // calls made
	verified  bool           // the call under way checks the summary against what it replaces
	unread    int32          // tokens of a fixed text in place of the summary, where the call would read nothing; 0 for a call
	parts     []int          // where the next call's part begins, and the parts of the calls behind it; none at the last call
	joined    *prompt.Result // of the calls for the parts before; nil for none
	began     int64          // ns on the session's clock
	by        startedBy      // what started it
	compacts  bool           // the call itself is above the trigger, and not barred
}

// count adds up the retries, fallbacks and signals of a compaction that ends: while it
// lasts, the client signals every so many seconds that it is alive.
func (s *summaryCall) count(t *Turn, signal int64) {
	t.Count(measures.CompactionRetries, int64(s.retries))
	t.Count(measures.CompactionFallbacks, int64(s.fallbacks))
	if signal > 0 {
		t.Count(measures.KeepaliveSignals, (t.Now-s.began)/(signal*int64(time.Second)))
	}
}

// ask makes the summary call in the current way.
func (l *compact) ask(t *Turn) Outcome { return t.Call(l.intent(t)) }

// intent returns the summary call in the current way.
func (l *compact) intent(t *Turn) prompt.Intent {
	s := &l.call
	way := l.params.Call[s.way]
	in := prompt.Intent{
		Source:      sourceCompact,
		Way:         way.String(),
		From:        int32(s.from),
		To:          int32(s.to),
		Lead:        l.lead(t) + l.again,
		Instruction: l.params.Instruction + l.params.Hooks.PreCompact,
		Summarised:  int32(tokensBetween(t.Context, max(s.from, s.low), s.high)),
		Part:        l.params.Partial.Direction.part(),
		Ordinal:     uint8(s.made), Compacts: s.compacts,
		Analysis: l.params.AnalysisShare,
	}
	readPiece(l, t.Context, &in)
	if len(s.parts) > 0 || s.joined != nil {
		in.To = int32(s.until())
		in.Summarised = int32(tokensBetween(t.Context, int(in.From), int(in.To)))
	}
	switch way {
	case wayFork:
		p := &l.params.Fork
		in.SkipCacheWrite, in.MaxOutput, in.Rekey, in.NoTools = p.SkipCacheWrite, p.MaxOutput, p.MaxOutput > 0, p.NoTools
		in.Strip = strip(p.Strip, p.Strip, false)
	case wayServer:
		in.Instruction = l.params.Server.Instructions
	case wayStreaming:
		p := &l.params.Streaming
		in.Own, in.Head, in.MaxOutput, in.Unmarked = true, p.Head, p.MaxOutput, p.Unmarked
		in.Strip = strip(p.StripMedia, p.StripListings, false)
		p.Reads.limit(&in)
	case waySmallModel:
		p := &l.params.SmallModel
		in.Own, in.Head, in.MaxOutput, in.Model = true, p.Head, p.MaxOutput, fast(t, standard.Compact, p.Model)
		in.Strip = strip(p.StripMedia, p.StripListings, p.StripThinking)
		p.Reads.limit(&in)
	}
	s.made++
	return in
}

func strip(media, listings, thinking bool) ask.Strip {
	var s ask.Strip
	if media {
		s |= ask.StripMedia
	}
	if listings {
		s |= ask.StripListings
	}
	if thinking {
		s |= ask.StripThinking
	}
	return s
}

// IntentResult takes the summary, or goes on after a failure: the same way
// again, the next way, or from the first way with the oldest rounds dropped
// (002:120-132).
func (l *compact) IntentResult(t *Turn, r *prompt.Result) Outcome {
	s := &l.call
	switch {
	case r.Failed == "" && l.params.Verify && !s.verified:
		s.verified = true
		return l.ask(t)
	case r.Failed == "" && len(s.parts) > 0:
		s.join(r)
		s.from, s.parts, s.verified = s.parts[0], s.parts[1:], false
		return l.ask(t)
	case r.Failed == "":
		return l.takeSummary(t, r)
	case r.Failed == ask.FailDeadlock:
		return l.fail(t, r.Failed)
	case r.Failed != ask.FailTooLong && s.repeats < l.repeats():
		s.repeats++
		return l.ask(t)
	case r.Failed == ask.FailTooLong && l.params.TooLong.Older:
		if s.retries >= l.params.TooLong.Retries || !l.leaveNewer(t, r.Excess) {
			return l.fail(t, r.Failed)
		}
		s.retries++
		return l.ask(t)
	case s.way+1 < len(l.params.Call):
		s.way++
		s.repeats = 0
		s.fallbacks++
		return l.ask(t)
	case r.Failed == ask.FailTooLong && s.retries < l.params.TooLong.Retries:
		if !l.dropOldest(t, r.Excess) {
			return l.fail(t, "prompt too long, and nothing left to summarise")
		}
		s.retries++
		s.way, s.repeats = 0, 0
		return l.ask(t)
	}
	return l.fail(t, r.Failed)
}

// takeSummary takes the last answer of a compaction.
func (l *compact) takeSummary(t *Turn, r *prompt.Result) Outcome {
	l.call.join(r)
	r = l.call.joined
	if l.grown(t, r) {
		return l.fail(t, "the summary is not smaller")
	}
	if s := &l.call; l.params.Beside.Every > 0 && s.by == startedByTrigger && s.high == t.Context.Len() {
		lingerPieces(l, t.Context, []int{s.high})
	}
	return l.apply(t, r)
}

// join adds the answer of a call to the answers of the calls before it.
func (s *summaryCall) join(r *prompt.Result) {
	all := *r
	if s.joined != nil {
		all.Summary += s.joined.Summary
		all.Bytes += s.joined.Bytes
		all.Output += s.joined.Output
		all.Digest = s.joined.Digest.Extend(r.Digest)
		all.Usage.Add(&s.joined.Usage)
	}
	s.joined = &all
}

// until returns where the entries end that the call under way reads.
func (s *summaryCall) until() int {
	if len(s.parts) > 0 {
		return s.parts[0]
	}
	return s.to
}

// repeats returns how often the way under way is repeated after a failure.
func (l *compact) repeats() int {
	switch l.params.Call[l.call.way] {
	case wayStreaming:
		return l.params.Streaming.Retries
	case waySmallModel:
		return l.params.SmallModel.Retries
	}
	return 0
}

// dropOldest moves the start of the summary call behind the oldest API rounds:
// until excess tokens are gone, or by a share of the rounds (at least one) when
// the excess is not known. It reports whether anything is left to summarise.
//
// With the marker of an earlier retry left in, that marker is the oldest round
// of the list: a share of few rounds then drops the marker alone, and the call
// is repeated as it was (002:130).
func (l *compact) dropOldest(t *Turn, excess int64) bool {
	p := &l.params.TooLong
	marker := int64(0)
	if !p.StripMarker {
		marker = int64(l.lead(t))
	}
	s := &l.call
	from, to, dropped := s.from, s.until(), marker
	drop := func() {
		next := min(nextRound(t.Context, from), to)
		dropped += tokensBetween(t.Context, from, next)
		from = next
	}
	if excess > 0 && p.GapReadable {
		for dropped < excess && from < to {
			drop()
		}
	} else {
		rounds := countRounds(t.Context, from, to) + int(min(marker, 1))
		for n := max(1, int(p.Share*float64(rounds))) - int(min(marker, 1)); n > 0 && from < to; n-- {
			drop()
		}
	}
	if from >= to {
		return false
	}
	s.from = from
	return true
}

// leaveNewer lets a repeated call end earlier, so that the newer rounds stay as they are, and reports whether it has fewer rounds
// then. Claude Code 2.1.332 goes from 30 rounds to 15, 7, 3 and 1 where the error tells a gap of 5,000 tokens or more, to 20, 10, 5, 2
// and 1 at a gap of 500, and to 22, 15, 9 and 1 where it tells none (2026-11-27).
func (l *compact) leaveNewer(t *Turn, excess int64) bool {
	const largeGap = 5000
	s, p := &l.call, &l.params.TooLong
	n := countRounds(t.Context, s.from, s.to)
	if s.retries == 0 {
		s.rounds = n
	}
	next := n / 2
	switch {
	case !p.GapReadable || excess <= 0:
		next = 1
		if shares := [...]int{75, 50, 30}; s.retries < len(shares) {
			next = max(1, s.rounds*shares[s.retries]/100)
		}
	case excess < largeGap && s.retries == 0:
		next = n * 2 / 3
	}
	if next < 1 || next >= n {
		return false
	}
	at := s.from
	for range next {
		at = nextRound(t.Context, at)
	}
	s.to, s.high = at, at
	s.parts = slices.DeleteFunc(slices.Clone(s.parts), func(part int) bool { return part >= at })
	return true
}

// lead returns the size of the marker before the messages of a
// repeated call, tokens: a response may not lead.
func (l *compact) lead(t *Turn) int32 {
	s := &l.call
	if s.retries > 0 && s.from > Body(t.Context) && t.Context.At(s.from).Kind.Assistant() {
		return l.params.TooLong.Marker
	}
	return 0
}

// choose sets what a compaction of the messages before position to summarises, sends and
// keeps.
func (l *compact) choose(t *Turn, to int) {
	s, c := &l.call, t.Context
	body := Body(c)
	s.from, s.to, s.low, s.high, s.end = body, to, body, to, to
	switch l.params.Partial.of(s.by) {
	case partialUpTo:
		s.high = l.params.Partial.cut(c, body, to)
		s.to = s.high
	case partialFrom:
		s.low = l.params.Partial.cut(c, body, to)
	case partialNone:
		if l.params.Beside.Every > 0 {
			s.low = behindSummaries(c)
			s.from = s.low
			return
		}
		s.low = l.params.Keep.start(c, body, to)
		if l.params.Keep.Earlier {
			s.low = min(to, max(s.low, behindSummaries(c)))
			s.from = s.low
		}
		s.high = l.cut(t, s.low, to)
		if k := &l.params.Keep; k.Oldest > 0 {
			s.low, s.high = oldestWithin(c, s.low, s.high, k.Oldest-int64(l.params.Instruction))
			s.from = s.low
		}
		if !l.params.Keep.sends(c, body, s.high, to) {
			s.to = s.high
		}
		if r := l.reads(); r.Prompt {
			if at := r.prompt(c, s.from, s.to); at < s.to {
				s.from = at
			} else if r.Nothing > 0 {
				s.from, s.unread = body, r.Nothing
			}
		}
		if l.params.SplitTurn {
			s.parts = splitTurn(c, s.low, s.high, s.end)
		} else if r := l.reads(); r.Chunk > 0 {
			s.parts = chunks(c, s.from, s.to, int64(r.Chunk*float64(t.window()))-int64(l.params.Instruction))
		}
	}
}

// cut returns the position from which the newest messages among the entries [low, to) stay.
func (l *compact) cut(t *Turn, low, to int) int {
	k, by := &l.params.Keep.BySize, l.call.by
	if l.params.Refill.Whole && by == startedByTrigger && l.refills.count > 0 {
		return to
	}
	if k.newest() && (by == startedByRefusal || by == startedByTrigger && !t.Check(standard.Compact, &l.params.Trigger)) {
		front := l.params.Keep.Count.skip(t.Context, Body(t.Context), to, l.params.Keep.First)
		return k.cutBehind(t.Context, min(front, low), low, to, t.window())
	}
	return l.params.Keep.cut(t.Context, low, to, t.window())
}

// reads returns what the first way of the call reads.
func (l *compact) reads() *reads {
	if l.params.Call[0] == waySmallModel {
		return &l.params.SmallModel.Reads
	}
	return &l.params.Streaming.Reads
}

// chunks returns where the messages among the entries [from, to) are parted so that each call reads whole messages of at most so many
// tokens, or one message that is larger.
func chunks(c *prompt.Context, from, to int, most int64) []int {
	var parts []int
	left := most
	for i := from; i < to; {
		next := i + 1
		for next < to && sameMessage(c, next) {
			next++
		}
		size := tokensBetween(c, i, next)
		if left -= size; left < 0 && i > from {
			parts, left = append(parts, i), most-size
		}
		i = next
	}
	return parts
}

// splitTurn returns where the turn begins whose messages the position high parts, if
// messages of the entries [low, end) other than a summary precede it; nil otherwise.
func splitTurn(c *prompt.Context, low, high, end int) []int {
	if high >= end || c.At(high).Kind == prompt.KindPrompt {
		return nil
	}
	i := high - 1
	for i > low && c.At(i).Kind != prompt.KindPrompt {
		i--
	}
	for before := i - 1; before >= low; before-- {
		if c.At(before).Kind != prompt.KindSummary {
			return []int{i}
		}
	}
	return nil
}

// of returns the direction of a compaction by what started it.
func (p *partialParams) of(by startedBy) direction {
	if by == startedByHand || by == startedByTrigger && p.Auto {
		return p.Direction
	}
	return partialNone
}

// cut returns the position of the pivot among the entries [body, to): a legal one at or
// before the share of the messages.
func (p *partialParams) cut(c *prompt.Context, body, to int) int {
	n := int(p.Pivot * float64(countMessages(c, body, to)))
	i := body
	for ; i < to; i++ {
		if i > body && sameMessage(c, i) {
			continue
		}
		if n--; n < 0 {
			break
		}
	}
	return legalCut(c, i, body)
}

// preserved returns the ids of the first and the last message entry that stay
// as they are; 0 when none does.
func (s *summaryCall) preserved(c *prompt.Context) (from, to int32) {
	first, behind := s.high, s.end
	if s.low > Body(c) {
		first, behind = Body(c), s.low
	}
	if first >= behind {
		return 0, 0
	}
	return c.At(first).ID, c.At(behind - 1).ID
}

// startedBy says what started a compaction.
type startedBy uint8

// Starts of a compaction.
const (
	startedByTrigger  startedBy = iota
	startedByRent               // see rentParams
	startedByRefusal            // of a request the server took for too long
	startedByIdleness           // of the conversation
	startedByHand
)
