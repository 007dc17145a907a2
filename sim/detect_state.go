package sim

import (
	"strconv"

	"github.com/compactsim/compactsim/internal/breaks"
	"github.com/compactsim/compactsim/sim/client"
	"github.com/compactsim/compactsim/sim/prompt"
)

// stateOf returns what the client hashes of a request ahead of a call (000:604).
// Single tools and auto mode are not simulated and stay unknown.
func (l *Loop) stateOf(t *thread, c *call) breaks.State {
	h := &t.head
	s := breaks.State{
		FastMode: flag(!h.keys[client.ActionFastMode].IsZero()), Overage: flag(t.live.overage),
		CachedMicro: flag(t.hooks.deletes), GlobalStrategy: l.globalStrategy(t), Effort: keyText(h.keys[client.ActionEffort]),
		Betas: []string{}, ExtraBodyParams: extraBody(h), SystemMarkers: markersHash(c),
	}
	if beta := h.keys[client.ActionBeta]; !beta.IsZero() {
		s.Betas = append(s.Betas, keyText(beta))
	}
	hashHead(&s, t, c.entries)
	return s
}

// hashHead takes tools and system prompt from the entries of a request. Web
// search is a tool of the server's, so that it stands among the tools.
func hashHead(s *breaks.State, t *thread, entries []prompt.Entry) {
	tools, system := t.head.keys[client.ActionWebSearch], prompt.Digest{}
	for i := range entries {
		b := t.context.Block(entries[i].Block)
		switch entries[i].Kind.Level() {
		case prompt.LevelTools:
			tools = tools.Extend(b.Digest)
		case prompt.LevelSystem:
			system = system.Extend(b.Digest)
			s.SystemChars += int(b.Bytes)
		default:
			s.Tools, s.SystemText = hashOf(tools), hashOf(system)
			return
		}
	}
	s.Tools, s.SystemText = hashOf(tools), hashOf(system)
}

// markersHash stands for the markers ahead of the messages: places, scopes and
// the lifetime.
func markersHash(c *call) breaks.Hash {
	d := prompt.Digest{}.ExtendInt(uint64(c.marks.TTL))
	for _, m := range c.marks.Head {
		d = d.ExtendInt(uint64(m.Position)<<8 | uint64(m.Scope))
	}
	return hashOf(d)
}

// extraBody stands for the further parameters of a request. The client has no
// setting of its own for tool choice and citations, so that they are taken to
// come this way (assumed). Thinking has one and is not among what is hashed
// (000:604): the detector does not see it change.
func extraBody(h *head) breaks.Hash {
	return hashOf(h.keys[client.ActionToolChoice].Extend(h.keys[client.ActionCitations]))
}

// globalStrategy says which part of the prompt the client marks for everyone,
// "" where the recording's client decides.
func (l *Loop) globalStrategy(t *thread) string {
	switch system := &t.live.assembly.System; {
	case !system.Divided():
		return ""
	case l.ownPrompt(t) || l.staticScope(t) != prompt.ScopeGlobal:
		return "none"
	}
	return "system_prompt"
}

// keyText is a parameter as text that is only compared.
func keyText(value prompt.Digest) string {
	if value.IsZero() {
		return "as recorded"
	}
	return strconv.FormatUint(value.Lo, 36)
}

// hashOf returns a hash that is never 0, which means unknown.
func hashOf(d prompt.Digest) breaks.Hash { return breaks.Hash(d.Lo | 1) }

func flag(on bool) breaks.Flag {
	if on {
		return breaks.On
	}
	return breaks.Off
}
