package side

import (
	"slices"

	"github.com/compactsim/compactsim/sim/client"
	"github.com/compactsim/compactsim/sim/internal/course"
	"github.com/compactsim/compactsim/sim/prompt"
)

// Asked is what a layer asks for.
type Asked struct {
	prompt.Intent
	Beside        bool  // the conversation does not wait
	Thread, Layer int32 // who asked: indices of the loop's threads, and of the thread's layers
	Model         int32 // index of the session's models
	TTL           prompt.TTL
	Event         uint64        // stable id, by where the call began
	Span          prompt.Digest // of the conversation that it is about
}

// Call is a call beside a conversation, perhaps in several turns. It keeps what it sends: the conversation changes meanwhile.
type Call struct {
	Asked
	Context prompt.Context
	Answer  prompt.Answer
	Result  prompt.Result
	Turn    int32  // of the response under way, from 0
	Name    uint32 // to the server

	deleted course.Deletions
	running bool
}

// Begin builds what a call sends that is asked for at a time of the session, ns, beside a conversation with a head.
func (c *Call) Begin(a *Asked, of *course.Course, h Head, now int64) {
	c.Asked, c.Answer, c.Turn = *a, prompt.Answer{}, 0
	c.Result = prompt.Result{Source: a.Source, Ordinal: a.Ordinal, Began: now}
	c.deleted.Reset()
	if !a.Own && a.Intent.Model == "" {
		c.deleted.Inherit(&of.Deleted) // the deletions in what the call sends as the conversation does
	}
	Build(&c.Context, of.Session.Blocks, &of.Context, h, &a.Intent)
}

// Deletions returns the deletions that the next request declares.
func (c *Call) Deletions() []prompt.Deletion { return c.deleted.Resolve(&c.Context) }

// Change returns what changed in the context since the call's last request.
func (c *Call) Change() prompt.Change {
	if !c.Beside {
		return prompt.NoChange
	}
	return c.Context.Sent()
}

// Marks returns where the call's breakpoints are on its messages.
func (c *Call) Marks() client.Marks {
	return client.Marks{TTL: c.TTL, SecondToLast: c.SkipCacheWrite, None: c.Unmarked}
}

// Last reports whether no request follows the one of this turn.
func (c *Call) Last() bool { return !c.Beside || c.Turn+1 >= c.Turns || c.Answer.Failed != "" }

// OwnPrefix reports whether the call sends what the conversation itself would send,
// so that its read shows what the conversation would have read.
func (c *Call) OwnPrefix() bool {
	return !c.Beside && !c.Own && c.Intent.Model == "" && c.Whole() && !c.Rekey
}

// Respond takes the response of a turn, and its usage, nil for a refusal. It reports whether another turn follows, whose
// context has what the turn answered and the results of its tools; h, if not nil, is the head that each request renews.
func (c *Call) Respond(a *prompt.Answer, u *prompt.Usage, h Head) bool {
	c.Result.Answer = *a
	if u != nil {
		c.Result.Usage.Add(u)
	}
	if c.Turn++; a.Failed != "" || c.Turn >= c.Turns {
		return false
	}
	mark := uint64(c.Name)<<16 | uint64(c.Turn)
	reply := client.Injected(prompt.KindText, c.Source, max(1, a.Output))
	reply.Digest = reply.Digest.ExtendInt(mark)
	c.Context.Add(reply)
	results := client.Injected(prompt.KindPrompt, c.Source+" results", max(1, c.TurnInput))
	results.Digest = results.Digest.ExtendInt(mark)
	c.Context.Add(results)
	if !c.Own && h != nil {
		h.Fork(&c.Context)
	}
	return true
}

// Calls are calls by place. Places of calls that have ended are used again.
type Calls struct {
	list  []*Call
	names uint32
}

// Reset forgets all calls, keeping storage.
func (s *Calls) Reset() {
	s.names = 0
	for _, c := range s.list {
		c.running = false
	}
}

// New returns a call with a name of its own, at a place that is not in use.
func (s *Calls) New() (place int32, c *Call) {
	for int(place) < len(s.list) && s.list[place].running {
		place++
	}
	if int(place) == len(s.list) {
		s.list = append(s.list, &Call{})
	}
	s.names++
	c = s.list[place]
	c.Name, c.running = 1<<31|s.names, true
	return place, c
}

// At returns the call at a place.
func (s *Calls) At(place int32) *Call { return s.list[place] }

// End makes a place free.
func (s *Calls) End(place int32) { s.list[place].running = false }

// Of reports whether a call of a thread is running.
func (s *Calls) Of(thread int32) bool {
	return slices.ContainsFunc(s.list, func(c *Call) bool { return c.running && c.Thread == thread })
}

// Leave gives up what calls share with copies of them.
func (s *Calls) Leave() {
	for _, c := range s.list {
		c.Context.Leave()
	}
}

// CopyFrom makes s an independent copy, given the blocks that each thread's session adds.
func (s *Calls) CopyFrom(o *Calls, arena func(thread int32) *prompt.Arena) {
	for len(s.list) < len(o.list) {
		s.list = append(s.list, &Call{})
	}
	s.Reset()
	s.names = o.names
	for i, from := range o.list {
		c := s.list[i]
		context, deleted := c.Context, c.deleted
		if *c = *from; from.running {
			context.Become(&from.Context, arena(c.Thread))
			deleted.CopyFrom(&from.deleted)
		}
		c.Context, c.deleted = context, deleted
	}
}
