package strategies

import (
	"slices"
	"time"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/strategies/standard"
	"github.com/compactsim/compactsim/traces"
)

// pieces are what a thread knows of summaries that calls ahead of the trigger make of one piece of the conversation each, as
// @mastra/memory 1.31.0 does (2026-11-29), which has these constants.
type pieces struct {
	tried  int64 // tokens behind the last summary when a call was last due
	read   int64 // tokens of the piece that was read then; 0 where it was too small
	before int64 // tokens behind the last summary at the request before
	shown  int32 // id of the last entry that a summary stands for and that one more request shows; 0 for none
}

// summarisePieces acts ahead of a request where the conversation is summarised piece by piece.
func summarisePieces(l *compact, t *Turn) Outcome {
	b := &l.beside
	takeShown(&l.beside, t)
	body, low := Body(t.Context), behindSummaries(t.Context)
	b.dropLost(t.Context, low)
	size, fired := t.measured(&l.params.Trigger), l.begins(t)
	switch fold := l.params.Beside.Fold; {
	case fold > 0 && low > body+1 && tokensBetween(t.Context, body, low) >= fold:
		high := body + 2 // of one alone nothing would be gained
		for high < low && tokensBetween(t.Context, body, high+1) <= fold/2 {
			high++
		}
		l.call = summaryCall{by: startedByTrigger, began: t.Now, from: body, to: high, low: body, high: high, end: t.Context.Len()}
		return l.ask(t)
	case !fired:
		b.before = size + countOfNone
		return readAhead(l, t, size)
	case b.running:
		return t.Await(t.Now + longestWait)
	case len(b.ready) > 0:
		out := placePieces(l, t)
		b.before = l.params.weigh(t.Context, max(t.Context.Index(b.shown)+1, behindSummaries(t.Context)), t.Context.Len())
		return out
	}
	b.pieces = pieces{}
	return l.start(t, t.Context.Len(), startedByTrigger)
}

// countOfNone is what the client counts for no messages at all, tokens.
const countOfNone = 24

// weigh returns the tokens of entries as the client counts them.
func (p *CompactParams) weigh(c *prompt.Context, from, to int) int64 {
	return countOfNone + tokensBetween(c, from, to) + p.Trigger.PerMessage*int64(countMessages(c, from, to))
}

// behindSummaries returns the position behind the last summary, or of the first message.
func behindSummaries(c *prompt.Context) int { return max(Body(c), lastSummary(c)+1) }

// readAhead begins a call for what no call has read where so many tokens came that one is due: at each multiple of a step, and within
// 1.1 steps of the trigger at each half. It reads half a step at least. With a prompt the size of the last piece counts for the
// place at which a call was due.
func readAhead(l *compact, t *Turn, size int64) Outcome {
	b, step := &l.beside, l.params.Beside.Every
	if t.Trigger == traces.TriggerPrompt && b.read > 0 {
		b.tried = b.read
	}
	least := max(1, step/2)
	if level, ok := t.value(&l.params.Trigger); ok && size >= level-step-step/10 {
		step = least
	}
	if b.running || size/step <= b.tried/step {
		return Outcome{Declined, "below the trigger"}
	}
	b.tried, b.read = size, 0
	l.call = summaryCall{by: startedByTrigger, began: t.Now}
	l.choose(t, t.Context.Len())
	if n := len(b.ready); n > 0 {
		l.call.from = t.Context.Index(b.ready[n-1].last) + 1
	}
	n := l.params.weigh(t.Context, l.call.from, l.call.to)
	if n < least {
		return Outcome{Declined, "too little is new"}
	}
	b.read = n
	return l.startBeside(t)
}

// readPiece adds to a call for a piece what it reads beside the piece: the summaries in the context and those that are ready. Its answer has
// a share of the piece.
func readPiece(l *compact, c *prompt.Context, in *prompt.Intent) {
	p, behind := &l.params, behindSummaries(c)
	if p.Beside.Every == 0 || l.call.high <= behind {
		return
	}
	in.Recorded = int32(p.Beside.Share * float64(in.Summarised))
	if n := int32(tokensBetween(c, Body(c), behind)); n > 0 {
		in.Instruction += n - p.Summary.tokens(l.call.by)
	}
	for i := range l.beside.ready {
		in.Instruction += l.beside.ready[i].result.Summary
	}
}

// dropLost drops the ready summaries whose last message is no longer there behind the one before: another layer took it out.
func (b *besideCalls) dropLost(c *prompt.Context, end int) {
	b.ready = slices.DeleteFunc(b.ready, func(r readySummary) bool {
		at := c.Index(r.last) + 1
		lost := at <= end
		end = max(end, at)
		return lost
	})
}

// placePieces puts as many of the summaries that are ready in the place of their pieces as leave about what is to stay.
func placePieces(l *compact, t *Turn) Outcome {
	b, c := &l.beside, t.Context
	var ends []int
	for i := range b.ready {
		ends = append(ends, c.Index(b.ready[i].last)+1)
	}
	low := behindSummaries(c)
	n := countFitting(l, c, low, ends)
	due := b.ready[:n]
	b.ready, b.pieces = b.ready[n:], pieces{}
	l.call = summaryCall{by: startedByTrigger, began: due[0].call.began, low: low, high: ends[n-1], end: c.Len()}
	for i := range due {
		l.call.made += due[i].call.made
		l.call.join(&due[i].result)
	}
	if t.Trigger != traces.TriggerPrompt {
		lingerPieces(l, c, ends[:n])
	}
	return l.apply(t, l.call.joined)
}

// countFitting returns how many of the pieces that end at the positions go, at least one: as many as leave what is to stay of the request before,
// or one more, where that takes at most 0.95 of what is to stay and leaves 1,000 tokens.
func countFitting(l *compact, c *prompt.Context, low int, ends []int) int {
	const fewest = 1000
	keep := l.params.Keep.Tokens
	n, size, under := 0, int64(0), int64(0)
	for ; n < len(ends) && size < l.beside.before-keep; n++ {
		under = size
		size += l.params.weigh(c, low, ends[n])
		low = ends[n]
	}
	over := size - (l.beside.before - keep)
	switch {
	case over < 0, n <= 1, over*20 <= keep*19 && keep-over >= min(fewest, keep):
		return max(1, n)
	case l.beside.before-under >= min(fewest, keep):
		return n - 1
	}
	return n
}

// lingerPieces leaves pieces that summaries stand for, and that end at the positions, in the request under way where less would stay without
// them than is to stay. They go ahead of the next request.
func lingerPieces(l *compact, c *prompt.Context, ends []int) {
	s := &l.call
	last, n := c.At(s.high-1).ID, len(ends)
	for n > 0 && l.params.weigh(c, ends[n-1], c.Len()) < l.params.Keep.Tokens {
		n--
	}
	if n == len(ends) {
		return
	}
	l.beside.shown, s.high = last, s.low
	if n > 0 {
		s.high = ends[n-1]
	}
}

// takeShown takes out what a summary stands for and the request before has shown once more.
func takeShown(b *besideCalls, t *Turn) {
	c, low := t.Context, behindSummaries(t.Context)
	if high := c.Index(b.shown) + 1; b.shown != 0 && high > low {
		c.Replace(low, high, nil, prompt.CauseCompaction)
		t.InputAt -= high - low
	}
	b.shown = 0
}

// besideParams are the parameters of compactions that run while the conversation goes on.
type besideParams struct {
	Enabled bool    `yaml:"enabled" doc:"they do"`
	Wait    float64 `yaml:"wait" doc:"share of the window, by the client's count, from which on the conversation waits for one under way, 0…1; 0 for never" unit:"share" min:"0" max:"1" off:"0" needs:"enabled"`
	Ahead   float64 `yaml:"ahead" doc:"share of the window by which the call comes ahead of the trigger, which the summary then waits for, 0…1; 0 for a summary that takes its place as soon as it is there" unit:"share" min:"0" below:"1" off:"0" needs:"enabled"`
	Every   int64   `yaml:"every" doc:"tokens behind the last summary at each multiple of which a call reads what none has read, at each half step near the trigger, and then as many of the summaries that are ready take their place as leave about keep.tokens; 0 for one call" unit:"tokens" min:"0" off:"0" needs:"enabled"`
	Share   float64 `yaml:"share" doc:"size of a summary of such a piece, as a share of what it stands for, 0…1; 0 as the summariser draws it" unit:"share" min:"0" max:"1" off:"0" needs:"every"`
	Fold    int64   `yaml:"fold" doc:"tokens of summaries from which on a call replaces the oldest by one: as many as have half of so many tokens, and two at least; 0 for never" unit:"tokens" min:"0" off:"0" needs:"every"`
}

// prompt reports whether a summary is in its place where the trigger fires: of one that comes calls later, recorded sizes show no threshold.
func (p *besideParams) prompt() bool { return !p.Enabled || p.Ahead > 0 }

// longestWait is the time after which a conversation goes on without a call that it waits
// for, ns: longer than any call takes.
const longestWait = int64(time.Hour)

// early returns the trigger at which a call ahead of the layer's trigger begins.
func (p *CompactParams) early(window int64) *Trigger {
	first := p.Trigger
	first.Less += int64(p.Beside.Ahead * float64(window))
	return &first
}

// begins reports whether an automatic compaction begins.
func (l *compact) begins(t *Turn) bool {
	p := &l.params
	if p.Beside.Ahead == 0 {
		return p.When.fires(t, standard.Compact, &p.Trigger, false)
	}
	window := t.window()
	if t.Kin != nil {
		poll(t.Kin, standard.Compact, func(p *CompactParams) bool {
			v, ok := p.early(window).Value(&t.Reading)
			return ok && t.measure(p.Trigger.Measure) >= v
		})
	}
	return p.When.hold(t, standard.Compact, t.test(standard.Compact, p.early(window)), false)
}

// waits reports whether the conversation is large enough to wait.
func (p *besideParams) waits(t *Turn) bool {
	return p.Wait > 0 && float64(t.Reading.Values[MeasureClientTokens]) >= p.Wait*float64(t.window())
}

// besideCalls are the summary calls of a layer that run beside the conversation: one at a time (B3), and what earlier ones have written,
// until it takes the place of the messages.
type besideCalls struct {
	running bool
	call    summaryCall // of the call under way
	last    int32       // id of the last entry that its summary replaces
	ready   []readySummary
	pieces
}

// readySummary is a summary that waits for its place. The oldest comes first.
type readySummary struct {
	call   summaryCall
	last   int32 // id of the last entry that it replaces
	result prompt.Result
}

// startBeside makes the summary call without waiting for it.
func (l *compact) startBeside(t *Turn) Outcome {
	in := l.intent(t)
	b := &l.beside
	b.running, b.call, b.last = true, l.call, t.Context.At(l.call.high-1).ID
	t.Background(in)
	return Outcome{Declined, "a compaction has begun beside the conversation"}
}

// BackgroundResult takes the block. A request may be under way: the block waits for the next one.
func (l *compact) BackgroundResult(t *Turn, r *prompt.Result) Outcome {
	b := &l.beside
	b.running = false
	if r.Failed != "" {
		b.call.count(t, l.params.Signal) // another compaction may be under way
		l.strike(t)
		return Outcome{Failed, r.Failed}
	}
	b.ready = append(b.ready, readySummary{b.call, b.last, *r})
	return Outcome{Declined, "the block waits for the next request"}
}

// swap puts the block first, in place of exactly the messages it summarises;
// what was said meanwhile stays. It reports whether these are still there.
func (l *compact) swap(t *Turn) bool {
	s := l.beside.ready[0]
	l.beside.ready = nil
	high := t.Context.Index(s.last) + 1
	if high == 0 {
		t.Refuse(standard.Compact, "what the block stands for is not there")
		return false
	}
	l.call = s.call
	l.call.low, l.call.high, l.call.end = l.params.Keep.start(t.Context, Body(t.Context), high), high, t.Context.Len()
	if l.grown(t, &s.result) {
		t.Refuse(standard.Compact, "the summary is not smaller")
		return false
	}
	l.apply(t, &s.result)
	return true
}
