package strategies

import (
	agentlist "github.com/compactsim/compactsim/traces/agents"
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

// AutoThreshold returns the level at which the recorded client compacts.
func (l *recorded) AutoThreshold(t *Turn) (int64, bool) {
	return agentlist.Of(t.Agent).CompactsAt(t.Version, t.Reading.Window, t.Reading.MaxOutput), true
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
