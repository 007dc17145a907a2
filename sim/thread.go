package sim

import (
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces"
)

// thread is the running state of one conversation.
type thread struct {
	trace    *traces.Thread
	index    int32 // in the session
	context  prompt.Context
	layers   []strategies.Layer
	hooks    hooks
	round    int32 // the round under way
	inputAt  int   // position of the first entry of its input
	event    int   // first recorded event not yet due
	inputEnd int64 // time its input was complete
	lastEnd  int64 // end of the last response; the thread's start before the first
	started  bool  // a response has been received
	ttl      prompt.TTL
	child    int32  // first child not yet started, index into loop.children
	retried  bool   // the request was sent again after a refusal
	barred   uint64 // layers that are not asked before this request, a bit each

	// The client's count: usage of the last response and the estimate of
	// what followed it.
	counted  int64
	trailing int64
	rounds   int64 // requests since the start or the last compaction

	unlogged unlogged

	chain    int // compactions in a row
	overflow bool
}

// hooks are the layers of a thread by the hooks they implement, with their
// index, so that a call costs no type assertion.
type hooks struct {
	before   []hook[strategies.BeforeRequest]
	after    []hook[strategies.AfterResponse]
	tooLong  []hook[strategies.PromptTooLong]
	result   []strategies.IntentResult // by layer index; nil for a layer without one
	compact  []strategies.AfterCompaction
	starting []hook[strategies.ThreadStart]
	keys     []uint8  // by layer index: identifies the layer in draws
	bars     []uint64 // by layer index: layers it bars when it is done
}

type hook[T any] struct {
	layer int
	do    T
}

// bind finds the hooks of the layers, keeping storage. A layer's key in draws
// comes from its name, so that adding or removing another shifts nothing.
func (h *hooks) bind(layers []strategies.Layer, bars []uint64) {
	*h = hooks{
		keys: h.keys[:0], bars: bars,
		before: h.before[:0], after: h.after[:0], tooLong: h.tooLong[:0],
		result: h.result[:0], compact: h.compact[:0], starting: h.starting[:0],
	}
	for i, l := range layers {
		if b, ok := l.(strategies.BeforeRequest); ok {
			h.before = append(h.before, hook[strategies.BeforeRequest]{i, b})
		}
		if a, ok := l.(strategies.AfterResponse); ok {
			h.after = append(h.after, hook[strategies.AfterResponse]{i, a})
		}
		if p, ok := l.(strategies.PromptTooLong); ok {
			h.tooLong = append(h.tooLong, hook[strategies.PromptTooLong]{i, p})
		}
		if c, ok := l.(strategies.AfterCompaction); ok {
			h.compact = append(h.compact, c)
		}
		if s, ok := l.(strategies.ThreadStart); ok {
			h.starting = append(h.starting, hook[strategies.ThreadStart]{i, s})
		}
		r, _ := l.(strategies.IntentResult)
		h.result = append(h.result, r)
		h.keys = append(h.keys, uint8(prompt.DigestString(l.Name()).Lo)|1)
	}
}

// current returns the round under way.
func (t *thread) current() *traces.Round { return &t.trace.Rounds[t.round] }
