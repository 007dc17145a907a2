package strategies

import "github.com/compactsim/compactsim/internal/kit/spec"

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
	func(p messagesParams) Layer { return &messages{params: p} }).with(Traits{Agents: true})

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
