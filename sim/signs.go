package sim

import (
	"slices"

	"github.com/compactsim/compactsim/internal/profile"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
)

// entryDesktop is the desktop client, which keeps no state when it is closed.
const entryDesktop = "claude-desktop"

// toolSearch is the tool that loads the descriptions of others.
const toolSearch = "ToolSearch"

// signs are what the lines of a thread have shown so far of what its client does
// with the next request.
type signs struct {
	thinking traces.Thinking
	ends     bool  // lines show when a turn ends
	searched bool  // tools were searched for
	hooked   int32 // 1 + id of the first entry after a hook of this turn, 0 for none
	lost     bool  // the request under way has another head
	altered  bool  // its messages differ from what was sent, from a hooked tool call on
	// applied are the rules that had something to say about the request under way.
	applied  profile.Set
	coming   profile.Set // the same for the next request
	wasPlain bool        // the last request went without thinking
	shrunk   bool        // the request under way shrank at a prompt
}

// heed takes from the lines of a round's input what the client did to the
// request that no line shows, and does it to the context.
func (l *Loop) heed(t *thread) {
	u, r := &t.unlogged.signs, t.current()
	u.lost, u.altered, u.applied, u.coming, u.shrunk = false, false, u.coming, 0, false
	t.unlogged.behind = behindMarked(t.input())
	u.thinking.Hear(t.replay.session, r)
	if t.replay.profile == nil {
		return
	}
	defer func() { u.ends = u.ends || r.Signs.Has(traces.SignTurnEnd) }()
	if l.otherHead(t, r) {
		u.lost = true
		l.alter(t, 0)
	}
	asked := r.Trigger == traces.TriggerPrompt
	if asked && u.hooked > 0 {
		i := slices.IndexFunc(t.context.Seal(), func(e prompt.Entry) bool { return e.ID == u.hooked-1 })
		if i >= 0 && t.rule(profile.RuleHook) {
			u.altered = true
			l.alter(t, i)
		}
		u.hooked = 0
	}
	if r.Signs.Has(traces.SignHook) && u.hooked == 0 && t.inputAt < t.context.Len() {
		u.hooked = 1 + t.context.At(t.inputAt).ID
	}
	if asked && t.shrinks() && r.Signs&(traces.SignResume|traces.SignCommand) == 0 {
		u.shrunk = t.rule(profile.RuleShrink)
	}
}

// input returns the blocks of the round's input.
func (t *thread) input() []prompt.Block {
	r := t.current()
	return t.replay.session.Blocks[r.Input.From:r.Input.To]
}

// rule notes that a rule has something to say about the request, and reports
// whether it holds for the client.
func (t *thread) rule(r profile.Rule) bool {
	t.unlogged.applied = t.unlogged.applied.With(r)
	return t.replay.rules.Has(r)
}

// shrinks reports whether the recording's context shrinks before the round and
// no line says why.
func (t *thread) shrinks() bool {
	for i := t.event; i < len(t.trace.Events) && t.trace.Events[i].Round <= t.round; i++ {
		if t.trace.Events[i].Kind == traces.EventShrink {
			return true
		}
	}
	return false
}

// otherHead reports whether the client builds another head for the round's
// request than for the one before.
func (l *Loop) otherHead(t *thread, r *traces.Round) bool {
	u := &t.unlogged
	switch {
	case !t.started:
		return false
	case r.Trigger == traces.TriggerPrompt && u.ended && u.ends && t.replay.session.Entry == entryDesktop &&
		r.Signs&(traces.SignTurnEnd|traces.SignInterrupt) == 0:
		return t.rule(profile.RuleRestart)
	case !u.searched && t.hears(toolSearch):
		u.searched = true
		return t.rule(profile.RuleToolSearch)
	}
	return false
}

// hears reports whether the round's input has a result of a tool.
func (t *thread) hears(tool string) bool {
	s := t.replay.session
	return slices.ContainsFunc(t.input(), func(b prompt.Block) bool {
		return b.Kind == prompt.KindToolResult && s.Tools[b.Tool] == tool
	})
}

// alter gives the entry at a position another content of the same size: the
// client sends something else there from now on.
func (l *Loop) alter(t *thread, i int) {
	if i < t.context.Len() && t.context.At(i).Form == prompt.FormVerbatim {
		cause := prompt.CauseHead
		if t.context.At(i).Kind.Level() == prompt.LevelMessages {
			cause = prompt.CauseEdit
		}
		l.swap(&t.context, i, 0, prompt.DigestString("altered").ExtendInt(uint64(t.round)), cause)
	}
}

// behindMarked returns the tokens of results behind the one that the client
// marks. Results of parallel calls stand in the order in which they came; the
// client marks the last of them and then sends them in the order of the calls,
// so that those called later stand behind the breakpoint. The recordings have
// 500 calls with several results: of 415 in order, and of 9 whose last call came
// last, none left more than the usual tail uncached; of 76 others all but 3 did.
func behindMarked(blocks []prompt.Block) int32 {
	last, behind := int32(0), int32(0)
	for i := range blocks {
		if blocks[i].Kind == prompt.KindToolResult {
			last = blocks[i].Call // its result came last
		}
	}
	for i := range blocks {
		if blocks[i].Kind == prompt.KindToolResult && blocks[i].Call > last {
			behind += blocks[i].Tokens
		}
	}
	return behind
}
