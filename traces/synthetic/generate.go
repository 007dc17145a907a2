package synthetic

import (
	"fmt"
	"math"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/zeebo/xxh3"
)

// planner plans one session.
type planner struct {
	p     *Profile
	s     *Session
	calls int
	uses  int
	// agentFirst and agentEnd are the times (unix ns) at which an agent first
	// made the agents' static prefix readable and last refreshed it; 0 is never.
	agentFirst, agentEnd int64
}

// Generate plans a session of the profile. The same profile and seed give the
// same session on every machine; another name or seed gives another one, with
// ids of its own. The error names every problem of the profile.
func Generate(p Profile, seed uint64) (*Session, error) {
	if err := p.Validate(); err != nil {
		return nil, fmt.Errorf("profile %q: %w", p.Name, err)
	}
	s := &Session{profile: p, dice: dice(mix(seed) ^ xxh3.HashString(p.Name))}
	s.id = uuid(s.dice.bits(forSession, 0), 0)
	s.files = workingSet(&p, s.dice)
	pl := &planner{p: &s.profile, s: s}
	s.threads = append(s.threads, thread{model: p.Model, tools: p.Tools, static: p.Static})
	pl.main()
	return s, nil
}

// main plans the main thread, prompt by prompt.
func (pl *planner) main() {
	d := pl.s.dice
	w := pl.walk(0, pl.p.Reminders)
	now := pl.p.Start.UnixNano()
	for i := range pl.p.Prompts {
		id := uint64(i)
		if i > 0 {
			now += pl.pause(id)
		}
		ask := pl.text(prompt.KindPrompt, d.from(pl.p.Prompt, forPromptSize, id), place(0, i, 1<<20))
		ask.at = now
		rounds := max(1, int(d.from(pl.p.Rounds, forRounds, id)+0.5))
		now = w.turn(ask, rounds)
	}
}

// pause returns the ns between a response and prompt i.
func (pl *planner) pause(id uint64) int64 {
	d := pl.s.dice
	length := pl.p.Think
	x := d.unit(forPauseKind, id)
	for _, pause := range pl.p.Pauses {
		if x < pause.Share {
			length = pause.Length
			break
		}
		x -= pause.Share
	}
	return seconds(d.from(length, forPause, id))
}

// agent plans the sub-agent that answers a Task at the given time, and returns
// its thread and the time its report is complete.
func (pl *planner) agent(task block, at int64) (index int, end int64) {
	a := &pl.p.Agent
	index = len(pl.s.threads)
	model := a.Model
	if model == "" {
		model = pl.p.Model
	}
	t := thread{
		agent:  fmt.Sprintf("a%06x", pl.s.dice.bits(forSession, uint64(index))>>40),
		model:  model,
		tools:  a.Tools,
		static: a.Static,
	}
	pl.s.threads = append(pl.s.threads, t)
	w := pl.walk(index, a.Reminders)
	w.warmStart = pl.agentWarm(index, at)
	ask := task
	ask.kind, ask.at, ask.agent = prompt.KindPrompt, at, 0
	ask.tokens = int(float64(ask.bytes)*ratePrompt + 0.5)
	rounds := max(1, int(pl.s.dice.from(a.Rounds, forAgentRounds, uint64(index))+0.5))
	end = w.turn(ask, rounds)
	if pl.agentFirst == 0 || at-pl.agentEnd > int64(pl.p.lifetime()) {
		pl.agentFirst = pl.s.threads[index].calls[0].reply[0].at
	}
	pl.agentEnd = max(pl.agentEnd, end)
	return index, end
}

// agentWarm reports whether an agent that starts at a time finds the agents'
// static prefix: another one of this session has begun to answer and has not
// been quiet for a lifetime, or another session has kept it warm.
func (pl *planner) agentWarm(index int, at int64) bool {
	if pl.agentFirst != 0 && at > pl.agentFirst && at-pl.agentEnd <= int64(pl.p.lifetime()) {
		return true
	}
	return pl.s.dice.hit(forWarm, place(index, 0, 0), pl.p.WarmStart)
}

// text returns a block of generated text of about so many tokens.
func (pl *planner) text(k prompt.Kind, tokens float64, id uint64) block {
	n := max(1, int(tokens+0.5))
	return block{kind: k, tokens: n, bytes: pl.bytes(k, float64(n), id), words: id, object: -1}
}

// bytes returns the length of text of so many tokens at the block's own rate.
func (pl *planner) bytes(k prompt.Kind, tokens float64, id uint64) int {
	rate := rateOf(k) * spread(pl.s.dice, id)
	return max(1, int(tokens/rate+0.5))
}

// place names a position in a session: thread, call of the thread, block.
func place(thread, call, block int) uint64 {
	return uint64(thread)<<44 | uint64(call)<<22 | uint64(block)
}

// seconds converts to ns, rounded to the millisecond that is logged.
func seconds(s float64) int64 { return int64(math.Round(s*1000)) * millisecond }
