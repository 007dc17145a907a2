package strategies

import (
	"slices"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/ask"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/results/measures"
	"github.com/compactsim/compactsim/strategies/standard"
	"github.com/compactsim/compactsim/traces"
)

var compactDefinition = Define(standard.Compact,
	"replaces the messages with a summary written by one model call, and restores files and more",
	defaultCompact(),
	func(p CompactParams) Layer { return &compact{params: p} }).with(Traits{Draws: true, Compacts: true, Polls: []string{"trigger"}})

// compact is the state of full-compact on one thread.
type compact struct {
	params   CompactParams
	failures int     // automatic compactions failed in a row
	vain     bool    // its own compaction, just made, left the context as large as it was
	refills  refills // compactions whose context filled up again at once
	rent     rent    // paid since the last compaction
	carried  Carried // used where the thread has none
	call     summaryCall
	beside   besideCalls
	undo     undo                           // of a summary that stands in one request alone
	late     undo                           // of what the next request has again
	again    int32                          // tokens of what the last summary stands for and the next call reads once more
	looked   int32                          // 1 + the round at whose end conditions were looked at
	due      func(thread, round int32) bool // a schedule that replaces all other starts of compactions; nil for none
}

var (
	_ BeforeRequest    = (*compact)(nil)
	_ PromptTooLong    = (*compact)(nil)
	_ IntentResult     = (*compact)(nil)
	_ AfterCompaction  = (*compact)(nil)
	_ BackgroundResult = (*compact)(nil)
	_ Timer            = (*compact)(nil)
	_ standard.Sleeper = (*compact)(nil)
	_ ThreadEnd        = (*compact)(nil)
	_ AutoThreshold    = (*compact)(nil)
)

func (l *compact) Name() string { return standard.Compact }

func (l *compact) Clone() Layer {
	c := *l
	c.carried = l.carried.clone()
	c.beside = besideCalls{}        // belong to the thread that made them
	c.undo, c.late = undo{}, undo{} // as do the ids in them
	c.looked, c.again = 0, 0        // a branch counts rounds of its own
	return &c
}

func (l *compact) Copy() Layer {
	c := l.Clone().(*compact)
	c.beside, c.looked, c.again, c.undo, c.late = l.beside, l.looked, l.again, l.undo.clone(), l.late.clone()
	c.beside.ready = slices.Clone(l.beside.ready)
	return c
}

func (l *compact) adopt(params any) { l.params = *params.(*CompactParams) }

func (l *compact) Reset() {
	*l = compact{params: l.params, due: l.due, carried: l.carried.emptied()}
}

func (l *compact) BeforeRequest(t *Turn) Outcome {
	if l.params.Keep.piles() {
		l.undo.pile(t)
	}
	l.undo.restore(t)
	l.late.restore(t)
	if l.due != nil {
		return l.onSchedule(t)
	}
	if l.params.Manual && askedByHand(t.Events) {
		return l.start(t, endOfPast(t), startedByHand)
	}
	if len(l.beside.ready) > 0 && l.params.Beside.Every == 0 {
		switch {
		case l.params.Beside.Ahead > 0 && !l.params.When.fires(t, standard.Compact, &l.params.Trigger, false):
			return Outcome{Declined, "the summary waits for the trigger"}
		case l.swap(t):
			return Outcome{Verdict: Done}
		}
	}
	switch {
	case !l.params.Auto:
		return Outcome{Declined, "automatic compaction is off"}
	case l.params.Waits && t.Waits:
		return Outcome{Declined, "the client waits for a refusal with this model"}
	case isAgent(t.Kind) && !l.params.Subagents:
		return Outcome{Declined, "sub-agents do not compact"}
	case l.stopped():
		return Outcome{Declined, "stopped by the breaker"}
	case l.refills.stopped:
		return Outcome{Declined, "stopped: the context refills at once"}
	case l.params.Beside.Every > 0:
		return summarisePieces(l, t)
	case l.beside.running && l.params.Beside.waits(t):
		return t.Await(t.Now + longestWait)
	case l.beside.running:
		return Outcome{Declined, "a compaction is under way beside the conversation"}
	case l.params.Rent.due(t, &l.rent, l.params.Call[0]):
		return l.start(t, t.Context.Len(), startedByRent)
	case !l.begins(t):
		return Outcome{Declined, "below the trigger"}
	case l.params.Refill.trips(t, &l.refills):
		return t.Refuse(standard.Compact, "stopped: the context refills at once")
	}
	return l.start(t, t.Context.Len(), startedByTrigger)
}

func (l *compact) PromptTooLong(t *Turn) Outcome {
	switch {
	case !l.params.Reactive:
		return Outcome{Declined, "reactive compaction is off"}
	case isAgent(t.Kind) && !l.params.Subagents:
		return Outcome{Declined, "sub-agents do not compact"}
	case l.stopped():
		return Outcome{Declined, "stopped by the breaker"}
	}
	return l.start(t, t.Context.Len(), startedByRefusal)
}

// AfterCompaction resets the breaker after the success of any layer, session memory
// included (assumed). A context still above the window is a failure, and so is one that its
// own compaction left as large as it was, or larger.
func (l *compact) AfterCompaction(t *Turn) {
	l.refills.fresh = true
	l.rent.noteSize(t)
	vain := l.vain
	l.vain = false
	if t.fits(int64(t.Context.Tokens())) && !vain {
		l.failures = 0
	} else if l.call.by != startedByHand {
		l.strike(t)
	}
}

// stopped reports whether the breaker keeps automatic compaction off.
func (l *compact) stopped() bool {
	return l.params.Breaker > 0 && l.failures >= l.params.Breaker
}

// isAgent reports whether a thread is a sub-agent's.
func isAgent(k traces.ThreadKind) bool {
	return k == traces.ThreadAgent || k == traces.ThreadOrphan
}

// askedByHand reports whether a person asked for a compaction in the recording.
func askedByHand(events []traces.Event) bool {
	for i := range events {
		if events[i].Kind == traces.EventCompact && events[i].Manual {
			return true
		}
	}
	return false
}

// endOfPast returns the position of the first entry that a compaction by hand
// leaves as it is: the round's own input, less the results of calls that go
// into the summary.
func endOfPast(t *Turn) int {
	to := t.InputAt
	for i := to; i < t.Context.Len(); i++ {
		if t.Context.At(i).Kind == prompt.KindToolResult {
			to = i + 1
		}
	}
	return to
}

// start begins a compaction of the messages before position to.
func (l *compact) start(t *Turn, to int, by startedBy) Outcome {
	l.call = summaryCall{by: by, began: t.Now}
	l.choose(t, to)
	if l.call.low >= l.call.high {
		return Outcome{Failed, "not enough messages to compact"}
	}
	if by == startedByTrigger {
		if why := l.unworthy(t); why != "" {
			return t.Refuse(standard.Compact, why)
		}
	}
	l.call.compacts = !slices.Contains(l.params.Barred, sourceCompact) && t.Check(standard.Compact, &l.params.Trigger)
	switch {
	case l.call.unread > 0:
		return l.apply(t, &prompt.Result{Answer: fixedText(l.call.unread)})
	case l.params.Call[0] == wayNone:
		return l.apply(t, &prompt.Result{Answer: l.params.Local.compose(t, l.call.low, l.call.high)})
	case l.params.Beside.Enabled && l.params.Beside.Every == 0 && by == startedByTrigger:
		return l.startBeside(t)
	}
	return l.ask(t)
}

// fixedText is what stands for messages of which no call would read any.
func fixedText(tokens int32) prompt.Answer {
	return prompt.Answer{Summary: tokens, Bytes: tokens * bytesPerToken, Digest: prompt.DigestString("nothing to summarize").ExtendInt(uint64(tokens))}
}

// fail ends a compaction without a summary. Those asked for by hand do not
// count for the breaker.
func (l *compact) fail(t *Turn, reason string) Outcome {
	l.call.count(t, l.params.Signal)
	if l.call.by != startedByHand {
		l.strike(t)
	}
	return Outcome{Failed, reason}
}

// strike counts a failure for the breaker.
func (l *compact) strike(t *Turn) {
	if l.failures++; l.failures == l.params.Breaker {
		t.Count(measures.BreakerTrips, 1)
	}
}

// bytesPerToken turns the size of a client's own English text into bytes.
const bytesPerToken = 4

// summaryBlock is the user message that carries a summary.
func summaryBlock(a *prompt.Answer) prompt.Block {
	return prompt.Block{
		Digest: a.Digest, Kind: prompt.KindSummary, Tokens: a.Summary, Bytes: a.Bytes,
		Object: -1, Flags: prompt.FlagMeta,
	}
}

// serverParams are the parameters of the provider's compaction on demand (compact-2026-09-04): the
// request holds the conversation, the answer is one block that comes first from then on, billed as
// a call of its own.
type serverParams struct {
	Instructions int32 `yaml:"instructions" doc:"tokens of instructions of the client's own; 0 for the provider's" unit:"tokens" min:"0"`
}

// partialParams says which messages a compaction summarises. It applies to compactions that a
// person asks for, where the client offers the choice, and with Auto to compactions that the
// trigger starts.
type partialParams struct {
	Direction direction `yaml:"direction" doc:"none for all messages, up_to for those before the pivot, from for those after it" off:"none"`
	Pivot     float64   `yaml:"pivot" doc:"place of the pivot, as a share of the messages, 0…1; it moves back to where no pair is parted" unit:"share" min:"0" max:"1" needs:"direction=up_to|direction=from"`
	Auto      bool      `yaml:"auto" doc:"holds for automatic compactions too: no client does that" needs:"direction=up_to|direction=from"`
}

// direction is the side of the pivot that a compaction summarises.
type direction uint8

// The directions of a compaction.
const (
	partialNone direction = iota // all messages
	partialUpTo                  // those before the pivot: the prefix changes
	partialFrom                  // those from the pivot on: the prefix stays
)

// part returns what a summary in the direction replaces.
func (d direction) part() ask.Part {
	switch d {
	case partialUpTo:
		return ask.PartUpTo
	case partialFrom:
		return ask.PartFrom
	}
	return ask.PartWhole
}

// Names returns the names used in YAML, by value.
func (direction) Names() []string { return []string{"none", "up_to", "from"} }

// idleParams are the parameters of compactions in a gap. The values are those
// observed from 2.1.286 on.
type idleParams struct {
	Enabled   bool    `yaml:"enabled" doc:"compact in gaps of the main conversation, where its entries live one hour"`
	Share     float64 `yaml:"share" doc:"share of that lifetime after which it happens, between 0 and 1" above:"0" below:"1" needs:"enabled"`
	MinTokens int64   `yaml:"min_tokens" doc:"client's count below which it does not (CLAUDE_CODE_IDLE_COMPACT_MIN_TOKENS)" min:"0" needs:"enabled"`
	Floor     int64   `yaml:"floor" doc:"least value that min_tokens can take" unit:"tokens" min:"0" needs:"enabled"`
}

// due returns when a conversation that stays idle is to be compacted, ns on the
// session's clock; 0 for never.
func (p *idleParams) due(t *Turn) int64 {
	small := t.Reading.Values[MeasureClientTokens] < max(p.MinTokens, p.Floor)
	if !p.Enabled || small || isAgent(t.Kind) || t.TTL != exchange.TTL1h || t.Usage.Input() == 0 {
		return 0
	}
	return t.Now - t.Idle + int64(p.Share*float64(t.Life))
}

// Sleeps reports whether the layer never asks to be called.
func (l *compact) Sleeps() bool { return !l.params.Idle.Enabled && l.params.When.At != atEnd }

// Wake asks to be called shortly before the cache expires, or as soon as a loop has ended.
func (l *compact) Wake(t *Turn) int64 {
	if l.ended(t) {
		return t.Now + 1
	}
	if at := l.params.Idle.due(t); at > t.Now {
		return at
	}
	return 0
}

// Timer compacts an idle conversation while its cache is warm. One whose tool is at work, or
// waits for a permission, is not idle: the provider would refuse a call without its result.
func (l *compact) Timer(t *Turn) Outcome {
	n, end := t.Context.Len(), l.ended(t)
	l.looked = t.Round + 1
	switch {
	case !t.Gap || n == 0 || !t.Context.At(n-1).Kind.Assistant():
		return Outcome{Declined, "a request is under way"}
	case endOfAnswered(t.Context) < n:
		return Outcome{Declined, "a tool is at work"}
	case l.stopped():
		return Outcome{Declined, "stopped by the breaker"}
	case !end && !t.Warm():
		return t.Refuse(standard.Compact, "the cache is cold")
	}
	if end {
		return l.start(t, n, startedByTrigger)
	}
	return l.start(t, n, startedByIdleness)
}

// ThreadEnd makes the summary call that is due behind the last loop: no request comes any more that would have its summary.
func (l *compact) ThreadEnd(t *Turn) Outcome {
	n := t.Context.Len()
	if !l.ended(t) || l.stopped() || n == 0 || !t.Context.At(n-1).Kind.Assistant() || endOfAnswered(t.Context) < n {
		return Outcome{Declined, "no loop has ended that is to be compacted"}
	}
	l.call = summaryCall{by: startedByTrigger, began: t.Now}
	if l.choose(t, n); l.call.low < l.call.high && l.call.unread == 0 && l.params.Call[0] != wayNone {
		t.Background(l.intent(t))
	}
	return Outcome{Declined, "the conversation is over"}
}

// ended reports whether a loop has ended behind which a compaction is due.
func (l *compact) ended(t *Turn) bool {
	p := &l.params
	return p.Auto && p.When.At == atEnd && l.looked != t.Round+1 && t.Usage.Input() > 0 && !(isAgent(t.Kind) && !p.Subagents) && p.When.fires(t, standard.Compact, &p.Trigger, true)
}

// refillParams are the parameters of the breaker for contexts that fill up again as
// soon as they were compacted (2.1.89: 3 times within 3 turns each).
type refillParams struct {
	Times  int   `yaml:"times" doc:"refills in a row that stop automatic compaction on a thread, with an explanation; 0 for never" unit:"refills" min:"0" off:"0"`
	Within int64 `yaml:"within" doc:"requests after a compaction within which reaching the trigger again is a refill" unit:"requests" min:"0" needs:"times"`
	Whole  bool  `yaml:"whole" doc:"a refill is summarised whole: none of the newest messages stays" needs:"times"`
}

// refills counts the refills of a thread in a row.
type refills struct {
	count   int
	fresh   bool // a compaction that no trigger has followed yet
	stopped bool
}

// trips takes a trigger that has fired and reports whether it is one too many.
func (p *refillParams) trips(t *Turn, r *refills) bool {
	switch {
	case !r.fresh:
	case t.Reading.Values[MeasureRounds] <= p.Within:
		r.count++
	default:
		r.count = 0
	}
	r.fresh = false
	if p.Times == 0 || r.count < p.Times {
		return false
	}
	r.stopped = true
	t.Count(measures.BreakerTrips, 1)
	return true
}

// AutoThreshold returns the level of the trigger. A breaker that has tripped
// changes nothing: the client asks for its setting only (004: nc, ic).
func (l *compact) AutoThreshold(t *Turn) (int64, bool) {
	tr := &l.params.Trigger
	if !l.params.Auto || l.params.Waits && t.Waits || isAgent(t.Kind) && !l.params.Subagents || !tr.Measure.tokens() {
		return 0, false
	}
	return tr.Value(&t.Reading)
}
