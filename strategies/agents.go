package strategies

import (
	"github.com/compactsim/compactsim/internal/kit/spec"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/ask"
	"github.com/compactsim/compactsim/sim/results/measures"
)

// agentsParams are the parameters of agents. Sizes are tokens.
type agentsParams struct {
	Switch      `yaml:",inline"`
	Share       float64 `yaml:"share" doc:"share of sub-agents that begin as forks of their parent, 0…1; all other sub-agents keep the prefix they were recorded with; assumed" min:"0" max:"1"`
	Recursive   bool    `yaml:"recursive" doc:"forks fork too; off, their sub-agents keep their own prefix"`
	Placeholder int32   `yaml:"placeholder" doc:"tokens of the result that stands in a fork for each call of its parent's last response; assumed" unit:"tokens" min:"1"`
	Identical   bool    `yaml:"identical_placeholders" doc:"these results are the same in all forks; off, they differ"`
	Boilerplate int32   `yaml:"boilerplate" doc:"tokens that tell a fork what it is, the same in all, before its task; assumed" unit:"tokens" min:"0"`
}

// agentsName is the registry's name of the layer.
const agentsName = "agents"

var agentsDefinition = Define(agentsName,
	"starts sub-agents as forks: with their parent's context, whose cached prefix they read, in place of a prefix of their own",
	agentsParams{Switch: on, Share: 1, Placeholder: 12, Identical: true, Boilerplate: 250},
	func(p agentsParams) Layer { return &agents{params: p} }).with(Traits{Draws: true})

// agents has no state: a fork shows in its context.
type agents struct{ params agentsParams }

var (
	_ ThreadStart = (*agents)(nil)
	_ Fork        = (*agents)(nil)
)

func (l *agents) Name() string { return agentsName }
func (l *agents) Clone() Layer { c := *l; return &c }
func (l *agents) Copy() Layer  { return l.Clone() }
func (l *agents) Reset()       {}

// Fork decides about a sub-agent that is about to start; Turn.Forked says whether its parent is a
// fork (003:2547: a fork that finds the boilerplate in its history refuses to fork).
func (l *agents) Fork(t *Turn) bool {
	return (l.params.Recursive || !t.Forked) && t.Draw(agentsName, 0) < l.params.Share
}

// ThreadStart appends to the parent's last response placeholders for the results
// of its calls, and the boilerplate; the task follows as the thread's first
// input, in the same message (003:2551).
func (l *agents) ThreadStart(t *Turn) Outcome {
	if !t.Forked {
		return Outcome{Declined, "a prefix of its own"}
	}
	c := t.Context
	end := c.Len()
	for i := startOfResponse(c); i < end; i++ {
		if use := c.BlockAt(i); c.At(i).Kind == prompt.KindToolUse {
			c.Add(l.placeholder(t, *use))
		}
	}
	if l.params.Boilerplate > 0 {
		c.Add(reminder("fork boilerplate", l.params.Boilerplate))
	}
	return Outcome{Verdict: Done}
}

// placeholder is the result of a call of the parent, as a fork shows it.
func (l *agents) placeholder(t *Turn, use prompt.Block) prompt.Block {
	b := use
	b.Kind, b.Tokens, b.Bytes = prompt.KindToolResult, l.params.Placeholder, l.params.Placeholder*bytesPerToken
	b.Digest = prompt.DigestString("fork placeholder").ExtendInt(uint64(b.Tokens))
	if !l.params.Identical {
		b.Digest = b.Digest.ExtendInt(uint64(t.Thread))
	}
	return b
}

// messagesParams are the parameters of agent-messages. Sizes are tokens.
type messagesParams struct {
	Switch   `yaml:",inline"`
	End      int32 `yaml:"end" doc:"tokens of the message that a sub-agent sends its parent when it has ended, 0 for none; what it answers is a tool result of the recording; assumed" unit:"tokens" min:"0" off:"0"`
	Progress int32 `yaml:"progress" doc:"tokens of the message that it sends after its responses, 0 for none; assumed" unit:"tokens" min:"0" off:"0"`
	Every    int32 `yaml:"every" doc:"responses from one message of progress, or to siblings, to the next; assumed" unit:"responses" min:"1" needs:"progress|siblings"`
	Siblings int32 `yaml:"siblings" doc:"tokens of the message that it sends to all other sub-agents at work after its responses, 0 for none; assumed" unit:"tokens" min:"0" off:"0"`
	Plan     int32 `yaml:"plan_approval" doc:"tokens by which the leader approves its plan, or rejects it: in its second request; 0 for none; assumed" unit:"tokens" min:"0" off:"0"`
	Shutdown int32 `yaml:"shutdown" doc:"tokens by which it answers a request to end, to its leader; what it is asked reaches it after its last request and costs nothing; 0 for none; assumed" unit:"tokens" min:"0" off:"0"`
	Route    route `yaml:"route" doc:"queue: a message stands in the reader's next request; mailbox: in a file that the reader looks into at the next prompt (assumed), as agents in processes of their own do"`
}

// route is the way in which messages reach their readers.
type route bool

// The two routes (003:1712-1714).
const (
	routeQueue   route = false
	routeMailbox route = true
)

// Names returns the names used in YAML, by value.
func (route) Names() []string { return []string{"queue", "mailbox"} }

// Rules returns contradictions between the parameters.
func (p *messagesParams) Rules() []error {
	if p.End|p.Progress|p.Siblings|p.Plan|p.Shutdown == 0 {
		return []error{spec.Problem{Paths: []string{"end", "progress", "siblings", "plan_approval", "shutdown"},
			Text: "all sizes are 0: nothing is ever sent"}}
	}
	return nil
}

// messagesName is the registry's name of the layer.
const messagesName = "agent-messages"

var messagesDefinition = Define(messagesName,
	"sends messages among sub-agents and their parents, which read them in the input of a later round",
	messagesParams{Switch: on, End: 60, Every: 1, Route: routeQueue},
	func(p messagesParams) Layer { return &messages{params: p} }).with(Traits{})

// messages is the state of the layer on one thread.
type messages struct {
	params messagesParams
	behind int32 // responses since the last message of progress, or to siblings
	begun  bool  // it has had its first response
}

var (
	_ AfterResponse = (*messages)(nil)
	_ ThreadEnd     = (*messages)(nil)
)

func (l *messages) Name() string { return messagesName }
func (l *messages) Clone() Layer { return &messages{params: l.params} }
func (l *messages) Copy() Layer  { c := *l; return &c }
func (l *messages) Reset()       { l.behind, l.begun = 0, false }

// AfterResponse lets the leader answer the sub-agent's plan after its first response, and
// sends messages of progress and to siblings. A message waits for its reader's next round
// (003:2561, queuePendingMessage: drained at the next tool round).
func (l *messages) AfterResponse(t *Turn) Outcome {
	p := &l.params
	sent := !l.begun && l.post(t, t.Thread, p.Plan)
	l.begun = true
	if p.Progress > 0 || p.Siblings > 0 {
		if l.behind++; l.behind == p.Every {
			l.behind = 0
			sent = l.post(t, t.Parent, p.Progress) || sent
			sent = l.post(t, ToSiblings, p.Siblings) || sent
		}
	}
	if !sent {
		return Outcome{Declined, "no message after this response"}
	}
	return Outcome{Verdict: Done}
}

// ThreadEnd tells the parent that the sub-agent is done, and answers its request to end.
func (l *messages) ThreadEnd(t *Turn) Outcome {
	end, shutdown := l.post(t, t.Parent, l.params.End), l.post(t, t.Parent, l.params.Shutdown)
	if !end && !shutdown {
		return Outcome{Declined, "no message at the end"}
	}
	return Outcome{Verdict: Done}
}

// post sends a message of a size from the sub-agent or from its parent. It reports
// whether it did.
func (l *messages) post(t *Turn, to, tokens int32) bool {
	if tokens == 0 || !isAgent(t.Kind) || t.Parent < 0 {
		return false
	}
	t.Post(Message{To: to, Tokens: tokens, Mailbox: l.params.Route == routeMailbox})
	return true
}

// agentSummaryParams are the parameters of agent-summary. Sizes are tokens.
type agentSummaryParams struct {
	Switch         `yaml:",inline"`
	Seconds        float64      `yaml:"seconds" doc:"seconds from one summary of a sub-agent to the next" min:"1" max:"1e6"`
	SameModel      bool         `yaml:"same_model" doc:"asks the sub-agent's own model on its own prefix, which is cached; off, another model"`
	Model          string       `yaml:"model" doc:"name of the other model, as in the price table" needs:"same_model=false"`
	Head           int32        `yaml:"head" doc:"tokens of the other model's system prompt and tools; assumed" unit:"tokens" min:"0" needs:"same_model=false"`
	StripThinking  bool         `yaml:"strip_thinking" doc:"the server drops earlier thinking from a call of the other model, which does not think" needs:"same_model=false"`
	Instruction    int32        `yaml:"instruction" doc:"tokens of the instruction; assumed" unit:"tokens" min:"0"`
	Output         int32        `yaml:"output" doc:"tokens of a summary" unit:"tokens" min:"0"`
	SkipCacheWrite bool         `yaml:"skip_cache_write" doc:"marker on the sub-agent's last message instead of the instruction, so that the next summary reads it; assumed off"`
	Lifetime       callLifetime `yaml:"lifetime" doc:"lifetime class its markers ask for: client, 5m or 1h; assumed"`
}

// Rules returns contradictions between the parameters.
func (p *agentSummaryParams) Rules() []error {
	if !p.SameModel && p.Model == "" {
		return []error{spec.Wrong("model", "is not given, and same_model is off")}
	}
	return nil
}

// agentSummaryName is the registry's name of the layer.
const agentSummaryName = "agent-summary"

// defaultAgentSummary has the documents' beat and model, and 3–5 words
// (003:2579-2583).
func defaultAgentSummary() agentSummaryParams {
	return agentSummaryParams{
		Switch: on, Seconds: 30, Model: "claude-haiku-4-5", Head: 1000, StripThinking: true, Instruction: 150, Output: 8,
		Lifetime: callLifetime(ask.Lifetime5m),
	}
}

var agentSummaryDefinition = Define(agentSummaryName,
	"says at intervals what each sub-agent of a coordinator is doing, by a call beside it",
	defaultAgentSummary(),
	func(p agentSummaryParams) Layer { return &agentSummary{params: p} }).with(Traits{Draws: true})

// agentSummary is the state of the layer on one thread.
type agentSummary struct {
	params  agentSummaryParams
	next    int64 // the next beat, ns on the session's clock; 0 before the thread begins
	running bool
	answer  prompt.Answer // of the call under way
}

var (
	_ BackgroundResult = (*agentSummary)(nil)
	_ Timer            = (*agentSummary)(nil)
)

func (l *agentSummary) Name() string { return agentSummaryName }
func (l *agentSummary) Clone() Layer { return &agentSummary{params: l.params} }
func (l *agentSummary) Copy() Layer  { c := *l; return &c }
func (l *agentSummary) Reset()       { *l = agentSummary{params: l.params} }

// Wake keeps the beat that began with the sub-agent, whatever its rounds.
func (l *agentSummary) Wake(t *Turn) int64 {
	if !isAgent(t.Kind) {
		return 0
	}
	if l.next == 0 {
		l.next = t.Now + span(l.params.Seconds, secondSpan)
	}
	return l.next
}

// Timer asks for a summary, unless the last one is still awaited or there is
// nothing to summarise.
func (l *agentSummary) Timer(t *Turn) Outcome {
	l.next = t.Now + span(l.params.Seconds, secondSpan)
	if l.running {
		return t.Refuse(agentSummaryName, "the last one is under way")
	}
	if t.Usage.Input() == 0 {
		return t.Refuse(agentSummaryName, "no response so far")
	}
	l.running = true
	t.Background(l.call(t))
	return Outcome{Verdict: Done}
}

func (l *agentSummary) call(t *Turn) prompt.Intent {
	p := &l.params
	l.answer = prompt.Answer{Output: p.Output}
	in := prompt.Intent{
		Source: "agent_summary", Way: wayFork.String(), Instruction: p.Instruction,
		To:             int32(endOfAnswered(t.Context)),
		SkipCacheWrite: p.SkipCacheWrite, Lifetime: ask.Lifetime(p.Lifetime), Known: &l.answer,
	}
	if !p.SameModel {
		in.Way, in.Own, in.Model, in.Head = waySmallModel.String(), true, p.Model, p.Head
		in.Strip = strip(false, false, p.StripThinking)
	}
	return in
}

// BackgroundResult counts the summary.
func (l *agentSummary) BackgroundResult(t *Turn, r *prompt.Result) Outcome {
	l.running = false
	if r.Failed != "" {
		return t.Refuse(agentSummaryName, r.Failed)
	}
	t.Count(measures.AgentSummaries, 1)
	return Outcome{Declined, "summary ended"}
}
