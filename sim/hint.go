package sim

import "github.com/compactsim/compactsim/sim/results"

// hints lets the server refuse a request with the hint to clear, if it does so
// at this size and a layer takes hints, and sends it again behind the layers'
// answer. It reports whether it did.
func (l *Loop) hints(t *thread) bool {
	at := l.config.HintAt
	if at <= 0 || len(t.hooks.hints) == 0 || l.requestTokens(t) < at {
		return false
	}
	t.hinted = true
	t.live.row.Counts[results.CountHints]++
	for _, h := range t.hooks.hints {
		l.refresh(t)
		l.final(t, h.layer, "server_hint", h.do.ServerHint(&l.turn))
	}
	if l.err == nil {
		l.send(t)
	}
	return true
}
