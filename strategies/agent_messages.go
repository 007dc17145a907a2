package strategies

import "github.com/compactsim/compactsim/internal/spec"

// messagesParams are the parameters of agent-messages. Sizes are tokens.
type messagesParams struct {
	Switch   `yaml:",inline"`
	End      int32 `yaml:"end" doc:"tokens of the message that a sub-agent sends its parent when it has ended, 0 for none; what it answers is a tool result of the recording; assumed" min:"0" off:"0"`
	Progress int32 `yaml:"progress" doc:"tokens of the message that it sends behind its responses, 0 for none; assumed" min:"0" off:"0"`
	Every    int32 `yaml:"every" doc:"responses from one such message to the next; assumed" min:"1" needs:"progress"`
}

// Rules returns what contradicts each other.
func (p *messagesParams) Rules() []error {
	if p.End == 0 && p.Progress == 0 {
		return []error{spec.Problem{Paths: []string{"end", "progress"}, Text: "end and progress are 0: nothing is ever sent"}}
	}
	return nil
}

// messagesName is the registry's name of the layer.
const messagesName = "agent-messages"

var messagesDefinition = Define(messagesName,
	"sends messages from sub-agents to their parents, which read them in the input of their next round",
	messagesParams{Switch: on, End: 60, Every: 1},
	func(p messagesParams) Layer { return &messages{params: p} }).with(Traits{Agents: true})

// messages is the state of the layer on one thread.
type messages struct {
	params messagesParams
	behind int32 // responses since the last message of progress
}

func (l *messages) Name() string { return messagesName }
func (l *messages) Clone() Layer { return &messages{params: l.params} }
func (l *messages) Reset()       { l.behind = 0 }

// AfterResponse sends a message of progress. A message waits for its reader's
// next round (003:2561, queuePendingMessage: drained at the next tool round).
func (l *messages) AfterResponse(t *Turn) Outcome {
	if !l.sends(t, l.params.Progress) {
		return Outcome{Declined, "no message of progress"}
	}
	if l.behind++; l.behind < l.params.Every {
		return Outcome{Declined, "not yet"}
	}
	l.behind = 0
	t.Post(t.Parent, l.params.Progress)
	return Outcome{Verdict: Done}
}

// ThreadEnd sends the parent the message that the sub-agent is done.
func (l *messages) ThreadEnd(t *Turn) Outcome {
	if !l.sends(t, l.params.End) {
		return Outcome{Declined, "no message at the end"}
	}
	t.Post(t.Parent, l.params.End)
	return Outcome{Verdict: Done}
}

// sends reports whether a message of a size goes from the thread to a parent.
func (l *messages) sends(t *Turn, tokens int32) bool {
	return tokens > 0 && isAgent(t.Kind) && t.Parent >= 0
}
