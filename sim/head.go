package sim

import (
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/strategies"
)

// layOut shapes the head of a thread that begins: tools, system, reminders.
func (l *Loop) layOut(*thread) {}

// changeHead carries out what changes the head ahead of a round's input.
func (l *Loop) changeHead(*thread) {}

// touchHead changes what differs from request to request.
func (l *Loop) touchHead(*thread) {}

// renderHead shows memoised sections anew behind a compaction.
func (l *Loop) renderHead(*thread) {}

// setSection gives a section another content.
func (l *Loop) setSection(*thread, strategies.Section, int32, prompt.Digest) {}

// lifetime returns the lifetime class that a call of a layer asks for.
func (l *Loop) lifetime(t *thread, in *prompt.Intent) prompt.TTL {
	switch in.Lifetime {
	case prompt.Lifetime5m:
		return prompt.TTL5m
	case prompt.Lifetime1h:
		return prompt.TTL1h
	}
	return t.ttl
}
