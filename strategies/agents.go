package strategies

import "github.com/compactsim/compactsim/sim/prompt"

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
	func(p agentsParams) Layer { return &agents{params: p} }).with(Traits{Draws: true, Agents: true})

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
