package strategies

import (
	"time"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/strategies/standard"
)

// besideParams are the parameters of compactions that run while the conversation goes on.
type besideParams struct {
	Enabled bool    `yaml:"enabled" doc:"they do"`
	Wait    float64 `yaml:"wait" doc:"share of the window, by the client's count, from which on the conversation waits for one under way, 0…1; 0 for never" unit:"share" min:"0" max:"1" off:"0" needs:"enabled"`
	Ahead   float64 `yaml:"ahead" doc:"share of the window by which the call comes ahead of the trigger, which the summary then waits for, 0…1; 0 for a summary that takes its place as soon as it is there" unit:"share" min:"0" below:"1" off:"0" needs:"enabled"`
	Every   int64   `yaml:"every" doc:"tokens behind the last summary at each multiple of which a call reads what none has read, at each half step near the trigger, and then as many of the summaries that are ready take their place as leave about keep.tokens; 0 for one call" unit:"tokens" min:"0" off:"0" needs:"enabled"`
	Share   float64 `yaml:"share" doc:"size of a summary of such a piece, as a share of what it stands for, 0…1; 0 as the summariser draws it" unit:"share" min:"0" max:"1" off:"0" needs:"every"`
	Fold    int64   `yaml:"fold" doc:"tokens of summaries from which on a call replaces all summaries by one; 0 for never" unit:"tokens" min:"0" off:"0" needs:"every"`
}

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
	if t.Kin != nil {
		poll(t.Kin, standard.Compact, func(p *CompactParams) bool {
			v, ok := p.early(t.Reading.Window).Value(&t.Reading)
			return ok && t.measure(p.Trigger.Measure) >= v
		})
	}
	return p.When.hold(t, standard.Compact, t.test(standard.Compact, p.early(t.Reading.Window)), false)
}

// waits reports whether the conversation is large enough to wait.
func (p *besideParams) waits(t *Turn) bool {
	return p.Wait > 0 && float64(t.Reading.Values[MeasureClientTokens]) >= p.Wait*float64(t.Reading.Window)
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

// BackgroundResult takes the block. A request may be under way: the block waits
// for the next one.
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
