package promptcache

import (
	"github.com/compactsim/compactsim/sim/prompt"
)

// servedPlain is what the documents say of all of OpenAI's models.
var servedPlain = prompt.Serving{Step: openAIStep}

// serving returns how a request is served, given what is known of its model and
// what it says itself, and remembers the longest retention.
func (o *OpenAI) serving(model, own prompt.Serving) prompt.Serving {
	switch {
	case own.Step > 0:
		model = own
	case model.Step <= 0:
		model = servedPlain
	}
	if own.Retention > 0 {
		model.Retention = own.Retention
	}
	if model.Retention <= 0 {
		model.Retention = o.cfg.Retention
	}
	o.longestLife = max(o.longestLife, model.Retention)
	return model
}

// replied returns the last position that is read where responses are cached: the
// response to the thread's last request, as far as it is sent as it came, if all of that request is there.
func (th *openAIThread) replied(r *prompt.Request, hit int) int {
	if !th.left || hit != int(th.pos) || r.Entries[hit].Chain != th.chain {
		return hit
	}
	for hit+1 < len(r.Entries) && r.Entries[hit+1].Kind.Assistant() && r.Entries[hit+1].Form == prompt.FormVerbatim {
		hit++
	}
	return hit
}

// through returns the tokens of a request through a position that the server has seen before.
func through(r *prompt.Request, at int) int64 {
	n := int64(r.Entries[at].Cum)
	if r.Through > 0 {
		n = min(n, int64(r.Through))
	}
	return n
}
