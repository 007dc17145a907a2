package strategies

import (
	"github.com/compactsim/compactsim/internal/kit/spec"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
)

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
		Lifetime: callLifetime(prompt.Lifetime5m),
	}
}

var agentSummaryDefinition = Define(agentSummaryName,
	"says at intervals what each sub-agent of a coordinator is doing, by a call beside it",
	defaultAgentSummary(),
	func(p agentSummaryParams) Layer { return &agentSummary{params: p} }).with(Traits{Draws: true, Calls: true, Agents: true})

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
		SkipCacheWrite: p.SkipCacheWrite, Lifetime: prompt.Lifetime(p.Lifetime), Known: &l.answer,
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
	t.Count(results.AgentSummaries, 1)
	return Outcome{Declined, "summary ended"}
}
