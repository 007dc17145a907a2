package sim

import (
	"github.com/compactsim/compactsim/internal/draws"
	"github.com/compactsim/compactsim/sim/client"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/strategies"
)

// section returns the position of what holds a section: its own entry, else the
// last of the system prompt, for project files the first reminder; -1 for none.
func (l *Loop) section(t *thread, s client.Section) int {
	if i := t.find(t.head.sections[s]); i >= 0 {
		return i
	}
	if s == client.SectionProject {
		for i := range strategies.Body(&t.context) {
			if t.context.At(i).Kind == prompt.KindReminder {
				return i
			}
		}
		return -1
	}
	from, to := t.stretch(prompt.LevelSystem)
	if from == to {
		return -1
	}
	return to - 1
}

// rewrite gives a section another content; where the thread has none nothing
// changes.
func (l *Loop) rewrite(t *thread, s client.Section, grow int32, content prompt.Digest) bool {
	i := l.section(t, s)
	if i < 0 {
		return false
	}
	was := 1 + t.context.At(i).ID
	now := 1 + l.swap(&t.context, i, grow, content)
	for k := range t.head.sections {
		if t.head.sections[k] == was {
			t.head.sections[k] = now
		}
	}
	return true
}

// touchHead changes what differs from request to request: the billing header
// where it is in the key, the uncached section, and sections that are not
// memoised.
func (l *Loop) touchHead(t *thread) {
	l.stamp(t)
	if p := t.live.assembly.System.UncachedChange; p > 0 && t.head.tried != t.round+1 && t.head.sections[client.SectionUncached] > 0 {
		t.head.tried = t.round + 1
		event := draws.Event(t.index, t.round, layerKey("system prompt"), 0)
		if draws.Unit(t.live.draws.Uint64(draws.Layer, event)) < p && l.rewrite(t, client.SectionUncached, 0, l.once(t)) {
			l.headChanged(t)
		}
	}
	if !t.live.assembly.System.Memoised {
		l.showSections(t)
	}
}

// stamp gives the next request a billing header of its own, where that is in the
// key.
func (l *Loop) stamp(t *thread) {
	if t.live.assembly.header {
		l.rewrite(t, client.SectionBilling, 0, l.once(t))
	}
}

// once returns a content that nothing else has.
func (l *Loop) once(t *thread) prompt.Digest {
	t.live.contents++
	return prompt.Digest{Hi: t.live.draws.Session, Lo: 1}.ExtendInt(t.live.contents)
}

// renderHead shows memoised sections anew behind a compaction. Only the main
// conversation clears them (000, clean-up).
func (l *Loop) renderHead(t *thread) {
	if t.agent() {
		return
	}
	l.renderFlags(t)
	l.showSections(t)
}

// renderFlags brings the static section up to the flags it depends on.
func (l *Loop) renderFlags(t *thread) {
	h := &t.head
	if h.flags == h.rendered {
		return
	}
	h.rendered = h.flags
	if l.rewrite(t, client.SectionStatic, 0, flagged(h.flags)) {
		l.headChanged(t)
	}
}

// flagged is what a number of flag changes makes of the static section: the
// same in every session that has seen them.
func flagged(n uint32) prompt.Digest { return prompt.DigestString("flags").ExtendInt(uint64(n)) }

// showSections shows what memoised sections hold back.
func (l *Loop) showSections(t *thread) {
	h := &t.head
	if h.project.due && l.rewrite(t, client.SectionProject, h.project.tokens, h.project.content) {
		l.headChanged(t)
	}
	if h.memory.due && l.rewrite(t, client.SectionMemoised, h.memory.tokens-h.shown, h.memory.content) {
		h.shown = h.memory.tokens
		if t.started {
			l.headChanged(t)
		}
	}
	h.project, h.memory = pending{}, pending{}
}

// setSection gives a section another content, of tokens in all.
func (l *Loop) setSection(t *thread, s strategies.Section, tokens int32, content prompt.Digest) {
	if s == strategies.SectionMemory {
		t.head.memory = pending{tokens, content, true}
	}
}

// forkHead makes the head of a call on the conversation's own prefix what its
// request has there: a billing header of its own, and unless the rendered
// prompt is used again the prompt as it would be rendered now.
func (l *Loop) forkHead(t *thread, side *prompt.Context) {
	if t.live.assembly.header {
		if i := t.find(t.head.sections[client.SectionBilling]); i >= 0 {
			l.swap(side, i, 0, l.once(t))
		}
	}
	if !t.live.assembly.System.RenderedReuse && t.head.flags != t.head.rendered {
		if i := l.section(t, client.SectionStatic); i >= 0 {
			l.swap(side, i, 0, flagged(t.head.flags))
		}
	}
}
