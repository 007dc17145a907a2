package validate

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/compactsim/compactsim/internal/kit/parallel"
	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/calls"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/traces"
)

// Cause says why calls cost more than predicted, as far as logged counts show it. What a call of the bill table names as the
// cause of its miss (calls.Call.Cause) counts: sim explain and sim audit say the same of that call.
type Cause uint8

// The causes. CauseNone has the calls that read what was predicted.
const (
	CauseNone     Cause = iota
	CauseUnasked        // the client neither reads nor writes
	CauseEvery          // calls in a row read the same part and never the messages, and nothing names a cause
	CauseHead           // the system prompt, the tools or thinking changed, as the server, the bodies or the log say
	CauseModel          // another model
	CauseMessages       // the messages changed: by the server, the bodies, or a line about a compaction or an edit
	CauseExpiry         // the pause was longer than the lifetime, or over five minutes where the cache promises none
	CauseLost           // within the lifetime, and no line says for sure why
	CauseUnsure         // the same where no lifetime is promised or the pause is not recorded
	CauseTail           // the head and most messages are read, and not the last ones
	NumCauses
)

// causeWords describe causes for people.
var causeWords = [NumCauses]string{
	"calls that read what was predicted",
	"the client does not ask for the cache: nothing is read or written",
	"something before the messages changes with every call",
	"the system prompt, the tools or thinking changed",
	"another model was called, which reads nothing of what the one before had left",
	"messages that were sent before changed",
	"more is lost than predicted after pauses over the lifetime, or over 5 minutes in a cache that promises none",
	"calls within the lifetime did not read what was cached, and no line of the log says for sure why",
	"calls did not read what was cached, where no lifetime is promised or the pause is not recorded, and no line of the log says for sure why",
	"calls read most of what was cached, and not the last messages that were sent before",
}

// String describes the cause.
func (c Cause) String() string { return causeWords[min(c, NumCauses-1)] }

// causeNames are the names of causes in documents for programs.
var causeNames = [NumCauses]string{"rest", "unasked", "head of every call", "head", "model", "messages", "expiry", "lost", "unsure", "tail"}

// Name returns a short name; "rest" for CauseNone.
func (c Cause) Name() string { return causeNames[min(c, NumCauses-1)] }

// Excess is what calls of one cause cost beyond what was predicted.
type Excess struct {
	Calls   int
	USD     float64 // below 0 where they cost less
	Dearest CallName
	dearest float64
	reads   []int64
	likely  map[calls.Cause]int // calls by what recordings make likely as their cause
}

// CallName names the call that costs most beyond its prediction.
type CallName struct{ Session, Name string } // as in Call

// Add adds what calls of other sessions cost.
func (e *Excess) Add(o *Excess) {
	e.reads = append(e.reads, o.reads...)
	for cause, n := range o.likely {
		e.suspect(cause, n)
	}
	e.Calls += o.Calls
	e.USD += o.USD
	if o.dearest > e.dearest {
		e.dearest, e.Dearest = o.dearest, o.Dearest
	}
}

func (e *Excess) add(c *Call) {
	over := c.ActualUSD - c.PredictedUSD
	e.reads = append(e.reads, c.Actual.Read)
	if c.recorded.cause.Confidence() == calls.Likely {
		e.suspect(c.recorded.cause, 1)
	}
	e.Calls++
	e.USD += over - c.LossUSD
	if over > e.dearest {
		e.dearest, e.Dearest = over, CallName{c.Session, c.Name}
	}
}

func (e *Excess) suspect(cause calls.Cause, n int) {
	if e.likely == nil {
		e.likely = map[calls.Cause]int{}
	}
	e.likely[cause] += n
}

// Likely returns the cause that recordings make likely for most of the calls that have such a cause, and for how many; "" and 0 if none has.
func (e *Excess) Likely() (most calls.Cause, n int) {
	for _, cause := range slices.Sorted(maps.Keys(e.likely)) {
		if e.likely[cause] > n {
			most, n = cause, e.likely[cause]
		}
	}
	return most, n
}

// Read returns the size that most calls still read, alike within 1 %, and how many do: what follows it
// changed. Without one that half of the calls read, there is none.
func (e *Excess) Read() (tokens int64, calls int) {
	reads := slices.Sorted(slices.Values(e.reads))
	for from, to := 0, 0; to < len(reads); to++ {
		for !alike(reads[from], reads[to]) {
			from++
		}
		if n := to - from + 1; n > calls {
			tokens, calls = reads[from], n
		}
	}
	if 2*calls < len(reads) {
		return 0, 0
	}
	return tokens, calls
}

// alike reports whether two reads end at one part of the prompt.
func alike(a, b int64) bool { return math.Abs(float64(a-b)) <= within*float64(max(a, b)) }

// tailShare is the part of the context, one in so many, beyond which a call that reads less than predicted has
// not read the last messages.
const tailShare = 100

// short reports whether a call read clearly less than was predicted.
func short(c *Call) bool { return float64(c.Actual.Read) < collapseShare*float64(c.Predicted.Read) }

// constantReads finds the calls of runs of at least three in a thread that all read the
// same part of the prompt and less than predicted: a loss is followed by a call that reads
// what was written again, a prompt that changes with every call by none.
// Calls that read nothing at all are alike by chance where many of a thread lose their reads: of these a run is
// longer, or three in four of the thread read nothing.
func constantReads(calls []Call) []bool {
	const least, leastOfNothing = 3, 8
	in := make([]bool, len(calls))
	inThread, reading := map[string]int{}, map[string]int{} // later calls, and those that read something
	for i := range calls {
		if c := &calls[i]; later(c) {
			inThread[c.Thread]++
			if c.Actual.Read > 0 {
				reading[c.Thread]++
			}
		}
	}
	from := 0
	for i := range calls {
		joins := i > from && calls[i].Thread == calls[from].Thread && short(&calls[i]) && alike(calls[i].Actual.Read, calls[from].Actual.Read)
		if joins && short(&calls[from]) {
			if n := i - from + 1; n >= leastOfNothing || n >= least && (calls[from].Actual.Read > 0 || 4*reading[calls[i].Thread] <= inThread[calls[i].Thread]) {
				for k := from; k <= i; k++ {
					in[k] = true
				}
			}
			continue
		}
		from = i
	}
	return in
}

// sure are the causes for which the bill table has a line of the log, the bodies or the server's word.
var sure = map[calls.Cause]Cause{
	calls.CauseSystem: CauseHead, calls.CauseTools: CauseHead, calls.CauseThinking: CauseHead, calls.CauseModel: CauseModel,
	calls.CauseMessages: CauseMessages, calls.CauseEdit: CauseMessages, calls.CauseCompaction: CauseMessages,
	calls.CauseLongPause: CauseExpiry, calls.CauseShortPause: CauseExpiry,
}

// causeOf returns why a call cost more than predicted. A pause over the lifetime counts where nothing else is sure or likely: an
// automatic cache promises no lifetime, so that its table names no pause for sure.
func causeOf(c *Call, every bool) Cause {
	why := c.recorded.cause
	switch {
	case c.Actual.Read+c.Actual.Writes() == 0 && c.Predicted.Read > 0 && c.TierKnown:
		return CauseUnasked
	case !short(c) && c.Predicted.Read-c.Actual.Read <= c.Context/tailShare:
		return CauseNone
	case sure[why] != CauseNone:
		return sure[why]
	case !short(c):
		return CauseTail
	case every:
		return CauseEvery
	case c.Class == ClassExpiry && (why.Confidence() != calls.Likely || why.Paused()):
		return CauseExpiry
	case c.recorded.open:
		return CauseUnsure
	}
	return CauseLost
}

// Expect is what the input of a session's logged calls cost, and what the same requests
// cost on average with a cache that works, USD. First calls of threads are left out: what
// other sessions left in the cache decides them.
type Expect struct {
	Session            string
	BilledUSD, MeanUSD float64
	Excess             [NumCauses]Excess
	FirstUSD           float64                 // what first calls of threads cost beyond what was predicted
	Models             map[string]results.Cost // what all calls are predicted to cost, by model, output included
}

// HeadChanges returns before how many calls the system prompt or the tools seem to have
// changed, and of how many calls that is known.
func (e *Expect) HeadChanges() (changes, calls int) {
	for k := range e.Excess {
		calls += e.Excess[k].Calls
	}
	return e.Excess[CauseHead].Calls + e.Excess[CauseEvery].Calls, calls
}

// Against predicts every session by the profile of config, with the expected cost of
// losses, and holds the bill against it. Nothing that the sessions' calls read goes into a
// prediction, neither of their own session nor of others: a cache that breaks in all
// sessions leaves it where it was. Sessions without a priced call that can be predicted
// have no entry.
func Against(ctx context.Context, config sim.Config, workers int, sessions []*traces.Session) ([]Expect, error) {
	config = config.WithProfile(config.Profile)
	config.Blind = true
	o := Options{Config: config}
	found := make([]*Expect, len(sessions))
	err := parallel.Do(ctx, workers, len(sessions), func(i int) error {
		s, err := sessions[i].Load()
		if err != nil {
			return fmt.Errorf("predicting a bill: %w", err)
		}
		calls, _, _, err := o.session(s)
		if err != nil {
			return err
		}
		found[i] = expect(s.ID, calls)
		return nil
	})
	if err != nil {
		return nil, err
	}
	var list []Expect
	for _, e := range found {
		if e != nil {
			list = append(list, *e)
		}
	}
	return list, nil
}

// expect sums up the calls of a session.
func expect(id string, calls []Call) *Expect {
	e := &Expect{Session: id, Models: map[string]results.Cost{}}
	every := constantReads(calls)
	for i := range calls {
		c := &calls[i]
		if !c.Priced {
			continue
		}
		cost := e.Models[c.Model]
		cost.Add(&c.cost)
		if e.Models[c.Model] = cost; !later(c) {
			e.FirstUSD += c.ActualUSD - c.PredictedUSD
			continue
		}
		e.BilledUSD += c.ActualUSD
		e.MeanUSD += c.PredictedUSD + c.LossUSD
		e.Excess[causeOf(c, every[i])].add(c)
	}
	if e.MeanUSD == 0 {
		return nil
	}
	e.Excess[CauseNone].reads = nil // of nearly all calls, and nobody asks
	return e
}
