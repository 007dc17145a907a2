package strategies

import (
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/exchange"
	"github.com/compactsim/compactsim/sim/results/measures"
)

// keepaliveParams are the parameters of keepalive. Intervals are minutes.
type keepaliveParams struct {
	Switch      `yaml:",inline"`
	Every5m     float64 `yaml:"every_5m" doc:"minutes between the last use of a prefix with a lifetime of 5 minutes and a request that only keeps it warm, below 5; 0 for none" unit:"minutes" min:"0" below:"5" off:"0"`
	Every1h     float64 `yaml:"every_1h" doc:"the same for a lifetime of an hour, below 60; 0 for none" unit:"minutes" min:"0" below:"60" off:"0"`
	AtMost      int     `yaml:"at_most" doc:"requests in one gap; after them the cache may expire" unit:"requests" min:"0" max:"255"`
	MinTokens   int64   `yaml:"min_tokens" doc:"tokens of context below which a prefix is left to expire" min:"0"`
	Instruction int32   `yaml:"instruction" doc:"tokens of a prompt put after the last request; 0: the last request is sent again as it was" unit:"tokens" min:"0"`
	Output      int32   `yaml:"output" doc:"tokens of the answer: the output limit of the request" unit:"tokens" min:"0"`
	Subagents   bool    `yaml:"subagents" doc:"sub-agents keep their prefixes warm too"`
}

// keepaliveName is the registry's name of the layer.
const keepaliveName = "keepalive"

// The default of at_most is what a re-write for 5 minutes costs more than a
// read, in reads: (1.25 − 0.1) / 0.1 = 11.5. Who gives up then pays in no gap
// more than twice what knowing its length would have cost.
var keepaliveDefinition = Define(keepaliveName,
	"sends the last request again before its prefix expires in a gap, for a token of output",
	keepaliveParams{Switch: on, Every5m: 4.5, Every1h: 55, AtMost: 11, Output: 1},
	func(p keepaliveParams) Layer { return &keepalive{params: p} }).with(Traits{})

// keepalive is the state of the layer on one thread. Nothing is sent after the last
// response of a thread: no recording says how long the person stayed.
type keepalive struct {
	params keepaliveParams
	busy   bool  // a request is under way
	cold   bool  // the context was replaced since the last response
	sent   int   // requests in this gap
	last   int64 // when the last ping ended, ns on the session's clock
}

var (
	_ BeforeRequest    = (*keepalive)(nil)
	_ AfterResponse    = (*keepalive)(nil)
	_ AfterCompaction  = (*keepalive)(nil)
	_ BackgroundResult = (*keepalive)(nil)
	_ Timer            = (*keepalive)(nil)
)

func (l *keepalive) Name() string { return keepaliveName }
func (l *keepalive) Clone() Layer { c := *l; return &c }
func (l *keepalive) Copy() Layer  { return l.Clone() }
func (l *keepalive) Reset()       { *l = keepalive{params: l.params} }

// BeforeRequest notes that the gap is over.
func (l *keepalive) BeforeRequest(*Turn) Outcome {
	l.busy = true
	return Outcome{Declined, "input has come"}
}

// AfterResponse notes that a gap begins.
func (l *keepalive) AfterResponse(*Turn) Outcome {
	l.busy, l.cold, l.sent, l.last = false, false, 0, 0
	return Outcome{Declined, "a gap begins"}
}

// AfterCompaction notes that there is no prefix to keep until the next response.
func (l *keepalive) AfterCompaction(*Turn) { l.cold = true }

// Wake returns when the prefix has been unused for the interval of its lifetime.
func (l *keepalive) Wake(t *Turn) int64 {
	every := l.params.Every5m
	if t.TTL == exchange.TTL1h {
		every = l.params.Every1h
	}
	if l.busy || l.cold || every == 0 || l.sent > l.params.AtMost || t.Usage.Input() == 0 {
		return 0
	}
	const minute = 60e9
	return max(t.Now-t.Idle, l.last) + int64(every*minute)
}

func (l *keepalive) Timer(t *Turn) Outcome {
	switch {
	case l.busy || l.cold:
		return Outcome{Declined, "no gap"}
	case isAgent(t.Kind) && !l.params.Subagents:
		return l.stop("sub-agents let their prefix expire")
	case int64(t.Context.Tokens()) < l.params.MinTokens:
		return l.stop("too small a context")
	case l.sent >= l.params.AtMost:
		l.sent++
		return t.Refuse(keepaliveName, "enough in one gap")
	}
	t.Background(prompt.Intent{
		Source: measures.SourceKeepalive.String(), To: int32(startOfResponse(t.Context)),
		From: int32(Body(t.Context)), Instruction: l.params.Instruction, Ordinal: uint8(l.sent),
		Known: &prompt.Answer{Output: l.params.Output},
	})
	t.Count(measures.Keepalives, 1)
	l.sent++
	l.last = t.Now
	return Outcome{Verdict: Done}
}

// stop gives up for this gap.
func (l *keepalive) stop(reason string) Outcome {
	l.sent = l.params.AtMost + 1
	return Outcome{Declined, reason}
}

// BackgroundResult notes when the prefix was used last.
func (l *keepalive) BackgroundResult(t *Turn, _ *prompt.Result) Outcome {
	l.last = t.Now
	return Outcome{Declined, "the prefix is warm"}
}
