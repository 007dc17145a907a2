package strategies

import (
	"github.com/compactsim/compactsim/internal/kit/spec"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
)

// serverHintParams are the parameters of server-hint. Sizes are tokens.
type serverHintParams struct {
	Switch     `yaml:",inline"`
	Subagents  bool      `yaml:"subagents" doc:"sub-agents take the hint too; assumed"`
	Tools      toolNames `yaml:"tools" doc:"tools whose results may be cleared, by name or operation, or all; tools of MCP never are"`
	KeepRecent int       `yaml:"keep_recent" doc:"newest results of these tools that stay" unit:"results" min:"0"`
	Target     int64     `yaml:"target_tokens_saved" doc:"tokens to clear, oldest results first" min:"1"`
	Floor      int64     `yaml:"floor" doc:"tokens below which a clearing is not worth it" unit:"tokens" min:"0"`
	Pointer    int32     `yaml:"pointer" doc:"tokens of the text that says where a cleared result is; assumed" unit:"tokens" min:"0"`
	Pending    bool      `yaml:"count_pending_clears" doc:"a clearing lowers the client's count at once, not with the next response; assumed"`
}

// Rules returns contradictions between the parameters.
func (p *serverHintParams) Rules() []error {
	errs := p.Tools.required("tools")
	if p.Target < p.Floor {
		errs = append(errs, spec.Wrong("target_tokens_saved", "%d is below floor %d", p.Target, p.Floor))
	}
	return errs
}

// serverHintName is the registry's name of the layer.
const serverHintName = "server-hint"

var serverHintDefinition = Define(serverHintName,
	"puts the results of old tool calls to disk when the server refuses a request with the hint to clear",
	serverHintParams{
		Switch: on, Subagents: true, Tools: compactable(), KeepRecent: 5, Target: 75000, Floor: 20000, Pointer: 40, Pending: true,
	},
	func(p serverHintParams) Layer { return &serverHint{params: p, results: newClearables(p.Tools)} }).with(Traits{Clears: true})

// serverHint is the state of the layer on one thread: only storage, as what was
// cleared shows in the context.
type serverHint struct {
	params  serverHintParams
	results clearables
}

var (
	_ ServerHint = (*serverHint)(nil)
	_ Choosy     = (*serverHint)(nil)
)

func (l *serverHint) Name() string { return serverHintName }

func (l *serverHint) Clone() Layer {
	return &serverHint{params: l.params, results: newClearables(l.params.Tools)}
}

func (l *serverHint) Copy() Layer { return l.Clone() }

func (l *serverHint) Unfit(s *traces.Session) string { return l.params.Tools.unfit(s) }

func (l *serverHint) Reset() { l.results.reset() }

// ServerHint clears the oldest results until the target is met. What is left of
// each in the context does not count as saved.
func (l *serverHint) ServerHint(t *Turn) Outcome {
	if isAgent(t.Kind) && !l.params.Subagents {
		return Outcome{Declined, "sub-agents do not take the hint"}
	}
	l.results.relist(t)
	old, n, saved := l.results.olderResults(l.params.KeepRecent), 0, int64(0)
	for ; n < len(old) && saved < l.params.Target; n++ {
		if old[n].id >= 0 {
			saved += int64(old[n].tokens - l.params.Pointer)
		}
	}
	if saved < l.params.Floor || saved <= 0 {
		return t.Refuse(serverHintName, "too little to save")
	}
	b := clearResults(t, old[:n], prompt.FormPointer, l.params.Pointer)
	if !l.params.Pending {
		b.Uncounted = 0
	}
	t.Compacted(b)
	return Outcome{Verdict: Done}
}
