package synthetic

import (
	"fmt"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
)

// plan is a session in the making.
type plan struct {
	g      *Generator
	d      dice
	base   uint64  // of d's places
	tracks []track // main, then agents and branches as they come
	blocks uint64  // made so far: each has a digest of its own
	starts int     // agents
	// agentFirst and agentEnd are the times (unix ns) at which an agent first
	// made the agents' static prefix readable and last refreshed it; 0 is never.
	agentFirst, agentEnd int64
}

// track is a thread in the making. Spans count in its own blocks.
type track struct {
	kind        traces.ThreadKind
	agent       string
	parent      int32 // -1 for none
	parentRound int32
	delay       int64
	static      int // tokens of the static prefix as a reader sees it
	reminders   int
	uses        int32 // tool uses
	blocks      []prompt.Block
	rounds      []traces.Round
	events      []traces.Event
}

// Bounds of a session, where it is cut off: sums stay far from overflow.
const (
	maxContextTokens = 50_000_000
	maxSessionTime   = 50 * 365 * 24 * 3600 * 1_000_000_000 // ns
	maxSessionBlocks = numberMask - 1024                    // a call and its agents have fewer
)

// full reports whether a session ends at a time and with a context.
func (p *plan) full(at int64, context int) bool {
	return context > maxContextTokens || p.blocks > maxSessionBlocks || at > p.g.latest
}

// open adds a track and returns its index.
func (p *plan) open(kind traces.ThreadKind, parent, parentRound int32) int {
	p.tracks = append(p.tracks, track{kind: kind, parent: parent, parentRound: parentRound})
	return len(p.tracks) - 1
}

// numberMask covers the part of a digest that numbers the blocks of a session.
const numberMask = 1<<20 - 1

// at returns p.d's draws for a place.
func (p *plan) at(id uint64) spot { return spot(mix(p.base ^ id)) }

// add appends a block of content that is like no other in the session, and
// returns it for as long as the track does not grow.
func (p *plan) add(t *track, k prompt.Kind, bytes, tokens int32) *prompt.Block {
	p.blocks++
	t.blocks = append(t.blocks, prompt.Block{
		Digest: prompt.Digest{Hi: mix(uint64(p.d) + p.blocks), Lo: uint64(p.d)&^numberMask | p.blocks&numberMask},
		Kind:   k, Bytes: bytes, Tokens: tokens, Object: -1,
	})
	return &t.blocks[len(t.blocks)-1]
}

// main plans the main thread, turn by turn.
func (p *plan) main() {
	g, k := p.g, p.at(forMain)
	w := &pen{p: p, t: p.open(traces.ThreadMain, -1, -1), tools: &g.tools, limit: g.limit}
	w.open(g.w.Static, k.draw(&g.w.Reminders, forReminders), k.hit(forWarm, g.w.WarmStart))
	w.model = g.named[g.models.at(k.unit(forModel))]
	w.before = g.w.Start.UnixNano() + seconds(k.unit(forStart)*g.w.Spread)
	w.at = w.before
	turns := k.count(&g.w.Turns, forSession)
	settled := false // this turn starts as the one before it left off
	for i := range turns {
		k := p.at(forTurns | uint64(i))
		mark, before := w.mark(), len(p.tracks)
		changed := false
		if i > 0 {
			w.at = max(w.before, w.gone) + p.pause(k)
			changed = !settled && w.change(k)
		}
		w.ask(k)
		w.turn(k.count(&g.w.Rounds, forRounds))
		settled = false
		back := i > 0 && i+1 < turns && k.hit(forRewind, g.w.Rewinds)
		if back && !changed && len(p.tracks) == before && !w.compacted {
			w.rewind(&mark)
			settled = true
		}
		if p.full(w.at, w.context) {
			return
		}
	}
}

// pause returns the ns between a response and a prompt.
func (p *plan) pause(k spot) int64 {
	g := p.g
	length := &g.w.Think
	if i := g.pauses.at(k.unit(forPauseKind)); i < len(g.w.Pauses) {
		length = &g.w.Pauses[i].Length
	}
	return max(millisecond, seconds(k.draw(length, forPause)))
}

// agent plans the sub-agent that a task of the given length starts, and returns
// the length of its report and the time it is complete.
func (p *plan) agent(parent int, task int32, at int64, model uint16) (report int32, end int64) {
	g := p.g
	p.starts++
	t := p.open(traces.ThreadAgent, int32(parent), int32(len(p.tracks[parent].rounds)-1))
	w := &pen{p: p, t: t, tools: &g.agents, model: model, before: at, at: at}
	p.tracks[t].agent = agentID(p.d, p.starts)
	p.tracks[t].delay = taskDelay
	if g.w.Agents.Model != "" {
		w.model = g.agentModel
	}
	k := p.at(forAgents | uint64(p.starts))
	warm := p.agentFirst != 0 && at > p.agentFirst && at-p.agentEnd <= g.lifetime || k.hit(forWarm, g.w.WarmStart)
	w.open(g.w.Agents.Static, k.draw(&g.w.Agents.Reminders, forReminders), warm)
	w.push(prompt.KindPrompt, task, int32(g.rates.Tokens(prompt.KindPrompt, int(task)))).Flags = prompt.FlagString
	w.turn(k.count(&g.w.Agents.Rounds, forAgentRounds))
	tr := &p.tracks[t]
	if p.agentFirst == 0 || at-p.agentEnd > g.lifetime {
		p.agentFirst = tr.rounds[0].At + tr.rounds[0].First
	}
	p.agentEnd = max(p.agentEnd, w.before)
	return tr.blocks[len(tr.blocks)-1].Bytes + agentBillLength, w.before
}

// taskDelay is the time from a response to the start of the agents it asks for.
const taskDelay = 100 * millisecond

// agentIDLength is the length of an agent's id.
const agentIDLength = 9

// agentBillLength is the length of agentBill.
var agentBillLength = int32(len(agentBill("")) + agentIDLength)

// agentID returns the id of an agent: ids of a session sort as agents start.
func agentID(d dice, n int) string {
	bits := d.bits(forSession, 6)
	return fmt.Sprintf("a%x%x%x%05x", bits&15, bits>>4&15, bits>>8&15, n)
}

// agentBill is the line the client adds to an agent's report.
func agentBill(agent string) string {
	return "agentId: " + agent + " (for resuming to continue this agent's work if needed)"
}
