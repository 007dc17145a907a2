package synthetic

import (
	"math"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
)

// totals is what a session of a workload may come to.
type totals struct {
	turns, calls      float64 // of the main thread
	tasks, agentCalls float64
	main, agent       threadLoad
	ask               load // tokens that a turn begins with
	limit             int  // tokens at which it compacts; 0 is never
	idle, compacting  float64
}

// threadLoad is what each call of a kind of thread takes.
type threadLoad struct {
	uses, tokens, seconds load
}

// totals reckons from a workload that has no other flaw.
func (w *Workload) totals() totals {
	t := totals{turns: w.Turns.counts().top, limit: w.threshold()}
	t.calls = w.Rounds.counts().sum(t.turns)
	main, agents := w.mixLoad(w.Tools), w.mixLoad(w.Agents.Tools)
	t.main, t.agent = w.callLoad(main), w.callLoad(agents)
	t.tasks = math.Floor(always(1).sometimes(main.tasks).each(t.main.uses).sum(t.calls))
	t.agentCalls = w.Agents.Rounds.counts().sum(t.tasks)
	rates := traces.DefaultRates()
	t.ask = w.Prompt.load().and(always(float64(rates.Tokens(prompt.KindImage, 0))).sometimes(w.Images)).
		and(w.ConnectTokens.load().sometimes(w.Connects)).and(w.ResumeTokens.load().sometimes(w.Resumes))
	idle := w.Think.load()
	for i := range w.Pauses {
		p := w.Pauses[i].Length.load()
		idle = load{idle.mean + p.mean*w.Pauses[i].Share, max(idle.top, p.sometimes(w.Pauses[i].Share).top)}
	}
	t.idle = idle.and(w.ResumePause.load().sometimes(w.Resumes)).sum(t.turns)
	if t.limit > 0 {
		t.compacting = w.CompactTime.load().sum(t.calls)
	}
	return t
}

// mixLoad is what each use of a tool of a mix takes.
type mixLoad struct {
	input, result, seconds load
	tasks                  float64 // share of uses that start an agent
}

func (w *Workload) mixLoad(tools []WorkTool) mixLoad {
	var m mixLoad
	weights := 0.0
	for i := range tools {
		weights += tools[i].Weight
	}
	mixIn := func(l *load, with load, share float64) {
		*l = load{l.mean + with.mean*share, max(l.top, with.top)}
	}
	for i := range tools {
		t := &tools[i]
		if t.Weight == 0 {
			continue
		}
		share := t.Weight / weights
		result := t.Result.load()
		switch t.Name {
		case toolRead:
			result = w.FileSize.load().atMost(float64(w.ReadLimit))
		case toolTask:
			result = w.Agents.Report.load().scaled(rateResult / rateText)
			m.tasks += share
		}
		mixIn(&m.input, t.Input.load(), share)
		mixIn(&m.result, result, share)
		if t.Name != toolTask {
			mixIn(&m.seconds, t.Time.load(), share)
		}
	}
	return m
}

// useTokens is more than what a use of a tool and its result have of their own:
// the names in the call, an error, an agent's bill.
const useTokens = 200

// callLoad returns what a call takes whose tools are of a mix. Every call is
// reckoned to use tools, and to answer.
func (w *Workload) callLoad(m mixLoad) threadLoad {
	t := threadLoad{uses: load{0, 1}}
	for i, share := 0, 1.0; i < maxUses; i, share = i+1, share*w.Parallel {
		t.uses.mean += share
	}
	if w.Parallel > 0 {
		t.uses.top = maxUses
	}
	path := always(useTokens + float64(len(w.Project))*rateToolUse)
	inputs := m.input.and(path).each(t.uses)
	said := w.Answer.load().and(w.Text.load().sometimes(w.TextShare)).and(w.Agents.Report.load()).
		and(w.Thinking.load().sometimes(w.ThinkingShare)).and(inputs)
	t.tokens = said.and(m.result.each(t.uses))
	waits := load{m.seconds.mean * t.uses.mean, m.seconds.top} // for the slowest
	t.seconds = w.FirstToken.load().and(said.scaled(1 / w.Speed.bottom())).and(waits)
	return t
}

// checkTotals looks for sessions that would overflow what holds them.
func (w *Workload) checkTotals(fs *flaws) {
	t := w.totals()
	switch {
	case t.calls > maxSessionCalls:
		fs.add("turns", "turns and rounds come to %.3g calls in a session, more than %d: set maxima", t.calls, maxSessionCalls)
	case t.calls+t.agentCalls > maxSessionCalls:
		fs.add("agents.rounds", "%.3g sub-agents come to %.3g calls in a session, more than %d: set maxima", t.tasks, t.agentCalls, maxSessionCalls)
	case t.blocks() > numberMask:
		fs.add("turns", "a session may hold %.3g prompts, texts, calls of tools and results, more than the %d that it numbers: set maxima", t.blocks(), numberMask)
	}
	t.checkTimes(fs)
	t.checkTokens(w, fs)
}

// blocks returns the content blocks of a session: for each turn a prompt, an
// image and a summary, for each call two of text and what its tools take.
func (t *totals) blocks() float64 {
	of := func(l threadLoad) load { return always(2).and(l.uses.scaled(2)) }
	return 3*t.turns + of(t.main).sum(t.calls) + t.tasks + of(t.agent).sum(t.agentCalls)
}

func (t *totals) checkTimes(fs *flaws) {
	const year = 365 * 24 * 3600.0
	calls, agents := t.main.seconds.sum(t.calls), t.agent.seconds.sum(t.agentCalls)
	sum := t.idle + calls + agents + t.compacting
	if sum <= maxSessionTime {
		return
	}
	path := "turns"
	switch max(t.idle+calls, agents, t.compacting) {
	case agents:
		path = "agents.rounds"
	case t.compacting:
		path = "compact_time"
	}
	fs.add(path, "the times of a session may come to %.3g years, more than %d: set maxima", sum/year, int(maxSessionTime/year))
}

// checkTokens looks for contexts that no session may have: of one that never
// compacts, and of one that a single call takes far above the threshold.
func (t *totals) checkTokens(w *Workload, fs *flaws) {
	task := float64(0)
	for i := range w.Tools {
		if w.Tools[i].Name == toolTask {
			task = w.Tools[i].Input.top()
		}
	}
	if t.limit == 0 {
		if n := t.main.tokens.sum(t.calls) + t.ask.sum(t.turns) + maxHidden; n > maxContextTokens {
			fs.add("threshold", "never compacting, a session may come to %.3g tokens, more than %d: set maxima for turns and rounds", n, maxContextTokens)
		}
		if n := t.agent.tokens.sum(w.Agents.Rounds.counts().top) + task + maxHidden; t.tasks > 0 && n > maxContextTokens {
			fs.add("agents.rounds", "never compacting, a sub-agent may come to %.3g tokens, more than %d: set maxima", n, maxContextTokens)
		}
		return
	}
	const text = "one call may come to %.3g tokens, of its own and of the results it waits for: with a threshold of %d that is more than %d in a context: set maxima"
	if n := t.main.tokens.top + t.ask.top; float64(t.limit)+n > maxContextTokens {
		fs.add("tools", text, n, t.limit, maxContextTokens)
	}
	if n := t.agent.tokens.top + task; t.tasks > 0 && float64(t.limit)+n > maxContextTokens {
		fs.add("agents.tools", text, n, t.limit, maxContextTokens)
	}
}
