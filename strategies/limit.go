package strategies

import (
	"github.com/compactsim/compactsim/internal/version"
	"github.com/compactsim/compactsim/traces"
)

// AutoThreshold is implemented by layers that compact by themselves at a level
// of the client's count. A client shows how much is left against that level,
// and against the window without one.
type AutoThreshold interface {
	// AutoThreshold returns the level, tokens; false while the layer does not
	// compact by itself on this thread.
	AutoThreshold(*Turn) (int64, bool)
}

// AutoThreshold returns the level of the trigger. A breaker that has tripped
// changes nothing: the client asks for its setting only (004: nc, ic).
func (l *compact) AutoThreshold(t *Turn) (int64, bool) {
	tr := &l.params.Trigger
	if !l.params.Auto || isAgent(t.Kind) && !l.params.Subagents ||
		tr.Measure != MeasureClientTokens && tr.Measure != MeasureTokens {
		return 0, false
	}
	return tr.Value(&t.Reading)
}

// AutoThreshold returns the level of the recorded client: the window less
// 13,000 for Claude Code 1.x (001:230), less the output limit besides through
// 2.1.20, and with 20,000 of it kept at most from 2.1.25 on, as recordings show.
// Codex compacts at nine tenths of its window.
func (l *recorded) AutoThreshold(t *Turn) (int64, bool) {
	const reserve, outputCap = 13_000, 20_000
	w, out := t.Reading.Window, t.Reading.MaxOutput
	switch {
	case t.Agent == traces.AgentCodex:
		return w * 9 / 10, true
	case t.Version != "" && !version.AtLeast(t.Version, 2):
		return w - reserve, true
	case t.Version != "" && !version.AtLeast(t.Version, 2, 1, 21):
		return w - out - reserve, true
	}
	return w - min(out, outputCap) - reserve, true
}

// AutoThreshold returns the level of the trigger: a client that drops messages
// by itself shows what is left until it does.
func (l *truncate) AutoThreshold(t *Turn) (int64, bool) {
	tr := &l.params.Trigger
	if tr.Measure != MeasureClientTokens && tr.Measure != MeasureTokens {
		return 0, false
	}
	return tr.Value(&t.Reading)
}
